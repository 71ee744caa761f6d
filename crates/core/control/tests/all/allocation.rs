//! No controller allocates memory in steady state: not for a packet sent, not for a report, not for a target.
//!
//! `allocation-counter` counts the calls of this thread to the global allocator; it is linked here only.

use crate::common::{FRAME_INTERVAL, controller, variants};
use gameway_control::{
    Ecn, FeedbackBatch, FrameId, FrameSent, PacketKind, PacketReport, RateController, SentPacket,
    SequenceNumber,
};
use gameway_testbed::hash;
use gameway_units::{Bytes, Duration, Instant, ReceiverInstant};

/// Media packets of a frame; a probe follows them.
const PACKETS: u64 = 20;
const WARM_UP: u64 = 3_600;
const MEASURED: u64 = 1_200;

fn packet(frame: u64, index: u64) -> SentPacket {
    let start = Instant::ZERO + FRAME_INTERVAL * frame as i64;
    let probe = index == PACKETS;
    SentPacket::new(
        SequenceNumber(frame * (PACKETS + 1) + index),
        start + Duration::from_micros(600) * index as i64,
        FrameId(frame),
        Bytes::new(if probe { 48 } else { 1_248 }),
    )
    .with_kind(if probe { PacketKind::Probe } else { PacketKind::Media })
    .with_first_of_frame(index == 0)
    .with_last_of_frame(index + 1 == PACKETS)
}

/// What became of a packet on a path that wavers by 5 ms, loses one in 500 packets and marks one in 100.
fn fate(packet: SentPacket) -> PacketReport {
    let random = hash(packet.sequence.0);
    let delay = Duration::from_micros(10_000 + (hash(packet.frame.0) % 5_000) as i64);
    let arrival = ReceiverInstant::from_nanos((packet.sent + delay).as_nanos());
    PacketReport::new(packet, (!random.is_multiple_of(500)).then_some(arrival))
        .with_ecn(if random % 100 == 1 { Ecn::Ce } else { Ecn::Ect1 })
}

/// A frame encoded, sent and reported; gives how many targets were positive.
fn frame(controller: &mut dyn RateController, frame: u64, reports: &mut [PacketReport]) -> u64 {
    let start = Instant::ZERO + FRAME_INTERVAL * frame as i64;
    let target = controller.target().bitrate;
    let size = Bytes::new(1_248 * PACKETS);
    let sent = FrameSent::new(FrameId(frame), target, size, PACKETS as u32);
    controller.on_frame(start, &sent);
    let mut positive = 0;
    for (index, report) in (0..).zip(reports.iter_mut()) {
        let packet = packet(frame, index);
        controller.on_sent(packet.sent, &packet);
        positive += u64::from(controller.target().bitrate.as_bps() > 0);
        *report = fate(packet);
    }
    let now = start + Duration::from_millis(32);
    let generated = ReceiverInstant::from_nanos(now.as_nanos() - 10_000_000);
    let batch = FeedbackBatch::new(reports, generated, Bytes::new(30_000));
    controller.on_feedback(now, &batch);
    if controller.next_timer().is_some_and(|next| next <= now) {
        controller.on_timer(now);
    }
    controller.observe(&mut |_, value| positive += u64::from(value > 0.0));
    positive
}

#[test]
fn no_controller_allocates_in_steady_state() {
    let mut reports = vec![fate(packet(0, 0)); PACKETS as usize + 1];
    for (name, options) in variants() {
        let mut controller = controller(name, options);
        for number in 0..WARM_UP {
            frame(controller.as_mut(), number, &mut reports);
        }
        let mut positive = 0;
        let counted = allocation_counter::measure(|| {
            for number in WARM_UP..WARM_UP + MEASURED {
                positive += frame(controller.as_mut(), number, &mut reports);
            }
        });
        assert_eq!(counted.count_total, 0, "{name} {options:?}: {} B", counted.bytes_total);
        assert!(positive > MEASURED * PACKETS, "{name}: it was not driven");
    }
}

#[test]
fn an_allocation_is_counted() {
    let counted = allocation_counter::measure(|| {
        std::hint::black_box(vec![0_u8; std::hint::black_box(100)]);
    });
    assert_eq!((counted.count_total, counted.bytes_total), (1, 100));
}
