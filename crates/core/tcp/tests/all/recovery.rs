//! How a loss is found and repaired, and how it is taken back, ACK by ACK.

use crate::scripted::{Fixed, MSS, Script, Told, at};
use gameway_tcp::{Application, EcnMode, Phase, SenderConfig};
use gameway_units::{Bytes, Duration, Instant};

fn on_demand() -> SenderConfig {
    let application = Application { on_demand: true, ..Application::default() };
    SenderConfig { application, ..SenderConfig::default() }
}

/// Ten segments have left at 20 ms.
fn ten_out() -> Script {
    let mut script = Script::new(SenderConfig::default(), Fixed::new(10));
    assert_eq!(script.sent(20_000).len(), 10);
    script
}

/// A path on which a segment came so late that it was sent again: DupThresh is six from now on. All is acknowledged.
fn reordered() -> Script {
    let mut script = Script::new(on_demand(), Fixed::new(20));
    script.sender.write(Bytes::new(10 * MSS));
    script.sent(20_000);
    script.ack(40_000, 0, &[(1, 4)]);
    assert_eq!(script.places(40_000), [0]);
    script.ack(41_000, 4, &[]);
    assert_eq!((script.sender.stats().spurious, script.sender.stats().phase), (1, Phase::Open));
    script.ack(41_000, 10, &[]);
    assert_eq!(script.sent(41_000), []);
    script.echo = at(100_000);
    script
}

/// RFC 6675 section 4: more than five segments behind it prove a loss at once, and not less, as long as there is more to send.
#[test]
fn on_a_path_that_reorders_more_segments_prove_a_loss() {
    let mut script = reordered();
    script.sender.write(Bytes::new(40 * MSS));
    assert_eq!(script.sent(100_000).len(), 20);
    let repaired = |script: &mut Script, last: u64| {
        script.ack(120_000, 10, &[(11, last)]);
        script.places(120_000).contains(&10)
    };
    assert!(!repaired(&mut script, 16), "five");
    let due = script.sender.next_deadline().expect("the time-out");
    assert!(due >= at(320_000), "no time at which it would be lost by its age: {due:?}");
    assert!(repaired(&mut script, 17), "six");
}

/// RFC 8985 section 6.2: where nothing more follows, age proves it.
#[test]
fn on_a_path_that_reorders_age_proves_the_loss_of_a_tail() {
    let mut script = reordered();
    script.sender.write(Bytes::new(3 * MSS));
    assert_eq!(script.sent(100_000).len(), 3);
    script.ack(120_000, 10, &[(11, 13)]);
    assert_eq!(script.sent(120_000), []);
    // A round trip, a quarter of the smallest, the least time of a timer.
    let due = script.sender.next_deadline().expect("the reordering timer");
    assert_eq!(due, at(120_000 + 5_000 + 2_000));
    assert_eq!(script.places(127_000), [10]);
}

/// Linux `tcp_rack_reo_wnd`: a segment may be late by a quarter of the round trip as long as less than DupThresh have come
/// behind a gap and nothing is being repaired.
#[test]
fn what_is_sent_before_waits_for_nothing_once_three_segments_are_behind_a_gap_or_in_recovery() {
    let mut script = ten_out();
    // Only one is behind the fifth, but four behind a gap.
    script.ack(40_000, 0, &[(1, 4), (5, 6)]);
    assert_eq!(script.places(40_000)[..2], [0, 4]);

    let mut slow = ten_out();
    slow.ack(40_000, 0, &[(1, 2)]);
    assert_eq!(slow.places(40_000), [10]);
    assert_eq!(slow.places(47_000), [0], "by its age");
    slow.ack(48_000, 0, &[(1, 2), (3, 4)]);
    assert_eq!(slow.places(48_000)[0], 2, "two are behind a gap, but a recovery is on");
    assert_eq!(slow.sender.stats().recoveries, 1);
}

/// The timer of what may yet be lost begins no second recovery.
#[test]
fn an_age_that_is_reached_in_a_recovery_belongs_to_it() {
    let mut script = ten_out();
    script.ack(40_000, 0, &[(1, 5), (6, 10)]);
    for (micros, expected) in [(40_000, 0), (43_000, 5)] {
        let again = script.sender.poll_transmit(at(micros)).expect("sent again");
        assert_eq!(again.sequence, expected * MSS);
    }
    assert!(script.places(44_000).contains(&10));
    // The first has come after 22 ms, and what left last. The sixth is late only 22 ms after it left.
    script.echo = at(40_000);
    script.ack(62_000, 5, &[(6, 11)]);
    assert!(!script.places(62_000).contains(&5));
    assert_eq!(script.sender.next_deadline(), Some(at(43_000 + 22_000 + 2_000)));
    assert_eq!(script.places(67_000)[0], 5);
    let stats = script.sender.stats();
    assert_eq!((stats.recoveries, stats.phase), (1, Phase::Recovery));
}

/// RFC 8985 section 6.2 step 2: what arrives sooner than any round trip after it was sent again was sent before, and tells
/// nothing of what was sent meanwhile.
#[test]
fn an_original_that_comes_late_proves_no_loss() {
    let mut script = ten_out();
    script.ack(40_000, 0, &[(2, 5)]);
    assert_eq!(script.places(40_000)[..2], [0, 1]);
    script.told();
    script.ack(41_000, 0, &[(1, 5)]);
    assert_eq!(script.told_of_ack().newly_lost, Bytes::ZERO);
}

