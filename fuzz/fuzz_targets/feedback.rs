//! Every controller through its trait: any calls in any order with any content.
#![no_main]

use gameway_control::{FeedbackBatch, FrameReceived, FrameSent, Notice, PacketReport, SentPacket};
use gameway_fuzz::{Input, check_controller, controller};
use gameway_units::{Bytes, Instant, Rate};
use libfuzzer_sys::fuzz_target;

fn packet(input: &mut Input<'_>) -> SentPacket {
    let flags: u8 = input.any();
    SentPacket::new(input.sequence(), input.time(), input.frame(), Bytes::new(input.number(1_500)))
        .with_kind(input.kind())
        .with_first_of_frame(flags & 1 != 0)
        .with_last_of_frame(flags & 2 != 0)
        .with_probe_cluster((flags & 4 != 0).then_some(u32::from(flags >> 5)))
}

fn report(input: &mut Input<'_>) -> PacketReport {
    let arrived = !input.any::<u8>().is_multiple_of(4);
    let packet = packet(input);
    PacketReport::new(packet, arrived.then(|| input.receiver_time())).with_ecn(input.ecn())
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let mut controller = controller(input.any());
    let mut now = Instant::ZERO;
    while !input.is_empty() {
        match input.any::<u8>() % 8 {
            // The driver's own clock; extremes of it are part of the contract too.
            0 => now = input.time(),
            1 => controller.on_frame(
                now,
                &FrameSent::new(
                    input.frame(),
                    Rate::from_bps(input.number(50_000_000)),
                    Bytes::new(input.number(60_000)),
                    input.number(60) as u32,
                ),
            ),
            2 | 3 => controller.on_sent(now, &packet(&mut input)),
            4 => {
                controller.on_timer(now);
                let next = controller.next_timer();
                assert!(next.is_none_or(|next| next > now || now == Instant::MAX), "{next:?}");
            }
            5 => {
                let (frame, last) = (input.frame(), packet(&mut input));
                let (first_sent, arrival) = (input.time(), input.receiver_time());
                let received = FrameReceived::new(frame, first_sent, last, arrival);
                controller.on_notice(now, &Notice::FrameReceived(received));
            }
            _ => {
                let count = input.any::<u8>() % 12;
                let reports: Vec<_> = (0..count).map(|_| report(&mut input)).collect();
                let generated = input.receiver_time();
                let in_flight = Bytes::new(input.number(100_000));
                let batch = FeedbackBatch::new(&reports, generated, in_flight);
                controller.on_feedback(now, &batch);
            }
        }
        now = now.saturating_add(input.pause());
        check_controller(controller.as_ref());
    }
});
