//! The whole player over a link of known capacity: closed forms, properties, and twins that differ.
//!
//! Not on the network of the testbed: a player is told how many bytes of one answer have come, at the ticks of its driver.
//! Here bytes come at the capacity, as a fluid, so that what a rule reads has a closed form. Packets and a queue would stand
//! between the two, and the driver would join the packets into the same counts at the same ticks.

use gameway_dash::{
    Action, Event, Fate, Ladder, Player, PlayerState, Presentation, Request, RequestKind,
    SEGMENT_LENGTH, Segment, SegmentSizes, Settings, Strategy,
};
use gameway_units::{Bytes, Duration, Instant, Rate};
use proptest::prelude::{Strategy as _, any, prop, proptest};
use std::collections::BTreeMap;

const ROUND_TRIP: Duration = Duration::from_millis(20);
const TICK: Duration = Duration::from_millis(10);

/// A link without a queue: an answer begins after a round trip and comes at the capacity of the second.
struct Link {
    /// Capacity of each second; the last one stays.
    capacity: Vec<Rate>,
    answer: Option<(Request, Instant, f64)>,
}

impl Link {
    fn steady(mbps: f64) -> Self {
        Self { capacity: vec![Rate::from_bps_f64(mbps * 1e6)], answer: None }
    }

    fn rate(&self, now: Instant) -> f64 {
        let second = now.as_secs_f64() as usize;
        self.capacity[second.min(self.capacity.len() - 1)].as_bps_f64()
    }

    /// A tick passes: how much of the answer is there.
    fn tick(&mut self, now: Instant) -> Option<Bytes> {
        let rate = self.rate(now);
        let (request, begins, bytes) = self.answer.as_mut().filter(|answer| answer.1 <= now)?;
        let _ = begins;
        *bytes += rate / 8.0 * TICK.as_secs_f64();
        let received = Bytes::from_f64(*bytes).min(request.download);
        if received == request.download {
            self.answer = None;
        }
        Some(received)
    }
}

#[derive(Debug, Default)]
struct Seen {
    segments: Vec<Segment>,
    delay: Option<Duration>,
    stalls: Vec<Duration>,
    /// Requests, and the player's state when they were made.
    asked: Vec<(Request, PlayerState)>,
    closed: u32,
    ended: bool,
}

impl Seen {
    fn displayed(&self) -> Vec<&Segment> {
        let shown = |segment: &&Segment| matches!(segment.fate, Fate::Displayed(_));
        self.segments.iter().filter(shown).collect()
    }

    fn levels(&self) -> Vec<usize> {
        self.displayed().iter().map(|segment| segment.level).collect()
    }

    fn count(&self, fate: fn(&Fate) -> bool) -> usize {
        self.segments.iter().filter(|segment| fate(&segment.fate)).count()
    }

    fn drain(&mut self, player: &mut Player) {
        while let Some(event) = player.poll_event() {
            match event {
                Event::Started { delay, .. } => assert_eq!(self.delay.replace(delay), None),
                Event::Stalled { .. } => {}
                Event::Resumed { lasted, .. } => self.stalls.push(lasted),
                Event::Segment(segment) => self.segments.push(segment),
                Event::Ended { .. } => self.ended = true,
            }
        }
    }
}

fn video(segments: Option<u64>) -> Presentation {
    let sizes = SegmentSizes::Constant;
    Presentation::new(Ladder::xu_claypool(), SEGMENT_LENGTH, segments, sizes).expect("a video")
}

/// Of a player that leaves what is buffered as it is: what rules want is what is shown.
fn strategy(strategy: Strategy) -> Settings {
    Settings { strategy, fast_switch: false, ..Settings::default() }
}

