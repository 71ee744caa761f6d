//! When a receiver asks for what it lacks, packet by packet.

use super::*;
use crate::packet::tests::packet;

/// Packets of a frame.
const PACKETS: u16 = 10;

fn at(millis: i64) -> ReceiverInstant {
    ReceiverInstant::ZERO + Duration::from_millis(millis)
}

/// A receiver to which everything is of use; times are in milliseconds.
#[derive(Default)]
struct Receiver(MissingPackets);

impl Receiver {
    /// Packets come a millisecond apart from zero on, of frames of ten, but for these; until `end`.
    fn without(lost: &[u64], end: u64) -> Self {
        let mut receiver = Self::default();
        (0..end)
            .filter(|number| !lost.contains(number))
            .for_each(|number| receiver.at_its_time(number));
        receiver
    }

    fn at_its_time(&mut self, number: u64) {
        self.arrives(number as i64, number);
    }

    fn arrives(&mut self, now: i64, number: u64) {
        let index = (number % u64::from(PACKETS)) as u16;
        let (media_packets, train_packets) = (PACKETS, PACKETS);
        let frame = FrameId(number / u64::from(PACKETS));
        self.hear(
            now,
            number,
            &MediaPacket {
                frame,
                index,
                media_packets,
                train_packets,
                ..packet(PacketKind::Media)
            },
        );
    }

    /// A repetition of a packet, with a number of its own.
    fn again(&mut self, now: i64, number: u64, original: u64) {
        let original = Some(SequenceNumber(original));
        self.hear(now, number, &MediaPacket { original, ..packet(PacketKind::Retransmission) });
    }

    fn hear(&mut self, now: i64, number: u64, packet: &MediaPacket) {
        let sequence = SequenceNumber(number);
        self.0.on_packet(at(now), &MediaPacket { sequence, ..*packet });
    }

    fn asks(&mut self, now: i64) -> Vec<u64> {
        let mut numbers = Vec::new();
        self.0.ask(at(now), |_, _| true, |_| true, &mut numbers);
        numbers.into_iter().map(|number| number.0).collect()
    }

    fn due(&self) -> Option<ReceiverInstant> {
        self.0.next_deadline(|_, _| true, |_| true)
    }

    /// What it asks for at its deadlines, with the times, before `end`.
    fn asks_until(&mut self, end: i64) -> Vec<(i64, Vec<u64>)> {
        let mut all = Vec::new();
        while let Some(due) = self.due().filter(|due| *due < at(end)) {
            let now = (due - ReceiverInstant::ZERO).as_nanos() / 1_000_000;
            let now = if at(now) < due { now + 1 } else { now };
            let numbers = self.asks(now);
            assert!(!numbers.is_empty(), "nothing was due at {due:?}");
            all.push((now, numbers));
        }
        all
    }
}

#[test]
fn a_gap_is_asked_for_at_once_where_nothing_was_ever_late() {
    let mut receiver = Receiver::without(&[3, 4], 6);
    assert_eq!(receiver.due(), Some(at(5)), "when the packet behind the gap came");
    assert_eq!(receiver.asks(5), [3, 4]);
    assert_eq!(receiver.asks(6), [0_u64; 0], "once");
    // What comes after all is asked for no more.
    let mut receiver = Receiver::without(&[3, 4], 6);
    receiver.arrives(5, 3);
    assert_eq!(receiver.asks(5), [4]);
}

#[test]
fn what_does_not_come_is_asked_for_ten_times_a_round_trip_apart() {
    let mut receiver = Receiver::without(&[3], 10);
    let asked = receiver.asks_until(60_000);
    // Before a round trip is known it counts as 100 ms.
    let expected: Vec<(i64, Vec<u64>)> = (0..10).map(|time| (4 + 100 * time, vec![3])).collect();
    assert_eq!(asked, expected);
    assert_eq!(receiver.due(), None);
}

