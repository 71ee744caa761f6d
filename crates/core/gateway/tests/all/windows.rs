//! The table of flows, segment by segment: handshakes true and forged, the window that is written, age.

use gameway_gateway::{Direction, Flags, FlowTable, Segment, Shift};
use gameway_path::{Header, Protocol};
use gameway_units::{Duration, Instant};

const MSS: u32 = 1448;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// From the server.
fn down() -> Header {
    Header { protocol: Protocol::Tcp, ..Header::numbered(7) }
}

fn segment(header: Header) -> Segment {
    Segment {
        header,
        flags: Flags { ack: true, ..Flags::default() },
        sequence: 0,
        acknowledgment: 0,
        length: 0,
        window: 50_000,
        window_scale: None,
        timestamps: None,
    }
}

fn syn(sequence: u32, window_scale: Option<u8>) -> Segment {
    let flags = Flags { syn: true, ..Flags::default() };
    Segment { flags, sequence, window_scale, ..segment(down().reversed()) }
}

fn syn_ack(acknowledgment: u32, window_scale: Option<u8>) -> Segment {
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    Segment { flags, sequence: 999, acknowledgment, window_scale, ..segment(down()) }
}

fn data(number: u32) -> Segment {
    Segment { sequence: 1000 + number * MSS, length: MSS, ..segment(down()) }
}

fn ack(segments: u32) -> Segment {
    Segment { acknowledgment: 1000 + segments * MSS, ..segment(down().reversed()) }
}

#[derive(Default)]
struct Wire {
    table: FlowTable<()>,
    now: i64,
}

impl Wire {
    /// A connection whose client scales by 3.
    fn open() -> Self {
        let mut wire = Self::default();
        wire.pass(syn(4, Some(3)), None);
        wire.now += 40;
        wire.pass(syn_ack(5, Some(7)), None);
        wire
    }

    /// The window of a segment after it has passed.
    fn pass(&mut self, mut segment: Segment, wanted: Option<u64>) -> u16 {
        let in_queue = segment.header == down();
        self.table.pass(at(self.now), in_queue, &mut segment, |_| wanted);
        segment.window
    }

    fn downwards(&self) -> &Direction<()> {
        let of_server = |(header, _): &(Header, _)| header.source == down().source;
        let found = self.table.directions().find(of_server);
        found.map(|(_, data)| data).expect("the flow is known")
    }
}

#[test]
fn shifts_and_the_loop_are_read_off_the_handshake() {
    let wire = Wire::open();
    assert_eq!(wire.downwards().shift(), Shift::Known(3));
    assert_eq!(wire.downwards().sender_loop(), Some(Duration::from_millis(40)));
    for (opener, answer, expected) in [
        (Some(3), None, Shift::Known(0)),
        (None, Some(7), Shift::Known(0)),
        (Some(200), Some(7), Shift::Known(14)),
    ] {
        let mut wire = Wire::default();
        wire.pass(syn(4, opener), None);
        wire.pass(syn_ack(5, answer), None);
        assert_eq!(wire.downwards().shift(), expected);
    }
    // Its SYN was missed: scaling is on, the client's shift is not known.
    let mut wire = Wire::default();
    wire.pass(syn_ack(5, Some(7)), None);
    assert_eq!(wire.downwards().shift(), Shift::AtLeast(0));
}

#[test]
fn a_forged_handshake_changes_nothing() {
    let mut wire = Wire::open();
    wire.pass(ack(0), None);
    wire.pass(syn(77, Some(0)), None);
    wire.pass(syn_ack(1234, Some(0)), None);
    assert_eq!(wire.downwards().shift(), Shift::Known(3));
    // Ports are used again: a true one does.
    wire.pass(syn_ack(78, Some(7)), None);
    assert_eq!(wire.downwards().shift(), Shift::Known(0));
}

#[test]
fn a_repeated_syn_tells_no_distance() {
    let mut wire = Wire::default();
    wire.pass(syn(4, Some(3)), None);
    wire.now = 1000;
    wire.pass(syn(4, Some(3)), None);
    wire.now = 1002;
    wire.pass(syn_ack(5, Some(7)), None);
    assert_eq!(wire.downwards().sender_loop(), None);
}

