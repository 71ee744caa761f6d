//! Streams through one drop-tail bottleneck of set capacity and delay: controllers on the test network.
//!
//! A stream is a controller with its pacer and frames as large as it asks for, and a receiver that reports.

use gameway_control::{
    Controllers, Ecn, FeedbackBatch, FeedbackStyle, FrameId, FrameSent, Pacer, PacerOutput,
    PacketKind, PacketReport, RateController, RateLimits, SentPacket, SequenceNumber,
};
use gameway_testbed::{DropTail, Ends, Onward, Path, Random, Testbed, fairness, hash, percentile};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Deref, DerefMut};

mod lies;
mod variants;

pub use lies::{LIES, Lie, liar};
pub use variants::{ADAPTIVE, Variant, variants};

pub const FRAME_INTERVAL: Duration = Duration::from_nanos(16_666_667);
const PACKET: u64 = 1_248;
const PROBE: u64 = 48;
/// The receiver's clock is ahead by this much.
const CLOCK_OFFSET: Duration = Duration::from_secs(1_000);
/// What nothing has been heard of for so long is taken for lost, as in `gameway-session`.
const SILENCE: Duration = Duration::from_secs(1);

pub fn limits() -> RateLimits {
    RateLimits {
        min: Rate::from_mbps(1),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(5),
        frame_interval: FRAME_INTERVAL,
    }
}

pub fn controller(name: &str, options: &[(&str, &str)]) -> Box<dyn RateController> {
    controller_with(name, options, limits())
}

pub fn controller_with(
    name: &str,
    options: &[(&str, &str)],
    limits: RateLimits,
) -> Box<dyn RateController> {
    let options: Options = options.iter().map(|(n, v)| ((*n).to_owned(), (*v).into())).collect();
    Controllers::standard().build(name, &options, limits).expect("a controller of the catalogue")
}

pub fn secs(secs: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(secs)
}

/// What a report becomes on its way back: the reports, when the receiver made it, and what is in flight.
pub type Mangle = Box<dyn FnMut(Instant, &mut Vec<PacketReport>, &mut ReceiverInstant, &mut Bytes)>;

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    packet: SentPacket,
    /// How long it waited for the link.
    waited: Duration,
    marked: bool,
}

/// What the receiver tells: what arrived since the last report, when, and whether it was marked.
pub struct Report {
    arrived: Vec<(SentPacket, ReceiverInstant, bool)>,
    generated: ReceiverInstant,
}

/// What was seen of a frame.
#[derive(Debug, Clone, Copy)]
pub struct FrameSeen {
    pub captured: Instant,
    pub target: Rate,
    /// How long the queue was that its first packet met.
    pub first_queueing: Option<Duration>,
    /// From first packet sent to last packet received.
    pub delay: Option<Duration>,
}

pub struct Stream {
    pub controller: Box<dyn RateController>,
    pacer: Pacer<SentPacket>,
    now: Instant,
    start: Instant,
    frame_interval: Duration,
    /// The noise of frame sizes: how much, and of which number.
    noise: (f64, u64),
    next_frame: u64,
    next_sequence: u64,
    outstanding: VecDeque<SentPacket>,
    in_flight: Bytes,
    /// Taken for lost although they may still arrive.
    expired: BTreeSet<u64>,
    /// When the newest report was made.
    generated: ReceiverInstant,
    feedback_blackout: Option<(Instant, Instant)>,
    mangle: Option<Mangle>,
    style: FeedbackStyle,
    next_report: Option<Instant>,
    /// Arrived and not reported.
    arrived: Vec<(SentPacket, ReceiverInstant, bool)>,
    reports: VecDeque<Report>,
    first_sent: BTreeMap<u64, Instant>,
    /// Received bytes in bins of 100 ms.
    pub received: Vec<u64>,
    pub frames: Vec<FrameSeen>,
    /// Target after each feedback.
    pub targets: Vec<(Instant, Rate)>,
    /// Packets that came marked.
    pub marked: u64,
}

impl Stream {
    pub fn received_mbps(&self, from: f64, to: f64) -> f64 {
        let bins = (from * 10.0) as usize..(to * 10.0) as usize;
        let bytes: u64 = bins.filter_map(|bin| self.received.get(bin)).sum();
        bytes as f64 * 8.0 / (to - from) / 1e6
    }

