//! What is concluded from data and acknowledgments that pass, one by one.

use super::*;
use crate::segment::{Flags, Timestamps};
use gameway_path::Header;

const MSS: u32 = 1448;
const FIRST: u32 = u32::MAX - 3 * MSS;
/// The loop to the sender in these tests.
const LOOP: i64 = 30;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn millis(count: i64) -> Option<Duration> {
    Some(Duration::from_millis(count))
}

/// The sequence number `segments` segments behind the first.
fn number(segments: u32) -> u32 {
    FIRST.wrapping_add(segments * MSS)
}

fn segment(value: u32, echo: u32) -> Segment {
    Segment {
        window: MSS as u16,
        timestamps: Some(Timestamps { value, echo }),
        ..Segment::bare_ack(Header::numbered(7))
    }
}

/// Data in one direction of a connection that is seen from its middle on.
struct Seen {
    data: Direction<()>,
    now: i64,
    stamp: u32,
}

impl Seen {
    fn new(shift: Shift) -> Self {
        Self { data: Direction::new(shift, Loops::Smallest), now: 0, stamp: 100 }
    }

    /// Two segments have passed and are acknowledged; the loop to the sender is known.
    fn settled() -> Self {
        let mut seen = Self::new(Shift::AtLeast(0));
        seen.send(0);
        seen.send(1);
        seen.acknowledge(2);
        seen.now = LOOP;
        seen
    }

    /// Segment `index` passes, with the echo of the newest stamp.
    fn send(&mut self, index: u32) {
        let passing = Segment { sequence: number(index), length: MSS, ..segment(1, self.stamp) };
        self.data.on_data(at(self.now), &passing, true);
    }

    /// All before segment `index` is acknowledged, with a new stamp and a window of a segment times the scale.
    fn acknowledge(&mut self, index: u32) {
        self.stamp += 1;
        let mut passing = Segment { acknowledgment: number(index), ..segment(self.stamp, 1) };
        assert!(!self.data.on_ack(at(self.now), &mut passing, None));
    }
}

#[test]
fn loops_are_measured_to_either_end() {
    let mut seen = Seen::settled();
    assert_eq!((seen.data.sender_loop(), seen.data.receiver_loop()), (None, millis(0)));
    // Without payload the sender did not answer at once.
    let flags = Flags { ack: true, fin: true, ..Flags::default() };
    let fin = Segment { sequence: number(2), flags, ..segment(1, seen.stamp) };
    seen.data.clone().on_data(at(10), &fin, true);
    let mut of_fin = seen.data.clone();
    of_fin.on_data(at(10), &fin, true);
    assert_eq!(of_fin.sender_loop(), None);
    seen.send(2);
    assert_eq!(seen.data.sender_loop(), millis(LOOP));

    let mut seen = Seen::new(Shift::Known(0));
    seen.send(0);
    seen.send(1);
    seen.now = 4;
    seen.acknowledge(1);
    assert_eq!(seen.data.receiver_loop(), None, "segment 1 is on its way");
    seen.now = 5;
    seen.acknowledge(2);
    assert_eq!(seen.data.receiver_loop(), millis(5));
}

#[test]
fn a_stamp_counts_when_it_passes_first() {
    let mut seen = Seen::settled();
    seen.send(2);
    // A tick of the receiver's clock may last for several acknowledgments.
    seen.now = LOOP + 10;
    seen.stamp -= 1;
    seen.acknowledge(3);
    seen.now = LOOP + 11;
    seen.send(3);
    assert_eq!(seen.data.sender_loop(), millis(LOOP));
}

#[test]
fn what_is_sent_again_tells_no_distance_and_no_window_until_it_is_acknowledged() {
    let mut seen = Seen::settled();
    seen.send(2);
    seen.acknowledge(3);
    seen.data.take_estimate();
    seen.now += LOOP;
    (3..6).for_each(|index| seen.send(index));
    assert_eq!(seen.data.take_estimate(), Some(u64::from(3 * MSS)));
    seen.now += 20;
    seen.send(3);
    seen.send(6);
    assert_eq!(seen.data.take_estimate(), None);
    // All that was sent before is acknowledged but for the last, then that, too.
    seen.now += 25;
    seen.acknowledge(5);
    seen.send(7);
    assert_eq!(seen.data.take_estimate(), None);
    seen.acknowledge(6);
    assert_eq!(
        seen.data.receiver_loop(),
        millis(0),
        "of the first two; the others took 45 ms or 25"
    );
    seen.send(8);
    assert!(seen.data.take_estimate().is_some());
}

