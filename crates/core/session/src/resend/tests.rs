//! What is sent again, when, how often and how much of it.

use super::*;
use crate::packet::tests::packet;
use gameway_control::{PacketReport, SentPacket};
use gameway_units::ReceiverInstant;

mod given_up;
mod too_early;

const FRAME: Duration = Duration::from_millis(20);
/// A megabyte a second: a quarter of it may be sent again.
const TARGET: Rate = Rate::from_mbps(8);
/// On the wire; 12 B more when it is sent again.
const SIZE: u64 = 1_248;
const SIZE_AGAIN: u64 = SIZE + 12;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn number(packet: Option<MediaPacket>) -> Option<u64> {
    packet.map(|packet| packet.original.expect("it repeats one").0)
}

/// A stream of which times are in milliseconds.
struct Stream {
    resend: Resend,
    next: u64,
}

impl Stream {
    fn new() -> Self {
        Self {
            resend: Resend::new(
                FRAME,
                Bytes::new(12),
                RepairCode::AnyForAny,
                RepeatBudget::default(),
            ),
            next: 0,
        }
    }

    /// A packet leaves; gives its number.
    fn send(&mut self, now: i64, packet: &MediaPacket) -> u64 {
        let sequence = SequenceNumber(self.next);
        self.next += 1;
        self.resend.on_sent(at(now), &MediaPacket { sequence, ..*packet });
        sequence.0
    }

    fn media(&mut self, now: i64) -> u64 {
        self.send(now, &packet(PacketKind::Media))
    }

    fn ask(&mut self, now: i64, number: u64) -> Option<MediaPacket> {
        self.resend.ask(at(now), SequenceNumber(number), TARGET)
    }

    /// It is asked for, and leaves at once if it may; gives the number with which it leaves.
    fn again(&mut self, now: i64, number: u64) -> Option<u64> {
        let repetition = self.ask(now, number)?;
        Some(self.send(now, &repetition))
    }

    /// A report tells of a packet, and that a packet which left so long ago has arrived just now.
    /// Gives what is to be sent again for parity that is lost.
    fn report(
        &mut self,
        now: i64,
        told: Option<(u64, bool)>,
        round_trip: Option<i64>,
    ) -> Vec<SequenceNumber> {
        let sent = |number, before: i64| {
            SentPacket::new(SequenceNumber(number), at(now - before), FrameId(0), Bytes::new(SIZE))
        };
        let arrival = |arrived: bool| arrived.then_some(ReceiverInstant::ZERO);
        let told =
            told.map(|(number, arrived)| PacketReport::new(sent(number, 0), arrival(arrived)));
        // Its number is none that is known.
        let news =
            round_trip.map(|millis| PacketReport::new(sent(u64::MAX, millis), arrival(true)));
        let reports: Vec<PacketReport> = told.into_iter().chain(news).collect();
        let batch = FeedbackBatch::new(&reports, ReceiverInstant::ZERO, Bytes::ZERO);
        self.resend.on_reports(at(now), &batch)
    }

    fn arrives(&mut self, now: i64, number: u64) {
        let _ = self.report(now, Some((number, true)), None);
    }

    fn is_lost(&mut self, now: i64, number: u64) {
        let _ = self.report(now, Some((number, false)), None);
    }

    /// Round trips are steady.
    fn with_round_trip(millis: i64) -> Self {
        let mut stream = Self::new();
        let _ = stream.report(0, None, Some(millis));
        stream
    }

    /// Of a receiver that is up to so much late in asking again.
    fn slow(request_interval: i64, round_trip: i64) -> Self {
        let mut stream = Self::new();
        stream.resend.round_trip = RoundTrip::new(Duration::from_millis(request_interval));
        let _ = stream.report(0, None, Some(round_trip));
        stream
    }

    fn poll_copy(&mut self, now: i64) -> Option<u64> {
        number(self.resend.poll_copy(at(now), TARGET))
    }

    fn copy_later(&mut self, now: i64, repetitions: &[MediaPacket], copies: u8, within: i64) {
        let again = ResendPlan { copies, within: Duration::from_millis(within) };
        self.resend.copy_later(at(now), repetitions, again);
    }
}

