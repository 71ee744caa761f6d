//! What a media packet costs: sender, receiver and feedback together, on a path that does nothing.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gameway_control::{
    FeedbackBatch, FeedbackStyle, FrameSent, Pacing, RateController, SentPacket, Target,
};
use gameway_media::EncoderModel;
use gameway_session::{FeedbackPacket, Receiver, ReceiverConfig, Sender, SenderConfig};
use gameway_units::{Duration, Ecn, Instant, Rate, ReceiverInstant};
use std::hint::black_box;

const INTERVAL: Duration = Duration::from_nanos(16_666_667);
const FRAMES: u64 = 600;

/// Wants 25 Mb/s for ever: the cost of a real controller is not measured here.
struct Constant;

impl RateController for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }
    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }
    fn on_frame(&mut self, _now: Instant, _frame: &FrameSent) {}
    fn on_sent(&mut self, _now: Instant, _packet: &SentPacket) {}
    fn on_feedback(&mut self, _now: Instant, batch: &FeedbackBatch<'_>) {
        black_box(batch.reports.len());
    }
    fn on_timer(&mut self, _now: Instant) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn target(&self) -> Target {
        Target::new(Rate::from_mbps(25), Pacing::FrameMultiplier(1.25))
    }
    fn observe(&self, _sink: &mut dyn FnMut(&str, f64)) {}
}

/// Ten seconds of a stream; the packets sent.
fn ten_seconds() -> u64 {
    let config = SenderConfig::new(Instant::ZERO, INTERVAL);
    let mut sender = Sender::new(config, Box::new(Constant));
    let mut encoder = EncoderModel::steady(INTERVAL);
    let mut receiver = Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame));
    let mut report = FeedbackPacket::default();
    let end = Instant::ZERO + INTERVAL * FRAMES as i64;
    let mut packets = 0;
    while let Some(now) = sender.next_deadline().filter(|&now| now < end) {
        sender.on_deadline(now);
        sender.encode_with(now, &mut encoder);
        let there = ReceiverInstant::from_nanos(now.as_nanos());
        while let Some(packet) = sender.poll_transmit(now) {
            packets += 1;
            receiver.on_packet(there, black_box(&packet), Ecn::NotEct);
            while receiver.poll_feedback(there, &mut report) {
                sender.on_feedback(now, black_box(&report));
            }
        }
        while sender.poll_event().is_some() {}
        while receiver.poll_event().is_some() {}
    }
    packets
}

fn stream(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stream");
    group.throughput(Throughput::Elements(ten_seconds()));
    group.sample_size(20);
    group.bench_function("per media packet, both ends", |bencher| bencher.iter(ten_seconds));
    group.finish();
}

criterion_group!(benches, stream);
criterion_main!(benches);