    fn captured(&self, from: f64, to: f64) -> impl Iterator<Item = &FrameSeen> {
        let span = secs(from)..secs(to);
        self.frames.iter().filter(move |frame| span.contains(&frame.captured))
    }

    /// The given share of frames captured in the span met a queue no longer than this, in ms.
    pub fn first_queueing_ms(&self, from: f64, to: f64, share: f64) -> f64 {
        let met = self.captured(from, to).filter_map(|frame| frame.first_queueing);
        percentile(met.map(Duration::as_millis_f64), share)
    }

    pub fn delay_ms(&self, from: f64, to: f64, share: f64) -> f64 {
        let met = self.captured(from, to).filter_map(|frame| frame.delay);
        percentile(met.map(Duration::as_millis_f64), share)
    }

    pub fn target_at(&self, time: f64) -> f64 {
        let before = self.targets.iter().take_while(|(at, _)| *at <= secs(time)).last();
        before.map_or(0.0, |(_, rate)| rate.as_mbps_f64())
    }

    pub fn observed(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.controller.observe(&mut |variable, value| {
            if variable == name {
                found = value;
            }
        });
        found
    }

    /// When a frame is captured. The schedule has no rounding error.
    fn capture(&self) -> Instant {
        self.start + self.frame_interval * self.next_frame as i64
    }

    fn encode(&mut self, now: Instant) {
        self.expire(now);
        let target = self.controller.target();
        self.pacer.set_target(now, &target);
        let frame = FrameId(self.next_frame);
        let (share, number) = self.noise;
        let noise = hash(self.next_frame * 31 + number) as f64 / (1_u64 << 63) as f64 - 1.0;
        let size = (target.bitrate * self.frame_interval).as_f64() * (1.0 + share * noise);
        let mut left = size.max(100.0) as u64;
        let (size, count) = (Bytes::new(left), left.div_ceil(PACKET));
        let sent = FrameSent::new(frame, target.bitrate, size, count as u32);
        self.controller.on_frame(now, &sent);
        let packets: Vec<_> = (0..count)
            .map(|k| {
                let size = left.min(PACKET);
                left -= size;
                let packet = packet(PacketKind::Media, frame, size)
                    .with_first_of_frame(k == 0)
                    .with_last_of_frame(k + 1 == count);
                (packet, packet.size)
            })
            .collect();
        self.pacer.enqueue_frame(now, frame, packets.into_iter());
        self.next_frame += 1;
        self.frames.push(FrameSeen {
            captured: now,
            target: target.bitrate,
            first_queueing: None,
            delay: None,
        });
        self.follow(now);
    }

    /// After anything that may have changed the target.
    fn follow(&mut self, now: Instant) {
        self.now = now;
        self.pacer.set_target(now, &self.controller.target());
    }

    /// Takes for lost what nothing has been heard of for long.
    fn expire(&mut self, now: Instant) {
        let mut reports = Vec::new();
        while let Some(packet) = pop_if(&mut self.outstanding, |p| now - p.sent > SILENCE) {
            self.expired.insert(packet.sequence.0);
            reports.push(report_of(packet, None, false));
        }
        if !reports.is_empty() {
            self.tell(now, reports, self.generated);
        }
    }

    fn tell(
        &mut self,
        now: Instant,
        mut reports: Vec<PacketReport>,
        mut generated: ReceiverInstant,
    ) {
        for report in &reports {
            let late = report.arrival.is_some() && self.expired.remove(&report.packet.sequence.0);
            if !late {
                self.in_flight = self.in_flight.saturating_sub(report.packet.size);
            }
        }
        let mut in_flight = self.in_flight;
        if let Some(mangle) = &mut self.mangle {
            mangle(now, &mut reports, &mut generated, &mut in_flight);
        }
        let batch = FeedbackBatch::new(&reports, generated, in_flight);
        self.controller.on_feedback(now, &batch);
        self.targets.push((now, self.controller.target().bitrate));
        self.follow(now);
    }

    fn report(&mut self, now: Instant) {
        if !self.arrived.is_empty() {
            let arrived = std::mem::take(&mut self.arrived);
            self.reports.push_back(Report { arrived, generated: on_clock(now) });
        }
    }
}

