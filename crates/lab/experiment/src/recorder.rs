//! Counts what flows do, bin by bin, and tells a sink of it as events.

use crate::spec::RecordSpec;
use gameway_events::{
    BIN, BinRecord, ControllerRecord, DelayHistogram, EventRecord, LinkRecord, Name, PacketRecord,
    QUEUE_DELAY_WINDOW, QueueDelayRecord, RunEvent, Sink, SinkError, SummaryRecord,
};
use gameway_path::{DropReason, Fate, FlowId, Link, Meter, NetworkPacket};
use gameway_units::{Bytes, Duration, Ecn, Instant};

/// What is recorded of a packet beyond what the path needs to know.
pub trait Recorded: NetworkPacket {
    /// Its kind and number as the log of packets names them.
    fn identity(&self) -> (&'static str, u64);
}

/// A name in the form that a table takes, made once.
pub fn intern(known: &mut Vec<Name>, name: &str) -> Name {
    if let Some(shared) = known.iter().find(|shared| shared.as_ref() == name) {
        return shared.clone();
    }
    let shared: Name = name.into();
    known.push(shared.clone());
    shared
}

/// What a bottleneck did in the current bin.
#[derive(Debug)]
struct LinkCounters {
    name: Name,
    /// What it had done when the bin began.
    before: Meter,
    queue_max: Bytes,
    /// Integral of waiting bytes over time, byte nanoseconds.
    queue_integral: u128,
    queue_now: Bytes,
    queue_since: Instant,
}

impl LinkCounters {
    fn new(name: Name) -> Self {
        Self {
            name,
            before: Meter::default(),
            queue_max: Bytes::ZERO,
            queue_integral: 0,
            queue_now: Bytes::ZERO,
            queue_since: Instant::ZERO,
        }
    }
}

/// Totals of the run, over all packets with data and over those sent back that pass a bottleneck.
#[derive(Debug, Default)]
pub struct Totals {
    /// Packets that came to the first bottleneck of their way.
    pub arrived: u64,
    /// Packets that passed all of them.
    pub forwarded: u64,
    /// Packets that a queue dropped.
    pub dropped: u64,
    /// Packets lost behind them.
    pub lost: u64,
    /// Copies that were made there.
    pub duplicated: u64,
    /// Packets that reached the other end.
    pub delivered: u64,
}

/// What a flow's data did since the run began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowTotals {
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Bytes that arrived.
    pub arrived_bytes: u64,
    /// Packets that queues dropped.
    pub dropped_packets: u64,
    /// Packets that were lost behind them.
    pub lost_packets: u64,
}

impl FlowTotals {
    fn with(self, bin: &BinRecord) -> Self {
        Self {
            sent_bytes: self.sent_bytes + bin.sent_bytes,
            arrived_bytes: self.arrived_bytes + bin.received_bytes,
            dropped_packets: self.dropped_packets + u64::from(bin.dropped_packets),
            lost_packets: self.lost_packets + u64::from(bin.lost_packets),
        }
    }
}

/// The reason of a drop as tables name it.
const fn word(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Overflow => "overflow",
        DropReason::Early => "aqm",
        DropReason::Needless => "ack-filter",
        DropReason::RetryLimit => "retry-limit",
    }
}

/// Counts a drop in a bin.
const fn count_drop(bin: &mut BinRecord, reason: DropReason) {
    bin.dropped_packets += 1;
    match reason {
        DropReason::Overflow => bin.overflow_dropped_packets += 1,
        DropReason::Early => bin.aqm_dropped_packets += 1,
        DropReason::RetryLimit => bin.retry_limit_dropped_packets += 1,
        // Only acknowledgements are dropped for it.
        DropReason::Needless => {}
    }
}

/// The row of a packet of the flow of this name.
fn packet_record(
    packet: &impl Recorded,
    fate: Fate,
    flow: Name,
    words: &mut Vec<Name>,
) -> PacketRecord {
    let (kind, number) = packet.identity();
    let journey = packet.journey();
    let waited = Some(journey.waited);
    let (name, dropped, waited, departed, arrived) = match fate {
        Fate::Dropped { reason } => ("dropped", Some(word(reason)), None, None, None),
        Fate::Lost { departed } => ("lost", None, waited, Some(departed), None),
        Fate::Delivered { departed, arrived } => {
            ("delivered", None, waited, Some(departed), Some(arrived))
        }
        Fate::Copied { departed, arrived } => {
            ("copied", None, waited, Some(departed), Some(arrived))
        }
    };
    PacketRecord {
        flow,
        kind: intern(words, kind),
        number,
        size_bytes: packet.wire_size().get() as u32,
        fate: intern(words, name),
        drop_reason: dropped.map(|reason| intern(words, reason)),
        came_ns: journey.came.as_nanos(),
        queue_delay_ns: waited.map(Duration::as_nanos),
        departed_ns: departed.map(Instant::as_nanos),
        arrived_ns: arrived.map(Instant::as_nanos),
    }
}

