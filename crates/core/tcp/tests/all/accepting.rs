//! What a receiver takes, counts, acknowledges at once and announces.

use crate::common::opened;
use gameway_tcp::{Flags, MAXIMUM_SEGMENT_SIZE, ReceiveWindow, Receiver, ReceiverConfig, Segment};
use gameway_units::{Bytes, Duration, Instant};

const MSS: u64 = MAXIMUM_SEGMENT_SIZE as u64;

const fn at(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn fixed(window: u64) -> Receiver {
    let receive_window = ReceiveWindow::Fixed(Bytes::new(window));
    opened(ReceiverConfig { receive_window, ..ReceiverConfig::default() })
}

fn tuned() -> Receiver {
    opened(ReceiverConfig::default())
}

/// These bytes arrive; the ACK that leaves at once.
fn arrive(receiver: &mut Receiver, millis: i64, sequence: u64, length: u64) -> Option<Segment> {
    let length = length as u32;
    receiver.on_segment(at(millis), &Segment { sequence, length, ..Segment::default() });
    receiver.poll_transmit(at(millis))
}

/// That full segment arrives; what it is told of the window, in units of 1024 bytes.
fn place(receiver: &mut Receiver, number: u64) -> u16 {
    arrive(receiver, 1, number * MSS, MSS).map_or(0, |ack| ack.window)
}

/// Past its quick ACKs; the next byte in order is that of segment 40.
fn settled() -> Receiver {
    let mut receiver = fixed(200 * MSS);
    (0..40).for_each(|number| _ = arrive(&mut receiver, 1, number * MSS, MSS));
    receiver
}

#[test]
fn what_arrives_again_or_outside_the_window_is_counted() {
    let mut receiver = fixed(10_000);
    let mut duplicates = |sequence, length| {
        arrive(&mut receiver, 1, sequence, length);
        (receiver.duplicate_bytes().get(), receiver.received().get())
    };
    assert_eq!(duplicates(0, 1_000), (0, 1_000));
    assert_eq!(duplicates(0, 1_000), (1_000, 1_000));
    assert_eq!(duplicates(500, 1_000), (1_500, 1_500), "half of it is new");
    assert_eq!(duplicates(5_000, 1_000), (1_500, 1_500));
    assert_eq!(duplicates(5_400, 1_000), (2_100, 1_500), "six tenths were there");
    assert_eq!(duplicates(20_000, 700), (2_800, 1_500), "nobody asked for it");
}

/// Linux `tcp_send_dupack`: old data bring quick ACKs back, a probe of the window and data beyond it do not.
#[test]
fn a_window_probe_and_data_beyond_the_window_are_answered_and_bring_no_quick_acks() {
    for (sequence, length, quick) in [(39, MSS, true), (40, 0, false), (1_000, MSS, false)] {
        let mut receiver = settled();
        let old = (sequence * MSS).saturating_sub(u64::from(length == 0));
        assert!(arrive(&mut receiver, 2, old, length).is_some());
        let acks = (40..44).map(|number| arrive(&mut receiver, 3, number * MSS, MSS).is_some());
        let every_second = [false, true, false, true];
        assert_eq!(acks.collect::<Vec<_>>(), if quick { [true; 4] } else { every_second });
    }
}

/// RFC 9293 section 3.10.7.4: a FIN is acknowledged, and counts in the sequence but not in the data.
#[test]
fn a_fin_is_acknowledged_at_once() {
    let mut receiver = settled();
    assert!(receiver.is_open() && !receiver.is_finished());
    assert!(arrive(&mut receiver, 2, 40 * MSS, 100).is_none(), "it waits for more");
    let flags = Flags { fin: true, ..Flags::default() };
    let sequence = 40 * MSS + 100;
    receiver.on_segment(at(3), &Segment { sequence, flags, ..Segment::default() });
    let ack = receiver.poll_transmit(at(3)).expect("an ACK");
    assert_eq!(ack.acknowledgment, sequence + 1);
    assert_eq!((receiver.is_finished(), receiver.received().get()), (true, sequence));
    assert!(!Receiver::new(ReceiverConfig::default(), at(0)).is_open());
}

/// RFC 9293 section 3.8.6.2.2: what is read opens the window, which is told once it is a segment or half of the buffer.
#[test]
fn a_window_that_opens_is_told_when_it_is_worth_it() {
    for (window, written, told) in [
        (20 * MSS, 2 * MSS, true),
        (20 * MSS, MSS, true),
        (20 * MSS, MSS - 1, false),
        (1_000, 500, true),
        (1_000, 499, false),
    ] {
        let mut receiver = fixed(window);
        receiver.set_reading(false);
        let ack = arrive(&mut receiver, 1, 0, written).expect("a quick ACK");
        assert_eq!(u64::from(ack.window), window - written);
        receiver.set_reading(false);
        assert!(receiver.poll_transmit(at(2)).is_none(), "nothing was read");
        receiver.set_reading(true);
        let update = receiver.poll_transmit(at(3));
        assert_eq!(update.is_some(), told, "{written} of {window}");
        assert!(update.is_none_or(|update| u64::from(update.window) == window));
        receiver.set_reading(true);
        assert!(receiver.poll_transmit(at(4)).is_none(), "nothing more to read");
    }
}

/// 128 KiB of memory, of which 160 parts of 256 are payload: 80 units of 1024 bytes, less what is out of order.
#[test]
fn what_is_out_of_order_takes_its_part_of_the_window_and_no_more() {
    let mut receiver = tuned();
    let windows: Vec<u16> = (0..21).map(|number| place(&mut receiver, number)).collect();
    assert_eq!(windows.last(), Some(&80), "{windows:?}");
    // Two gaps. The first is filled; one segment behind the second is left: 81920 - 1448 in begun units.
    place(&mut receiver, 22);
    place(&mut receiver, 24);
    assert_eq!(place(&mut receiver, 21), 79);
}

/// Linux `tcp_rcvbuf_grow`: room for twice what is read in a round trip, ten segments at first, and for what is out of order:
/// 2 * 14480 + 44 * 1448 = 92672 bytes, 90.5 units.
#[test]
fn a_long_way_behind_a_gap_the_buffer_grows_with_it() {
    let mut receiver = tuned();
    (1..44).for_each(|number| _ = place(&mut receiver, number));
    assert_eq!(place(&mut receiver, 0), 91);
}

/// Dynamic right-sizing goes by what is read in a round trip. That is 100 ms here, in which 60 segments come; in the first
/// 10 ms it was a tenth of it.
#[test]
fn a_round_trip_that_grows_is_believed_while_the_application_reads() {
    let mut receiver = tuned();
    let mut window = 0;
    for number in 0..600 {
        let millis = 1_000 + number as i64 * 10 / 6;
        let round_trip = Duration::from_millis(if number < 6 { 10 } else { 100 });
        let segment = Segment {
            sequence: number * MSS,
            length: MSS as u32,
            timestamp_echo: at(millis) - round_trip,
            ..Segment::default()
        };
        receiver.on_segment(at(millis), &segment);
        window = receiver.poll_transmit(at(millis)).map_or(window, |ack| ack.window);
    }
    // Twice 60 segments at least, and what growth asks for.
    assert!(u64::from(window) * 1024 > 120 * MSS, "{window}");
}
