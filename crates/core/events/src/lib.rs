//! What happened in a run, as typed records, and the sinks that keep them.
//!
//! What makes events gives each as a [`RunEvent`] to a [`Sink`]. With the feature `parquet`, which is on unless a user
//! turns it off, `ResultTables` is a sink that keeps them as Parquet files. Rows leave memory in row
//! groups, so a run's memory does not grow with its length. The columns of each table are the fields of its record: units
//! are in the names, times are nanoseconds since the start of the run. The schema is versioned by [`SCHEMA_VERSION`];
//! `docs/results.md` describes it for readers.
//!
//! # Examples
//! The sending half of a channel is a sink, too:
//! ```
//! use gameway_events::{EventRecord, RunEvent, Sink};
//! use std::sync::mpsc::channel;
//!
//! let (mut sink, events) = channel();
//! let record = EventRecord { time_ns: 5, event: "connected".into(), ..EventRecord::default() };
//! sink.take(RunEvent::Flow(record));
//! Box::new(sink).finish()?;
//! assert_eq!(events.iter().count(), 1);
//! # Ok::<(), gameway_events::SinkError>(())
//! ```

#[macro_use]
mod record;
#[cfg(feature = "parquet")]
mod column;
mod event;
mod histogram;
mod live;
mod observed;
mod records;
#[cfg(feature = "parquet")]
mod table;
#[cfg(feature = "parquet")]
mod tables;

pub use event::{RunEvent, Sink, SinkError};
pub use histogram::DelayHistogram;
pub use live::{
    ClientFrameRecord, CpuRecord, HostFrameRecord, InputRecord, LatenessRecord, SoundRecord,
};
pub use observed::Observed;
pub use records::{
    BinRecord, ControllerRecord, EventRecord, FrameRecord, LinkRecord, PacketRecord, PingRecord,
    QueueDelayRecord, SegmentRecord, SummaryRecord,
};
#[cfg(feature = "parquet")]
pub use table::{Files, Table, TableError};
#[cfg(feature = "parquet")]
pub use tables::{FurtherTables, ResultTables};

/// A name that stands in many rows: a flow, an event, a variable. Stored as a dictionary.
pub type Name = std::sync::Arc<str>;

/// Version of the result tables; a reader refuses one that it does not know.
pub const SCHEMA_VERSION: u32 = 4;

/// Length of the bins of `bins.parquet` and `link.parquet` (Xu and Claypool 2022, section 4.1).
pub const BIN: gameway_units::Duration = gameway_units::Duration::from_millis(500);

/// Length of the windows of `queue_delay.parquet` unless a run says otherwise.
pub const QUEUE_DELAY_WINDOW: gameway_units::Duration = gameway_units::Duration::from_secs(5);