/// RFC 9937 section 6: with less in flight than is wanted, an ACK lets out what it delivered, and one segment more if it moves
/// forward and tells of no further loss.
#[test]
fn a_recovery_grows_on_safe_acks_alone() {
    let mut script = ten_out();
    script.ack(40_000, 0, &[(6, 9)]);
    assert_eq!(script.places(40_000), [0, 1, 2], "as many as came");
    script.echo = at(40_000);
    script.ack(60_000, 1, &[(6, 9)]);
    assert_eq!(script.places(60_000), [3, 4], "one came, and nothing more is lost");
    script.ack(60_100, 1, &[(6, 10)]);
    assert_eq!(script.places(60_100), [5], "it moved nothing forward");
}

/// RFC 9937 section 6: with more in flight than is wanted, half a segment leaves for each that arrives where the half of
/// what was out is wanted.
#[test]
fn a_recovery_that_halves_lets_out_one_segment_for_two() {
    let congestion = Fixed::new(20).lowered_to(10);
    let mut script = Script::new(SenderConfig::default(), congestion);
    assert_eq!(script.sent(20_000).len(), 20);
    script.ack(40_000, 0, &[(1, 4)]);
    assert_eq!(script.places(40_000), [0], "three halves");
    let mut left = Vec::new();
    for arrived in 4..10_u64 {
        let micros = 40_000 + arrived as i64;
        script.ack(micros, 0, &[(1, arrived + 1)]);
        left.push(script.sent(micros).len());
    }
    assert_eq!(left, [1, 0, 1, 0, 1, 0]);
}

/// Linux `tcp_rack_reo_timeout`: the segment that leaves on a timer counts as one that was delivered.
#[test]
fn a_recovery_that_a_timer_begins_has_let_out_one_segment() {
    let congestion = Fixed::new(20).lowered_to(10);
    let mut script = Script::new(SenderConfig::default(), congestion);
    assert_eq!(script.sent(20_000).len(), 20);
    script.ack(40_000, 0, &[(1, 2)]);
    assert_eq!(script.places(40_000), [20]);
    assert_eq!(script.places(47_000), [0], "of twenty that are out");
    let mut left = Vec::new();
    for arrived in 2..7_u64 {
        let micros = 47_000 + arrived as i64;
        script.ack(micros, 0, &[(1, arrived + 1)]);
        left.push(script.sent(micros).len());
    }
    // Half of two is the one that has left.
    assert_eq!(left, [0, 0, 1, 0, 1]);
}

/// RFC 6298 section 5.3: only what newly arrives restarts the timer.
#[test]
fn an_ack_that_tells_nothing_new_leaves_the_time_out() {
    let config = SenderConfig { tail_loss_probe: false, ..SenderConfig::default() };
    let mut script = Script::new(config, Fixed::new(10));
    script.sent(20_000);
    script.ack(40_000, 1, &[]);
    script.sent(40_000);
    assert_eq!(script.sender.next_deadline(), Some(at(260_000)));
    script.ack(50_000, 1, &[]);
    assert_eq!(script.sender.next_deadline(), Some(at(260_000)));
    script.ack(60_000, 1, &[(2, 3)]);
    assert!(
        script.sender.next_deadline().is_some_and(|due| due > at(260_000) || due < at(100_000))
    );
}

/// RFC 7323 section 4.1 and Karn: of what was sent twice the echo tells the round trip, if there is one, on an ACK that moves
/// forward.
#[test]
fn the_echo_measures_what_was_sent_again() {
    let smoothed = |echo: Instant, runs: &[(u64, u64)], of: u64| {
        let config = SenderConfig { tail_loss_probe: false, ..SenderConfig::default() };
        let mut script = Script::new(config, Fixed::new(10));
        script.sent(20_000);
        assert_eq!(script.places(240_000), (0..10).collect::<Vec<_>>());
        script.echo = echo;
        script.ack(300_000, of, runs);
        script.sender.stats().smoothed_rtt.expect("of the handshake")
    };
    // (7 * 20 + 60) / 8.
    assert_eq!(smoothed(at(240_000), &[], 1), Duration::from_millis(25));
    let handshake = Duration::from_millis(20);
    assert_eq!(smoothed(Instant::ZERO, &[], 1), handshake);
    assert_eq!(smoothed(at(300_001), &[], 1), handshake, "not from the future");
    assert_eq!(smoothed(at(240_000), &[(1, 2)], 0), handshake);
}

/// RFC 4015: what lowered the window is taken back with the loss that was none; a mark is not.
#[test]
fn a_loss_that_was_none_is_taken_back_and_a_mark_is_not() {
    for (marked, taken_back) in [(false, 1), (true, 0)] {
        let config = SenderConfig { ecn: EcnMode::Classic, ..SenderConfig::default() };
        let mut script = Script::new(config, Fixed::new(10));
        script.sent(20_000);
        script.ece = marked;
        script.ack(40_000, 1, &[]);
        assert_eq!(script.sender.stats().recoveries, u64::from(marked));
        script.sent(40_000);
        script.ack(41_000, 1, &[(2, 5)]);
        assert!(script.places(41_000).contains(&1));
        script.ack(42_000, 5, &[]);
        let told = script.told();
        let spurious = told.iter().filter(|told| matches!(told, Told::Spurious)).count();
        assert_eq!((spurious, script.sender.stats().spurious), (taken_back, 1), "{marked}");
    }
}
