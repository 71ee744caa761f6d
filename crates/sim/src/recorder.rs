//! Counts what flows do and writes it into the result tables, bin by bin.

use crate::packet::Packet;
use crate::stream::intern;
use gameway_events::{
    BIN, BinRecord, DelayHistogram, EventRecord, LinkRecord, Name, PacketRecord,
    QUEUE_DELAY_WINDOW, QueueDelayRecord, RunTables, SummaryRecord, TableError,
};
use gameway_path::{FlowId, Link};
use gameway_units::{Bytes, Duration, Instant};
use std::path::Path;

/// What the bottleneck did in the current bin.
#[derive(Debug, Default)]
struct LinkCounters {
    transmitted_bytes: u64,
    busy: Duration,
    queue_max: Bytes,
    /// Integral of waiting bytes over time, byte nanoseconds.
    queue_integral: u128,
    queue_now: Bytes,
    queue_since: Instant,
}

/// Totals of the run.
#[derive(Debug, Default)]
pub struct Totals {
    /// Packets that came to the bottleneck.
    pub arrived: u64,
    /// Packets that left it.
    pub forwarded: u64,
    /// Packets that its queue dropped.
    pub dropped: u64,
    /// Packets lost behind it.
    pub lost: u64,
    /// Packets that reached the client.
    pub delivered: u64,
}

/// What becomes of a packet at the bottleneck and behind it.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// The queue dropped it.
    Dropped,
    /// It left the bottleneck and was lost behind it.
    Lost {
        /// In the queue.
        waited: Duration,
        /// Its last bit left then.
        departed: Instant,
    },
    /// It reaches the client.
    Delivered {
        /// In the queue.
        waited: Duration,
        /// Its last bit left then.
        departed: Instant,
        /// It reaches the client then.
        arrived: Instant,
    },
}

/// Writes the tables of one run.
#[derive(Debug)]
pub struct Recorder {
    /// The tables, for records that come ready made.
    pub tables: RunTables,
    /// Totals so far.
    pub totals: Totals,
    /// What each flow did in the current bin.
    flows: Vec<BinRecord>,
    delays: Vec<DelayHistogram>,
    /// Kinds and fates of packets in the form that a table takes.
    words: Vec<(&'static str, Name)>,
    link: LinkCounters,
    bin_start: Instant,
    window_start: Instant,
    next_tick: Instant,
    end: Instant,
}

impl Recorder {
    /// A recorder of a run with these flows that lasts until `end`.
    ///
    /// # Errors
    /// If the tables cannot be created in `folder`.
    pub fn create(
        folder: &Path,
        names: Vec<Name>,
        end: Instant,
        packets: bool,
    ) -> Result<Self, TableError> {
        Ok(Self {
            tables: RunTables::create(folder, packets)?,
            totals: Totals::default(),
            delays: vec![DelayHistogram::default(); names.len()],
            words: Vec::new(),
            flows: names.into_iter().map(empty_bin).collect(),
            link: LinkCounters::default(),
            bin_start: Instant::ZERO,
            window_start: Instant::ZERO,
            next_tick: (Instant::ZERO + BIN).min(end),
            end,
        })
    }

    /// When the current bin ends.
    pub const fn next_deadline(&self) -> Instant {
        self.next_tick
    }

    /// The name of a flow.
    pub fn name(&self, flow: FlowId) -> &Name {
        &self.flows[usize::from(flow.0)].flow
    }

    /// A packet came to the bottleneck.
    pub fn sent(&mut self, flow: FlowId, size: Bytes) {
        self.totals.arrived += 1;
        let counters = &mut self.flows[usize::from(flow.0)];
        counters.sent_bytes += size.get();
        counters.sent_packets += 1;
    }

    /// The queue dropped a packet.
    pub fn dropped(&mut self, flow: FlowId) {
        self.totals.dropped += 1;
        self.flows[usize::from(flow.0)].dropped_packets += 1;
    }

    /// A packet was lost behind the bottleneck.
    pub fn lost(&mut self, flow: FlowId) {
        self.totals.lost += 1;
        self.flows[usize::from(flow.0)].lost_packets += 1;
    }

