//! When a packet counts as received, as lost, and not at all any more.

use super::*;
use crate::feedback::ReceivedPacket;
use gameway_control::FrameId;
use gameway_units::ReceiverInstant;

const SIZE: Bytes = Bytes::new(1_000);

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A history, and what it makes of reports: `+n` for a packet received, `-n` for one lost.
#[derive(Default)]
struct Sent {
    history: SentHistory,
}

impl Sent {
    /// `count` packets were sent, one in each millisecond from zero on.
    fn packets(count: i64) -> Self {
        let mut sent = Self::default();
        (0..count).for_each(|millis| sent.send(at(millis)));
        sent
    }

    fn send(&mut self, now: Instant) {
        self.history.on_sent(SentPacket::new(self.history.end(), now, FrameId(0), SIZE));
    }

    /// A report that begins with packet `base`: `#` arrived, `.` did not.
    fn hear(&mut self, now: Instant, base: u64, packets: &str) -> Vec<i64> {
        let arrival = ReceiverInstant::from_nanos(77);
        let received = ReceivedPacket { arrival, ecn: Ecn::Ce };
        let packets = packets.chars().map(|mark| (mark == '#').then_some(received)).collect();
        let report =
            FeedbackPacket { base: SequenceNumber(base), packets, ..FeedbackPacket::default() };
        let mut reports = Vec::new();
        self.history.on_feedback(now, &report, &mut reports);
        for one in &reports {
            let expected = if one.arrival.is_some() { Ecn::Ce } else { Ecn::NotEct };
            assert_eq!(one.ecn, expected);
        }
        signed(&reports)
    }

    fn expire(&mut self, now: Instant) -> Vec<i64> {
        let mut reports = Vec::new();
        self.history.expire(now, &mut reports);
        signed(&reports)
    }

    fn packets_in_flight(&self) -> u64 {
        self.history.in_flight().get() / SIZE.get()
    }
}

fn signed(reports: &[PacketReport]) -> Vec<i64> {
    let sign = |report: &PacketReport| if report.arrival.is_some() { 1 } else { -1 };
    reports.iter().map(|report| sign(report) * report.packet.sequence.0 as i64).collect()
}

#[test]
fn a_packet_is_lost_once_three_that_left_later_have_arrived() {
    let mut sent = Sent::packets(10);
    assert_eq!(sent.hear(at(20), 0, "##.##"), [0, 1, 3, 4], "two are not enough");
    assert_eq!(sent.packets_in_flight(), 6);
    assert_eq!(sent.hear(at(21), 3, "##"), [0_i64; 0], "nor the same two again");
    assert_eq!(sent.hear(at(22), 5, "#"), [-2, 5], "the third is");
    assert_eq!(sent.packets_in_flight(), 4);
    assert_eq!(sent.hear(at(23), 6, "...#"), [9]);
    assert_eq!(sent.hear(at(24), 2, "#"), [2], "it is told again if it arrives after all");
    assert_eq!(sent.hear(at(25), 2, "#"), [0_i64; 0], "once");
    assert_eq!(sent.packets_in_flight(), 3);
}

#[test]
fn which_three_have_arrived_does_not_depend_on_the_order_of_reports() {
    let orders = [[6, 7, 8], [8, 7, 6], [7, 8, 6], [7, 6, 8], [8, 6, 7], [6, 8, 7]];
    for order in orders {
        let mut sent = Sent::packets(10);
        assert_eq!(sent.hear(at(20), 0, "####"), [0, 1, 2, 3]);
        for (rank, number) in order.into_iter().enumerate() {
            let mut news = sent.hear(at(21), number, "#");
            news.sort_unstable();
            let lost: &[i64] = if rank == 2 { &[-5, -4] } else { &[] };
            assert_eq!(news, [lost, &[number as i64]].concat(), "{order:?}");
        }
        assert_eq!(sent.packets_in_flight(), 1, "nothing is known of packet 9");
        // Older arrivals take no place among the newest: 6 to 8 do not make three later than 6.
        assert_eq!(sent.hear(at(22), 9, "#"), [9]);
    }
}

#[test]
fn a_packet_of_which_nothing_is_heard_is_lost_a_second_after_it_left() {
    let mut sent = Sent::packets(3);
    assert_eq!(sent.history.expiry(), Some(at(1_000)));
    assert_eq!(sent.expire(at(999)), [0_i64; 0]);
    let mut reports = Vec::new();
    sent.history.expire(at(1_001), &mut reports);
    assert_eq!(reports.iter().map(|one| one.packet.sequence.0).collect::<Vec<_>>(), [0, 1]);
    assert!(reports.iter().all(|one| one.arrival.is_none() && one.ecn == Ecn::NotEct));
    assert_eq!((sent.packets_in_flight(), sent.history.expiry()), (1, Some(at(1_002))));
    // A report resolves the last one: nothing is left that could expire.
    assert_eq!(sent.hear(at(1_001), 2, "#"), [2]);
    assert_eq!((sent.packets_in_flight(), sent.history.expiry()), (0, None));
    assert_eq!(sent.expire(at(9_000)), [0_i64; 0]);
}

#[test]
fn what_expires_between_packets_that_arrived_is_told_once() {
    let mut sent = Sent::packets(5);
    assert_eq!(sent.hear(at(10), 0, ".#.#"), [1, 3]);
    assert_eq!(sent.expire(at(1_002)), [0, -2]);
    assert_eq!((sent.packets_in_flight(), sent.history.expiry()), (1, Some(at(1_004))));
    assert_eq!(sent.expire(at(1_004)), [-4]);
    assert_eq!(sent.packets_in_flight(), 0);
}

#[test]
fn a_late_arrival_counts_for_a_second_after_the_packet_left() {
    for (now, told) in [(1_001, vec![1]), (1_002, vec![])] {
        let mut sent = Sent::packets(6);
        assert_eq!(sent.hear(at(10), 0, "#.####"), [0, -1, 2, 3, 4, 5]);
        assert_eq!(sent.hear(at(now), 0, ""), [0_i64; 0]);
        assert_eq!(sent.hear(at(now), 1, "#"), told, "{now}");
        assert_eq!(sent.history.end(), SequenceNumber(6));
    }
}

#[test]
fn reports_about_what_was_forgotten_or_never_sent_change_nothing() {
    let mut sent = Sent::packets(3);
    assert_eq!(sent.hear(at(5), 1, "####"), [1, 2], "two of the four were never sent");
    assert_eq!(sent.hear(at(5), 7, "###"), [0_i64; 0]);
    assert_eq!(sent.hear(at(5), u64::MAX, "##"), [0_i64; 0]);
    assert_eq!(sent.packets_in_flight(), 1, "three that were never sent do not make it lost");
    assert_eq!(sent.hear(at(6), 0, "###"), [0]);
    sent.send(at(7));
    assert_eq!(sent.hear(at(8), 0, "###."), [0_i64; 0], "what was received is forgotten");
    assert_eq!((sent.packets_in_flight(), sent.history.end()), (1, SequenceNumber(4)));
}

#[test]
fn the_newest_32768_packets_are_kept() {
    let count = 32_768 + 10;
    let mut sent = Sent::default();
    (0..count).for_each(|_| sent.send(at(0)));
    assert_eq!((sent.packets_in_flight(), sent.history.end().0), (32_768, count));
    assert_eq!(sent.hear(at(1), 8, "###"), [10], "the first ten are gone");
    assert_eq!(sent.packets_in_flight(), 32_767);
    assert_eq!(sent.expire(at(1_000)).len(), 32_767);
    assert_eq!((sent.packets_in_flight(), sent.history.expiry()), (0, None));
}