/// Counts one run and tells its sink.
#[derive(Debug)]
pub struct Recorder {
    sink: Box<dyn Sink>,
    tells_packets: bool,
    /// Totals so far.
    pub totals: Totals,
    /// What each flow did in the current bin.
    flows: Vec<BinRecord>,
    /// What each did in the bins before.
    before: Vec<FlowTotals>,
    delays: Vec<DelayHistogram>,
    /// Kinds and fates of packets in the form that a table takes.
    words: Vec<Name>,
    links: Vec<LinkCounters>,
    bin_start: Instant,
    window_start: Instant,
    delay_window: Duration,
    next_tick: Instant,
    end: Instant,
}

impl Recorder {
    /// A recorder of a run with these flows and bottlenecks that lasts until `end`, for this sink; `record` has been
    /// checked.
    #[must_use]
    pub fn new(
        sink: Box<dyn Sink>,
        names: Vec<Name>,
        links: Vec<Name>,
        end: Instant,
        record: &RecordSpec,
    ) -> Self {
        Self {
            sink,
            tells_packets: record.packets,
            totals: Totals::default(),
            delays: vec![DelayHistogram::default(); names.len()],
            before: vec![FlowTotals::default(); names.len()],
            words: Vec::new(),
            flows: names.into_iter().map(empty_bin).collect(),
            links: links.into_iter().map(LinkCounters::new).collect(),
            bin_start: Instant::ZERO,
            window_start: Instant::ZERO,
            delay_window: record.delay_window.unwrap_or(QUEUE_DELAY_WINDOW),
            next_tick: (Instant::ZERO + BIN).min(end),
            end,
        }
    }

    /// Tells the sink of something that comes ready made.
    pub fn tell(&mut self, event: RunEvent) {
        self.sink.take(event);
    }