/// Plays for so many seconds, with `check` after each tick.
fn play_and(
    (settings, video): (Settings, Presentation),
    mut link: Link,
    seconds: i64,
    mut check: impl FnMut(&Player, Instant),
) -> Seen {
    let mut player = Player::new(settings, video, Instant::ZERO);
    let (mut seen, mut now) = (Seen::default(), Instant::ZERO);
    let end = Instant::ZERO + Duration::from_secs(seconds);
    while now < end {
        player.on_deadline(now);
        if let Some(received) = link.tick(now) {
            player.on_received(now, received);
        }
        while let Some(action) = player.poll_action() {
            match action {
                Action::Close => {
                    link.answer = None;
                    seen.closed += 1;
                }
                Action::Send(request) => {
                    assert!(link.answer.is_none(), "one request at a time");
                    let last = seen.asked.last().map(|(last, _)| last.number);
                    assert!(last.is_none_or(|last| request.number > last));
                    assert_eq!(request.connection, seen.closed);
                    seen.asked.push((request, player.state(now)));
                    link.answer = Some((request, now + ROUND_TRIP, 0.0));
                }
            }
        }
        check(&player, now);
        seen.drain(&mut player);
        now += TICK;
    }
    player.stop(end);
    seen.drain(&mut player);
    assert_eq!((player.next_deadline(), player.is_finished()), (None, true));
    seen
}

fn play(settings: Settings, link: Link, seconds: i64) -> Seen {
    play_and((settings, video(None)), link, seconds, |_, _| {})
}

#[test]
fn throughput_rule_settles_at_the_highest_level_within_nine_tenths() {
    for (mbps, level) in
        [(2.5, 0), (3.2, 0), (3.5, 1), (5.4, 1), (5.7, 2), (11.3, 3), (19.2, 3), (20.0, 4)]
    {
        let seen = play(strategy(Strategy::Throughput), Link::steady(mbps), 120);
        let levels = seen.levels();
        assert_eq!(levels[0], 0, "the first is the lowest");
        assert!(levels[18..].iter().all(|played| *played == level), "{mbps} Mb/s: {levels:?}");
        assert_eq!(seen.stalls, []);
    }
}

/// BOLA fetches above and below what the link carries, by its buffer: on average what it carries.
#[test]
fn every_strategy_uses_a_steady_link_and_never_stalls() {
    let mean = |levels: &[usize]| {
        let ladder = Ladder::xu_claypool();
        levels.iter().map(|level| ladder.kbps(*level)).sum::<f64>() / levels.len() as f64 / 1e3
    };
    for chosen in [Strategy::Dynamic, Strategy::Throughput, Strategy::Bola] {
        for mbps in [3.0, 8.0, 15.0, 25.0] {
            let seen = play(strategy(chosen), Link::steady(mbps), 300);
            let quality = mean(&seen.levels()[10..]);
            let ladder = Ladder::xu_claypool();
            let carried = ladder.kbps(ladder.max_within(mbps * 900.0)) / 1e3;
            assert!(quality >= 0.95 * carried && quality <= mbps, "{chosen:?} {mbps}: {quality}");
            assert_eq!(seen.stalls, [], "{chosen:?} at {mbps} Mb/s");
        }
    }
}

/// By hand: three round trips, and the three answers at the capacity; each is seen at the next tick.
#[test]
fn playback_begins_with_the_first_segment() {
    let seen = play(Settings::default(), Link::steady(8.0), 30);
    let http = Settings::default().http;
    let bytes = http.manifest + http.initialization + http.response * 3 + Bytes::new(1_000_000);
    let min = ROUND_TRIP * 3 + Rate::from_mbps(8).time_for(bytes);
    let delay = seen.delay.expect("it plays");
    assert!(delay >= min - TICK * 3 && delay <= min + TICK * 6, "{delay}, at least {min}");
}

/// Below the lowest level it stalls, by exactly what does not fit; above it, it does not.
#[test]
fn interruptions_are_what_the_link_lacks() {
    let slow = play(Settings::default(), Link::steady(1.5), 400);
    let stalled: f64 = slow.stalls.iter().map(|stall| stall.as_secs_f64()).sum();
    // Of 400 s, 1.5 / 2 is played at the lowest level.
    assert!((95.0..110.0).contains(&stalled), "{stalled} s in {} stalls", slow.stalls.len());
    assert!(slow.levels().iter().all(|level| *level == 0));
    let enough = play(Settings::default(), Link::steady(2.3), 400);
    assert_eq!(enough.stalls, []);
}

