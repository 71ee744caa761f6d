//! Loads the data path into the kernel, attaches it to an interface, and shares its maps.
//!
//! Where the kernel has TCX (6.6 and later) the programs end with this process, however it ends. On older ones they stay
//! behind a process that is killed, as filters that do nothing once its heartbeat is a second old; the next start takes
//! them away.

use crate::netlink;
use crate::record::{FLOW_BYTES, LIMIT_BYTES, Record, TOLD_BYTES, flow_bytes, limit_bytes};
use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray, RingBuf};
use aya::programs::tc::{qdisc_add_clsact, qdisc_detach_program};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType};
use aya::util::KernelVersion;
use aya::{Ebpf, EbpfError};
use gameway_gateway::Limit;
use gameway_path::Header;
use std::io;

/// Compiled by the build script.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/gateway.o"));

/// Why there is no data path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataPathError {
    /// The kernel takes no program: its version, its configuration, or who asks.
    #[error(
        "the kernel does not take the data path: {}; it needs Linux 5.10 with BPF on tc, and root",
        in_short(.0)
    )]
    Load(#[from] EbpfError),
    /// It does not verify a program, or attach it.
    #[error("the data path cannot be attached to {interface}: {why}")]
    Attach {
        /// The interface.
        interface: String,
        /// What the kernel said.
        why: String,
    },
    /// A map that cannot be read or written.
    #[error("a map of the data path: {0}")]
    Map(#[from] MapError),
}

/// An error in a line: of a verifier's hundreds, what it says at last.
fn in_short(error: &EbpfError) -> String {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let judged = lines.take_while(|line| !line.starts_with("verification time"));
    match judged.last() {
        Some(last) => {
            format!("{}: {last}", first.split(". Verifier output").next().unwrap_or(first))
        }
        None => first.to_owned(),
    }
}

/// What the data path has counted since it was loaded, in the order of `bpf/shared.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Segments of TCP.
    pub segments: u64,
    /// Windows that were lowered.
    pub lowered: u64,
    /// Segments that the program was not told of, as it had not read the ring.
    pub lost_records: u64,
    /// Fragments, left alone.
    pub fragments: u64,
    /// Packets that are not TCP or were not understood, left alone.
    pub others: u64,
}

const PROGRAMS: [(&str, TcAttachType); 2] =
    [("to_home", TcAttachType::Egress), ("from_home", TcAttachType::Ingress)];

/// See the module's head.
#[expect(missing_debug_implementations, reason = "maps of aya have none")]
pub struct DataPath {
    // Programs and links live as long as this.
    programs: Ebpf,
    records: RingBuf<MapData>,
    limits: HashMap<MapData, [u8; FLOW_BYTES], [u8; LIMIT_BYTES]>,
    windows: HashMap<MapData, [u8; FLOW_BYTES], [u8; TOLD_BYTES]>,
    health: Array<MapData, i64>,
    counters: PerCpuArray<MapData, u64>,
}

impl DataPath {
    /// Loads the programs; nothing passes through them yet.
    ///
    /// # Errors
    ///
    /// The kernel takes none, or finds a fault in them.
    pub fn load() -> Result<Self, DataPathError> {
        let mut programs = Ebpf::load(OBJECT)?;
        for (name, _) in PROGRAMS {
            classifier(&mut programs, name)
                .and_then(SchedClassifier::load)
                .map_err(EbpfError::ProgramError)?;
        }
        let mut map = |name: &str| {
            programs.take_map(name).ok_or_else(|| MapError::InvalidName { name: name.to_owned() })
        };
        let (records, limits, windows) = (map("records")?, map("limits")?, map("windows")?);
        let (health, counters) = (map("healths")?, map("counters")?);
        Ok(Self {
            programs,
            records: records.try_into()?,
            limits: limits.try_into()?,
            windows: windows.try_into()?,
            health: health.try_into()?,
            counters: counters.try_into()?,
        })
    }