    /// Whether the sink can take no more, so that the run can end now; [`Self::finish`] says why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.sink.has_failed()
    }

    /// When the run ends.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// When the current bin ends.
    pub const fn next_deadline(&self) -> Instant {
        self.next_tick
    }

    /// The name of a flow.
    pub fn name(&self, flow: FlowId) -> &Name {
        &self.flows[usize::from(flow.0)].flow
    }

    /// What each flow that is recorded did so far, in the order of their numbers.
    pub fn flow_totals(&self) -> impl Iterator<Item = (&Name, FlowTotals)> {
        self.flows.iter().zip(&self.before).map(|(bin, before)| (&bin.flow, before.with(bin)))
    }

    /// The counters of a flow; what is of none of the flows is in totals only.
    #[inline]
    fn listed(&mut self, flow: FlowId) -> Option<&mut BinRecord> {
        self.flows.get_mut(usize::from(flow.0))
    }

    /// An end sends a packet.
    #[inline]
    pub fn sent(&mut self, packet: &impl Recorded) {
        let journey = packet.journey();
        let size = packet.wire_size().get();
        self.totals.arrived += u64::from(journey.counted);
        if let Some(counters) = self.listed(packet.flow()) {
            if journey.returning {
                counters.feedback_bytes += size;
            } else {
                counters.sent_bytes += size;
                counters.sent_packets += 1;
            }
        }
    }

    /// What becomes of a packet is known. It is counted if totals count it, and told if packets are asked for.
    pub fn fate(&mut self, packet: &impl Recorded, fate: Fate) {
        let journey = packet.journey();
        if !journey.counted {
            return;
        }
        let totals = &mut self.totals;
        let bin = self.flows.get_mut(usize::from(packet.flow().0)).filter(|_| !journey.returning);
        match fate {
            Fate::Dropped { reason } => {
                totals.dropped += 1;
                if let Some(bin) = bin {
                    count_drop(bin, reason);
                }
            }
            Fate::Lost { .. } => {
                totals.lost += 1;
                if let Some(bin) = bin {
                    bin.lost_packets += 1;
                }
            }
            Fate::Copied { .. } => {
                totals.duplicated += 1;
                if let Some(bin) = bin {
                    bin.duplicated_packets += 1;
                }
            }
            Fate::Delivered { .. } => {}
        }
        if self.tells_packets {
            self.tell_packet(packet, fate);
        }
    }

    fn tell_packet(&mut self, packet: &impl Recorded, fate: Fate) {
        let Some(bin) = self.flows.get(usize::from(packet.flow().0)) else { return };
        let record = packet_record(packet, fate, bin.flow.clone(), &mut self.words);
        self.tell(RunEvent::Packet(record));
    }

    /// A packet has passed all bottlenecks of its way.
    pub fn forwarded(&mut self, packet: &impl Recorded) {
        let journey = packet.journey();
        self.totals.forwarded += u64::from(journey.counted);
        if journey.returning {
            return;
        }
        if let Some(counters) = self.listed(packet.flow()) {
            counters.marked_packets += u32::from(packet.ecn() == Ecn::Ce);
            self.delays[usize::from(packet.flow().0)].add(journey.waited);
        }
    }

    /// A packet reaches the other end.
    #[inline]
    pub fn arrived(&mut self, packet: &impl Recorded) {
        let journey = packet.journey();
        self.totals.delivered += u64::from(journey.counted);
        if journey.returning {
            return;
        }
        if let Some(counters) = self.listed(packet.flow()) {
            counters.received_bytes += packet.wire_size().get();
            counters.received_packets += 1;
        }
    }

    /// The amount of waiting bytes at a bottleneck is now this.
    pub fn queue_is(&mut self, link: usize, now: Instant, bytes: Bytes) {
        let link = &mut self.links[link];
        let span = (now - link.queue_since).as_nanos() as u128;
        link.queue_integral += u128::from(link.queue_now.get()) * span;
        link.queue_now = bytes;
        link.queue_since = now;
        link.queue_max = link.queue_max.max(bytes);
    }

    /// New payload reached the client.
    pub fn payload(&mut self, flow: FlowId, bytes: Bytes) {
        self.flows[usize::from(flow.0)].received_payload_bytes += bytes.get();
    }

    /// A frame was shown.
    pub fn frame_shown(&mut self, flow: FlowId) {
        self.flows[usize::from(flow.0)].frames_shown += 1;
    }

    /// Something happened to a flow.
    pub fn event(&mut self, now: Instant, flow: FlowId, event: &Name, value: f64) {
        let Some(bin) = self.flows.get(usize::from(flow.0)) else { return };
        let (time_ns, flow, event) = (now.as_nanos(), bin.flow.clone(), event.clone());
        self.tell(RunEvent::Flow(EventRecord { time_ns, flow, event, value }));
    }

    /// A variable of what drives a flow has this value.
    pub fn state(&mut self, now: Instant, flow: FlowId, variable: &Name, value: f64) {
        let (stream, variable) = (self.name(flow).clone(), variable.clone());
        let time_ns = now.as_nanos();
        self.tell(RunEvent::Controller(ControllerRecord { stream, time_ns, variable, value }));
    }

    /// The run ends now, sooner than it was made for; [`Self::tick`] tells what is open.
    pub const fn end_at(&mut self, now: Instant) {
        self.end = now;
    }

    /// Ends the current bin, and the window of delays where that ends too. Of each bottleneck: its link, and what
    /// it did until now, so that what crosses the end of a bin is split there.
    pub fn tick(&mut self, now: Instant, links: &[(&Link, Meter)]) {
        for (index, (link, done)) in links.iter().enumerate() {
            self.queue_is(index, now, self.links[index].queue_now);
            self.tell_link(index, now, link, *done);
        }
        self.tell_flows();
        if now >= self.window_start + self.delay_window || now >= self.end {
            self.tell_delays();
            self.window_start = now;
        }
        self.bin_start = now;
        self.next_tick = if now >= self.end { Instant::MAX } else { (now + BIN).min(self.end) };
    }

    fn tell_link(&mut self, index: usize, now: Instant, link: &Link, done: Meter) {
        let span = (now - self.bin_start).as_nanos().max(1);
        let fresh = LinkCounters {
            before: done,
            queue_now: self.links[index].queue_now,
            queue_max: self.links[index].queue_now,
            queue_since: now,
            ..LinkCounters::new(self.links[index].name.clone())
        };
        let counters = std::mem::replace(&mut self.links[index], fresh);
        self.tell(RunEvent::Link(LinkRecord {
            bin_start_ns: self.bin_start.as_nanos(),
            link: counters.name,
            capacity_bytes: link.capacity_between(self.bin_start, now).get(),
            transmitted_bytes: (done.carried - counters.before.carried).get(),
            busy_ns: (done.busy - counters.before.busy).as_nanos(),
            queue_max_bytes: counters.queue_max.get(),
            queue_mean_bytes: counters.queue_integral as f64 / span as f64,
        }));
    }

    fn tell_flows(&mut self) {
        for (bin, before) in self.flows.iter_mut().zip(&mut self.before) {
            *before = before.with(bin);
            bin.bin_start_ns = self.bin_start.as_nanos();
            let next = empty_bin(bin.flow.clone());
            self.sink.take(RunEvent::Bin(std::mem::replace(bin, next)));
        }
    }

    fn tell_delays(&mut self) {
        for (bin, delays) in self.flows.iter().zip(&mut self.delays) {
            for (delay_low_ns, delay_high_ns, packets, sum_ns) in delays.buckets() {
                self.sink.take(RunEvent::QueueDelay(QueueDelayRecord {
                    window_start_ns: self.window_start.as_nanos(),
                    flow: bin.flow.clone(),
                    delay_low_ns,
                    delay_high_ns,
                    packets,
                    sum_ns,
                }));
            }
            delays.clear();
        }
    }

    /// Tells the totals so far, and has what was told kept.
    pub fn keep(&mut self, so_far: &SummaryRecord) {
        self.tell(RunEvent::Summary(so_far.clone()));
        self.sink.keep();
    }

    /// Tells the totals and ends the stream of events.
    ///
    /// # Errors
    /// If the sink could not keep an event.
    pub fn finish(mut self, summary: &SummaryRecord) -> Result<(), SinkError> {
        self.tell(RunEvent::Summary(summary.clone()));
        self.sink.finish()
    }
}

/// A bin of this flow in which nothing has happened yet.
fn empty_bin(flow: Name) -> BinRecord {
    BinRecord { flow, ..BinRecord::default() }
}