#[test]
fn an_answer_tells_the_round_trip_unless_two_requests_lie_before_it() {
    let patience = |requests: &[i64], answered: i64| {
        let mut receiver = Receiver::without(&[3], 10);
        for now in requests {
            assert_eq!(receiver.asks(*now), [3]);
        }
        receiver.again(answered, 10, 3);
        assert_eq!(receiver.due(), None, "it is here");
        receiver.0.patience()
    };
    let three_times = |millis: i64| Duration::from_millis(3 * millis);
    assert_eq!(patience(&[10], 60), three_times(50));
    // 100 ms, where none is known (Karn's rule).
    assert_eq!(patience(&[10, 110], 160), three_times(100));
    // Without a request it is no answer.
    let mut receiver = Receiver::without(&[3], 10);
    receiver.again(60, 10, 3);
    assert_eq!(receiver.0.patience(), three_times(100));
    // The packet itself is none either.
    let mut receiver = Receiver::without(&[3], 10);
    assert_eq!(receiver.asks(10), [3]);
    receiver.arrives(60, 3);
    assert_eq!(receiver.0.patience(), three_times(100));
}

#[test]
fn a_repetition_that_is_lost_is_a_gap_of_its_own() {
    let mut receiver = Receiver::without(&[3], 10);
    assert_eq!(receiver.asks(10), [3]);
    // Packet 10 repeats 3 and is lost, as 11 shows.
    receiver.hear(30, 11, &packet(PacketKind::Padding));
    assert_eq!(receiver.asks(30), [10]);
    receiver.again(50, 12, 10);
    assert_eq!(receiver.asks(50), [0_u64; 0]);
}

#[test]
fn what_was_late_of_late_is_waited_for_with_a_quarter_more() {
    // Packet 3 comes 8 ms behind the one that shows the gap, so another gap is asked for after 10 ms.
    let late = |millis: i64, lost_at: u64| {
        let mut receiver = Receiver::without(&[3], 5);
        receiver.arrives(4 + millis, 3);
        receiver.arrives(lost_at as i64, 5);
        receiver.arrives(lost_at as i64, 7);
        let due = receiver.due().expect("6 is missing");
        (due - at(lost_at as i64)).as_millis_f64()
    };
    assert!((late(8, 100) - 10.0).abs() < 1e-9);
    assert!((late(100, 200) - 125.0).abs() < 1e-9);
    assert!(late(101, 200) < 1e-9, "as good as lost, which says nothing of others");
}

#[test]
fn lateness_is_remembered_for_10_to_20_seconds() {
    let wait = |now: i64| {
        let mut longest = Longest::default();
        longest.on_sample(at(0), Duration::from_millis(8));
        (0..=now).step_by(1_000).for_each(|millis| longest.on_sample(at(millis), Duration::ZERO));
        longest.pass(at(now));
        longest.wait()
    };
    let kept = Duration::from_millis(10);
    assert_eq!([0, 9_999, 10_000, 19_999].map(wait), [kept; 4]);
    assert_eq!([20_000, 25_000].map(wait), [Duration::ZERO; 2]);
    // Nothing came for two windows: what was before them counts no more.
    let after_pause = |now: i64| {
        let mut longest = Longest::default();
        longest.on_sample(at(0), Duration::from_millis(8));
        longest.pass(at(now));
        longest.wait()
    };
    assert_eq!([19_999, 20_000].map(after_pause), [kept, Duration::ZERO]);
    // The longest, of both windows.
    let mut longest = Longest::default();
    longest.on_sample(at(0), Duration::from_millis(8));
    longest.on_sample(at(1), Duration::from_millis(4));
    assert_eq!(longest.wait(), kept);
    longest.on_sample(at(11_000), Duration::from_millis(16));
    assert_eq!(longest.wait(), kept * 2);
}