    /// What becomes of a packet at the bottleneck is known; written if packets are asked for.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn packet(&mut self, packet: &Packet, came: Instant, fate: Fate) -> Result<(), TableError> {
        let Some(table) = &mut self.tables.packets else { return Ok(()) };
        let (kind, number) = packet.content.identity();
        let (name, waited, departed, arrived) = match fate {
            Fate::Dropped => ("dropped", None, None, None),
            Fate::Lost { waited, departed } => ("lost", Some(waited), Some(departed), None),
            Fate::Delivered { waited, departed, arrived } => {
                ("delivered", Some(waited), Some(departed), Some(arrived))
            }
        };
        table.push(&PacketRecord {
            flow: self.flows[usize::from(packet.flow.0)].flow.clone(),
            kind: intern(&mut self.words, kind),
            number,
            size_bytes: packet.size.get() as u32,
            fate: intern(&mut self.words, name),
            came_ns: came.as_nanos(),
            queue_delay_ns: waited.map(Duration::as_nanos),
            departed_ns: departed.map(Instant::as_nanos),
            arrived_ns: arrived.map(Instant::as_nanos),
        })
    }

    /// A packet left the bottleneck.
    pub fn forwarded(&mut self, flow: FlowId, size: Bytes, queueing: Duration, busy: Duration) {
        self.totals.forwarded += 1;
        self.link.transmitted_bytes += size.get();
        self.link.busy += busy;
        self.delays[usize::from(flow.0)].add(queueing);
    }

    /// The amount of waiting bytes is now this.
    pub fn queue_is(&mut self, now: Instant, bytes: Bytes) {
        let link = &mut self.link;
        let span = (now - link.queue_since).as_nanos() as u128;
        link.queue_integral += u128::from(link.queue_now.get()) * span;
        link.queue_now = bytes;
        link.queue_since = now;
        link.queue_max = link.queue_max.max(bytes);
    }

    /// A packet reached the client.
    pub fn received(&mut self, flow: FlowId, size: Bytes) {
        self.totals.delivered += 1;
        let counters = &mut self.flows[usize::from(flow.0)];
        counters.received_bytes += size.get();
        counters.received_packets += 1;
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
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn event(
        &mut self,
        now: Instant,
        flow: FlowId,
        event: &Name,
        value: f64,
    ) -> Result<(), TableError> {
        let flow = self.name(flow).clone();
        let event = event.clone();
        self.tables.events.push(&EventRecord { time_ns: now.as_nanos(), flow, event, value })
    }

    /// Ends the current bin, and the window of delays where that ends too.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn tick(&mut self, now: Instant, link: &Link) -> Result<(), TableError> {
        self.queue_is(now, self.link.queue_now);
        self.write_link(now, link)?;
        self.write_flows()?;
        if now >= self.window_start + QUEUE_DELAY_WINDOW || now >= self.end {
            self.write_delays()?;
            self.window_start = now;
        }
        self.bin_start = now;
        self.next_tick = if now >= self.end { Instant::MAX } else { (now + BIN).min(self.end) };
        Ok(())
    }

    fn write_link(&mut self, now: Instant, link: &Link) -> Result<(), TableError> {
        let span = (now - self.bin_start).as_nanos().max(1);
        let counters = std::mem::take(&mut self.link);
        self.link.queue_now = counters.queue_now;
        self.link.queue_since = now;
        self.link.queue_max = counters.queue_now;
        self.tables.link.push(&LinkRecord {
            bin_start_ns: self.bin_start.as_nanos(),
            capacity_bytes: link.capacity_between(self.bin_start, now).get(),
            transmitted_bytes: counters.transmitted_bytes,
            busy_ns: counters.busy.as_nanos(),
            queue_max_bytes: counters.queue_max.get(),
            queue_mean_bytes: counters.queue_integral as f64 / span as f64,
        })
    }

    fn write_flows(&mut self) -> Result<(), TableError> {
        for bin in &mut self.flows {
            bin.bin_start_ns = self.bin_start.as_nanos();
            self.tables.bins.push(bin)?;
            *bin = empty_bin(bin.flow.clone());
        }
        Ok(())
    }

    fn write_delays(&mut self) -> Result<(), TableError> {
        for (bin, delays) in self.flows.iter().zip(&mut self.delays) {
            for (delay_low_ns, delay_high_ns, packets, sum_ns) in delays.buckets() {
                self.tables.queue_delay.push(&QueueDelayRecord {
                    window_start_ns: self.window_start.as_nanos(),
                    flow: bin.flow.clone(),
                    delay_low_ns,
                    delay_high_ns,
                    packets,
                    sum_ns,
                })?;
            }
            delays.clear();
        }
        Ok(())
    }

    /// Writes the totals and closes the tables; gives the totals back.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn finish(mut self, summary: &SummaryRecord) -> Result<(), TableError> {
        self.tables.summary.push(summary)?;
        self.tables.finish()
    }
}

/// A bin of this flow in which nothing has happened yet.
fn empty_bin(flow: Name) -> BinRecord {
    BinRecord { flow, ..BinRecord::default() }
}