#[test]
fn what_is_sent_again_is_the_packet_with_what_repetitions_have_more() {
    let mut stream = Stream::new();
    let left = MediaPacket { payload: 700, index: 0, key_frame: true, ..packet(PacketKind::Media) };
    stream.media(0);
    stream.send(0, &left);
    let again = stream.ask(5, 1).expect("nothing is known against it");
    let (kind, original) = (PacketKind::Retransmission, Some(SequenceNumber(1)));
    assert_eq!(
        again,
        MediaPacket { kind, original, header: 60, sequence: SequenceNumber(1), ..left }
    );
    assert_eq!(stream.resend.age(at(5), &again), Duration::from_millis(5));
}

#[test]
fn probes_padding_and_repair_are_not_sent_again_nor_what_never_left() {
    let mut stream = Stream::new();
    let media = stream.media(0);
    for kind in [PacketKind::Probe, PacketKind::Padding, PacketKind::Repair] {
        let sent = stream.send(0, &packet(kind));
        assert_eq!(stream.ask(1, sent), None, "{kind:?}");
    }
    assert_eq!((stream.ask(1, 4), stream.ask(1, u64::MAX)), (None, None));
    assert_eq!(number(stream.ask(1, media)), Some(media));
}

#[test]
fn what_arrived_itself_or_as_its_repetition_is_not_sent_again() {
    for (told, expected) in [(None, true), (Some((0, false)), true), (Some((0, true)), false)] {
        let mut stream = Stream::new();
        stream.media(0);
        let _ = stream.report(1, told, None);
        assert_eq!(stream.ask(2, 0).is_some(), expected, "{told:?}");
    }
    let mut stream = Stream::with_round_trip(10);
    stream.media(0);
    let repetition = stream.again(10, 0).expect("it is lost");
    stream.arrives(20, repetition);
    assert_eq!(stream.ask(30, 0), None);
    assert!(!stream.resend.is_in_time(at(30), SequenceNumber(0)));
}

#[test]
fn a_repetition_that_is_asked_for_stands_for_what_it_repeats() {
    let mut stream = Stream::with_round_trip(10);
    stream.media(0);
    let first = stream.again(10, 0).unwrap();
    let second = stream.again(20, first).expect("a round trip later");
    assert_eq!(second, 2);
    assert_eq!(number(stream.ask(30, second)), Some(0), "and so on");
}

#[test]
fn one_repetition_waits_at_a_time_and_a_round_trip_lies_between_two() {
    let mut stream = Stream::with_round_trip(10);
    stream.media(0);
    assert_eq!(stream.ask(9, 0), None, "nobody can miss it already");
    let waits = stream.ask(10, 0).expect("now it can be missed");
    assert_eq!(stream.ask(25, 0), None, "it waits in the pacer");
    let repetition = stream.send(30, &waits);
    assert_eq!((stream.ask(39, 0), stream.ask(39, repetition)), (None, None));
    assert_eq!(number(stream.ask(40, repetition)), Some(0));
    assert_eq!(stream.resend.round_trip().mean(), Duration::from_millis(10));
}

#[test]
fn what_waited_for_too_long_may_be_asked_for_no_more() {
    let mut stream = Stream::with_round_trip(10);
    stream.media(0);
    assert!(stream.ask(10, 0).is_some());
    // Three round trips, but at least 100 ms, and two frames.
    assert!(stream.resend.is_in_time(at(140), SequenceNumber(0)));
    assert!(!stream.resend.is_in_time(at(141), SequenceNumber(0)));
    assert!(!stream.resend.is_in_time(at(10), SequenceNumber(1)), "it never left");
    for (now, expected) in [(140, true), (141, false)] {
        let mut stream = Stream::with_round_trip(10);
        stream.media(0);
        assert_eq!(stream.ask(now, 0).is_some(), expected, "{now}");
    }
}

