//! The result tables of a run: the sink that keeps its events as Parquet files.

use crate::TableError;
use crate::event::{RunEvent, Sink};
use crate::live::LatenessRecord;
use crate::records::{
    BinRecord, ControllerRecord, EventRecord, FrameRecord, LinkRecord, PacketRecord, PingRecord,
    QueueDelayRecord, SegmentRecord, SummaryRecord,
};
use crate::table::{Table, add};
use std::path::Path;

/// Which tables a run has beside those that every run has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FurtherTables {
    /// One row for each packet.
    pub packets: bool,
    /// One row for each segment of a video.
    pub segments: bool,
    /// How late a driver in real time was.
    pub lateness: bool,
}

/// All tables of one run. The first that cannot be written ends the others: what is on the disk by then stays.
#[derive(Debug)]
pub struct RunTables {
    frames: Table<FrameRecord>,
    bins: Table<BinRecord>,
    link: Table<LinkRecord>,
    queue_delay: Table<QueueDelayRecord>,
    pings: Table<PingRecord>,
    controller: Table<ControllerRecord>,
    events: Table<EventRecord>,
    summary: Table<SummaryRecord>,
    packets: Option<Table<PacketRecord>>,
    segments: Option<Table<SegmentRecord>>,
    lateness: Option<Table<LatenessRecord>>,
    failed: Option<TableError>,
}

impl RunTables {
    /// Creates the files in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(folder: &Path, further: FurtherTables) -> Result<Self, TableError> {
        Ok(Self {
            frames: Table::create(folder)?,
            bins: Table::create(folder)?,
            link: Table::create(folder)?,
            queue_delay: Table::create(folder)?,
            pings: Table::create(folder)?,
            controller: Table::create(folder)?,
            events: Table::create(folder)?,
            summary: Table::create(folder)?,
            packets: further.packets.then(|| Table::create(folder)).transpose()?,
            segments: further.segments.then(|| Table::create(folder)).transpose()?,
            lateness: further.lateness.then(|| Table::create(folder)).transpose()?,
            failed: None,
        })
    }

    fn push(&mut self, event: &RunEvent) -> Result<(), TableError> {
        match event {
            RunEvent::Frame(record) => self.frames.push(record),
            RunEvent::Bin(record) => self.bins.push(record),
            RunEvent::Link(record) => self.link.push(record),
            RunEvent::QueueDelay(record) => self.queue_delay.push(record),
            RunEvent::Ping(record) => self.pings.push(record),
            RunEvent::Controller(record) => self.controller.push(record),
            RunEvent::Flow(record) => self.events.push(record),
            RunEvent::Summary(record) => self.summary.push(record),
            RunEvent::Packet(record) => add(&mut self.packets, record),
            RunEvent::Segment(record) => add(&mut self.segments, record),
            RunEvent::Lateness(record) => add(&mut self.lateness, record),
            // Those of a stream's ends, which keep their own.
            _ => Ok(()),
        }
    }
}

impl Sink for RunTables {
    fn take(&mut self, event: RunEvent) {
        if self.failed.is_none() {
            self.failed = self.push(&event).err();
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    fn finish(self: Box<Self>) -> Result<(), TableError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.frames.finish()?;
        self.bins.finish()?;
        self.link.finish()?;
        self.queue_delay.finish()?;
        self.pings.finish()?;
        self.controller.finish()?;
        self.events.finish()?;
        self.packets.map_or(Ok(()), Table::finish)?;
        self.segments.map_or(Ok(()), Table::finish)?;
        self.lateness.map_or(Ok(()), Table::finish)?;
        self.summary.finish()
    }
}