#[test]
fn windows_of_syns_stay_as_they_are() {
    let mut wire = Wire::default();
    assert_eq!(wire.pass(syn(4, Some(3)), Some(0)), 50_000);
    assert_eq!(wire.pass(syn_ack(5, Some(7)), Some(0)), 50_000);
}

#[test]
fn a_window_is_written_in_its_unit_and_rounded_down() {
    let mut wire = Wire::open();
    wire.pass(data(0), None);
    assert_eq!(wire.pass(ack(1), Some(100_007)), 12_500);
    assert_eq!(wire.downwards().told(), Some(100_000));
    // The receiver's own is less.
    let own = Segment { window: 300, ..ack(1) };
    assert_eq!(wire.pass(own, Some(100_007)), 300);
    assert_eq!(wire.pass(Segment { window: 0, ..ack(1) }, Some(100_007)), 0);
}

#[test]
fn two_segments_are_left_and_nothing_is_zero() {
    let mut wire = Wire::open();
    wire.pass(data(0), None);
    // Two segments are 2896 B, 362 units of 8 B.
    assert_eq!(wire.pass(ack(1), Some(0)), 362);
}

#[test]
fn the_right_edge_stays_where_data_has_passed() {
    let mut wire = Wire::open();
    (0..10).for_each(|number| _ = wire.pass(data(number), None));
    for acknowledged in 1..=10 {
        let window = u32::from(wire.pass(ack(acknowledged), Some(u64::from(5 * MSS)))) * 8;
        let edge = acknowledged * MSS + window;
        let min = 10.max(acknowledged + 5) * MSS;
        assert!((min..min + 8).contains(&edge), "{acknowledged}: {edge} of {min}");
    }
}

#[test]
fn a_duplicate_acknowledgment_repeats_its_window() {
    let mut wire = Wire::open();
    wire.pass(data(0), None);
    let first = wire.pass(ack(1), Some(100_000));
    assert_eq!(wire.pass(ack(1), Some(50_000)), first);
    assert_eq!(wire.pass(ack(1), Some(200_000)), first);
    // The receiver's own window has changed: that is no duplicate.
    let update = Segment { window: 40_000, ..ack(1) };
    assert_eq!(wire.pass(update, Some(200_000)), 25_000);
}

/// Ten segments leave in answer to what had passed 40 ms before.
#[test]
fn the_estimate_is_what_the_sender_had_in_flight() {
    let mut wire = Wire::open();
    wire.pass(ack(0), None);
    wire.now += 40;
    (0..10).for_each(|number| _ = wire.pass(data(number), None));
    let found = |wire: &mut Wire| {
        wire.table.directions_mut().filter_map(Direction::take_estimate).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut wire), [u64::from(10 * MSS)]);
    // All is acknowledged at once: the gateway sees nothing in flight, the sender still has all of it.
    wire.pass(ack(10), None);
    wire.now += 20;
    wire.pass(data(10), None);
    assert_eq!(wire.downwards().in_flight_beyond(), u64::from(MSS));
    assert_eq!(found(&mut wire), [u64::from(11 * MSS)]);
    wire.now += 20;
    wire.pass(data(11), None);
    assert_eq!(found(&mut wire), [u64::from(2 * MSS)]);
    // What is sent again says nothing, nor what follows until it is acknowledged.
    wire.pass(data(10), None);
    wire.pass(data(12), None);
    assert_eq!(found(&mut wire), [0_u64; 0]);
}

#[test]
fn what_is_silent_is_forgotten_in_time() {
    let mut wire = Wire::open();
    wire.pass(ack(0), None);
    wire.table.forget_idle(at(7_439_000));
    assert_eq!(wire.table.len(), 1);
    wire.table.forget_idle(at(7_441_000));
    assert!(wire.table.is_empty());
    let mut wire = Wire::default();
    wire.pass(syn(4, None), None);
    wire.table.forget_idle(at(239_000));
    assert_eq!(wire.table.len(), 1);
    wire.table.forget_idle(at(241_000));
    assert!(wire.table.is_empty());
}
