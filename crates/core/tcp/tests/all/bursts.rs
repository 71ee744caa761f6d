//! Segments leave as Linux hands them down: a few at once, whole bursts if the next ACK is near, PSH on their last.

use gameway_tcp::{
    AckEvent, Application, CongestionControl, Flags, Receiver, ReceiverConfig, Segment, Sender,
    SenderConfig, TimeoutEvent,
};
use gameway_units::{Bytes, Duration, Instant, Rate};

const MSS: u64 = 1448;
const PACE: Rate = Rate::from_mbps(20);

/// A window of so many segments; paced at 20 Mb/s a burst is two segments, 1.158 ms.
#[derive(Debug)]
struct Fixed {
    segments: u64,
    pace: Option<Rate>,
}

impl CongestionControl for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn on_ack(&mut self, _ack: &AckEvent) {}
    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {}
    fn on_timeout(&mut self, _timeout: &TimeoutEvent) {}
    fn on_spurious_loss(&mut self, _now: Instant) {}
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.segments * MSS)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }
}

const fn at(micros: i64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

/// Connected over 20 ms, with a window of `segments`.
fn connected(segments: u64, pace: Option<Rate>) -> Sender {
    connected_as(SenderConfig::default(), Fixed { segments, pace })
}

fn connected_as(config: SenderConfig, congestion: Fixed) -> Sender {
    let mut sender = Sender::new(config, Box::new(congestion));
    let mut receiver = Receiver::new(ReceiverConfig::default(), at(0));
    sender.on_segment(at(0), &receiver.poll_transmit(at(0)).expect("SYN"));
    receiver.on_segment(at(10_000), &sender.poll_transmit(at(0)).expect("SYN-ACK"));
    sender.on_segment(at(20_000), &receiver.poll_transmit(at(10_000)).expect("ACK"));
    sender
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
        sender.on_segment(at(40_000), &ack(2, at(40_000), at(20_000)));
        assert_eq!(leave(&mut sender, at(40_000)), 2);
        sender.on_segment(at(40_100), &ack(3, at(40_100), at(20_000)));
        assert_eq!(leave(&mut sender, at(40_100)), expected, "of {window}");
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
    let mut sender = connected_as(config, Fixed { segments: 7, pace: None });
    // A pair, the rest of the data, FIN.
    assert_eq!(pushed(&mut sender, at(20_000)), [false, true, true, false]);
}