#[test]
fn old_data_that_comes_once_more_is_no_repair() {
    for (index, length, repairs) in [(2, MSS, false), (4, 0, false), (3, MSS, true), (4, MSS, true)]
    {
        let mut seen = Seen::settled();
        seen.send(2);
        seen.acknowledge(3);
        seen.now += LOOP;
        (3..5).for_each(|index| seen.send(index));
        seen.data.take_estimate();
        let again = Segment { sequence: number(index), length, ..segment(1, 1) };
        seen.data.on_data(at(seen.now), &again, true);
        seen.send(5);
        assert_eq!(seen.data.take_estimate().is_none(), repairs, "{index}, {length}");
    }
}

#[test]
fn a_shift_is_no_less_than_what_the_sender_made_use_of() {
    let mut seen = Seen::settled();
    seen.send(2);
    seen.acknowledge(3);
    seen.now += LOOP;
    // It may have a window of one segment, times two for each shift, and is believed one more.
    for (index, shift) in [(3, 0), (4, 0), (5, 1), (6, 2), (7, 2), (8, 3), (11, 3), (12, 4)] {
        (index..=index).for_each(|index| seen.send(index));
        assert_eq!(seen.data.shift(), Shift::AtLeast(shift), "segment {index}");
    }
    let unit = 1 << 4;
    assert_eq!((seen.data.unit(), seen.data.told()), (unit, Some(u64::from(MSS * unit))));
    assert_eq!(seen.data.in_units(1_000.9) as u64, 992);
    // Whatever passes, it is no more than 14.
    let far = Segment { sequence: number(60_000), length: MSS, ..segment(1, 1) };
    seen.data.on_data(at(seen.now), &far, true);
    assert_eq!(seen.data.shift(), Shift::AtLeast(14));
}

#[test]
fn nothing_is_concluded_of_a_shift_before_the_first_data_is_acknowledged() {
    let mut seen = Seen::new(Shift::AtLeast(0));
    seen.acknowledge(0);
    seen.now = LOOP;
    seen.send(0);
    seen.send(1);
    seen.acknowledge(1);
    seen.now += LOOP;
    (2..6).for_each(|index| seen.send(index));
    assert_eq!(seen.data.sender_loop(), millis(LOOP));
    assert_eq!(seen.data.shift(), Shift::AtLeast(0), "segment 1 is under way since first sight");
    seen.acknowledge(2);
    seen.now += LOOP;
    seen.send(6);
    assert_eq!(seen.data.shift(), Shift::AtLeast(2), "five segments are more than 2 + 1");
}

#[test]
fn a_shift_from_the_handshake_stays() {
    let mut seen = Seen::settled();
    seen.data.shift = Shift::Known(0);
    seen.send(2);
    seen.acknowledge(3);
    seen.now += LOOP;
    (3..20).for_each(|index| seen.send(index));
    assert_eq!(seen.data.shift(), Shift::Known(0));
}

#[test]
fn numbers_a_gigabyte_apart_do_not_belong_together() {
    for (jump, believed) in [((1 << 30) - 1, true), (1 << 30, false)] {
        let mut seen = Seen::settled();
        let sequence = number(2).wrapping_add(jump - MSS);
        let data = Segment { sequence, length: MSS, ..segment(1, 1) };
        let mut of_data = seen.data.clone();
        of_data.on_data(at(50), &data, true);
        let expected = if believed { (u64::from(jump), at(50)) } else { (0, at(0)) };
        assert_eq!((of_data.in_flight_beyond(), of_data.last_data().unwrap()), expected);

        seen.send(2);
        let acknowledgment = number(2).wrapping_add(jump);
        let mut ack = Segment { acknowledgment, ..segment(1, 1) };
        assert!(!seen.data.on_ack(at(50), &mut ack, Some(0)));
        let in_flight = if believed { 0 } else { MSS };
        assert_eq!(seen.data.in_flight_beyond(), u64::from(in_flight));
    }
}

