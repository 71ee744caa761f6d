//! Single datagrams, one after the other, to one end: what it answers.

use gameway_quic::{
    AckFrame, ClientContent, ClientDatagram, EcnCounts, Receiver, ReceiverConfig, Sender,
    SenderConfig, ServerContent, ServerDatagram, StreamFrame,
};
use gameway_tcp::{AckEvent, CongestionControl, LostSegment, TimeoutEvent};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use std::sync::{Arc, Mutex};

pub const SIZE: u64 = 1452;
pub const RTT: Duration = Duration::from_millis(40);

pub const fn ms(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A window of a hundred datagrams, and what it was told.
#[derive(Debug, Default, Clone)]
pub struct Told {
    pub lost: Arc<Mutex<Vec<LostSegment>>>,
    pub acks: Arc<Mutex<Vec<AckEvent>>>,
    pub timeouts: Arc<Mutex<Vec<TimeoutEvent>>>,
    /// In datagrams; a hundred if not given.
    pub window: Option<u64>,
    pub ssthresh: Bytes,
    pub weighs_marks: bool,
}

impl CongestionControl for Told {
    fn name(&self) -> &'static str {
        "told"
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        self.acks.lock().unwrap().push(*ack);
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost.lock().unwrap().push(*lost);
    }
    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {}
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.timeouts.lock().unwrap().push(*timeout);
    }
    fn on_spurious_loss(&mut self, _now: Instant) {}
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.unwrap_or(100) * SIZE)
    }
    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
    fn answers_marks(&self) -> bool {
        self.weighs_marks
    }
}

/// A sender past a handshake of 40 ms, at 40 ms, that has sent its window: each datagram with its time.
pub fn sent(control: &Told) -> (Sender, Vec<(Instant, ServerDatagram)>) {
    sent_with(SenderConfig::default(), control)
}

/// The same with options.
pub fn sent_with(config: SenderConfig, control: &Told) -> (Sender, Vec<(Instant, ServerDatagram)>) {
    let mut sender = Sender::new(config, Box::new(control.clone()));
    sender.on_datagram(ms(0), &client(ClientContent::Initial));
    assert!(sender.poll_transmit(ms(0)).is_some_and(|one| one.number().is_none()));
    sender.on_datagram(ms(40), &client(ClientContent::Finished));
    let (mut now, mut datagrams) = (ms(40), Vec::new());
    while now < ms(75) {
        while let Some(datagram) = sender.poll_transmit(now) {
            datagrams.push((now, datagram));
        }
        now = sender.next_deadline().unwrap().min(ms(75));
        sender.on_deadline(now);
    }
    (sender, datagrams)
}

pub fn client(content: ClientContent) -> ClientDatagram {
    ClientDatagram { size: 50, spin: false, content }
}

pub fn ack(ranges: &[(u64, u64)], ecn: Option<EcnCounts>) -> ClientDatagram {
    let frame = AckFrame { ranges: ranges.to_vec(), delay: Duration::ZERO, ecn };
    client(ClientContent::Ack { number: 0, frame, elicits: false })
}

pub fn ect0(count: u64, ce: u64) -> Option<EcnCounts> {
    Some(EcnCounts { ect0: count, ect1: 0, ce })
}

/// Ten at once; the other ninety take 90 hundredths of a round trip over 1.25, less what the first burst has earned:
/// half of its own spacing.
#[test]
fn a_window_leaves_in_four_fifths_of_a_round_trip() {
    let (_, datagrams) = sent(&Told::default());
    assert_eq!(datagrams.len(), 100, "the window");
    assert!(datagrams[..10].iter().all(|one| one.0 == ms(40)) && datagrams[10].0 > ms(40));
    let last = datagrams[99].0 - ms(40);
    let expected = RTT.mul_f64(0.85 / 1.25);
    assert!((expected - RTT / 100..=expected + RTT / 100).contains(&last), "{last}");
    assert!(datagrams.iter().all(|one| one.1.ecn == Ecn::Ect0));
}

/// RFC 9000 section 13.4.2.1: all four arrived ECN-capable, so four must be counted.
#[test]
fn counts_that_lag_turn_ecn_off() {
    for (counts, trusted) in
        [(None, false), (ect0(3, 0), false), (ect0(4, 0), true), (ect0(3, 1), true)]
    {
        let (mut sender, _) = sent(&Told::default());
        sender.on_datagram(ms(90), &ack(&[(0, 4)], counts));
        let next = sender.poll_transmit(ms(90)).expect("there is room");
        assert_eq!(sender.stats().ecn, trusted, "{counts:?}");
        assert_eq!(next.ecn, if trusted { Ecn::Ect0 } else { Ecn::NotEct }, "{counts:?}");
    }
}