#[test]
fn the_rest_of_a_frame_is_asked_for_once_when_it_is_later_than_four_gaps() {
    // Packets come a millisecond apart; 7 to 9 do not come.
    let mut receiver = Receiver::without(&[7, 8, 9], 10);
    assert_eq!(receiver.asks_until(60_000), [(10, vec![7, 8, 9])], "4 ms behind packet 6");
    // Two milliseconds at the least.
    let mut receiver = Receiver::default();
    (0..7).for_each(|number| receiver.arrives(5, number));
    assert_eq!(receiver.asks_until(60_000), [(7, vec![7, 8, 9])]);
    // Of a whole frame nothing is to come.
    assert_eq!(Receiver::without(&[], 10).due(), None);
}

#[test]
fn the_rest_of_a_frame_is_waited_for_as_long_as_its_packets_were_apart() {
    // In frame 0 packets were 20 ms apart once: five quarters of that, and two gaps of this frame.
    let mut receiver = Receiver::default();
    (0..10).for_each(|number| {
        receiver.arrives(number + if number > 4 { 20 } else { 0 }, number as u64)
    });
    (10..14).for_each(|number| receiver.arrives(50 + number, number as u64));
    let due = (receiver.due().expect("six packets are to come") - at(63)).as_millis_f64();
    // That gap was 21 ms. It moved the mean, which begins with the first gap, by a quarter; eight of 1 ms followed.
    let mean = 1.0 + (0..7).fold(5.0, |more, _| more * 0.75);
    assert!((due - 26.25 - 2.0 * mean).abs() < 1e-3, "{due} and not {}", 26.25 + 2.0 * mean);
    let plain = Receiver::without(&[], 14);
    assert_eq!(plain.due(), Some(at(17)), "four gaps of a millisecond");
}

#[test]
fn who_leaves_before_the_frame_was_whole_or_beside_it_has_nothing_behind() {
    let last = |packet: &MediaPacket| {
        let mut receiver = Receiver::without(&[], 5);
        receiver.hear(5, 5, packet);
        receiver.due()
    };
    let media = MediaPacket {
        frame: FrameId(0),
        index: 5,
        media_packets: 10,
        train_packets: 10,
        ..packet(PacketKind::Media)
    };
    assert_eq!(last(&media), Some(at(9)));
    assert_eq!(last(&MediaPacket { media_packets: 0, train_packets: 0, ..media }), None);
    for kind in [PacketKind::Probe, PacketKind::Padding] {
        assert_eq!(last(&MediaPacket { kind, ..media }), None, "{kind:?}");
    }
    // What is sent again may lie between: the rest is still to come.
    let again = MediaPacket { kind: PacketKind::Retransmission, ..media };
    assert_eq!(last(&again), Some(at(8)));
}

#[test]
fn what_was_asked_for_before_it_could_be_sent_is_asked_for_once_more() {
    // The rest of the frame is asked for at 10 ms; then 9 comes, and 7 and 8 are known to be missing.
    let asked_again = |now: i64| {
        let mut receiver = Receiver::without(&[7, 8, 9], 10);
        assert_eq!(receiver.asks(10), [7, 8, 9]);
        receiver.arrives(now, 9);
        receiver.asks(now)
    };
    // 7 was due at 7 ms and 8 at 8 ms: two milliseconds before they were asked for.
    assert_eq!(asked_again(11), [0_u64; 0]);
    let mut receiver = Receiver::without(&[6, 7, 8, 9], 10);
    assert_eq!(receiver.asks(9), [6, 7, 8, 9], "four gaps behind 5");
    receiver.arrives(10, 9);
    // 8 was due at 8 ms, a millisecond before.
    assert_eq!(receiver.asks(10), [8]);
    // The next frame's first packet was not asked for with the rest of this one.
    let mut receiver = Receiver::without(&[9, 10], 11);
    assert_eq!(receiver.asks(12), [9]);
    receiver.arrives(13, 11);
    assert_eq!(receiver.asks(13), [10]);
    // Of a longer gap 9 was hardly due, and 10 is new.
    let mut receiver = Receiver::without(&[7, 8, 9, 10], 11);
    assert_eq!(receiver.asks(10), [7, 8, 9]);
    receiver.arrives(12, 11);
    assert_eq!(receiver.asks(12), [9, 10]);
}