    /// Attaches the programs to the interface of the home.
    ///
    /// # Errors
    ///
    /// There is no such interface, or it takes none.
    pub fn attach(&mut self, interface: &str) -> Result<(), DataPathError> {
        let failed = |why: String| DataPathError::Attach { interface: interface.to_owned(), why };
        let has_tcx = KernelVersion::current().is_ok_and(|one| one >= KernelVersion::new(6, 6, 0));
        if !has_tcx {
            match qdisc_add_clsact(interface) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error.to_string()));
                }
                _ => {}
            }
        }
        for (name, direction) in PROGRAMS {
            if !has_tcx {
                // What a killed process left; there may be nothing.
                let _ = qdisc_detach_program(interface, direction, name);
            }
            classifier(&mut self.programs, name)
                .and_then(|program| program.attach(interface, direction))
                .map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    /// Tells the data path that this process lives.
    ///
    /// # Errors
    ///
    /// The map cannot be written.
    pub fn beat(&mut self, now_ns: i64) -> Result<(), DataPathError> {
        Ok(self.health.set(0, now_ns, 0)?)
    }

    /// The next segment that passed, if there is one.
    pub fn next_record(&mut self) -> Option<Record> {
        let item = self.records.next()?;
        Record::read(&item)
    }

    /// Limits a sender, or changes its limit.
    ///
    /// # Errors
    ///
    /// The map is full.
    pub fn limit(&mut self, limit: &Limit) -> Result<(), DataPathError> {
        Ok(self.limits.insert(flow_bytes(&limit.header), limit_bytes(limit), 0)?)
    }

    /// Limits a sender no more.
    ///
    /// # Errors
    ///
    /// The map cannot be written.
    pub fn release(&mut self, header: &Header) -> Result<(), DataPathError> {
        let key = flow_bytes(header);
        for removed in [self.limits.remove(&key), self.windows.remove(&key)] {
            match removed {
                Ok(()) | Err(MapError::KeyNotFound) => {}
                Err(MapError::SyscallError(error))
                    if error.io_error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// What was counted.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn counters(&self) -> Result<Counters, DataPathError> {
        let mut totals = [0; 5];
        for (total, index) in totals.iter_mut().zip(0..) {
            *total = self.counters.get(&index, 0)?.iter().sum();
        }
        let [segments, lowered, lost_records, fragments, others] = totals;
        Ok(Counters { segments, lowered, lost_records, fragments, others })
    }

    /// The kernel's number of one of the two programs, for tests that run it on packets of theirs.
    ///
    /// # Errors
    ///
    /// It was not loaded.
    #[doc(hidden)]
    pub fn program(&mut self, name: &str) -> Result<&SchedClassifier, ProgramError> {
        classifier(&mut self.programs, name).map(|program| &*program)
    }
}

fn classifier<'a>(
    programs: &'a mut Ebpf,
    name: &str,
) -> Result<&'a mut SchedClassifier, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}

/// Names of all programs that are attached to an interface by TCX; none where the kernel has no TCX or nobody may ask.
#[must_use]
pub fn programs_at(interface: &str) -> Vec<String> {
    let of = |(_, direction): (&str, TcAttachType)| {
        let programs = SchedClassifier::query_tcx(interface, direction).map(|(_, found)| found);
        let names = programs.unwrap_or_default().into_iter();
        names.map(|one| one.name_as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>()
    };
    PROGRAMS.into_iter().flat_map(of).collect()
}

/// Programs of a data path of ours that are attached to an interface, by TCX or as filters.
#[must_use]
pub fn attached(interface: &str) -> Vec<String> {
    let index = netlink::interfaces()
        .ok()
        .and_then(|all| all.iter().find(|one| one.name == interface).map(|one| one.index));
    let filters = index.and_then(|index| netlink::filters(index).ok()).unwrap_or_default();
    programs_at(interface).into_iter().chain(filters).filter(|name| is_own(name)).collect()
}

/// Whether a program of this name is one of the data path's.
#[must_use]
pub fn is_own(name: &str) -> bool {
    PROGRAMS.iter().any(|(own, _)| *own == name)
}