impl Ends for Stream {
    type Down = Data;
    type Up = Report;

    fn on_down(&mut self, now: Instant, data: Data) {
        let Data { packet, waited, marked } = data;
        self.arrived.push((packet, on_clock(now), marked));
        self.marked += u64::from(marked);
        let bin = (now.as_nanos() / 100_000_000) as usize;
        if self.received.len() <= bin {
            self.received.resize(bin + 1, 0);
        }
        self.received[bin] += packet.size.get();
        if packet.first_of_frame {
            self.frames[packet.frame.0 as usize].first_queueing = Some(waited);
        }
        if packet.last_of_frame
            && let Some(first) = self.first_sent.get(&packet.frame.0)
        {
            self.frames[packet.frame.0 as usize].delay = Some(now - *first);
        }
        let ends = packet.last_of_frame || packet.kind == PacketKind::Probe;
        if ends && self.style == FeedbackStyle::PerFrame {
            self.report(now);
        }
    }

    fn on_up(&mut self, now: Instant, report: Report) {
        if self.feedback_blackout.is_some_and(|(from, to)| (from..to).contains(&now)) {
            return;
        }
        self.generated = report.generated;
        let mut reports = Vec::new();
        for (packet, arrival, marked) in report.arrived {
            // The path does not reorder: what was sent before and has not come is lost.
            let before = |oldest: &SentPacket| oldest.sequence < packet.sequence;
            while let Some(lost) = pop_if(&mut self.outstanding, before) {
                reports.push(report_of(lost, None, false));
            }
            // If it was taken for lost already, it is told of once more.
            pop_if(&mut self.outstanding, |oldest| oldest.sequence == packet.sequence);
            reports.push(report_of(packet, Some(arrival), marked));
        }
        self.tell(now, reports, report.generated);
    }

    fn next_deadline(&self) -> Option<Instant> {
        if self.next_frame == 0 {
            return Some(self.start);
        }
        let timer = self.controller.next_timer().map(|due| due.max(self.now));
        let pacer = self.pacer.next_deadline(self.in_flight);
        Instant::first_of([Some(self.capture()), timer, pacer, self.next_report])
    }

    fn on_deadline(&mut self, now: Instant) {
        if self.capture() <= now {
            self.encode(now);
        }
        if self.controller.next_timer().is_some_and(|due| due <= now) {
            self.controller.on_timer(now);
            assert!(self.controller.next_timer().is_none_or(|next| next > now), "timer stuck");
            self.follow(now);
        }
        if self.next_report.is_some_and(|due| due <= now)
            && let FeedbackStyle::Interval(interval) = self.style
        {
            self.report(now);
            self.next_report = Some(now + interval);
        }
    }

    fn poll_down(&mut self, now: Instant) -> Option<Data> {
        let mut packet = match self.pacer.poll(now, self.in_flight)? {
            PacerOutput::Packet { token, probe_cluster, .. } => {
                token.with_probe_cluster(probe_cluster)
            }
            PacerOutput::Probe { frame, .. } => packet(PacketKind::Probe, frame, PROBE),
            PacerOutput::Padding { size, probe_cluster, .. } => {
                packet(PacketKind::Padding, FrameId(self.next_frame), size.get())
                    .with_probe_cluster(Some(probe_cluster))
            }
        };
        packet.sent = now;
        packet.sequence = SequenceNumber(self.next_sequence);
        self.next_sequence += 1;
        self.in_flight += packet.size;
        self.outstanding.push_back(packet);
        self.controller.on_sent(now, &packet);
        if packet.first_of_frame {
            self.first_sent.insert(packet.frame.0, now);
        }
        self.follow(now);
        Some(Data { packet, waited: Duration::ZERO, marked: false })
    }

    fn poll_up(&mut self, _now: Instant) -> Option<Report> {
        self.reports.pop_front()
    }
}

fn pop_if(
    packets: &mut VecDeque<SentPacket>,
    condition: impl Fn(&SentPacket) -> bool,
) -> Option<SentPacket> {
    if packets.front().is_some_and(condition) { packets.pop_front() } else { None }
}

