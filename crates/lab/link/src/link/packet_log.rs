//! The table of packets, if one is asked for, written by a thread of its own: a file must not make packets late.

use super::packet::Packet;
use gameway_events::{Files, Name, PacketRecord, Table, TableError};
use gameway_experiment::packet_record;
use gameway_path::Fate;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Entries that are handed over at a time.
const BATCH: usize = 512;

#[derive(Debug)]
struct Entry {
    packet: Packet,
    fate: Fate,
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct PacketLog {
    writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    batch: Vec<Entry>,
    batches: Sender<Vec<Entry>>,
    thread: JoinHandle<Result<(), TableError>>,
}

impl PacketLog {
    /// A table in `folder` of the packets of these flows, if `wanted`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(folder: &Path, names: Vec<Name>, wanted: bool) -> Result<Self, TableError> {
        if !wanted {
            return Ok(Self::default());
        }
        let table = Table::create(folder, Files::Whole)?;
        let (batches, receiver) = channel();
        #[expect(clippy::disallowed_methods, reason = "a driver; files must not hold it up")]
        let thread = std::thread::spawn(move || write(table, &names, &receiver));
        Ok(Self { writer: Some(Writer { batch: Vec::with_capacity(BATCH), batches, thread }) })
    }

    /// What becomes of a packet is known.
    pub fn add(&mut self, packet: &Packet, fate: Fate) {
        let Some(writer) = &mut self.writer else { return };
        writer.batch.push(Entry { packet: *packet, fate });
        if writer.batch.len() == BATCH {
            let batch = std::mem::replace(&mut writer.batch, Vec::with_capacity(BATCH));
            // A thread that has failed tells why at the end.
            let _ = writer.batches.send(batch);
        }
    }

    /// Writes what is left and closes the table.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(self) -> Result<(), TableError> {
        let Some(Writer { batch, batches, thread }) = self.writer else { return Ok(()) };
        let _ = batches.send(batch);
        drop(batches);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn write(
    mut table: Table<PacketRecord>,
    names: &[Name],
    batches: &Receiver<Vec<Entry>>,
) -> Result<(), TableError> {
    let mut words = Vec::new();
    for Entry { packet, fate } in batches.iter().flatten() {
        let Some(flow) = names.get(usize::from(packet.flow.0)) else { continue };
        table.push(&packet_record(&packet, fate, flow.clone(), &mut words))?;
    }
    table.finish()
}