/// Before a report came the first request is believed at once, and then one in 100 ms.
#[test]
fn before_a_round_trip_is_known_it_counts_as_100_ms() {
    let mut stream = Stream::new();
    stream.media(0);
    let repetition = stream.again(0, 0).expect("the first request");
    assert_eq!(stream.ask(99, repetition), None);
    assert_eq!(number(stream.ask(100, repetition)), Some(0));
    // Patience is three of them, and two frames.
    for (now, expected) in [(340, true), (341, false)] {
        let mut stream = Stream::new();
        stream.media(0);
        assert_eq!(stream.ask(now, 0).is_some(), expected, "{now}");
    }
}

/// The first request was refused for its frame's repair packet; its answer cannot be there before a round trip.
#[test]
fn who_asks_again_for_what_repair_stands_in_for_gets_it_after_a_round_trip() {
    let protected =
        |index, kind| MediaPacket { index, media_packets: 2, train_packets: 3, ..packet(kind) };
    let mut stream = Stream::with_round_trip(10);
    (0..2).for_each(|index| _ = stream.send(0, &protected(index, PacketKind::Media)));
    let repair = stream.send(0, &protected(2, PacketKind::Repair));
    assert_eq!(stream.ask(10, 0), None, "the repair packet stands in for it");
    assert_eq!(number(stream.ask(10, 1)), Some(1), "for one");
    assert_eq!(stream.ask(19, 0), None);
    let mut again = Stream { resend: std::mem::take(&mut stream.resend), next: stream.next };
    assert_eq!(number(again.ask(20, 0)), Some(0));
    // A lost repair packet is replaced by what it stood in for, once.
    let mut lost = Stream::with_round_trip(10);
    (0..2).for_each(|index| _ = lost.send(0, &protected(index, PacketKind::Media)));
    lost.send(0, &protected(2, PacketKind::Repair));
    assert_eq!(lost.ask(10, 0), None);
    assert_eq!(number(lost.ask(10, repair)), Some(0));
    assert_eq!(lost.ask(20, repair), None);
    // Each repair packet stands in for one: who asks for the first twice has lost no more by that.
    let of_two = |index, kind| MediaPacket { train_packets: 4, ..protected(index, kind) };
    let mut twice = Stream::with_round_trip(10);
    (0..2).for_each(|index| _ = twice.send(0, &of_two(index, PacketKind::Media)));
    (2..4).for_each(|index| _ = twice.send(0, &of_two(index, PacketKind::Repair)));
    assert_eq!((twice.ask(10, 0), twice.ask(10, 1)), (None, None));
    assert_eq!(number(twice.ask(10, 2)), Some(1));
    assert_eq!(twice.ask(20, 2), None);
    assert_eq!(number(twice.ask(20, 3)), Some(0));
}

#[test]
fn a_packet_is_sent_again_ten_times() {
    let mut stream = Stream::with_round_trip(1);
    stream.media(0);
    let times = (1..50).filter(|now| stream.again(*now, 0).is_some()).count();
    assert_eq!(times, 10);
    // Copies count.
    let has_copy = |times: i64| {
        let mut stream = Stream::with_round_trip(1);
        stream.media(0);
        (1..times).for_each(|now| assert!(stream.again(now, 0).is_some()));
        let last = stream.ask(times, 0).expect("not yet ten times");
        stream.copy_later(times, &[last], 2, 1);
        stream.send(times, &last);
        stream.poll_copy(times + 1).is_some()
    };
    assert!(has_copy(9) && !has_copy(10));
}

#[test]
fn a_quarter_of_the_target_is_sent_again_and_of_a_second_saved_up() {
    let mut stream = Stream::new();
    let mut ask = |now: i64, count: u32| {
        let fresh: Vec<u64> = (0..count).map(|_| stream.media(now)).collect();
        fresh.into_iter().filter(|number| stream.ask(now, *number).is_some()).count() as u64
    };
    let saved = 250_000 / SIZE_AGAIN;
    assert_eq!(ask(0, 1_000), saved);
    assert_eq!(ask(0, 10), 0);
    // 40 ms have 10 000 B, and some are left of before.
    let left = 250_000 % SIZE_AGAIN;
    assert_eq!(ask(40, 1_000), (10_000 + left) / SIZE_AGAIN);
    assert_eq!(ask(5_000, 1_000), saved, "no more than a second's");
    // To the byte: 200 repetitions of 1250 B.
    let mut stream = Stream::new();
    let left = MediaPacket { payload: 1_190, ..packet(PacketKind::Media) };
    (0..300).for_each(|_| _ = stream.send(0, &left));
    assert_eq!((0..300).filter(|number| stream.ask(0, *number).is_some()).count(), 200);
}