/// RFC 9002 section 7.1, but where the congestion control weighs marks itself.
#[test]
fn a_mark_is_a_congestion_event_once_in_a_window() {
    for (weighs_marks, recoveries) in [(false, [1, 1, 2]), (true, [0, 0, 0])] {
        let told = Told { weighs_marks, ..Told::default() };
        let (mut sender, _) = sent(&told);
        let mut found = Vec::new();
        sender.on_datagram(ms(90), &ack(&[(0, 4)], ect0(2, 2)));
        found.push(sender.stats().recoveries);
        // Sent before: part of the same.
        sender.on_datagram(ms(91), &ack(&[(0, 100)], ect0(97, 3)));
        found.push(sender.stats().recoveries);
        assert!(sender.poll_transmit(ms(91)).is_some_and(|one| one.number() == Some(100)));
        sender.on_datagram(ms(131), &ack(&[(0, 101)], ect0(97, 4)));
        found.push(sender.stats().recoveries);
        assert_eq!(found, recoveries);
        assert_eq!(sender.stats().marked_packets, 4);
        let marked: u64 = told.acks.lock().unwrap().iter().map(|one| one.newly_marked.get()).sum();
        assert_eq!(marked, 4 * SIZE);
    }
}

/// What a congestion control hears of a loss: the third packet, with what was in flight as it left.
#[test]
fn a_loss_tells_what_was_in_flight_with_it() {
    let told = Told::default();
    let (mut sender, _) = sent(&told);
    sender.on_datagram(ms(81), &ack(&[(3, 6), (0, 2)], ect0(5, 0)));
    let lost = told.lost.lock().unwrap();
    let [lost] = lost.as_slice() else { panic!("{lost:?}") };
    assert_eq!((lost.sequence, lost.size), (2 * SIZE, Bytes::new(SIZE)));
    assert_eq!((lost.tx_in_flight, lost.lost), (Bytes::new(3 * SIZE), Bytes::new(SIZE)));
    let acks = told.acks.lock().unwrap();
    let [event] = acks.as_slice() else { panic!("{acks:?}") };
    assert_eq!((event.newly_delivered, event.newly_lost), (Bytes::new(5 * SIZE), Bytes::new(SIZE)));
    assert_eq!(
        (event.prior_in_flight, event.in_flight),
        (Bytes::new(100 * SIZE), Bytes::new(94 * SIZE))
    );
    assert_eq!((event.acknowledged, event.next_sequence), (6 * SIZE, 100 * SIZE));
    assert!(event.cwnd_limited);
}

fn packet(number: u64, ecn: Ecn, acknowledged: Option<u64>) -> ServerDatagram {
    let frame = StreamFrame { offset: number * 1000, length: 1000, fin: false };
    ServerDatagram {
        size: 1033,
        ecn,
        spin: false,
        content: ServerContent::Packet { number, frame, acknowledged },
    }
}

/// The ranges of the ACK that is to leave at once, if one is, and whether it asks for an acknowledgement.
fn answer(receiver: &mut Receiver, now: Instant) -> Option<(Vec<(u64, u64)>, bool)> {
    match receiver.poll_transmit(now)?.content {
        ClientContent::Ack { frame, elicits, .. } => Some((frame.ranges, elicits)),
        other => panic!("{other:?}"),
    }
}

/// One past its handshake.
fn receiver() -> Receiver {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    assert!(receiver.poll_transmit(ms(0)).is_some());
    receiver.on_datagram(ms(1), &packet(0, Ecn::Ect0, None));
    assert_eq!(answer(&mut receiver, ms(1)), None, "the first of two waits");
    receiver
}

#[test]
fn an_ack_leaves_for_two_packets_and_at_once_for_a_gap_a_late_one_and_a_mark() {
    let asks = |second: ServerDatagram| {
        let mut receiver = receiver();
        receiver.on_datagram(ms(2), &packet(1, Ecn::Ect0, None));
        assert_eq!(answer(&mut receiver, ms(2)), Some((vec![(0, 2)], false)));
        receiver.on_datagram(ms(3), &second);
        answer(&mut receiver, ms(3)).is_some()
    };
    assert!(!asks(packet(2, Ecn::Ect0, None)));
    assert!(asks(packet(2, Ecn::Ce, None)), "a mark");
    assert!(asks(packet(3, Ecn::Ect0, None)), "a gap");
    assert!(asks(packet(0, Ecn::Ect0, None)), "once more");
}

