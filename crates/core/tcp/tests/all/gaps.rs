//! How the receiver acknowledges around a gap: when at once, when together, and what comes after.
//!
//! Expected is what Linux 6.18 does (`__tcp_ack_snd_check`), as a capture of a kernel's download shows it.

use gameway_tcp::{Flags, ReceiveWindow, Receiver, ReceiverConfig, Segment};
use gameway_units::{Bytes, Duration, Instant};

const MSS: u64 = 1448;
const RTT: Duration = Duration::from_millis(10);

const fn micros(micros: i64) -> Instant {
    Instant::from_nanos(1_000_000_000 + micros * 1_000)
}

fn segment(index: u64, now: Instant) -> Segment {
    Segment {
        sequence: index * MSS,
        length: MSS as u32,
        timestamp_value: now - RTT / 2,
        timestamp_echo: now - RTT,
        ..Segment::default()
    }
}

/// A receiver that has acknowledged 40 segments, past its quick ACKs, on a path of [`RTT`], with room for more.
fn receiver() -> Receiver {
    let receive_window = ReceiveWindow::Fixed(Bytes::new(6 << 20));
    let config = ReceiverConfig { receive_window, ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(config, micros(-100_000));
    receiver.poll_transmit(micros(-100_000)).expect("SYN");
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    let timestamp_echo = micros(-100_000);
    receiver.on_segment(micros(-90_000), &Segment { flags, timestamp_echo, ..Segment::default() });
    receiver.poll_transmit(micros(-90_000)).expect("ACK of the handshake");
    for index in 0..40 {
        let now = micros(-80_000 + index * 100);
        receiver.on_segment(now, &segment(index as u64, now));
        receiver.poll_transmit(now);
    }
    receiver.on_deadline(micros(-10_000));
    receiver.poll_transmit(micros(-10_000));
    assert_eq!(receiver.next_deadline(), None);
    receiver
}

/// Segments that arrive `spacing` apart: the times of the ACKs, in microseconds after the first.
fn acks(receiver: &mut Receiver, indices: &[u64], spacing: i64) -> Vec<i64> {
    let mut times = Vec::new();
    for (count, index) in indices.iter().enumerate() {
        let arrival = count as i64 * spacing;
        while let Some(due) = receiver.next_deadline().filter(|due| *due < micros(arrival)) {
            receiver.on_deadline(due);
            receiver.poll_transmit(due).expect("an ACK that was due");
            times.push((due - micros(0)).as_nanos() / 1_000);
        }
        receiver.on_segment(micros(arrival), &segment(*index, micros(arrival)));
        if receiver.poll_transmit(micros(arrival)).is_some() {
            times.push(arrival);
        }
    }
    times
}

#[test]
fn three_segments_behind_a_gap_are_answered_at_once_and_more_together() {
    // A twentieth of 10 ms and the timer's slack: 0.6 ms after the first that waits.
    let times = acks(&mut receiver(), &(41..61).collect::<Vec<_>>(), 100);
    assert_eq!(times, [0, 100, 200, 900, 1600]);
}

#[test]
fn segments_further_apart_than_the_wait_are_answered_one_by_one() {
    let times = acks(&mut receiver(), &(41..49).collect::<Vec<_>>(), 1200);
    assert_eq!(times, [0, 1200, 2400, 4200, 5400, 6600, 7800]);
}

#[test]
fn forty_four_segments_wait_for_one_ack_and_no_more() {
    let times = acks(&mut receiver(), &(41..141).collect::<Vec<_>>(), 10);
    // Three at once, then 44 that wait, then the next at once: 48 segments.
    assert_eq!(times, [0, 10, 20, 470, 920]);
}

#[test]
fn a_second_gap_has_its_own_three_once_the_first_is_filled() {
    let indices: Vec<u64> = (41..46).chain([40]).chain(47..51).collect();
    let times = acks(&mut receiver(), &indices, 100);
    // 44 and 45 wait; 40 fills the gap, which is told at once, as are 47, 48 and 49.
    assert_eq!(times, [0, 100, 200, 500, 600, 700, 800]);
}

#[test]
fn behind_a_filled_gap_every_second_segment_is_acknowledged() {
    let indices: Vec<u64> = (41..43).chain([40]).chain(43..51).collect();
    let times = acks(&mut receiver(), &indices, 100);
    assert_eq!(times, [0, 100, 200, 400, 600, 800, 1000]);
}

#[test]
fn old_data_brings_back_quick_acks() {
    let indices: Vec<u64> = [3].into_iter().chain(40..64).collect();
    let times = acks(&mut receiver(), &indices, 100);
    let expected: Vec<i64> = (0..16).chain([17, 19, 21, 23]).map(|count| count * 100).collect();
    assert_eq!(times, expected);
}

#[test]
fn a_lone_segment_is_acknowledged_at_once_if_it_was_pushed() {
    for (psh, at_once) in [(true, true), (false, false)] {
        let mut receiver = receiver();
        let lone = segment(40, micros(0));
        let flags = Flags { psh, ..lone.flags };
        receiver.on_segment(micros(0), &Segment { flags, ..lone });
        assert_eq!(receiver.poll_transmit(micros(0)).is_some(), at_once);
        let due = receiver.next_deadline().map(|due| due - micros(0));
        assert_eq!(due, (!at_once).then_some(Duration::from_millis(40)));
    }
}

#[test]
fn silence_of_a_time_out_brings_back_quick_acks() {
    // The handshake took 10 ms: a time-out is 210 ms. The last segment came at -76.1 ms.
    for (after, quick) in [(100_000, 1), (133_000, 1), (134_000, 16)] {
        let mut receiver = receiver();
        let answered = (0..17).filter(|count| {
            let now = micros(after + count);
            receiver.on_segment(now, &segment(40 + *count as u64, now));
            receiver.poll_transmit(now).is_some()
        });
        // Without quick ACKs every second.
        let expected: Vec<i64> =
            if quick > 1 { (0..16).collect() } else { (1..17).step_by(2).collect() };
        assert_eq!(answered.collect::<Vec<_>>(), expected, "{after} us");
    }
}

/// A client whose request follows the first segment of an answer by so long: when the segments behind it, 1 ms apart
/// from 100 ms on, are acknowledged, in milliseconds after the first of them.
fn acks_after_a_request(pause: i64, count: u64) -> (Receiver, Vec<u64>) {
    let mut receiver = Receiver::new(ReceiverConfig::default(), micros(-10_000));
    receiver.poll_transmit(micros(-10_000)).expect("SYN");
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    let timestamp_echo = micros(-10_000);
    receiver.on_segment(micros(-1_000), &Segment { flags, timestamp_echo, ..Segment::default() });
    receiver.on_request(micros(-1_000));
    receiver.poll_transmit(micros(-1_000)).expect("the first request");
    receiver.on_segment(micros(0), &segment(0, micros(0)));
    receiver.poll_transmit(micros(0)).expect("a quick ACK");
    receiver.on_request(micros(pause));
    receiver.poll_transmit(micros(pause)).expect("the second request");
    let acknowledged = (0..count).filter(|index| {
        let now = micros(100_000 + 1_000 * *index as i64);
        receiver.on_segment(now, &segment(index + 1, now));
        receiver.poll_transmit(now).is_some()
    });
    let acknowledged = acknowledged.collect();
    (receiver, acknowledged)
}

/// Linux counts a request as an answer if it follows within the 40 ms that an ACK would have waited for it.
#[test]
fn requests_that_answer_end_the_quick_acks() {
    assert_eq!(acks_after_a_request(39_000, 9).1, [1, 3, 5, 7]);
    assert_eq!(acks_after_a_request(41_000, 9).1, (0..9).collect::<Vec<_>>());
}

/// Until an ACK has waited in vain, or old data come.
#[test]
fn an_interactive_connection_stays_so_until_an_ack_waits_in_vain() {
    let pushed = |receiver: &mut Receiver, index: u64, now: Instant| {
        let flags = Flags { psh: true, ..Flags::default() };
        receiver.on_segment(now, &Segment { flags, ..segment(index, now) });
        receiver.poll_transmit(now).is_some()
    };
    let (mut receiver, _) = acks_after_a_request(1_000, 8);
    assert!(!pushed(&mut receiver, 9, micros(110_000)), "what was pushed waits, too");
    let due = receiver.next_deadline().expect("a delayed ACK");
    assert_eq!(due, micros(150_000));
    receiver.on_deadline(due);
    receiver.poll_transmit(due).expect("the delayed ACK");
    assert!(pushed(&mut receiver, 10, micros(160_000)));
    let (mut repeated, _) = acks_after_a_request(1_000, 8);
    repeated.on_segment(micros(110_000), &segment(3, micros(110_000)));
    repeated.poll_transmit(micros(110_000)).expect("the answer to old data");
    repeated.on_segment(micros(111_000), &segment(9, micros(111_000)));
    assert!(repeated.poll_transmit(micros(111_000)).is_some(), "quick again");
}

#[test]
fn a_reset_leaves_nothing_due() {
    let mut receiver = receiver();
    acks(&mut receiver, &[41, 42, 43, 44, 45], 100);
    assert_eq!(receiver.next_deadline(), Some(micros(900)));
    receiver.reset();
    let reset = receiver.poll_transmit(micros(500)).expect("a reset");
    assert!(reset.flags.rst);
    assert_eq!(receiver.next_deadline(), None);
}
