//! A second process that takes the gateway's queue away where the gateway cannot: the kernel keeps a queue whose process was killed, and it would
//! shape with its last rate for good.
//!
//! The gateway starts its own program as `guard NUMBER`, with a pipe. A byte there says that the gateway lives; the end of the pipe, that it
//! does not, however it ended: then the guardian takes away what is left of the queue, and ends. Signals that ask to end it does
//! not hear, since a terminal and a service manager send them to both. One guardian is at an interface ([`crate::claim`]): that of a killed gateway is waited for
//! before the next one's queue is there, which it would take away otherwise.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | patience with a silent gateway | 3 s | it says each second that it lives; the data path gives up after one, and needs no new start |
//! | patience with another guardian | 3 s | it ends within milliseconds |
//! | patience with its end | 2 s | as before |

use super::kernel;
use crate::claim::Claim;
use gameway_runtime::clock::sleep;
use gameway_runtime::stop::Stop;
use gameway_units::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

const SILENCE: Timespec = Timespec { tv_sec: 3, tv_nsec: 0 };
const PATIENCE_STEPS: u32 = 300;
const STEP: Duration = Duration::from_millis(10);
const END_STEPS: u32 = 200;
/// Also where the file was replaced since this process began.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";
const READY: &str = "ready\n";

/// A guardian's process, as its gateway has it.
#[derive(Debug)]
pub(super) struct Guardian {
    pub(super) program: &'static str,
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts one, and waits until it is the only one at the interface.
    pub(super) fn start(program: &'static str, interface: u32) -> io::Result<Self> {
        let mut process = Command::new(program)
            .arg0("gameway-gateway")
            .args(["guard", &interface.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (pipe, told) = (process.stdin.take(), process.stdout.take());
        if let Some(pipe) = &pipe {
            // A guardian that is stopped does not stop the gateway.
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        let mut guardian = Self { program, process, pipe };
        let mut line = String::new();
        let read = told.map_or(Ok(0), |told| BufReader::new(told).read_line(&mut line));
        match read {
            Ok(_) if line == READY => Ok(guardian),
            Ok(_) => {
                guardian.end();
                Err(io::Error::other("it ended before it began"))
            }
            Err(error) => {
                guardian.end();
                Err(error)
            }
        }
    }

    /// Says that the gateway lives; `false`: the guardian does not.
    pub(super) fn beat(&mut self) -> bool {
        let is_there = matches!(self.process.try_wait(), Ok(None));
        is_there
            && self.pipe.as_mut().is_some_and(|pipe| match pipe.write(b".") {
                Ok(_) => true,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            })
    }

    /// Ends it; it takes away what is left of the queue.
    fn end(&mut self) {
        self.pipe = None;
        for _ in 0..END_STEPS {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            sleep(STEP);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the second process does until its gateway has ended.
///
/// # Errors
/// Another guardian stays, or the kernel does not take the queue away.
pub fn guard(interface: u32) -> io::Result<()> {
    let _deaf = Stop::on_signals()?;
    let _claim = claim(interface)?;
    let mut out = io::stdout();
    out.write_all(READY.as_bytes()).and_then(|()| out.flush())?;
    let mut pipe = io::stdin().lock();
    loop {
        let polled = poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&SILENCE));
        match polled {
            Ok(0) => drop(kernel::remove(interface)?),
            Ok(_) => match pipe.read(&mut [0; 64]) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            },
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    kernel::remove(interface).map(|_| ())
}

fn claim(interface: u32) -> io::Result<Claim> {
    for _ in 0..PATIENCE_STEPS {
        if let Some(claim) = Claim::of_queue(interface)? {
            return Ok(claim);
        }
        sleep(STEP);
    }
    Err(io::Error::other("another guardian is at this interface, and does not end"))
}