#[test]
fn a_lone_packet_is_acknowledged_after_25_ms() {
    let mut receiver = receiver();
    assert_eq!(receiver.next_deadline(), Some(ms(26)));
    receiver.on_deadline(ms(25));
    assert_eq!(answer(&mut receiver, ms(25)), None);
    receiver.on_deadline(ms(26));
    assert_eq!(answer(&mut receiver, ms(26)), Some((vec![(0, 1)], false)));
    assert_eq!(receiver.next_deadline(), None);
}

/// RFC 9000 section 13.2.4: what the server knows is not told again.
#[test]
fn ranges_are_forgotten_once_the_server_has_heard_of_them() {
    let mut receiver = receiver();
    // Every other packet is lost: each makes a gap, and an ACK. The fourth asks.
    let mut told = Vec::new();
    for number in [2, 4, 6, 8] {
        receiver.on_datagram(ms(2), &packet(number, Ecn::Ect0, None));
        told.push(answer(&mut receiver, ms(2)).expect("a gap"));
    }
    assert_eq!(told.iter().map(|one| one.1).collect::<Vec<_>>(), [false, false, false, true]);
    assert_eq!(told[3].0, [(8, 9), (6, 7), (4, 5), (2, 3), (0, 1)]);
    receiver.on_datagram(ms(3), &packet(10, Ecn::Ect0, Some(2)));
    assert_eq!(answer(&mut receiver, ms(3)).expect("a gap").0.len(), 6, "2 did not ask");
    receiver.on_datagram(ms(3), &packet(12, Ecn::Ect0, Some(3)));
    assert_eq!(answer(&mut receiver, ms(3)).expect("a gap").0, [(12, 13), (10, 11), (8, 9)]);
}

/// No frame has more than 64 ranges, the newest.
#[test]
fn a_frame_has_64_ranges_at_most() {
    let mut receiver = receiver();
    let mut last = Vec::new();
    for number in (2..400).step_by(2) {
        receiver.on_datagram(ms(2), &packet(number, Ecn::Ect0, None));
        last = answer(&mut receiver, ms(2)).expect("a gap").0;
    }
    assert_eq!((last.len(), last.first()), (64, Some(&(398, 399))));
}

/// The handshake's datagram comes once more, after a packet: the connection stays open.
#[test]
fn a_late_copy_of_the_handshake_changes_nothing() {
    let mut receiver = receiver();
    receiver.on_datagram(
        ms(2),
        &ServerDatagram {
            size: 1200,
            ecn: Ecn::NotEct,
            spin: false,
            content: ServerContent::Handshake,
        },
    );
    assert_eq!(receiver.poll_transmit(ms(2)), None);
    assert_eq!(receiver.next_deadline(), Some(ms(26)), "the delayed ACK alone");
}

/// RFC 9002 section 6.2.2: three initial RTTs of 333 ms, then twice, then four times as long.
#[test]
fn the_client_s_handshake_backs_off() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let mut sent = Vec::new();
    for _ in 0..4 {
        let now = receiver.next_deadline().unwrap_or(ms(0));
        receiver.on_deadline(now);
        assert!(receiver.poll_transmit(now).is_some());
        sent.push((now - ms(0)).as_secs_f64());
    }
    let gaps: Vec<f64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let expected = [0.999, 1.998, 3.996];
    assert!(gaps.iter().zip(expected).all(|(gap, it)| (gap - it).abs() < 1e-9), "{gaps:?}");
}

#[test]
fn marks_are_counted_by_their_kind() {
    let mut receiver = receiver();
    receiver.on_datagram(ms(2), &packet(1, Ecn::Ect1, None));
    receiver.on_datagram(ms(2), &packet(2, Ecn::Ect1, None));
    receiver.on_datagram(ms(2), &packet(3, Ecn::Ce, None));
    let Some(ClientDatagram { content: ClientContent::Ack { frame, .. }, .. }) =
        receiver.poll_transmit(ms(2))
    else {
        panic!("a mark is told at once")
    };
    assert_eq!(frame.ecn, Some(EcnCounts { ect0: 1, ect1: 2, ce: 1 }));
}

/// The end of a stream may come alone, in a frame without bytes.
#[test]
fn a_download_is_finished_once_its_end_and_all_before_it_are_there() {
    let mut receiver = receiver();
    let frame = StreamFrame { offset: 2_000, length: 0, fin: true };
    let content = ServerContent::Packet { number: 2, frame, acknowledged: None };
    receiver
        .on_datagram(ms(2), &ServerDatagram { size: 40, ecn: Ecn::NotEct, spin: false, content });
    assert!(!receiver.is_finished(), "the second packet is missing");
    receiver.on_datagram(ms(3), &packet(1, Ecn::NotEct, None));
    assert!(receiver.is_finished());
}