#[test]
fn the_least_round_trip_is_that_of_the_last_100_to_200_ms() {
    // 10 ms once, then 50 ms: as long as 10 ms are believed, a packet that left 20 ms ago can be missed.
    let is_believed = |until: i64| {
        let mut stream = Stream::new();
        let _ = stream.report(1_000, None, Some(10));
        (1_005..=until).step_by(5).for_each(|now| drop(stream.report(now, None, Some(50))));
        stream.media(until - 20);
        stream.ask(until, 0).is_some()
    };
    assert!(is_believed(1_095) && is_believed(1_195));
    assert!(!is_believed(1_200) && !is_believed(1_400));
    // What becomes shorter is believed at once.
    let mut stream = Stream::with_round_trip(50);
    stream.media(0);
    let _ = stream.report(5, None, Some(10));
    assert_eq!(number(stream.ask(10, 0)), Some(0));
}

#[test]
fn copies_leave_a_frame_apart_or_sooner_if_there_is_less_time() {
    let half_rate = FRAME * 2;
    for (interval, copies, within, expected) in [
        (FRAME, 1, 60, vec![]),
        (FRAME, 2, 60, vec![20]),
        (FRAME, 3, 60, vec![20, 40]),
        (FRAME, 4, 30, vec![10, 20, 30]),
        (half_rate, 2, 60, vec![40]),
        (half_rate, 3, 60, vec![30, 60]),
    ] {
        let mut stream = Stream::new();
        stream.media(0);
        let repetition = stream.ask(0, 0).unwrap();
        stream.resend.set_frame_interval(interval);
        stream.copy_later(5, &[repetition], copies, within);
        let mut times = Vec::new();
        for now in 5..100 {
            let is_due = stream.resend.next_deadline().is_some_and(|due| due <= at(now));
            let copy = stream.poll_copy(now);
            assert_eq!(copy.is_some(), is_due);
            times.extend(copy.map(|_| now - 5));
        }
        assert_eq!(times, expected, "{copies} within {within}");
    }
}

#[test]
fn copies_are_in_the_order_of_their_times_and_end_with_an_arrival() {
    let mut stream = Stream::new();
    (0..4).for_each(|_| _ = stream.media(0));
    let asked: Vec<MediaPacket> = (0..4).map(|number| stream.ask(0, number).unwrap()).collect();
    stream.copy_later(0, &asked[..2], 2, 20);
    stream.copy_later(4, &asked[2..3], 2, 6);
    stream.copy_later(0, &asked[3..], 2, 20);
    assert_eq!(stream.resend.next_deadline(), Some(at(10)));
    stream.arrives(9, 1);
    let mut left = Vec::new();
    for now in 9..30 {
        left.extend(std::iter::from_fn(|| stream.poll_copy(now)).map(|number| (now, number)));
    }
    assert_eq!(left, [(10, 2), (20, 0), (20, 3)], "1 has arrived");
    assert_eq!(stream.resend.next_deadline(), None);
}

#[test]
fn copies_count_among_what_may_be_sent_again_and_come_in_time() {
    let copied = |now: i64, used_up: bool| {
        let mut stream = Stream::new();
        stream.media(0);
        let repetition = stream.ask(0, 0).unwrap();
        stream.copy_later(0, &[repetition], 2, 20);
        if used_up {
            let more: Vec<u64> = (0..300).map(|_| stream.media(now)).collect();
            more.into_iter().for_each(|number| _ = stream.ask(now, number));
        }
        stream.poll_copy(now).is_some()
    };
    assert!(copied(20, false) && copied(340, false));
    assert!(!copied(20, true), "the share is used up");
    assert!(!copied(341, false), "its frame is given up");
    // A copy takes from what is left for others.
    let left = |copies: u8| {
        let mut stream = Stream::new();
        let first = stream.media(0);
        let repetition = stream.ask(0, first).unwrap();
        stream.copy_later(0, &[repetition], copies, 0);
        while stream.poll_copy(0).is_some() {}
        let more: Vec<u64> = (0..300).map(|_| stream.media(0)).collect();
        more.into_iter().filter(|number| stream.ask(0, *number).is_some()).count()
    };
    assert_eq!(left(1) - left(4), 3);
}

