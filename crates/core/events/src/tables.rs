//! The result tables: the sink that keeps events as Parquet files.

use crate::SinkError;
use crate::event::{RunEvent, Sink};
use crate::live::{
    ClientFrameRecord, CpuRecord, HostFrameRecord, InputRecord, LatenessRecord, SoundRecord,
};
use crate::records::{
    BinRecord, ControllerRecord, EventRecord, FrameRecord, LinkRecord, PacketRecord, PingRecord,
    QueueDelayRecord, SegmentRecord, SummaryRecord,
};
use crate::table::{Files, Record, Table, TableError};
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
    /// How all of them lie in the folder.
    pub files: Files,
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

            fn write_down(&mut self) -> Result<(), TableError> {
                $(self.$field.as_mut().map_or(Ok(()), Table::keep)?;)*
                Ok(())
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
    pub fn of_run(folder: &Path, further: FurtherTables) -> Result<Self, SinkError> {
        let files = further.files;
        Ok(Self {
            frames: kept(folder, files)?,
            bins: kept(folder, files)?,
            link: kept(folder, files)?,
            queue_delay: kept(folder, files)?,
            pings: kept(folder, files)?,
            controller: kept(folder, files)?,
            events: kept(folder, files)?,
            summary: kept(folder, files)?,
            packets: kept_if(further.packets, folder, files)?,
            segments: kept_if(further.segments, folder, files)?,
            lateness: kept_if(further.lateness, folder, files)?,
            ..Self::default()
        })
    }

    /// Creates the files of a host in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_host(folder: &Path, files: Files) -> Result<Self, SinkError> {
        Ok(Self {
            host_frames: kept(folder, files)?,
            // Of a browser, which writes none itself.
            client_frames: kept(folder, files)?,
            controller: kept(folder, files)?,
            lateness: kept(folder, files)?,
            ..Self::of_both_ends(folder, files)?
        })
    }

    /// Creates the files of a client in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_client(folder: &Path) -> Result<Self, SinkError> {
        let files = Files::Whole;
        Ok(Self {
            client_frames: kept(folder, files)?,
            inputs: kept(folder, files)?,
            sound: kept(folder, files)?,
            ..Self::of_both_ends(folder, files)?
        })
    }

    /// Creates the files of the sender of a download in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_download(folder: &Path) -> Result<Self, SinkError> {
        let files = Files::Whole;
        Ok(Self {
            controller: kept(folder, files)?,
            events: kept(folder, files)?,
            ..Self::default()
        })
    }

    fn of_both_ends(folder: &Path, files: Files) -> Result<Self, SinkError> {
        Ok(Self { events: kept(folder, files)?, cpu: kept(folder, files)?, ..Self::default() })
    }
}

fn kept<R: Record>(folder: &Path, files: Files) -> Result<Option<Table<R>>, TableError> {
    Table::create(folder, files).map(Some)
}

fn kept_if<R: Record>(
    wanted: bool,
    folder: &Path,
    files: Files,
) -> Result<Option<Table<R>>, TableError> {
    if wanted { kept(folder, files) } else { Ok(None) }
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

    fn keep(&mut self) {
        if self.failed.is_none() {
            self.failed = self.write_down().err();
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SinkError> {
        Ok(self.failed.take().map_or_else(|| self.close(), Err)?)
    }
}
