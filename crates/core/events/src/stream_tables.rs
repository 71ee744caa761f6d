//! The tables of one end of a live stream: the sink that keeps its events as Parquet files.

use crate::event::{RunEvent, Sink, TableError};
use crate::live::{
    ClientFrameRecord, CpuRecord, HostFrameRecord, InputRecord, LatenessRecord, SoundRecord,
};
use crate::records::{ControllerRecord, EventRecord};
use crate::table::{Table, add};
use std::path::Path;

/// All tables of a host or a client. The first that cannot be written ends the others.
#[derive(Debug)]
pub struct StreamTables {
    host_frames: Option<Table<HostFrameRecord>>,
    controller: Option<Table<ControllerRecord>>,
    lateness: Option<Table<LatenessRecord>>,
    client_frames: Option<Table<ClientFrameRecord>>,
    inputs: Option<Table<InputRecord>>,
    sound: Option<Table<SoundRecord>>,
    events: Option<Table<EventRecord>>,
    cpu: Option<Table<CpuRecord>>,
    failed: Option<TableError>,
}

impl StreamTables {
    /// Creates the files of a host in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_host(folder: &Path) -> Result<Self, TableError> {
        Ok(Self {
            host_frames: Some(Table::create(folder)?),
            controller: Some(Table::create(folder)?),
            lateness: Some(Table::create(folder)?),
            ..Self::of_both(folder)?
        })
    }

    /// Creates the files of a client in `folder`, which must exist.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn of_client(folder: &Path) -> Result<Self, TableError> {
        Ok(Self {
            client_frames: Some(Table::create(folder)?),
            inputs: Some(Table::create(folder)?),
            sound: Some(Table::create(folder)?),
            ..Self::of_both(folder)?
        })
    }

    fn of_both(folder: &Path) -> Result<Self, TableError> {
        Ok(Self {
            host_frames: None,
            controller: None,
            lateness: None,
            client_frames: None,
            inputs: None,
            sound: None,
            events: Some(Table::create(folder)?),
            cpu: Some(Table::create(folder)?),
            failed: None,
        })
    }

    fn push(&mut self, event: &RunEvent) -> Result<(), TableError> {
        match event {
            RunEvent::HostFrame(record) => add(&mut self.host_frames, record),
            RunEvent::Controller(record) => add(&mut self.controller, record),
            RunEvent::Lateness(record) => add(&mut self.lateness, record),
            RunEvent::ClientFrame(record) => add(&mut self.client_frames, record),
            RunEvent::Input(record) => add(&mut self.inputs, record),
            RunEvent::Sound(record) => add(&mut self.sound, record),
            RunEvent::Flow(record) => add(&mut self.events, record),
            RunEvent::Cpu(record) => add(&mut self.cpu, record),
            // Those of a path, which keeps its own.
            _ => Ok(()),
        }
    }
}

impl Sink for StreamTables {
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
        self.host_frames.map_or(Ok(()), Table::finish)?;
        self.controller.map_or(Ok(()), Table::finish)?;
        self.lateness.map_or(Ok(()), Table::finish)?;
        self.client_frames.map_or(Ok(()), Table::finish)?;
        self.inputs.map_or(Ok(()), Table::finish)?;
        self.sound.map_or(Ok(()), Table::finish)?;
        self.events.map_or(Ok(()), Table::finish)?;
        self.cpu.map_or(Ok(()), Table::finish)
    }
}