fn on_clock(time: Instant) -> ReceiverInstant {
    ReceiverInstant::from_nanos(time.as_nanos()) + CLOCK_OFFSET
}

fn report_of(packet: SentPacket, arrival: Option<ReceiverInstant>, marked: bool) -> PacketReport {
    PacketReport::new(packet, arrival).with_ecn(if marked { Ecn::Ce } else { Ecn::NotEct })
}

fn packet(kind: PacketKind, frame: FrameId, size: u64) -> SentPacket {
    SentPacket::new(SequenceNumber(0), Instant::ZERO, frame, Bytes::new(size)).with_kind(kind)
}

/// The bottleneck of all streams, and the delay behind it and on the way back.
pub struct Bottleneck {
    pub queue: DropTail<(usize, Data)>,
    one_way: Duration,
    random: Random,
    /// Share of packets lost at random before the queue.
    pub loss_ppm: u64,
    /// Packets that waited longer than this are marked "congestion experienced".
    pub mark_above: Option<Duration>,
    /// Over this much more, the probability of a mark rises from 0 to 1; at once if zero.
    pub mark_ramp: Duration,
    /// In each period of the first length, what would arrive during the second arrives at its end.
    pub jitter: Option<(Duration, Duration)>,
    /// Packets of each stream that were lost.
    lost: BTreeMap<usize, u64>,
    /// The longest wait that a packet met in bins of 10 ms, in ms at the capacity then.
    pub queue_ms: Vec<f64>,
}

impl Path<Data, Report> for Bottleneck {
    fn down(&mut self, now: Instant, flow: usize, data: Data, _: &mut Onward<Data, Report>) {
        let (rate, ahead) = (self.queue.rate(now), self.queue.backlog());
        if self.random.chance(self.loss_ppm as f64 / 1e6)
            || !self.queue.arrive(now, data.packet.size, (flow, data))
        {
            *self.lost.entry(flow).or_default() += 1;
            return;
        }
        let bin = (now.as_nanos() / 10_000_000) as usize;
        if self.queue_ms.len() <= bin {
            self.queue_ms.resize(bin + 1, 0.0);
        }
        self.queue_ms[bin] = self.queue_ms[bin].max(rate.time_for(ahead).as_millis_f64());
    }

    fn up(&mut self, _: Instant, flow: usize, report: Report, onward: &mut Onward<Data, Report>) {
        onward.up(flow, self.one_way, report);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.queue.next_deadline()
    }

    fn on_deadline(&mut self, now: Instant, onward: &mut Onward<Data, Report>) {
        let Some(done) = self.queue.on_deadline(now) else { return };
        let (flow, data) = done.packet;
        let waited = done.waited();
        let beyond = self.mark_above.map_or(Duration::ZERO, |limit| waited - limit);
        let marked = beyond > self.mark_ramp.mul_f64(self.random.unit());
        let mut delay = self.one_way;
        if let Some((period, length)) = self.jitter {
            let into = Duration::from_nanos((now + delay).as_nanos() % period.as_nanos());
            delay += if into < length { length - into } else { Duration::ZERO };
        }
        onward.down(flow, delay, Data { waited, marked, ..data });
    }
}

/// The test network with streams, and what holds for all that are added from now on.
pub struct Network {
    testbed: Testbed<Stream, Bottleneck>,
    /// Time from frame to frame.
    pub frame_interval: Duration,
    /// Used instead of what controllers ask for.
    pub feedback_style: Option<FeedbackStyle>,
    /// Reports that would arrive in this span are lost.
    pub feedback_blackout: Option<(Instant, Instant)>,
    /// Reports of the next stream pass through this.
    pub mangle: Option<Mangle>,
}

impl Deref for Network {
    type Target = Testbed<Stream, Bottleneck>;
    fn deref(&self) -> &Self::Target {
        &self.testbed
    }
}

impl DerefMut for Network {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.testbed
    }
}

