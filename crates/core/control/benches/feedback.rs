//! Cost of each controller per packet: encoding, sending, a target and the report, at 20 packets a frame and a
//! delay that wavers by 5 ms. The figure to read is the time per element.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use gameway_control::{
    Controllers, FeedbackBatch, FrameId, FrameSent, Pacer, Pacing, PacketReport, RateController,
    RateLimits, SentPacket, SequenceNumber,
};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::hint::black_box;

const FRAMES: u64 = 600;
const PACKETS: u64 = 20;
const FRAME_INTERVAL: Duration = Duration::from_nanos(16_666_667);

/// Beside the defaults: label, controller, option.
const VARIANTS: &[(&str, &str, (&str, &str))] = &[
    ("copa competitive", "copa", ("mode", "competitive")),
    ("pudica bur=sqp", "pudica", ("bur", "sqp")),
    ("pudica bur=salsify", "pudica", ("bur", "salsify")),
    ("scream classic", "scream", ("ecn", "classic")),
];

fn packet(frame: u64, index: u64) -> SentPacket {
    let sent =
        Instant::ZERO + FRAME_INTERVAL * frame as i64 + Duration::from_micros(600) * index as i64;
    SentPacket::new(
        SequenceNumber(frame * PACKETS + index),
        sent,
        FrameId(frame),
        Bytes::new(1_248),
    )
    .with_first_of_frame(index == 0)
    .with_last_of_frame(index + 1 == PACKETS)
}

fn drive(controller: &mut dyn RateController, reports: &mut Vec<PacketReport>) {
    for frame in 0..FRAMES {
        let start = Instant::ZERO + FRAME_INTERVAL * frame as i64;
        let target = controller.target().bitrate;
        let size = Bytes::new(1_248 * PACKETS);
        controller.on_frame(start, &FrameSent::new(FrameId(frame), target, size, 20));
        reports.clear();
        for index in 0..PACKETS {
            let packet = packet(frame, index);
            controller.on_sent(packet.sent, &packet);
            black_box(controller.target());
            let wavering = (frame * 7_919 % 5_000 * 1_000) as i64;
            let arrival = packet.sent.as_nanos() + 10_000_000 + wavering;
            let arrival = ReceiverInstant::from_nanos(arrival);
            reports.push(PacketReport::new(packet, Some(arrival)));
        }
        let now = start + Duration::from_millis(32);
        let generated = ReceiverInstant::from_nanos(now.as_nanos() - 10_000_000);
        let batch = FeedbackBatch::new(reports, generated, Bytes::new(30_000));
        controller.on_feedback(now, &batch);
        if controller.next_timer().is_some_and(|next| next <= now) {
            controller.on_timer(now);
        }
    }
}

fn controllers(criterion: &mut Criterion) {
    let limits = RateLimits {
        min: Rate::from_mbps(2),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(5),
        frame_interval: FRAME_INTERVAL,
    };
    let mut group = criterion.benchmark_group("packet report");
    group.throughput(Throughput::Elements(FRAMES * PACKETS));
    let mut reports = Vec::with_capacity(64);
    let known = Controllers::standard();
    let plain = known.descriptions().map(|one| (one.name, one.name, None));
    let variants = VARIANTS.iter().map(|(label, name, option)| (*label, *name, Some(*option)));
    for (label, name, option) in plain.chain(variants) {
        let options: Options =
            option.iter().map(|(key, value)| (key.to_string(), (*value).into())).collect();
        group.bench_function(label, |bencher| {
            bencher.iter_batched(
                || known.build(name, &options, limits).expect("it is known"),
                |mut controller| drive(controller.as_mut(), &mut reports),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn pacer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pacer packet");
    group.throughput(Throughput::Elements(FRAMES * PACKETS));
    let modes = [
        ("frame multiplier", Pacing::FrameMultiplier(1.25)),
        ("rate", Pacing::Rate(Rate::from_mbps(40))),
    ];
    for (name, pacing) in modes {
        let target = gameway_control::Target::new(Rate::from_mbps(12), pacing);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut pacer = Pacer::new(FRAME_INTERVAL, Bytes::new(1_248));
                pacer.set_target(Instant::ZERO, &target);
                for frame in 0..FRAMES {
                    let now = Instant::ZERO + FRAME_INTERVAL * frame as i64;
                    let packets = (0..PACKETS as u32).map(|index| (index, Bytes::new(1_248)));
                    let packets: Vec<_> = packets.collect();
                    pacer.enqueue_frame(now, FrameId(frame), packets.into_iter());
                    while let Some(due) = pacer.next_deadline(Bytes::ZERO) {
                        black_box(pacer.poll(due, Bytes::ZERO));
                    }
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, controllers, pacer);
criterion_main!(benches);
