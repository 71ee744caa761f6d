//! Segments leave as Linux hands them down: a few at once, whole bursts if the next ACK is near, PSH on their last.

use crate::scripted::{Fixed, MSS, Script, at};
use gameway_tcp::{Application, Flags, Segment, Sender, SenderConfig};
use gameway_units::{Bytes, Duration, Instant, Rate};

const PACE: Rate = Rate::from_mbps(20);

/// Connected over 20 ms, with a window of `segments`; paced at 20 Mb/s a burst is two segments, 1.158 ms.
fn connected(segments: u64, pace: Option<Rate>) -> Sender {
    Script::new(SenderConfig::default(), Fixed::new(segments).paced(pace)).sender
}

fn ack(of: u64, now: Instant, sent: Instant) -> Segment {
    Segment {
        flags: Flags { ack: true, ..Flags::default() },
        acknowledgment: of * MSS,
        window: u16::MAX,
        timestamp_value: now,
        timestamp_echo: sent,
        ..Segment::default()
    }
}

/// How many leave now.
fn leave(sender: &mut Sender, now: Instant) -> usize {
    sender.on_deadline(now);
    std::iter::from_fn(|| sender.poll_transmit(now)).count()
}

#[test]
fn after_the_first_nine_segments_pairs_leave_at_the_pace() {
    let mut sender = connected(1000, Some(PACE));
    let mut sizes = vec![];
    let mut times = vec![];
    let mut now = at(20_000);
    for _ in 0..6 {
        sizes.push(leave(&mut sender, now));
        times.push(now);
        now = sender.next_deadline().expect("paced");
    }
    // The tenth is the second of a pair, which is the first that is paced.
    assert_eq!(sizes, [10, 2, 2, 2, 2, 2]);
    let pair = PACE.time_for(Bytes::new(2 * MSS));
    assert!(times.windows(2).all(|two| two[1] - two[0] == pair), "{times:?} not {pair:?} apart");
}

#[test]
fn room_for_half_a_burst_waits_for_an_ack_that_is_near() {
    let pair = PACE.time_for(Bytes::new(2 * MSS));
    let mut sender = connected(11, Some(PACE));
    assert_eq!(leave(&mut sender, at(20_000)), 10);
    // The first answer is 19 ms away: the half leaves.
    assert_eq!(leave(&mut sender, at(20_000) + pair), 1);

    let mut sender = connected(12, Some(PACE));
    assert_eq!(leave(&mut sender, at(20_000)), 10);
    assert_eq!(leave(&mut sender, at(20_000) + pair), 2, "the window is full");
    sender.on_segment(at(40_000), &ack(2, at(40_000), at(20_000)));
    assert_eq!(leave(&mut sender, at(40_000)), 2);
    sender.on_segment(at(40_100), &ack(3, at(40_100), at(20_000)));
    assert_eq!(leave(&mut sender, at(40_100)), 0, "paced");
    // The third's answer came, so that the fourth's is due.
    let due = sender.next_deadline().expect("paced");
    assert_eq!(leave(&mut sender, due), 0, "one segment of room waits");
    sender.on_segment(due, &ack(4, due, at(20_000)));
    assert_eq!(leave(&mut sender, due), 2);
    // More than a millisecond after the pace allowed the next, it waits no more.
    let later = due + pair + Duration::from_micros(1_100);
    sender.on_segment(later, &ack(5, later, at(20_000)));
    assert_eq!(leave(&mut sender, later), 1);
}

#[test]
fn without_pacing_half_a_burst_waits_only_if_something_left_just_before() {
    for (since, expected) in [(900, 0), (1_100, 1)] {
        let mut sender = connected(12, None);
        assert_eq!(leave(&mut sender, at(20_000)), 12);
        sender.on_segment(at(40_000), &ack(2, at(40_000), at(20_000)));
        assert_eq!(leave(&mut sender, at(40_000)), 2);
        let now = at(40_000 + since);
        sender.on_segment(now, &ack(3, now, at(20_000)));
        assert_eq!(leave(&mut sender, now), expected, "{since} us after the last left");
    }
}

#[test]
fn a_third_of_a_small_window_does_not_wait() {
    for (window, expected) in [(3, 1), (4, 0)] {
        let mut sender = connected(window, None);
        assert_eq!(leave(&mut sender, at(20_000)), window as usize);
        // All but two, then one of the two: it left a round trip ago, so that the other's answer is near.
        sender.on_segment(at(40_000), &ack(window - 2, at(40_000), at(20_000)));
        assert_eq!(leave(&mut sender, at(40_000)), window as usize - 2);
        sender.on_segment(at(40_100), &ack(window - 1, at(40_100), at(20_000)));
        assert_eq!(leave(&mut sender, at(40_100)), expected, "of {window}");
    }
}

/// Linux `tcp_tso_should_defer`: over a millisecond the ACK for which it is worth to wait is half a round trip away at most.
#[test]
fn over_a_short_path_a_burst_waits_for_half_a_round_trip_at_most() {
    // Room for three of twelve, or for four, which is a third.
    for (first, since, expected) in [(9, 400, 3), (9, 600, 0), (8, 600, 4)] {
        let application = Application { on_demand: true, ..Application::default() };
        let config = SenderConfig { application, ..SenderConfig::default() };
        let path = Duration::from_millis(1);
        let mut script = Script::over(path, config, Fixed::avoiding(12));
        script.sender.write(Bytes::new(first * MSS));
        assert_eq!(script.sent(20_000).len() as u64, first);
        script.sender.write(Bytes::new(100 * MSS));
        assert_eq!(script.sent(20_000 + since).len(), expected, "{since} us after");
    }
}

/// Linux `tcp_update_pacing_rate`, `tcp_tso_autosize`: twice the window per round trip in slow start below half of the
/// threshold, 1.2 times else; of that 1/1024 s. 100 segments in 20 ms are 7.24 MB/s: 14.1 and 8.5 kB.
#[test]
fn without_pacing_the_window_sizes_the_bursts() {
    let window = Bytes::new(100 * MSS);
    let sizes =
        [(Bytes::MAX, 9), (window + window + Bytes::new(2), 9), (window + window, 5), (window, 5)];
    for (threshold, expected) in sizes {
        let congestion = Fixed::new(100).with_threshold(threshold);
        let mut script = Script::new(SenderConfig::default(), congestion);
        let sent = script.sent(20_000);
        let pushed = sent.iter().enumerate().filter(|(_, segment)| segment.flags.psh);
        let ends: Vec<usize> = pushed.map(|(place, _)| place + 1).collect();
        let whole: Vec<usize> = (1..=100 / expected).map(|burst| burst * expected).collect();
        assert_eq!(ends, whole, "{threshold}");
    }
}

#[test]
fn the_last_of_a_burst_and_of_what_was_written_has_psh() {
    let mut sender = connected(7, None);
    let pushed = |sender: &mut Sender, now| {
        let pushes = std::iter::from_fn(|| sender.poll_transmit(now)).map(|s| s.flags.psh);
        pushes.collect::<Vec<_>>()
    };
    // Three pairs and one alone, of a stream without end.
    let alone = [false, true, false, true, false, true, false];
    assert_eq!(pushed(&mut sender, at(20_000)), alone);

    let application = Application { bytes: Some(Bytes::new(3 * MSS)), ..Application::default() };
    let config = SenderConfig { application, ..SenderConfig::default() };
    let mut sender = Script::new(config, Fixed::new(7)).sender;
    // A pair, the rest of the data, FIN.
    assert_eq!(pushed(&mut sender, at(20_000)), [false, true, true, false]);
}