impl Network {
    /// With room for so much beside the packet that is being sent.
    pub fn new(capacity: Rate, rtt: Duration, queue_limit: Bytes) -> Self {
        let path = Bottleneck {
            queue: DropTail::new(capacity, queue_limit + Bytes::new(PACKET)),
            one_way: rtt / 2,
            random: Random::new(1),
            loss_ppm: 0,
            mark_above: None,
            mark_ramp: Duration::ZERO,
            jitter: None,
            lost: BTreeMap::new(),
            queue_ms: Vec::new(),
        };
        Self {
            testbed: Testbed::new(path, Vec::new()),
            frame_interval: FRAME_INTERVAL,
            feedback_style: None,
            feedback_blackout: None,
            mangle: None,
        }
    }

    /// 20 Mb/s, 20 ms, a queue of 200 ms.
    pub fn usual() -> Self {
        Self::new(Rate::from_mbps(20), Duration::from_millis(20), Bytes::new(500_000))
    }

    pub fn add(&mut self, controller: Box<dyn RateController>, start: f64, frame_noise: f64) {
        let start = secs(start);
        let style = self.feedback_style.unwrap_or_else(|| controller.feedback_style());
        let next_report = match style {
            FeedbackStyle::Interval(interval) => Some(start + interval),
            FeedbackStyle::PerFrame => None,
        };
        let stream = Stream {
            controller,
            pacer: Pacer::new(self.frame_interval, Bytes::new(PACKET)),
            now: Instant::ZERO,
            start,
            frame_interval: self.frame_interval,
            noise: (frame_noise, self.flows.len() as u64),
            next_frame: 0,
            next_sequence: 0,
            outstanding: VecDeque::new(),
            in_flight: Bytes::ZERO,
            expired: BTreeSet::new(),
            generated: ReceiverInstant::ZERO,
            feedback_blackout: self.feedback_blackout,
            mangle: self.mangle.take(),
            style,
            next_report,
            arrived: Vec::new(),
            reports: VecDeque::new(),
            first_sent: BTreeMap::new(),
            received: Vec::new(),
            frames: Vec::new(),
            targets: Vec::new(),
            marked: 0,
        };
        self.flows.push(stream);
    }

    /// The capacity from a time on; zero is a blackout that loses everything.
    pub fn set_capacity(&mut self, from: f64, capacity: Rate) {
        self.path.queue.set_rate(secs(from), capacity);
    }

    pub fn run_until(&mut self, end: f64) {
        self.testbed.run_until(secs(end));
    }

    /// Packets of a stream that were lost.
    pub fn lost_packets(&self, flow: usize) -> u64 {
        self.path.lost.get(&flow).copied().unwrap_or_default()
    }
}

/// Three streams of one kind that begin 20 s apart on 30 Mb/s and 20 ms, seen in seconds 45 to 60.
pub struct Three {
    pub min_fairness: f64,
    pub mean_fairness: f64,
    pub min_utilization: f64,
    /// Mean over flows and runs of the 95th percentile of the frame delay.
    pub delay_ms: f64,
}

/// Runs differ in the offsets between the streams' frames.
pub fn three_staggered(name: &str, options: &[(&str, &str)], runs: u32) -> Three {
    let (min_fairness, min_utilization) = (1.0, 1.0);
    let mut seen = Three { min_fairness, mean_fairness: 0.0, min_utilization, delay_ms: 0.0 };
    for run in 0..runs {
        // Multiples of irrational numbers spread evenly over the frame interval.
        let offset = |factor: f64| (f64::from(run) * factor + 0.3).fract() * 0.016_667;
        let mut network =
            Network::new(Rate::from_mbps(30), Duration::from_millis(20), Bytes::new(750_000));
        for start in [0.0, 20.0 + offset(0.618_033_988), 40.0 + offset(0.754_877_666)] {
            network.add(controller(name, options), start, 0.0);
        }
        network.run_until(60.0);
        let rates: Vec<_> = network.flows.iter().map(|f| f.received_mbps(45.0, 60.0)).collect();
        let delays: f64 = network.flows.iter().map(|flow| flow.delay_ms(45.0, 60.0, 0.95)).sum();
        seen.min_fairness = seen.min_fairness.min(fairness(&rates));
        seen.mean_fairness += fairness(&rates) / f64::from(runs);
        seen.min_utilization = seen.min_utilization.min(rates.iter().sum::<f64>() / 30.0);
        seen.delay_ms += delays / 3.0 / f64::from(runs);
    }
    seen
}