#[test]
fn what_passed_last_says_where_and_when() {
    let mut data = Direction::<()>::new(Shift::Known(3), Loops::Smallest);
    assert_eq!((data.is_in_queue(), data.last_data(), data.segment_size()), (false, None, 1));
    let of = |index: u32, length| Segment { sequence: number(index), length, ..segment(1, 1) };
    data.on_data(at(1), &of(0, MSS), true);
    data.on_data(at(2), &of(1, 500), true);
    assert_eq!((data.is_in_queue(), data.last_data()), (true, Some(at(2))));
    data.on_data(at(3), &of(2, 900), true);
    assert_eq!(data.segment_size(), 900, "the largest");
    // Without payload it passed beside the queue, as acknowledgments do.
    data.on_data(at(4), &of(3, 0), false);
    assert_eq!((data.is_in_queue(), data.last_data()), (true, Some(at(3))));
    data.on_data(at(5), &of(3, 10), false);
    assert_eq!((data.is_in_queue(), data.last_data()), (false, Some(at(5))));
    assert_eq!((data.unit(), data.in_units(8_007.5), data.told()), (8, 8_000.0, None));
}

#[test]
fn a_reset_and_a_window_that_is_not_wanted_smaller_pass_unchanged() {
    let mut seen = Seen::settled();
    let passing = Segment { acknowledgment: number(2), window: 50_000, ..segment(7, 1) };
    let mut reset = Segment { flags: Flags { rst: true, ..passing.flags }, ..passing };
    assert!(!seen.data.on_ack(at(1), &mut reset, Some(5_000)));
    let mut wide = passing;
    assert!(!seen.data.on_ack(at(1), &mut wide, Some(1 << 40)));
    assert_eq!((reset.window, wide.window), (50_000, 50_000));
    let mut cut = Segment { acknowledgment: number(2), window: 50_001, ..segment(7, 1) };
    assert!(seen.data.on_ack(at(1), &mut cut, Some(5_000)));
    assert_eq!(cut.window, 5_000);
}

#[test]
fn an_estimate_behind_a_queue_is_of_the_last_loop() {
    // A loop of 100 ms, then one of 200, which is the queue of a sender that had four segments in flight.
    let estimate = |loops: Loops| {
        let mut seen =
            Seen { data: Direction::new(Shift::Known(0), loops), ..Seen::new(Shift::Known(0)) };
        seen.send(0);
        seen.acknowledge(1);
        seen.now = 100;
        seen.send(1);
        seen.acknowledge(2);
        for (now, index) in [(150, 2), (200, 3), (250, 4)] {
            let passing = Segment { sequence: number(index), length: MSS, ..segment(1, 100) };
            seen.data.on_data(at(now), &passing, true);
            let mut known = Segment { acknowledgment: number(index + 1), ..segment(seen.stamp, 1) };
            seen.data.on_ack(at(now), &mut known, None);
        }
        seen.now = 300;
        seen.data.take_estimate();
        seen.send(5);
        seen.data.take_estimate()
    };
    let of = |segments: u32| Some(u64::from(segments * MSS));
    assert_eq!((estimate(Loops::Smallest), estimate(Loops::Last)), (of(2), of(4)));
}

#[test]
fn a_limit_is_of_flows_whose_windows_can_be_read() {
    let header = gameway_path::Header::numbered(1);
    let mut seen = Seen::settled();
    assert_eq!(seen.data.limit(header, 9000), None);
    seen.data.shift = Shift::Known(3);
    let limit = seen.data.limit(header, 9000).expect("it can be read");
    let min = u64::from(2 * MSS);
    assert_eq!((limit.wanted, limit.min, limit.shift), (9000, min, 3));
    assert_eq!(limit.highest, number(2));
    assert_eq!(Seen::new(Shift::Known(3)).data.limit(header, 9000), None, "nothing has passed");
}
