//! The result tables: the sink that keeps events as Parquet files.

use crate::TableError;
use crate::event::{RunEvent, Sink};
use crate::live::{
    ClientFrameRecord, CpuRecord, HostFrameRecord, InputRecord, LatenessRecord, SoundRecord,
};
use crate::records::{
    BinRecord, ControllerRecord, EventRecord, FrameRecord, LinkRecord, PacketRecord, PingRecord,
    QueueDelayRecord, SegmentRecord, SummaryRecord,
};
use crate::table::{Record, Table};
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

/// A table for each kind of event, of which a sink keeps some: the struct, where a row goes, and how all end.
macro_rules! tables {
    ($($field:ident: $event:ident($record:ty)),* $(,)?) => {
        /// The tables of a run, or of one end of a live stream. Events of tables that it does not keep are somebody
        /// else's. The first table that cannot be written ends the others: what is on the disk by then stays.
        #[derive(Debug, Default)]
        pub struct ResultTables {
            $($field: Option<Table<$record>>,)*
            failed: Option<TableError>,
        }

        impl ResultTables {
            fn push(&mut self, event: &RunEvent) -> Result<(), TableError> {
                match event {
                    $(RunEvent::$event(record) => {
                        self.$field.as_mut().map_or(Ok(()), |table| table.push(record))
                    })*
                }
            }

            /// Closes the tables in the order of their list.
            fn close(self) -> Result<(), TableError> {
                $(self.$field.map_or(Ok(()), Table::finish)?;)*
                Ok(())
            }
        }
    };
}

tables! {
    frames: Frame(FrameRecord),
    bins: Bin(BinRecord),
    link: Link(LinkRecord),
    queue_delay: QueueDelay(QueueDelayRecord),
    pings: Ping(PingRecord),
    host_frames: HostFrame(HostFrameRecord),
    client_frames: ClientFrame(ClientFrameRecord),
    inputs: Input(InputRecord),
    sound: Sound(SoundRecord),
    controller: Controller(ControllerRecord),
    events: Flow(EventRecord),
    packets: Packet(PacketRecord),
    segments: Segment(SegmentRecord),
    lateness: Lateness(LatenessRecord),
    cpu: Cpu(CpuRecord),
    // The last: a run that has it has the others.
    summary: Summary(SummaryRecord),
}

impl ResultTables {
    /// Creates the files of a run in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_run(folder: &Path, further: FurtherTables) -> Result<Self, TableError> {
        Ok(Self {
            frames: kept(folder)?,
            bins: kept(folder)?,
            link: kept(folder)?,
            queue_delay: kept(folder)?,
            pings: kept(folder)?,
            controller: kept(folder)?,
            events: kept(folder)?,
            summary: kept(folder)?,
            packets: kept_if(further.packets, folder)?,
            segments: kept_if(further.segments, folder)?,
            lateness: kept_if(further.lateness, folder)?,
            ..Self::default()
        })
    }

    /// Creates the files of a host in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_host(folder: &Path) -> Result<Self, TableError> {
        Ok(Self {
            host_frames: kept(folder)?,
            // Of a browser, which writes none itself.
            client_frames: kept(folder)?,
            controller: kept(folder)?,
            lateness: kept(folder)?,
            ..Self::of_both_ends(folder)?
        })
    }

    /// Creates the files of a client in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_client(folder: &Path) -> Result<Self, TableError> {
        Ok(Self {
            client_frames: kept(folder)?,
            inputs: kept(folder)?,
            sound: kept(folder)?,
            ..Self::of_both_ends(folder)?
        })
    }

    /// Creates the files of the sender of a download in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_download(folder: &Path) -> Result<Self, TableError> {
        Ok(Self { controller: kept(folder)?, events: kept(folder)?, ..Self::default() })
    }

    fn of_both_ends(folder: &Path) -> Result<Self, TableError> {
        Ok(Self { events: kept(folder)?, cpu: kept(folder)?, ..Self::default() })
    }
}

fn kept<R: Record>(folder: &Path) -> Result<Option<Table<R>>, TableError> {
    Table::create(folder).map(Some)
}

fn kept_if<R: Record>(wanted: bool, folder: &Path) -> Result<Option<Table<R>>, TableError> {
    if wanted { kept(folder) } else { Ok(None) }
}

impl Sink for ResultTables {
    fn take(&mut self, event: RunEvent) {
        if self.failed.is_none() {
            self.failed = self.push(&event).err();
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    fn finish(mut self: Box<Self>) -> Result<(), TableError> {
        self.failed.take().map_or_else(|| self.close(), Err)
    }
}
