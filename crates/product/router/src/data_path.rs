//! Loads the data path into the kernel, attaches it to an interface, and shares its maps.
//!
//! Where the kernel has TCX (6.6 and later) the programs end with this process, however it ends. On older ones they stay
//! behind a process that is killed, as filters that do nothing once its heartbeat is a second old; the next start takes
//! them away.

use crate::netlink;
use crate::own_queue;
use crate::record::{
    Datagram, FLOW_BYTES, LIMIT_BYTES, Record, TOLD_BYTES, Verdict, flow_bytes, limit_bytes,
};
use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray, RingBuf};
use aya::programs::tc::{qdisc_add_clsact, qdisc_detach_program};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType};
use aya::util::KernelVersion;
use aya::{Ebpf, EbpfError};
use gameway_gateway::Limit;
use gameway_path::{Dscp, Header};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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
    /// It has no room for a map, by a limit that newer kernels do not have.
    #[error(
        "Linux before 5.11 counts the data path's 9 MB as locked memory, of which this process may have {limit} B: start it with \
         CAP_SYS_RESOURCE, after `ulimit -l unlimited`, or by a unit with LimitMEMLOCK=infinity"
    )]
    LockedMemory {
        /// What it may have, in bytes.
        limit: u64,
    },
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
    /// The kernel gives no random number.
    #[error("a seed: {0}")]
    Seed(io::Error),
}

impl DataPathError {
    /// Says of a refusal whether it is one of memory.
    fn of_load(error: EbpfError) -> Self {
        let EbpfError::MapError(MapError::CreateError { io_error, .. }) = &error else {
            return Self::Load(error);
        };
        let is_refused = io_error.kind() == io::ErrorKind::PermissionDenied;
        match getrlimit(Resource::Memlock).current {
            Some(limit) if is_refused && counts_locked_memory() => Self::LockedMemory { limit },
            _ => Self::Load(error),
        }
    }
}

/// Maps count as locked memory of their process (`RLIMIT_MEMLOCK`, setrlimit(2)) before Linux 5.11, as that of their control group
/// since.
fn counts_locked_memory() -> bool {
    KernelVersion::current().is_ok_and(|own| own < KernelVersion::new(5, 11, 0))
}

/// Asks for as much locked memory as there may be: the usual limits of 64 kB and 8 MB are below what the maps take.
fn unlock_memory() {
    if !counts_locked_memory() {
        return;
    }
    let any = Rlimit { current: None, maximum: None };
    if setrlimit(Resource::Memlock, any).is_err() {
        // That takes CAP_SYS_RESOURCE; up to the hard limit nothing.
        let maximum = getrlimit(Resource::Memlock).maximum;
        let _ = setrlimit(Resource::Memlock, Rlimit { current: maximum, maximum });
    }
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
    /// Packets that are neither TCP nor UDP or were not understood, left alone.
    pub others: u64,
    /// Datagrams of UDP.
    pub datagrams: u64,
    /// Datagrams that the program was not told of, as it had not read the ring.
    pub lost_datagrams: u64,
    /// Packets to the home that counted as a game's.
    pub game_packets: u64,
    /// Packets from the home that counted as a game's, as they leave; none without a queue for what the home sends.
    pub games_out: u64,
}

/// What holds for all packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The priority of a game's packets to the home: a class of the queue there, which HTB and CAKE read without a filter where its
    /// upper half is their handle (tc-htb(8), tc-cake(8)).
    pub game_class: u32,
    /// What says by DSCP that it waits for nothing counts as a game.
    pub trust_dscp: bool,
    /// What is written into packets of games to the home; those that are games by their own DSCP alone keep it.
    pub mark: Option<Dscp>,
    /// There are verdicts on TCP.
    pub asks_of_tcp: bool,
    /// All flows are told of in samples.
    pub all_quiet: bool,
    /// There is a queue for what the home sends, and games have the same class there.
    pub holds_out: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            game_class: own_queue::GAME,
            trust_dscp: false,
            mark: None,
            asks_of_tcp: false,
            all_quiet: false,
            holds_out: false,
        }
    }
}

impl Settings {
    fn bits(self) -> u32 {
        let marks = self.mark.is_some();
        let all = [self.trust_dscp, marks, self.asks_of_tcp, self.all_quiet, self.holds_out];
        all.into_iter().zip(0..).map(|(is_set, bit)| u32::from(is_set) << bit).sum()
    }
}

/// What passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// A segment of TCP.
    Segment(Record),
    /// A datagram of UDP.
    Datagram(Datagram),
}

/// At the interface of the home.
const AT_HOME: [(&str, TcAttachType); 2] =
    [("to_home", TcAttachType::Egress), ("from_home", TcAttachType::Ingress)];
/// At the one towards the provider.
const AT_PROVIDER: [(&str, TcAttachType); 1] = [("to_provider", TcAttachType::Egress)];

/// Heartbeat, settings, mark, priority, and four that are not used.
const HEALTH_BYTES: usize = 24;

/// See the module's head.
#[expect(missing_debug_implementations, reason = "maps of aya have none")]
pub struct DataPath {
    // Programs and links live as long as this.
    programs: Ebpf,
    records: RingBuf<MapData>,
    datagrams: RingBuf<MapData>,
    /// The oldest of each that was read and not yet told.
    oldest: (Option<Record>, Option<Datagram>),
    verdicts: HashMap<MapData, [u8; FLOW_BYTES], u32>,
    settings: Settings,
    limits: HashMap<MapData, [u8; FLOW_BYTES], [u8; LIMIT_BYTES]>,
    windows: HashMap<MapData, [u8; FLOW_BYTES], [u8; TOLD_BYTES]>,
    health: Array<MapData, [u8; HEALTH_BYTES]>,
    counters: PerCpuArray<MapData, u64>,
}