#[test]
fn the_buffer_ends_at_its_target() {
    let max_buffer = |mbps, segments| {
        let mut max = Duration::ZERO;
        let settings = strategy(Strategy::Throughput);
        let video = video(segments);
        let _ = play_and((settings, video), Link::steady(mbps), 300, |player, now| {
            max = max.max(player.state(now).buffer);
        });
        max.as_secs_f64()
    };
    // It asks with less than a segment of room only; so it ends within a segment below the target.
    assert!((14.0..=18.0).contains(&max_buffer(4.0, None)), "{}", max_buffer(4.0, None));
    assert!((56.0..=60.0).contains(&max_buffer(40.0, None)), "{}", max_buffer(40.0, None));
    assert!(
        (26.0..=30.0).contains(&max_buffer(40.0, Some(149))),
        "{}",
        max_buffer(40.0, Some(149))
    );
    assert!(
        (56.0..=60.0).contains(&max_buffer(40.0, Some(150))),
        "{}",
        max_buffer(40.0, Some(150))
    );
}

/// The link grows: what was buffered low is fetched again, beginning with what is on the screen, which is too late.
#[test]
fn a_rise_replaces_what_is_buffered_lower() {
    let link = || Link {
        capacity: [vec![Rate::from_mbps(4); 60], vec![Rate::from_mbps(40)]].concat(),
        answer: None,
    };
    let slow = strategy(Strategy::Throughput);
    let fast = play(Settings { fast_switch: true, ..slow }, link(), 120);
    let slow = play(slow, link(), 120);
    let again = |segment: &&Segment| segment.level > 1 && segment.requested > full_at(60);
    let first = fast.segments.iter().filter(again).min_by_key(|segment| segment.requested);
    let first = first.expect("it is fetched again");
    let on_screen = |segment: &&&Segment| match segment.fate {
        Fate::Displayed(at) => Some(at) <= first.requested,
        _ => false,
    };
    let shown = fast.displayed();
    assert_eq!(shown.iter().rfind(on_screen).map(|last| last.index), Some(first.index));
    assert_eq!(first.fate, Fate::TooLate);
    assert!(fast.count(|fate| matches!(fate, Fate::Replaced(_))) >= 1);
    assert_eq!(slow.count(|fate| matches!(fate, Fate::Replaced(_))), 0);
    let high = |seen: &Seen| seen.levels().iter().position(|level| *level == 4);
    assert!(high(&fast) < high(&slow), "that is what it is for: {:?}", high(&fast));
}

/// The link falls while a high level is fetched: the download is given up, on a new connection.
#[test]
fn a_fall_abandons_what_is_under_way() {
    let falls_to = |mbps| Link {
        capacity: [vec![Rate::from_mbps(30); 3], vec![Rate::from_mbps(mbps)]].concat(),
        answer: None,
    };
    let fell = play(strategy(Strategy::Dynamic), falls_to(3), 60);
    let is_abandoned = |segment: &&Segment| matches!(segment.fate, Fate::Abandoned(_));
    let abandoned: Vec<&Segment> = fell.segments.iter().filter(is_abandoned).collect();
    assert_eq!((abandoned.len(), fell.closed), (1, 1));
    let again = fell.segments.iter().filter(|segment| segment.index == abandoned[0].index);
    assert!(
        again
            .clone()
            .any(|segment| segment.level < abandoned[0].level && segment.complete.is_some())
    );
    assert!(abandoned[0].received < abandoned[0].size);
    let steady = play(strategy(Strategy::Dynamic), falls_to(30), 60);
    assert_eq!(steady.count(|fate| matches!(fate, Fate::Abandoned(_))), 0);
}

/// While there is more than the target to play, what is slow is waited for.
#[test]
fn nothing_is_abandoned_with_a_large_buffer() {
    let falls_after = |seconds: usize| Link {
        capacity: [vec![Rate::from_mbps(30); seconds], vec![Rate::from_mbps(3)]].concat(),
        answer: None,
    };
    // 56 s are there after a minute and a half, and 23 s take the last of the highest level.
    let full = play(strategy(Strategy::Dynamic), falls_after(91), 110);
    assert_eq!(full.count(|fate| matches!(fate, Fate::Abandoned(_))), 0);
    let slow = full.segments.iter().filter(|segment| segment.requested > full_at(80)).count();
    assert!(slow >= 1, "one was under way");
    let small = play(strategy(Strategy::Dynamic), falls_after(3), 22);
    assert_eq!(small.count(|fate| matches!(fate, Fate::Abandoned(_))), 1);
}

