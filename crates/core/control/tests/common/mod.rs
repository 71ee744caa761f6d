//! A small deterministic network: streams through one drop-tail bottleneck of set capacity and delay.
//!
//! Sans-IO parts and one ordered list of events; no randomness but a seeded noise of frame sizes.
#![allow(dead_code, reason = "each test binary uses its part")]

use gameway_control::{
    Controllers, Ecn, FeedbackBatch, FeedbackStyle, FrameId, FrameSent, Pacer, PacerOutput,
    PacketKind, PacketReport, RateController, RateLimits, SentPacket, SequenceNumber,
};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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

/// A number from -1 to 1 that looks random (SplitMix64).
fn noise(index: u64) -> f64 {
    let mut z = index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// What a report becomes on its way back: the reports, when the receiver made it, and what is in flight.
pub type Mangle = Box<dyn FnMut(Instant, &mut Vec<PacketReport>, &mut ReceiverInstant, &mut Bytes)>;

#[derive(Debug, Clone, Copy)]
enum Event {
    Frame(usize),
    Pace(usize),
    Timer(usize),
    LinkFree,
    Arrive(usize, SentPacket),
    Report(usize),
    Feedback(usize),
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

pub struct Flow {
    pub controller: Box<dyn RateController>,
    pacer: Pacer<SentPacket>,
    start: Instant,
    frame_noise: f64,
    next_frame: u64,
    next_sequence: u64,
    outstanding: VecDeque<SentPacket>,
    in_flight: Bytes,
    /// Arrived and not reported.
    arrived: Vec<(SentPacket, Instant)>,
    on_way: VecDeque<(Vec<PacketReport>, ReceiverInstant)>,
    /// Packets whose report was lost.
    unheard: Vec<PacketReport>,
    /// Taken for lost although they may still arrive.
    expired: BTreeSet<u64>,
    last_generated: ReceiverInstant,
    timer_set: Option<Instant>,
    pace_set: Option<Instant>,
    first_sent: BTreeMap<u64, Instant>,
    /// Received bytes in bins of 100 ms.
    pub received: Vec<u64>,
    pub frames: Vec<FrameSeen>,
    /// Target after each feedback.
    pub targets: Vec<(Instant, Rate)>,
    pub lost_packets: u64,
    /// Numbers of packets that were marked.
    pub marked: BTreeSet<u64>,
}

impl Flow {
    pub fn received_mbps(&self, from: f64, to: f64) -> f64 {
        let bins = (from * 10.0) as usize..(to * 10.0) as usize;
        let bytes: u64 = bins.filter_map(|bin| self.received.get(bin)).sum();
        bytes as f64 * 8.0 / (to - from) / 1e6
    }

    /// The given share of frames captured in the span met a queue no longer than this, in ms.
    pub fn first_queueing_ms(&self, from: f64, to: f64, share: f64) -> f64 {
        let met = self.frames.iter().filter(|f| f.captured >= secs(from) && f.captured < secs(to));
        percentile(met.filter_map(|frame| frame.first_queueing), share)
    }

    pub fn delay_ms(&self, from: f64, to: f64, share: f64) -> f64 {
        let met = self.frames.iter().filter(|f| f.captured >= secs(from) && f.captured < secs(to));
        percentile(met.filter_map(|frame| frame.delay), share)
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
}

fn percentile(values: impl Iterator<Item = Duration>, share: f64) -> f64 {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_unstable();
    let index = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).map_or(f64::NAN, |value| value.as_millis_f64())
}

pub struct Network {
    now: Instant,
    order: u64,
    events: BTreeMap<(Instant, u64), Event>,
    /// From each time on, this capacity; zero is a blackout that loses everything.
    pub capacity: Vec<(Instant, Rate)>,
    one_way: Duration,
    queue_limit: Bytes,
    queue: VecDeque<(usize, SentPacket, Instant)>,
    queued: Bytes,
    link_busy: bool,
    pub flows: Vec<Flow>,
    /// Longest queue in bins of 10 ms, in ms at the capacity then.
    pub queue_ms: Vec<f64>,
    /// Share of packets lost at random before the queue.
    pub loss_ppm: u64,
    /// Packets that waited longer than this in the queue are marked "congestion experienced".
    pub mark_above: Option<Duration>,
    /// Over this much more, the probability of a mark rises from 0 to 1; at once if zero.
    pub mark_ramp: Duration,
    /// In each period of the first length, what would arrive during the second arrives at its end.
    pub jitter: Option<(Duration, Duration)>,
    /// Time from frame to frame, of all that are added from now on.
    pub frame_interval: Duration,
    /// Used instead of what controllers ask for.
    pub feedback_style: Option<FeedbackStyle>,
    /// Reports that would arrive in this span are lost.
    pub feedback_blackout: Option<(Instant, Instant)>,
    /// Reports pass through this.
    pub mangle: Option<Mangle>,
}

impl Network {
    pub fn new(capacity: Rate, rtt: Duration, queue_limit: Bytes) -> Self {
        Self {
            now: Instant::ZERO,
            order: 0,
            events: BTreeMap::new(),
            capacity: vec![(Instant::ZERO, capacity)],
            one_way: rtt / 2,
            queue_limit,
            queue: VecDeque::new(),
            queued: Bytes::ZERO,
            link_busy: false,
            flows: Vec::new(),
            queue_ms: Vec::new(),
            loss_ppm: 0,
            mark_above: None,
            mark_ramp: Duration::ZERO,
            jitter: None,
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
        let flow = self.flows.len();
        self.flows.push(Flow {
            controller,
            pacer: Pacer::new(self.frame_interval, Bytes::new(PACKET)),
            start: secs(start),
            frame_noise,
            next_frame: 0,
            next_sequence: 0,
            outstanding: VecDeque::new(),
            in_flight: Bytes::ZERO,
            arrived: Vec::new(),
            on_way: VecDeque::new(),
            unheard: Vec::new(),
            expired: BTreeSet::new(),
            last_generated: ReceiverInstant::ZERO,
            timer_set: None,
            pace_set: None,
            first_sent: BTreeMap::new(),
            received: Vec::new(),
            frames: Vec::new(),
            targets: Vec::new(),
            lost_packets: 0,
            marked: BTreeSet::new(),
        });
        self.schedule(secs(start), Event::Frame(flow));
        if let FeedbackStyle::Interval(interval) = self.feedback_style(flow) {
            self.schedule(secs(start) + interval, Event::Report(flow));
        }
    }

    fn feedback_style(&self, flow: usize) -> FeedbackStyle {
        self.feedback_style.unwrap_or_else(|| self.flows[flow].controller.feedback_style())
    }

    /// When what is through the link at `time` arrives.
    fn arrival(&self, time: Instant) -> Instant {
        let time = time + self.one_way;
        let Some((period, length)) = self.jitter else { return time };
        let into = Duration::from_nanos(time.as_nanos() % period.as_nanos());
        if into < length { time + (length - into) } else { time }
    }

    fn schedule(&mut self, time: Instant, event: Event) {
        self.order += 1;
        self.events.insert((time, self.order), event);
    }

    fn capacity_now(&self) -> Rate {
        self.capacity.iter().rev().find(|(from, _)| *from <= self.now).map_or(Rate::ZERO, |c| c.1)
    }

    pub fn run_until(&mut self, end: f64) {
        while let Some(((time, _), event)) = self.events.pop_first() {
            if time > secs(end) {
                self.schedule(time, event);
                return;
            }
            self.now = time;
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Frame(flow) => self.encode(flow),
            Event::Pace(flow) => {
                if self.flows[flow].pace_set == Some(self.now) {
                    self.flows[flow].pace_set = None;
                    self.pace(flow);
                }
            }
            Event::Timer(flow) => {
                if self.flows[flow].timer_set.take_if(|set| *set == self.now).is_some() {
                    self.flows[flow].controller.on_timer(self.now);
                    let next = self.flows[flow].controller.next_timer();
                    assert!(next.is_none_or(|next| next > self.now), "timer stuck");
                    self.after_input(flow);
                }
            }
            Event::LinkFree => self.transmit(),
            Event::Arrive(flow, packet) => self.arrive(flow, packet),
            Event::Report(flow) => {
                self.report(flow);
                if let FeedbackStyle::Interval(interval) = self.feedback_style(flow) {
                    self.schedule(self.now + interval, Event::Report(flow));
                }
            }
            Event::Feedback(flow) => self.feedback(flow),
        }
    }

    fn encode(&mut self, index: usize) {
        self.expire(index);
        let now = self.now;
        let flow = &mut self.flows[index];
        let target = flow.controller.target();
        flow.pacer.set_target(now, &target);
        let frame = FrameId(flow.next_frame);
        let noise = 1.0 + flow.frame_noise * noise(flow.next_frame * 31 + index as u64);
        let mut left = ((target.bitrate * self.frame_interval).as_f64() * noise).max(100.0) as u64;
        let size = Bytes::new(left);
        let count = left.div_ceil(PACKET);
        let sent = FrameSent { frame, target: target.bitrate, size, packets: count as u32 };
        flow.controller.on_frame(now, &sent);
        let packets: Vec<_> = (0..count)
            .map(|k| {
                let size = Bytes::new(left.min(PACKET));
                left -= size.get();
                let packet = SentPacket {
                    sequence: SequenceNumber(0),
                    sent: now,
                    size,
                    kind: PacketKind::Media,
                    frame,
                    first_of_frame: k == 0,
                    last_of_frame: k + 1 == count,
                    probe_cluster: None,
                };
                (packet, size)
            })
            .collect();
        flow.pacer.enqueue_frame(now, frame, packets.into_iter());
        flow.next_frame += 1;
        flow.frames.push(FrameSeen {
            captured: now,
            target: target.bitrate,
            first_queueing: None,
            delay: None,
        });
        // The schedule of frames has no rounding error either.
        let nanos = i128::from(self.frame_interval.as_nanos()) * i128::from(flow.next_frame);
        let next = flow.start + Duration::from_nanos(nanos as i64);
        self.schedule(next, Event::Frame(index));
        self.after_input(index);
    }

    /// After anything that may have changed deadlines of a flow.
    fn after_input(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let target = flow.controller.target();
        flow.pacer.set_target(self.now, &target);
        let timer = flow.controller.next_timer();
        if timer.is_some() && timer != flow.timer_set {
            flow.timer_set = timer.map(|time| time.max(self.now));
            let time = flow.timer_set.unwrap_or(self.now);
            self.schedule(time, Event::Timer(index));
        }
        self.pace(index);
    }

    fn pace(&mut self, index: usize) {
        loop {
            let flow = &mut self.flows[index];
            let Some(output) = flow.pacer.poll(self.now, flow.in_flight) else { break };
            let mut packet = match output {
                PacerOutput::Packet { token, probe_cluster, .. } => {
                    SentPacket { probe_cluster, ..token }
                }
                PacerOutput::Probe { frame, .. } => filler(PacketKind::Probe, frame, PROBE),
                PacerOutput::Padding { size, probe_cluster, .. } => SentPacket {
                    probe_cluster: Some(probe_cluster),
                    ..filler(PacketKind::Padding, FrameId(flow.next_frame), size.get())
                },
            };
            packet.sent = self.now;
            packet.sequence = SequenceNumber(flow.next_sequence);
            flow.next_sequence += 1;
            flow.in_flight += packet.size;
            flow.outstanding.push_back(packet);
            flow.controller.on_sent(self.now, &packet);
            if packet.first_of_frame {
                flow.first_sent.insert(packet.frame.0, self.now);
            }
            let target = flow.controller.target();
            flow.pacer.set_target(self.now, &target);
            self.enqueue(index, packet);
        }
        let flow = &mut self.flows[index];
        if let Some(due) = flow.pacer.next_deadline(flow.in_flight)
            && flow.pace_set != Some(due)
        {
            flow.pace_set = Some(due);
            self.schedule(due, Event::Pace(index));
        }
    }

    fn enqueue(&mut self, index: usize, packet: SentPacket) {
        let capacity = self.capacity_now();
        let lost = noise(self.order.wrapping_mul(77)) * 5e5 + 5e5 < self.loss_ppm as f64;
        if self.queued + packet.size > self.queue_limit || capacity == Rate::ZERO || lost {
            self.flows[index].lost_packets += 1;
            return;
        }
        self.queue.push_back((index, packet, self.now));
        self.queued += packet.size;
        let bin = (self.now.as_nanos() / 10_000_000) as usize;
        if self.queue_ms.len() <= bin {
            self.queue_ms.resize(bin + 1, 0.0);
        }
        let delay = capacity.time_for(self.queued).as_millis_f64();
        self.queue_ms[bin] = self.queue_ms[bin].max(delay);
        if !self.link_busy {
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        let capacity = self.capacity_now();
        self.link_busy = false;
        if capacity == Rate::ZERO {
            self.queue.clear(); // a blackout loses what waits
            self.queued = Bytes::ZERO;
            return;
        }
        let Some((index, packet, enqueued)) = self.queue.pop_front() else { return };
        self.queued = self.queued.saturating_sub(packet.size);
        if packet.first_of_frame {
            let met = self.now - enqueued;
            self.flows[index].frames[packet.frame.0 as usize].first_queueing = Some(met);
        }
        let beyond = self.mark_above.map_or(Duration::ZERO, |limit| self.now - enqueued - limit);
        let random = hash(self.order) as f64 / u64::MAX as f64;
        if beyond > self.mark_ramp.mul_f64(random) {
            self.flows[index].marked.insert(packet.sequence.0);
        }
        self.link_busy = true;
        let done = self.now + capacity.time_for(packet.size);
        self.schedule(done, Event::LinkFree);
        self.schedule(self.arrival(done), Event::Arrive(index, packet));
    }

    fn arrive(&mut self, index: usize, packet: SentPacket) {
        let flow = &mut self.flows[index];
        flow.arrived.push((packet, self.now));
        let bin = (self.now.as_nanos() / 100_000_000) as usize;
        if flow.received.len() <= bin {
            flow.received.resize(bin + 1, 0);
        }
        flow.received[bin] += packet.size.get();
        if packet.last_of_frame
            && let Some(first) = flow.first_sent.get(&packet.frame.0)
        {
            flow.frames[packet.frame.0 as usize].delay = Some(self.now - *first);
        }
        let report = packet.last_of_frame || packet.kind == PacketKind::Probe;
        if report && self.feedback_style(index) == FeedbackStyle::PerFrame {
            self.report(index);
        }
    }

    fn report(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.arrived.is_empty() {
            return;
        }
        let on_clock = |time: Instant| ReceiverInstant::from_nanos(time.as_nanos()) + CLOCK_OFFSET;
        let mut reports = Vec::new();
        for (packet, arrival) in std::mem::take(&mut flow.arrived) {
            // The path does not reorder: what was sent before and has not come is lost.
            while let Some(lost) = pop_if(&mut flow.outstanding, |p| p.sequence < packet.sequence) {
                reports.push(report_of(lost, None, false));
            }
            // If it was taken for lost already, it is told of once more.
            pop_if(&mut flow.outstanding, |oldest| oldest.sequence == packet.sequence);
            let marked = flow.marked.contains(&packet.sequence.0);
            reports.push(report_of(packet, Some(on_clock(arrival)), marked));
        }
        flow.on_way.push_back((reports, on_clock(self.now)));
        self.schedule(self.now + self.one_way, Event::Feedback(index));
    }

    fn feedback(&mut self, index: usize) {
        let now = self.now;
        let Some((reports, generated)) = self.flows[index].on_way.pop_front() else { return };
        let dark = self.feedback_blackout.is_some_and(|(from, to)| from <= now && now < to);
        let unheard = &mut self.flows[index].unheard;
        if dark {
            unheard.extend(reports.iter().map(|report| report_of(report.packet, None, false)));
            return;
        }
        let reports = std::mem::take(unheard).into_iter().chain(reports).collect();
        self.flows[index].last_generated = generated;
        self.tell(index, reports, generated);
    }

    /// Takes for lost what nothing has been heard of for long.
    fn expire(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let silent = |packet: &SentPacket| now - packet.sent > SILENCE;
        let old = flow.unheard.iter().take_while(|report| silent(&report.packet)).count();
        let mut reports: Vec<_> = flow.unheard.drain(..old).collect();
        while let Some(packet) = pop_if(&mut flow.outstanding, silent) {
            flow.expired.insert(packet.sequence.0);
            reports.push(report_of(packet, None, false));
        }
        if !reports.is_empty() {
            let generated = flow.last_generated;
            self.tell(index, reports, generated);
        }
    }

    fn tell(
        &mut self,
        index: usize,
        mut reports: Vec<PacketReport>,
        mut generated: ReceiverInstant,
    ) {
        let flow = &mut self.flows[index];
        for report in &reports {
            let late = report.arrival.is_some() && flow.expired.remove(&report.packet.sequence.0);
            if !late {
                flow.in_flight = flow.in_flight.saturating_sub(report.packet.size);
            }
        }
        let mut in_flight = flow.in_flight;
        if let Some(mangle) = &mut self.mangle {
            mangle(self.now, &mut reports, &mut generated, &mut in_flight);
        }
        let batch = FeedbackBatch { reports: &reports, generated, in_flight };
        flow.controller.on_feedback(self.now, &batch);
        flow.targets.push((self.now, flow.controller.target().bitrate));
        self.after_input(index);
    }
}

fn pop_if(
    packets: &mut VecDeque<SentPacket>,
    condition: impl Fn(&SentPacket) -> bool,
) -> Option<SentPacket> {
    if packets.front().is_some_and(condition) { packets.pop_front() } else { None }
}

fn report_of(packet: SentPacket, arrival: Option<ReceiverInstant>, marked: bool) -> PacketReport {
    PacketReport { packet, arrival, ecn: if marked { Ecn::Ce } else { Ecn::NotEct } }
}

fn filler(kind: PacketKind, frame: FrameId, size: u64) -> SentPacket {
    SentPacket {
        sequence: SequenceNumber(0),
        sent: Instant::ZERO,
        size: Bytes::new(size),
        kind,
        frame,
        first_of_frame: false,
        last_of_frame: false,
        probe_cluster: None,
    }
}

/// Jain's index.
pub fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
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

/// A number that looks random, for tests that shuffle and lie (SplitMix64).
pub fn hash(index: u64) -> u64 {
    let mut z = index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What may happen to feedback while it is hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Arrivals at any time that the clock can show.
    AbsurdTimes,
    /// Arrivals up to a second before or after the true time.
    ScatteredTimes,
    /// The newest first.
    Reversed,
    /// Everything twice, the second time with another fate.
    Contradicted,
    /// Nothing arrived.
    AllLost,
    /// Everything is marked.
    AllMarked,
    /// Any number of bytes in flight.
    AbsurdInFlight,
    /// The report was made at any time.
    AbsurdReportTime,
    /// Everything arrived at one moment.
    Frozen,
    /// Each report is one of the above.
    Any,
    /// The receiver's clock jumps an hour ahead at the end, and stays so.
    JumpAhead,
    /// It jumps an hour back, and stays so.
    JumpBack,
}

pub const LIES: [Lie; 12] = [
    Lie::AbsurdTimes,
    Lie::ScatteredTimes,
    Lie::Reversed,
    Lie::Contradicted,
    Lie::AllLost,
    Lie::AllMarked,
    Lie::AbsurdInFlight,
    Lie::AbsurdReportTime,
    Lie::Frozen,
    Lie::Any,
    Lie::JumpAhead,
    Lie::JumpBack,
];

/// Lies from `from` to `until`.
pub fn liar(lie: Lie, from: Instant, until: Instant, seed: u64) -> Mangle {
    let mut calls = seed.wrapping_mul(1_000_003);
    Box::new(move |now, reports, generated, in_flight| {
        calls = calls.wrapping_add(1);
        let jump = match lie {
            Lie::JumpAhead => Duration::from_secs(3_600),
            Lie::JumpBack => Duration::from_secs(-3_600),
            _ => Duration::ZERO,
        };
        if now >= until {
            *generated += jump;
            for report in reports.iter_mut() {
                report.arrival = report.arrival.map(|time| time + jump);
            }
        } else if now >= from {
            let lie = if lie == Lie::Any { LIES[(hash(calls) % 9) as usize] } else { lie };
            tell_lie(lie, hash(calls), reports, generated, in_flight);
        }
    })
}

fn tell_lie(
    lie: Lie,
    random: u64,
    reports: &mut Vec<PacketReport>,
    generated: &mut ReceiverInstant,
    in_flight: &mut Bytes,
) {
    let any = |index: usize| ReceiverInstant::from_nanos(hash(random ^ index as u64) as i64);
    match lie {
        Lie::Reversed => reports.reverse(),
        Lie::AbsurdInFlight => *in_flight = Bytes::new(random),
        Lie::AbsurdReportTime => *generated = any(0),
        Lie::Contradicted => {
            let mut again = reports.clone();
            for (index, report) in again.iter_mut().enumerate() {
                report.arrival = report.arrival.is_none().then(|| any(index));
            }
            reports.append(&mut again);
        }
        _ => {
            for (index, report) in reports.iter_mut().enumerate() {
                let scatter = (hash(random ^ index as u64) % 2_000_000_000) as i64 - 1_000_000_000;
                match lie {
                    Lie::AbsurdTimes => report.arrival = Some(any(index)),
                    Lie::ScatteredTimes => {
                        let scatter = Duration::from_nanos(scatter);
                        report.arrival = report.arrival.map(|time| time + scatter);
                    }
                    Lie::AllLost => report.arrival = None,
                    Lie::AllMarked => report.ecn = Ecn::Ce,
                    Lie::Frozen => report.arrival = Some(ReceiverInstant::ZERO),
                    _ => {}
                }
            }
        }
    }
}

/// A controller with options.
pub type Variant = (&'static str, &'static [(&'static str, &'static str)]);

/// Every controller that adapts, in its main variants.
pub const ADAPTIVE: &[Variant] = &[
    ("copa", &[]),
    ("copa", &[("mode", "competitive")]),
    ("gcc", &[]),
    ("nada", &[]),
    ("nada", &[("priority", "2")]),
    ("pudica", &[]),
    ("pudica", &[("bur", "sqp")]),
    ("pudica", &[("bur", "salsify")]),
    ("pudica", &[("bur", "salsify"), ("trigger", "own")]),
    ("pudica", &[("additive_only", "on")]),
    ("salsify", &[]),
    ("scream", &[]),
    ("scream", &[("ecn", "classic")]),
    ("scream", &[("ecn", "off")]),
    ("sqp", &[]),
];

/// What has no promises in `recovery.rs`: this network reports on whole frames, and SCReAM's reference, whose window may be
/// less than a frame, is made for a receiver that reports within them, too.
const OTHERS: &[Variant] = &[
    ("fixed", &[]),
    ("scream", &[("version", "reference")]),
    ("scream", &[("version", "reference"), ("ecn", "off")]),
];

/// Every controller in its main variants.
pub fn variants() -> impl Iterator<Item = Variant> {
    ADAPTIVE.iter().chain(OTHERS).copied()
}
