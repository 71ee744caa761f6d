//! The events of a run, and who hears them.

use crate::live::{
    ClientFrameRecord, CpuRecord, HostFrameRecord, InputRecord, LatenessRecord, SoundRecord,
};
use crate::records::{
    BinRecord, ControllerRecord, EventRecord, FrameRecord, LinkRecord, PacketRecord, PingRecord,
    QueueDelayRecord, SegmentRecord, SummaryRecord,
};
use serde::Serialize;
use std::sync::mpsc::Sender;

/// Why a sink could not keep an event, in that sink's words.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SinkError(Box<dyn std::error::Error + Send + Sync>);

impl SinkError {
    /// This went wrong.
    #[must_use]
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

/// One thing that happened in a run, told when all of it is known.
///
/// As text (serde) it is the name of its table and the row there: `{"table": "pings", "row": {...}}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "table", content = "row", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunEvent {
    /// A frame of a game stream was shown or given up.
    #[serde(rename = "frames")]
    Frame(FrameRecord),
    /// A bin of a flow has ended.
    #[serde(rename = "bins")]
    Bin(BinRecord),
    /// A bin of a bottleneck has ended.
    Link(LinkRecord),
    /// One bucket of the queueing delays of a flow in a window that has ended.
    QueueDelay(QueueDelayRecord),
    /// A ping was answered or is lost.
    #[serde(rename = "pings")]
    Ping(PingRecord),
    /// A variable of a controller was read.
    Controller(ControllerRecord),
    /// Something happened to a flow.
    #[serde(rename = "events")]
    Flow(EventRecord),
    /// What becomes of a packet is known; only where packets are asked for.
    #[serde(rename = "packets")]
    Packet(PacketRecord),
    /// What becomes of a segment of a video is known.
    #[serde(rename = "segments")]
    Segment(SegmentRecord),
    /// The run has ended.
    Summary(SummaryRecord),
    /// The last packet of a frame left a live host, or the frame was given up there.
    #[serde(rename = "host_frames")]
    HostFrame(HostFrameRecord),
    /// A live client knows what became of a frame.
    #[serde(rename = "client_frames")]
    ClientFrame(ClientFrameRecord),
    /// A picture showed the effect of a player's input, or none ever will.
    #[serde(rename = "inputs")]
    Input(InputRecord),
    /// A live client played a packet of sound, or what replaced it.
    Sound(SoundRecord),
    /// One bucket of the lateness of a live part in a window that has ended.
    Lateness(LatenessRecord),
    /// A thread of a live part has ended.
    Cpu(CpuRecord),
}

impl RunEvent {
    /// The name of the table that has such events as rows.
    #[must_use]
    pub const fn table(&self) -> &'static str {
        match self {
            Self::Frame(_) => FrameRecord::TABLE,
            Self::Bin(_) => BinRecord::TABLE,
            Self::Link(_) => LinkRecord::TABLE,
            Self::QueueDelay(_) => QueueDelayRecord::TABLE,
            Self::Ping(_) => PingRecord::TABLE,
            Self::Controller(_) => ControllerRecord::TABLE,
            Self::Flow(_) => EventRecord::TABLE,
            Self::Packet(_) => PacketRecord::TABLE,
            Self::Segment(_) => SegmentRecord::TABLE,
            Self::Summary(_) => SummaryRecord::TABLE,
            Self::HostFrame(_) => HostFrameRecord::TABLE,
            Self::ClientFrame(_) => ClientFrameRecord::TABLE,
            Self::Input(_) => InputRecord::TABLE,
            Self::Sound(_) => SoundRecord::TABLE,
            Self::Lateness(_) => LatenessRecord::TABLE,
            Self::Cpu(_) => CpuRecord::TABLE,
        }
    }
}

/// Who hears the events of a run, in the order in which they become known.
///
/// A sink takes each event and says at the end whether it could keep them, so that nothing that makes events
/// has to handle the errors of a file. The result tables are one sink (`ResultTables`); the sending half of
/// a channel is another, for tests and for whoever follows a run.
pub trait Sink: std::fmt::Debug {
    /// Takes an event. A sink that has failed ignores it.
    fn take(&mut self, event: RunEvent);

    /// Whether it has failed, so that the run can end now; [`Self::finish`] says why.
    fn has_failed(&self) -> bool {
        false
    }

    /// What came so far shall outlive this process, where the sink can do that before its end.
    fn keep(&mut self) {}

    /// No event comes any more.
    ///
    /// # Errors
    /// If an event could not be kept: the first error.
    fn finish(self: Box<Self>) -> Result<(), SinkError>;
}

impl Sink for Sender<RunEvent> {
    fn take(&mut self, event: RunEvent) {
        // A receiver that has hung up does not want to hear more.
        let _ = self.send(event);
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }
}
