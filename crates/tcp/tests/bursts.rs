//! A paced sender hands segments down as Linux does: a few at once, and whole bursts only.

use gameway_tcp::{
    AckEvent, CongestionControl, Flags, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
    TimeoutEvent,
};
use gameway_units::{Bytes, Duration, Instant, Rate};

const MSS: u64 = 1448;
const PACE: Rate = Rate::from_mbps(20);

/// A window of so many segments, paced at 20 Mb/s: a burst is two segments, 1.158 ms.
#[derive(Debug)]
struct Fixed {
    segments: u64,
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
        Some(PACE)
    }
}

const fn at(micros: i64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

/// Connected over 20 ms, with a window of `segments`.
fn connected(segments: u64) -> Sender {
    let mut sender = Sender::new(SenderConfig::default(), Box::new(Fixed { segments }));
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
    let mut sender = connected(1000);
    let mut sizes = vec![];
    let mut times = vec![];
    let mut now = at(20_000);
    for _ in 0..6 {
        sizes.push(leave(&mut sender, now));
        times.push(now);
        now = sender.next_deadline().expect("paced");
    }
    // The tenth is the first that is paced, and the first of a pair.
    assert_eq!(sizes, [11, 2, 2, 2, 2, 2]);
    let pair = PACE.time_for(Bytes::new(2 * MSS));
    assert!(times.windows(2).all(|two| two[1] - two[0] == pair), "{times:?} not {pair:?} apart");
}

#[test]
fn room_for_half_a_burst_waits_for_the_ack_that_makes_more() {
    // Eleven segments leave at once, and fill the window but for one.
    let mut sender = connected(12);
    assert_eq!(leave(&mut sender, at(20_000)), 11);
    let due = at(20_000) + PACE.time_for(Bytes::new(2 * MSS));
    // No answer is near: the half leaves.
    assert_eq!(leave(&mut sender, due), 1);

    let mut sender = connected(12);
    assert_eq!(leave(&mut sender, at(20_000)), 11);
    // From half an RTT on the answer is near. The last write must not be long ago, so a burst has to leave then: the
    // first two are answered, which makes room for three.
    sender.on_segment(at(40_000), &ack(2, at(40_000), at(20_000)));
    assert_eq!(leave(&mut sender, at(40_000)), 2);
    let due = sender.next_deadline().expect("paced");
    assert_eq!(leave(&mut sender, due), 0, "one segment of room waits");
    sender.on_segment(due, &ack(3, due, at(20_000)));
    assert_eq!(leave(&mut sender, due), 2);
    // Two milliseconds after the pace allowed the next, it waits no more.
    assert_eq!(leave(&mut sender, due + Duration::from_millis(4)), 0, "the window is full");
    sender.on_segment(due + Duration::from_millis(4), &ack(4, due, at(20_000)));
    assert_eq!(leave(&mut sender, due + Duration::from_millis(4)), 1);
}