fn full_at(seconds: i64) -> Option<Instant> {
    Some(Instant::ZERO + Duration::from_secs(seconds))
}

/// BOLA does not fill a large buffer with a low level: it waits. Throughput does not.
#[test]
fn bola_waits_rather_than_buffer_the_lowest_level() {
    let max_buffer = |chosen| {
        let mut max = Duration::ZERO;
        let buffer_target = Duration::from_secs(40);
        let settings = Settings { buffer_target, ..strategy(chosen) };
        let _ = play_and((settings, video(None)), Link::steady(2.9), 300, |player, now| {
            max = max.max(player.state(now).buffer);
        });
        max.as_secs_f64()
    };
    // V (u + g) of the lowest level is 23.8 s, and a segment more.
    assert!((20.0..=28.0).contains(&max_buffer(Strategy::Bola)), "{}", max_buffer(Strategy::Bola));
    assert!(
        (36.0..=40.0).contains(&max_buffer(Strategy::Throughput)),
        "{}",
        max_buffer(Strategy::Throughput)
    );
}

/// A link that jumps each nine seconds, as `seed` has it.
fn rough_link(seed: u64) -> Link {
    let mut state = seed;
    let mut rough = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        [300, 2_800, 4_000, 9_000, 14_000, 40_000][(state >> 33) as usize % 6]
    };
    let capacity = (0..45).flat_map(|_| vec![Rate::from_kbps(rough()); 9]).collect();
    Link { capacity, answer: None }
}

const STRATEGIES: [Strategy; 3] = [Strategy::Dynamic, Strategy::Throughput, Strategy::Bola];

/// Five minutes, level by level: a change of any rule or of how they are put together shows.
#[test]
fn a_rough_link_segment_by_segment() {
    let told = STRATEGIES.map(|chosen| {
        let settings = Settings { strategy: chosen, ..Settings::default() };
        let seen = play(settings, rough_link(1), 300);
        let levels: String = seen.levels().iter().map(|level| (level + 1).to_string()).collect();
        let abandoned = seen.count(|fate| matches!(fate, Fate::Abandoned(_)));
        let replaced = seen.count(|fate| matches!(fate, Fate::Replaced(_)));
        let stalled: f64 = seen.stalls.iter().map(|stall| stall.as_secs_f64()).sum();
        format!("{levels} abandoned {abandoned} replaced {replaced} stalled {stalled:.1} s")
    });
    let expected = [
        "111222134411111233333222211121334455543332111111111111111123344555 \
         abandoned 4 replaced 14 stalled 35.1 s",
        "111222134411111233333222211121334455543332111111111111111123344555 \
         abandoned 4 replaced 14 stalled 35.1 s",
        "1111221221111111333333333111213344555412333222221112111111133345542 \
         abandoned 2 replaced 14 stalled 31.2 s",
    ];
    assert_eq!(told, expected);
}

/// The same of many links, in sums: levels displayed, abandoned, replaced.
#[test]
fn many_rough_links_in_sums() {
    let sums = STRATEGIES.map(|chosen| {
        let mut sums = [0, 0, 0];
        for seed in 2..42 {
            let settings = Settings { strategy: chosen, ..Settings::default() };
            let seen = play(settings, rough_link(seed), 300);
            sums[0] += seen.levels().iter().sum::<usize>();
            sums[1] += seen.count(|fate| matches!(fate, Fate::Abandoned(_)));
            sums[2] += seen.count(|fate| matches!(fate, Fate::Replaced(_)));
        }
        sums
    });
    assert_eq!(sums, [[3452, 150, 488], [3251, 145, 495], [3411, 153, 492]]);
}

/// Nothing comes: after 20 s the request is repeated over a new connection.
#[test]
fn a_request_without_answer_is_repeated() {
    let capacity = [vec![Rate::from_mbps(5); 10], vec![Rate::ZERO; 45], vec![Rate::from_mbps(5)]];
    let link = Link { capacity: capacity.concat(), answer: None };
    let seen = play(strategy(Strategy::Dynamic), link, 120);
    let failed = seen.count(|fate| matches!(fate, Fate::TimedOut(_)));
    assert!((2..=3).contains(&failed), "{failed}");
    assert_eq!(seen.stalls.len(), 1);
    let segments = seen.displayed();
    assert!(segments.windows(2).all(|pair| pair[1].index == pair[0].index + 1));
}

