//! Runs a program of BPF on a packet: bpf(2), `BPF_PROG_TEST_RUN`.

use gameway_router::data_path::{DataPath, Passed as PassedPacket};
use gameway_router::record::{Datagram, Record};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::{RefCell, RefMut};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, MutexGuard};

/// One at a time: each has maps of some megabytes.
static ONE: Mutex<()> = Mutex::new(());

/// A loaded data path that was told that its program lives.
pub struct Loaded {
    // Cases of proptest share what they use.
    data_path: RefCell<DataPath>,
    _one: MutexGuard<'static, ()>,
}

/// What a program made of a packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed {
    pub verdict: i32,
    pub packet: Vec<u8>,
    /// `skb->priority` behind it.
    pub priority: u32,
}

/// `None` without root.
pub fn loaded() -> Option<Loaded> {
    let one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !is_root() {
        eprintln!("left out: needs root");
        return None;
    }
    let mut data_path = DataPath::load().expect("the kernel takes the data path");
    data_path.beat(now_ns()).expect("the map is there");
    Some(Loaded { data_path: RefCell::new(data_path), _one: one })
}

/// Draws the same so many cases each time.
pub fn runner(cases: u32) -> TestRunner {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(Config { cases, ..Config::default() }, random)
}

pub fn now_ns() -> i64 {
    gameway_runtime::clock::Clock::monotonic_ns()
}

#[allow(unsafe_code, reason = "no safe wrapper")]
fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The part of `union bpf_attr` for `BPF_PROG_TEST_RUN`, as far as it is used.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    verdict: u32,
    input_size: u32,
    output_size: u32,
    input: u64,
    output: u64,
    repeat: u32,
    duration: u32,
    context_input_size: u32,
    context_output_size: u32,
    context_input: u64,
    context_output: u64,
}

/// Room for `struct __sk_buff`, and where its priority is.
const CONTEXT_BYTES: usize = 256;
const PRIORITY: usize = 32;

const BPF_PROG_TEST_RUN: libc::c_int = 10;

impl Loaded {
    pub fn data_path(&self) -> RefMut<'_, DataPath> {
        self.data_path.borrow_mut()
    }

    /// A packet with its Ethernet header passes the program `name`, so often.
    pub fn pass_often(&self, name: &str, packet: &[u8], repeat: u32) -> (Passed, u32) {
        self.data_path().beat(now_ns()).expect("the map is there");
        self.pass_unwatched(name, packet, repeat)
    }

    /// The same, without a heartbeat before.
    #[allow(unsafe_code, reason = "no safe wrapper")]
    pub fn pass_unwatched(&self, name: &str, packet: &[u8], repeat: u32) -> (Passed, u32) {
        let mut data_path = self.data_path();
        let program = data_path.program(name).expect("there is one");
        let program = program.fd().expect("it is loaded").as_fd().as_raw_fd();
        let mut output = vec![0; packet.len() + 256];
        let mut context = [0_u8; CONTEXT_BYTES];
        let mut run = TestRun {
            program: program as u32,
            input_size: packet.len() as u32,
            output_size: output.len() as u32,
            input: packet.as_ptr() as u64,
            output: output.as_mut_ptr() as u64,
            repeat,
            context_output_size: CONTEXT_BYTES as u32,
            context_output: context.as_mut_ptr() as u64,
            ..TestRun::default()
        };
        // SAFETY: `run` has the layout that the call asks for, and its pointers and sizes are those of living buffers.
        let failed = unsafe {
            libc::syscall(libc::SYS_bpf, BPF_PROG_TEST_RUN, &raw mut run, size_of::<TestRun>())
        };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
        output.truncate(run.output_size as usize);
        let priority = context[PRIORITY..PRIORITY + 4].try_into().expect("four");
        let priority = u32::from_ne_bytes(priority);
        (Passed { verdict: run.verdict as i32, packet: output, priority }, run.duration)
    }

    /// The next that the rings have, which is a segment.
    pub fn next_record(&self) -> Option<Record> {
        match self.data_path().next_passed()? {
            PassedPacket::Segment(record) => Some(record),
            PassedPacket::Datagram(datagram) => panic!("a datagram: {datagram:?}"),
        }
    }

    /// The next that the rings have, which is a datagram.
    pub fn next_datagram(&self) -> Option<Datagram> {
        match self.data_path().next_passed()? {
            PassedPacket::Datagram(datagram) => Some(datagram),
            PassedPacket::Segment(record) => panic!("a segment: {record:?}"),
        }
    }

    /// Once.
    pub fn pass(&self, name: &str, packet: &[u8]) -> Passed {
        self.pass_often(name, packet, 1).0
    }
}
