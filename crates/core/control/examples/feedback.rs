//! Two controllers on a link of 10 Mb/s that falls to 4 Mb/s after ten seconds: what they want each second, and for
//! how long packets wait.
//!
//! `cargo run --release -p gameway-control --example feedback`

use gameway_control::{
    Controllers, FeedbackBatch, FrameId, FrameSent, Notice, PacketReport, RateController,
    RateLimits, SentPacket, SequenceNumber,
};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::collections::VecDeque;

const PACKET: Bytes = Bytes::new(1200);
const INTERVAL: Duration = Duration::from_nanos(16_666_667);
const ONE_WAY: Duration = Duration::from_millis(10);
const FRAMES_A_SECOND: u64 = 60;
const SECONDS: u64 = 20;

fn capacity(now: Instant) -> Rate {
    Rate::from_mbps(if now < Instant::ZERO + Duration::from_secs(10) { 10 } else { 4 })
}

/// A sender of frames, the link in front of it, and the reports that are on their way back.
struct Stream {
    controller: Box<dyn RateController>,
    packets: u64,
    link_free: Instant,
    reports: VecDeque<(Instant, Vec<PacketReport>)>,
    in_flight: Bytes,
}

impl Stream {
    /// Encodes a frame of the size that is wanted, and sends its packets over the frame interval; the receiver
    /// reports when it has all of it.
    fn send_frame(&mut self, frame: u64, now: Instant) {
        let target = self.controller.target().bitrate;
        let count = ((target * INTERVAL).get() / PACKET.get()).max(1);
        let id = FrameId(frame);
        self.controller.on_notice(now, &Notice::Captured);
        let size = Bytes::new(count * PACKET.get());
        let packets = u32::try_from(count).expect("a frame of a bounded bitrate");
        self.controller.on_frame(now, &FrameSent::new(id, target, size, packets));
        let mut reports = Vec::new();
        for index in 0..count {
            let sent = now + INTERVAL * index as i64 / count as i64;
            let packet = SentPacket::new(SequenceNumber(self.packets), sent, id, PACKET)
                .with_first_of_frame(index == 0)
                .with_last_of_frame(index + 1 == count);
            self.packets += 1;
            self.controller.on_sent(sent, &packet);
            self.link_free = self.link_free.max(sent) + capacity(sent).time_for(PACKET);
            let arrival = ReceiverInstant::from_nanos((self.link_free + ONE_WAY).as_nanos());
            reports.push(PacketReport::new(packet, Some(arrival)));
        }
        self.in_flight += size;
        self.reports.push_back((self.link_free + ONE_WAY * 2, reports));
    }

    /// Hands over the reports and timers that are due.
    fn wait_until(&mut self, now: Instant) {
        while let Some((at, reports)) = self.reports.front().filter(|(at, _)| *at <= now) {
            self.in_flight -= Bytes::new(PACKET.get() * reports.len() as u64);
            let generated = ReceiverInstant::from_nanos((*at - ONE_WAY).as_nanos());
            let batch = FeedbackBatch::new(reports, generated, self.in_flight);
            self.controller.on_feedback(*at, &batch);
            self.reports.pop_front();
        }
        while let Some(at) = self.controller.next_timer().filter(|at| *at <= now) {
            self.controller.on_timer(at);
        }
    }
}

/// The target in Mb/s and the queueing delay in milliseconds at the end of each second.
fn run(name: &str) -> Vec<(f64, f64)> {
    let limits = RateLimits {
        min: Rate::from_mbps(1),
        max: Rate::from_mbps(30),
        start: Rate::from_mbps(3),
        frame_interval: INTERVAL,
    };
    let controller =
        Controllers::standard().build(name, &Options::new(), limits).expect("it is known");
    let (link_free, reports) = (Instant::ZERO, VecDeque::new());
    let mut stream = Stream { controller, packets: 0, link_free, reports, in_flight: Bytes::ZERO };
    let mut seconds = Vec::new();
    for frame in 0..SECONDS * FRAMES_A_SECOND {
        let now = Instant::ZERO + INTERVAL * frame as i64;
        stream.wait_until(now);
        stream.send_frame(frame, now);
        if (frame + 1) % FRAMES_A_SECOND == 0 {
            let waiting = stream.link_free.saturating_since(now + INTERVAL);
            let rate = stream.controller.target().bitrate.as_mbps_f64();
            seconds.push((rate, waiting.as_millis_f64().max(0.0)));
        }
    }
    seconds
}

fn main() {
    let names = ["pudica", "nada"];
    println!("second  {}", names.map(|name| format!("{name:>20}")).join(""));
    let runs = names.map(run);
    for second in 0..SECONDS as usize {
        let told = runs.each_ref().map(|run| {
            let (rate, waiting) = run[second];
            format!("{rate:6.1} Mb/s {waiting:5.0} ms")
        });
        println!("{:6}  {}", second + 1, told.join(" "));
    }
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn controllers_fill_the_link_and_follow_it_down() {
        for name in ["pudica", "nada"] {
            let seconds = run(name);
            let mean = |part: &[(f64, f64)]| part.iter().map(|one| one.0).sum::<f64>() / 5.0;
            let (before, after) = (mean(&seconds[5..10]), mean(&seconds[15..20]));
            assert!((9.0..11.0).contains(&before), "{name}: {before}");
            assert!((3.5..4.5).contains(&after), "{name}: {after}");
        }
    }
}