#[test]
fn frames_give_up_an_eighth_of_what_was_sent_again_and_a_quarter_of_themselves_at_most() {
    let mut stream = Stream::with_round_trip(10);
    (0..3).for_each(|_| _ = stream.media(0));
    assert_eq!(stream.resend.take_owed(at(1_000), Bytes::new(20_000)), Bytes::ZERO);
    (0..3).for_each(|number| assert!(stream.again(10, number).is_some()));
    let owed = 3 * SIZE_AGAIN;
    let eighth = owed.div_ceil(8);
    assert_eq!(stream.resend.take_owed(at(1_000), Bytes::new(20_000)), Bytes::new(eighth));
    assert_eq!(stream.resend.take_owed(at(1_000), Bytes::new(400)), Bytes::new(100));
    let rest: u64 =
        (0..200).map(|_| stream.resend.take_owed(at(1_000), Bytes::new(20_000)).get()).sum();
    assert_eq!(eighth + 100 + rest, owed, "all of it, in the end");
}

#[test]
fn the_newest_8192_packets_and_8_mib_are_kept() {
    for (payload, kept) in [(1, 8_192), (1_152, 6_990), (1_976, 4_144), (2_000, 4_096)] {
        let mut stream = Stream::new();
        let left = MediaPacket { payload, ..packet(PacketKind::Media) };
        let end = 9_000;
        (0..end).for_each(|_| _ = stream.send(0, &left));
        assert_eq!(number(stream.ask(0, end - kept)), Some(end - kept), "{payload}");
        assert_eq!(stream.ask(0, end - kept - 1), None, "{payload}");
    }
}

/// Four media packets in two groups, 0 and 2, 1 and 3, each with a parity packet, 4 and 5. A browser asks for 0 and 1 as soon as it
/// sees the gap; then a report tells that the second parity packet is lost.
#[test]
fn what_parity_that_is_lost_stood_in_for_is_sent_without_a_second_request() {
    for (code, told_first, expected) in [
        (RepairCode::Interleaved, false, vec![1]),
        (RepairCode::Interleaved, true, vec![]),
        (RepairCode::AnyForAny, false, vec![]),
    ] {
        let mut stream = Stream::with_round_trip(10);
        stream.resend.spares = Spares::new(code);
        let train = |kind, index| MediaPacket {
            index,
            media_packets: 4,
            train_packets: 6,
            frame: FrameId(7),
            ..packet(kind)
        };
        (0..4).for_each(|index| {
            stream.send(0, &train(PacketKind::Media, index));
        });
        (4..6).for_each(|index| {
            stream.send(0, &train(PacketKind::Repair, index));
        });
        let mut unmended = Vec::new();
        if told_first {
            unmended = stream.report(11, Some((5, false)), None);
        }
        assert_eq!(stream.ask(12, 0), None, "parity stands in for it");
        // Where it is known to be lost, what is asked for is sent at once.
        assert_eq!(number(stream.ask(12, 1)), told_first.then_some(1), "{code:?}");
        unmended.extend(stream.report(13, Some((5, false)), None));
        let unmended: Vec<u64> = unmended.iter().map(|number| number.0).collect();
        assert_eq!(unmended, expected, "{code:?}");
        for asked in &unmended {
            assert_eq!(number(stream.ask(13, *asked)), Some(*asked));
        }
        // 0 is mended, and no loss for good.
        stream.is_lost(20, 0);
        assert_eq!(stream.resend.expire(at(1_000)), None);
    }
}
