use super::abandon::{Loading, Progress};
use super::*;
use crate::{Presentation, SEGMENT_LENGTH, SegmentSizes};
use gameway_units::Bytes;

pub(super) fn at(milliseconds: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

pub(super) fn throughput(kbps: u64) -> Throughput {
    let mut throughput = Throughput::default();
    throughput.on_sample(Bytes::new(kbps * 1_000 / 8), Duration::from_secs(1));
    throughput
}

fn situation<'a>(ladder: &'a Ladder, throughput: &'a Throughput, buffer: i64) -> Situation<'a> {
    Situation {
        now: at(0),
        ladder,
        segment: SEGMENT_LENGTH,
        buffer: Duration::from_millis(buffer),
        empty: false,
        throughput,
        current: 0,
        settled: true,
    }
}

/// The highest level of at most nine tenths, on either side of each level's limit.
#[test]
fn throughput_rule_takes_nine_tenths() {
    let ladder = Ladder::xu_claypool();
    for level in 1..=ladder.top() {
        let needed = (ladder.kbps(level) / 0.9).ceil() as u64;
        let (enough, short) = (throughput(needed), throughput(needed - 1));
        let enough = throughput_rule::decide(&situation(&ladder, &enough, 8_000));
        let short = throughput_rule::decide(&situation(&ladder, &short, 8_000));
        assert_eq!((enough, short), (Some(SwitchRequest(level)), Some(SwitchRequest(level - 1))));
    }
}

#[test]
fn throughput_rule_is_silent_when_it_does_not_know() {
    let (ladder, none, fast) = (Ladder::xu_claypool(), Throughput::default(), throughput(9_000));
    assert_eq!(throughput_rule::decide(&situation(&ladder, &none, 8_000)), None);
    let empty = Situation { empty: true, ..situation(&ladder, &fast, 200) };
    assert_eq!(throughput_rule::decide(&empty), None);
    let unsettled = Situation { settled: false, ..situation(&ladder, &fast, 8_000) };
    assert_eq!(throughput_rule::decide(&unsettled), None);
    assert_eq!(throughput_rule::decide(&situation(&ladder, &fast, 8_000)), Some(SwitchRequest(2)));
}

/// With a segment of 4 s and B seconds of buffer: at most 0.7 B / 4 of the throughput.
#[test]
fn insufficient_buffer_leaves_time_for_the_download() {
    let (ladder, fast) = (Ladder::xu_claypool(), throughput(10_000));
    let mut rule = InsufficientBuffer::default();
    rule.on_appended();
    assert_eq!(rule.decide(&situation(&ladder, &fast, 1_000)), None, "too early to tell");
    rule.on_appended();
    let wish = |milliseconds| rule.decide(&situation(&ladder, &fast, milliseconds));
    // 3 Mb/s need 3 / 10 * 4 / 0.7 = 1.714 s.
    assert_eq!((wish(1_714), wish(1_715)), (Some(SwitchRequest(0)), Some(SwitchRequest(1))));
    assert_eq!((wish(9_999), wish(10_000)), (Some(SwitchRequest(3)), Some(SwitchRequest(4))));
    let empty = Situation { empty: true, ..situation(&ladder, &fast, 10_000) };
    assert_eq!(rule.decide(&empty), Some(SwitchRequest(0)));
    assert_eq!(rule.decide(&situation(&ladder, &fast, 0)), None, "nothing has played yet");
}

#[test]
fn switch_history_keeps_below_a_level_that_failed() {
    let mut history = SwitchHistory::new(5);
    for _ in 0..7 {
        history.push(2, 3);
        assert_eq!(history.decide(), None, "too few");
    }
    history.push(3, 2);
    assert_eq!(history.decide(), Some(SwitchRequest(2)), "one drop from level 3 in eight");
    for _ in 0..7 {
        history.push(2, 2);
        assert_eq!(history.decide(), Some(SwitchRequest(2)));
    }
    history.push(2, 2);
    assert_eq!(history.decide(), None, "forgotten after eight more");
    // Without the drop nothing is held back.
    let mut calm = SwitchHistory::new(5);
    (0..20).for_each(|_| calm.push(3, 3));
    assert_eq!(calm.decide(), None);
    history.push(4, 0);
    assert_eq!(history.decide(), Some(SwitchRequest(3)));
    history.clear();
    assert_eq!(history.decide(), None);
}

#[test]
fn switch_history_of_drops_alone_keeps_below_their_level() {
    let mut history = SwitchHistory::new(5);
    (0..7).for_each(|_| history.push(4, 0));
    assert_eq!(history.decide(), None, "too few");
    history.push(4, 0);
    assert_eq!(history.decide(), Some(SwitchRequest(3)));
}

/// Drops of lower levels count at the higher ones, and only a level with drops of its own is left.
#[test]
fn switch_history_adds_from_below() {
    let mut history = SwitchHistory::new(5);
    history.push(1, 0);
    (0..7).for_each(|_| history.push(3, 3));
    assert_eq!(history.decide(), Some(SwitchRequest(3)), "eight decisions are reached at level 3");
}

#[test]
fn dynamic_changes_rules_at_six_and_twelve_seconds() {
    let mut rules = Rules::new(Strategy::Dynamic, &Ladder::xu_claypool(), Duration::from_secs(18));
    let mut uses = |milliseconds| {
        rules.on_buffer_level(Duration::from_millis(milliseconds));
        rules.uses_bola()
    };
    let seen = [0, 11_999, 12_000, 6_000, 5_999, 11_999, 30_000].map(&mut uses);
    assert_eq!(seen, [false, false, true, true, false, false, true]);
    for (strategy, bola) in [(Strategy::Throughput, false), (Strategy::Bola, true)] {
        let mut rules = Rules::new(strategy, &Ladder::xu_claypool(), Duration::from_secs(18));
        for seconds in [0, 30, 0] {
            rules.on_buffer_level(Duration::from_secs(seconds));
            assert_eq!(rules.uses_bola(), bola);
        }
    }
}

#[test]
fn the_lowest_wish_counts() {
    let (ladder, fast) = (Ladder::xu_claypool(), throughput(12_000));
    let mut rules = Rules::new(Strategy::Throughput, &ladder, Duration::from_secs(18));
    rules.on_appended();
    rules.on_appended();
    let full = rules.decide(&situation(&ladder, &fast, 9_000));
    assert_eq!(full, Decision { level: Some(3), wait: Some(Duration::ZERO) });
    let low = rules.decide(&situation(&ladder, &fast, 1_500));
    assert_eq!(low.level, Some(1), "0.7 x 12 x 1.5 / 4 is 3.15");
    let nothing = Throughput::default();
    let mut early = Rules::new(Strategy::Throughput, &ladder, Duration::from_secs(18));
    let silent = early.decide(&situation(&ladder, &nothing, 0));
    assert_eq!(silent, Decision { level: None, wait: None });
}

/// A download at a constant rate after the first report, looked at after so long.
fn loading(level: usize, kbps: u64, milliseconds: i64) -> Loading {
    let mut progress = Progress::default();
    for tick in (0..=milliseconds).step_by(50) {
        let body = Bytes::new(1_000 + kbps * tick.unsigned_abs() / 8);
        assert!(progress.on_received(at(tick), body));
    }
    Loading { level, size: video().size(level, 0), progress }
}

fn video() -> Presentation {
    let sizes = SegmentSizes::Constant;
    Presentation::new(Ladder::xu_claypool(), SEGMENT_LENGTH, None, sizes).expect("a video")
}

/// 10 Mb/s for 4 s take 1.8 x 4 s at 5.56 Mb/s.
#[test]
fn what_takes_too_long_is_abandoned_for_what_the_rate_carries() {
    let video = video();
    let decide = |kbps, time| abandon::decide(&loading(3, kbps, time), &video, 3);
    assert_eq!(decide(4_000, 1_000), Some(1));
    assert_eq!(decide(5_550, 1_000), Some(2));
    assert_eq!(decide(5_600, 1_000), None);
    assert_eq!(decide(4_000, 500), None, "not more than half a second");
    assert_eq!(decide(4_000, 550), Some(1));
    // After 7.5 s of 4 Mb/s a quarter is left, less than 3 Mb/s for 4 s.
    assert_eq!(decide(4_000, 7_500), None);
    let lowest = abandon::decide(&loading(0, 100, 1_000), &video, 0);
    assert_eq!(lowest, None, "nothing is lower");
    let left = abandon::decide(&loading(3, 4_000, 1_000), &video, 0);
    assert_eq!(left, None, "the lowest level is in use already");
}

#[test]
fn few_reports_are_no_reason() {
    let mut progress = Progress::default();
    for report in 0..5 {
        assert!(progress.on_received(at(report * 200), Bytes::new(1_000 + report.unsigned_abs())));
    }
    let size = Bytes::new(5_000_000);
    let five = Loading { level: 3, size, progress };
    assert_eq!(abandon::decide(&five, &video(), 3), None);
    assert!(!progress.on_received(at(849), Bytes::new(1_100)), "sooner than 50 ms");
    assert!(!progress.on_received(at(850), Bytes::new(1_004)), "nothing new");
    assert!(progress.on_received(at(850), Bytes::new(1_200)));
    assert_eq!(abandon::decide(&Loading { level: 3, size, progress }, &video(), 3), Some(0));
    assert_eq!(progress.sample(), Some((Bytes::new(200), Duration::from_millis(850))));
}

/// Half of 5 MB is as much as the whole segment has at 5 Mb/s instead of 10: to begin anew would save nothing.
#[test]
fn what_is_left_must_be_more_than_the_other_level_has() {
    let decide = |received: u64| {
        let mut progress = Progress::default();
        for report in 0..6 {
            assert!(
                progress.on_received(at(report * 100), Bytes::new(1_000 + report.unsigned_abs()))
            );
        }
        // 5.2 Mb/s, at which the 40 Mbit take 7.7 s: more than 1.8 times 4 s.
        assert!(progress.on_received(at(3_840), Bytes::new(received)));
        abandon::decide(&Loading { level: 3, size: video().size(3, 0), progress }, &video(), 3)
    };
    assert_eq!(decide(2_500_000), None);
    assert_eq!(decide(2_499_999), Some(2));
}

/// 36 Mbit at 5 Mb/s take 7.2 s, 1.8 times a segment of 4 s; 8 kbit less take less.
#[test]
fn a_download_of_exactly_the_longest_time_is_abandoned() {
    let decide = |size| {
        let size = Bytes::new(size);
        abandon::decide(&Loading { size, ..loading(3, 5_000, 1_000) }, &video(), 3)
    };
    assert_eq!(decide(4_500_000), Some(2));
    assert_eq!(decide(4_499_000), None);
}