impl DataPath {
    /// Loads the programs; nothing passes through them yet.
    ///
    /// # Errors
    ///
    /// The kernel takes none, or finds a fault in them.
    pub fn load() -> Result<Self, DataPathError> {
        unlock_memory();
        let mut programs = Ebpf::load(OBJECT).map_err(DataPathError::of_load)?;
        for (name, _) in AT_HOME.into_iter().chain(AT_PROVIDER) {
            classifier(&mut programs, name)
                .and_then(SchedClassifier::load)
                .map_err(EbpfError::ProgramError)?;
        }
        let mut map = |name: &str| {
            programs.take_map(name).ok_or_else(|| MapError::InvalidName { name: name.to_owned() })
        };
        let (records, limits, windows) = (map("records")?, map("limits")?, map("windows")?);
        let (datagrams, verdicts) = (map("datagrams")?, map("verdicts")?);
        let (health, counters) = (map("healths")?, map("counters")?);
        Ok(Self {
            programs,
            records: records.try_into()?,
            datagrams: datagrams.try_into()?,
            oldest: (None, None),
            verdicts: verdicts.try_into()?,
            settings: Settings::default(),
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
        self.attach_all(interface, &AT_HOME)
    }

    /// Attaches, at the interface towards the provider, the program by which packets of games go first in the queue there.
    ///
    /// # Errors
    ///
    /// There is no such interface, or it takes none.
    pub fn attach_out(&mut self, interface: &str) -> Result<(), DataPathError> {
        self.attach_all(interface, &AT_PROVIDER)
    }

    fn attach_all(
        &mut self,
        interface: &str,
        programs: &[(&str, TcAttachType)],
    ) -> Result<(), DataPathError> {
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
        for &(name, direction) in programs {
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
        let mut bytes = [0; HEALTH_BYTES];
        bytes[..8].copy_from_slice(&now_ns.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.settings.bits().to_ne_bytes());
        let mark = u32::from(self.settings.mark.unwrap_or_default().0) << 2;
        bytes[12..16].copy_from_slice(&mark.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.settings.game_class.to_ne_bytes());
        Ok(self.health.set(0, bytes, 0)?)
    }

    /// This holds from the next heartbeat on.
    pub const fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// The next segment or datagram that passed, if there is one, in the order of time.
    pub fn next_passed(&mut self) -> Option<Passed> {
        let (record, datagram) = &mut self.oldest;
        if record.is_none() {
            *record = self.records.next().and_then(|item| Record::read(&item));
        }
        if datagram.is_none() {
            *datagram = self.datagrams.next().and_then(|item| Datagram::read(&item));
        }
        let is_record_first = match (&record, &datagram) {
            (Some(record), Some(datagram)) => record.at_ns <= datagram.at_ns,
            (first, _) => first.is_some(),
        };
        if is_record_first {
            return record.take().map(Passed::Segment);
        }
        datagram.take().map(Passed::Datagram)
    }

    /// What is thought of a flow, for both its ways.
    ///
    /// # Errors
    ///
    /// The map cannot be written.
    pub fn judge(&mut self, header: &Header, verdict: Verdict) -> Result<(), DataPathError> {
        for header in [*header, header.reversed()] {
            let key = flow_bytes(&header);
            match verdict.bits() {
                0 => is_gone(self.verdicts.remove(&key))?,
                bits => self.verdicts.insert(key, bits, 0)?,
            }
        }
        Ok(())
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
        is_gone(self.limits.remove(&key))?;
        Ok(is_gone(self.windows.remove(&key))?)
    }

    /// What was counted.
    ///
    /// # Errors
    ///
    /// The map cannot be read.
    pub fn counters(&self) -> Result<Counters, DataPathError> {
        let mut totals = [0; 9];
        for (total, index) in totals.iter_mut().zip(0..) {
            *total = self.counters.get(&index, 0)?.iter().sum();
        }
        let [
            segments,
            lowered,
            lost_records,
            fragments,
            others,
            datagrams,
            lost_datagrams,
            game_packets,
            games_out,
        ] = totals;
        Ok(Counters {
            segments,
            lowered,
            lost_records,
            fragments,
            others,
            datagrams,
            lost_datagrams,
            game_packets,
            games_out,
        })
    }

    /// The kernel's number of one of the programs, for tests that run it on packets of theirs.
    ///
    /// # Errors
    ///
    /// It was not loaded.
    #[doc(hidden)]
    pub fn program(&mut self, name: &str) -> Result<&SchedClassifier, ProgramError> {
        classifier(&mut self.programs, name).map(|program| &*program)
    }
}

/// What was removed is not there, whether it was before or not.
fn is_gone(removed: Result<(), MapError>) -> Result<(), MapError> {
    match removed {
        Err(MapError::KeyNotFound) => Ok(()),
        Err(MapError::SyscallError(error)) if error.io_error.kind() == io::ErrorKind::NotFound => {
            Ok(())
        }
        other => other,
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
    let of = |direction: TcAttachType| {
        let programs = SchedClassifier::query_tcx(interface, direction).map(|(_, found)| found);
        let names = programs.unwrap_or_default().into_iter();
        names.map(|one| one.name_as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>()
    };
    AT_HOME.into_iter().flat_map(|(_, direction)| of(direction)).collect()
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
    AT_HOME.iter().chain(&AT_PROVIDER).any(|(own, _)| *own == name)
}