#[test]
fn a_whole_video_ends() {
    let seen = play_and((Settings::default(), video(Some(20))), Link::steady(8.0), 120, |_, _| {});
    assert!(seen.ended && seen.stalls.is_empty());
    assert_eq!(seen.displayed().len(), 20);
    let shorter =
        play_and((Settings::default(), video(Some(20))), Link::steady(8.0), 60, |_, _| {});
    assert!(!shorter.ended);
}

/// What must hold whatever the link does.
fn holds(settings: Settings, capacity: Vec<Rate>) {
    let seconds = 60 + capacity.len() as i64;
    let mut played = Duration::ZERO;
    let link = Link { capacity, answer: None };
    let seen = play_and((settings, video(None)), link, seconds, |player, now| {
        let state = player.state(now);
        assert!(state.buffer >= Duration::ZERO, "{}", state.buffer);
        assert!(state.buffer <= state.buffer_target.max(Duration::from_secs(60)));
        assert!(!state.stalled || state.buffer == Duration::ZERO);
        played = state.buffer;
    });
    rises_leave_time(&seen);
    let displayed = seen.displayed();
    let order: Vec<u64> = displayed.iter().map(|segment| segment.index).collect();
    assert_eq!(order, (0..order.len() as u64).collect::<Vec<u64>>(), "each once, in order");
    // Each segment that came whole was displayed, replaced, too late, or is there at the end.
    let mut newest = BTreeMap::new();
    for segment in seen.segments.iter().filter(|segment| segment.complete.is_some()) {
        // All of it, or nothing where the browser had it.
        assert!([segment.size, Bytes::ZERO].contains(&segment.received));
        let kept = matches!(segment.fate, Fate::Displayed(_) | Fate::Buffered);
        *newest.entry(segment.index).or_insert(0) += u32::from(kept);
        if let Fate::Displayed(at) = segment.fate {
            assert!(segment.requested <= segment.first_byte && segment.complete <= Some(at));
        }
    }
    assert!(newest.values().all(|kept| *kept == 1), "{newest:?}");
    // Media that came once is played or buffered: to the length of a segment on the screen.
    let began = seen.delay.unwrap_or(Duration::from_secs(seconds));
    let stalled: Duration = seen.stalls.iter().copied().sum();
    let shown = Duration::from_secs(seconds) - began - stalled;
    let came = SEGMENT_LENGTH * newest.len() as i64;
    assert!((came - shown - played).as_nanos().abs() <= TICK.as_nanos(), "{came} {shown} {played}");
}

/// Once two segments are there, a level is taken up only if its next segment comes while 0.7 of the buffer
/// plays: at the moment when its initialization is asked for. One that the browser's cache has is not asked
/// for here: then the level shows in the next segment only.
fn rises_leave_time(seen: &Seen) {
    let (mut level, mut segments) = (0, 0);
    for (request, state) in &seen.asked {
        match request.kind {
            RequestKind::Initialization { level: new } => {
                let kbps = state.throughput_kbps.unwrap_or(0.0);
                let max = 0.7 * kbps * state.buffer.as_secs_f64() / SEGMENT_LENGTH.as_secs_f64();
                let fits = Ladder::xu_claypool().kbps(new) <= max;
                assert!(new <= level || segments <= 2 || fits, "{new} of {max} kb/s");
                level = new;
            }
            RequestKind::Segment { level: of_it, .. } => {
                level = of_it;
                segments += 1;
            }
            RequestKind::Manifest => {}
        }
    }
}

proptest! {
    #[test]
    fn what_comes_is_shown_once(
        capacity in prop::collection::vec((0_u64..30_000).prop_map(Rate::from_kbps), 1..120),
        chosen in 0_usize..3,
        fast_switch in any::<bool>(),
    ) {
        let strategy = [Strategy::Dynamic, Strategy::Throughput, Strategy::Bola][chosen];
        holds(Settings { strategy, fast_switch, ..Settings::default() }, capacity);
    }
}