/// What lay between two packets came evenly, if that is sooner than packets of this frame usually do.
#[test]
fn what_is_missing_was_due_by_its_share_of_the_time_between_its_neighbours() {
    let mut receiver = Receiver::default();
    (0..4).for_each(|number| receiver.arrives(10 * number, number as u64));
    assert_eq!(receiver.asks_until(71), [(70, (4..10).collect())], "four gaps of 10 ms");
    receiver.arrives(80, 9);
    // Fifty milliseconds for six packets: 7 was due at 63.3 ms and 8 at 71.7.
    assert_eq!(receiver.asks(80), [8]);
}

#[test]
fn behind_a_gap_before_a_repetition_nothing_of_the_frame_is_to_come() {
    let mut receiver = Receiver::without(&[], 6);
    receiver.again(6, 8, 0);
    assert_eq!(receiver.asks(6), [6, 7]);
    assert_eq!(receiver.asks(60), [0_u64; 0], "what was to come is missing, and asked for");
}

#[test]
fn a_gap_of_more_than_a_thousand_packets_is_an_outage() {
    let asked = |gap: u64| {
        let mut receiver = Receiver::without(&[3], 10);
        receiver.arrives(10, 10 + gap);
        receiver.asks(10)
    };
    let of_both: Vec<u64> = (10..1_009).collect();
    assert_eq!(asked(999), [vec![3], of_both].concat());
    assert_eq!(asked(1_000), (10..1_010).collect::<Vec<_>>(), "a thousand, the oldest is given up");
    assert_eq!(asked(1_001), [0_u64; 0]);
    assert_eq!(asked(u64::MAX - 10), [0_u64; 0]);
}

#[test]
fn a_gap_lies_between_the_frames_of_the_packets_around_it() {
    let frames = |numbers: &[u64], again: Option<(u64, u64)>| {
        let mut receiver = Receiver::default();
        numbers.iter().for_each(|number| receiver.at_its_time(*number));
        again.into_iter().for_each(|(number, original)| receiver.again(50, number, original));
        let (mut seen, mut asked) = (Vec::new(), Vec::new());
        let missing: Vec<(u64, u64)> =
            receiver.0.missing.iter().map(|one| (one.between.0.0, one.between.1.0)).collect();
        seen.extend(missing);
        receiver.0.ask(
            at(60),
            |first, last| (first, last) != (FrameId(0), FrameId(2)),
            |_| false,
            &mut asked,
        );
        (seen, asked.len())
    };
    assert_eq!(frames(&[0, 1, 4], None), (vec![(0, 0); 2], 2));
    assert_eq!(
        frames(&[8, 11], None),
        (vec![(0, 0); 8].into_iter().chain([(0, 1); 2]).collect(), 10)
    );
    assert_eq!(frames(&[0, 21], None).1, 0, "of what is of no use nothing is asked for");
    // Behind a gap before a repetition the next frame may have begun.
    assert_eq!(frames(&[0, 1], Some((3, 0))), (vec![(0, 1)], 1));
}

#[test]
fn what_is_missing_is_forgotten_after_a_second() {
    let patience = |answered: i64| {
        let mut receiver = Receiver::without(&[3], 10);
        assert_eq!(receiver.asks(904), [3]);
        receiver.arrives(answered - 1, 10);
        receiver.again(answered, 11, 3);
        receiver.0.patience()
    };
    // The gap showed at 4 ms.
    assert_eq!(patience(1_005), Duration::from_millis(303));
    assert_eq!(patience(1_006), Duration::from_millis(300), "nothing is known of it");
}
