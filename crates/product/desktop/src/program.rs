//! The program that is played.
//!
//! What it writes to its standard error goes on to ours, and the last of it is kept to tell why it ended.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | pipe | 1 MiB | what Linux gives everyone (pipe(7)): who polls ten times a second lets 10 MB/s pass |
//! | last words | 5 lines, 1000 bytes | what fits on a page |

use crate::DesktopError;
use crate::group::Group;
use rustix::io::ioctl_fionbio;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::WaitIdStatus;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{ChildStderr, Command, Stdio};

const PIPE: usize = 1 << 20;
const MAX_BYTES: usize = 1_000;
const MAX_LINES: usize = 5;
/// Names of signals that end a process, by their numbers on Linux.
const SIGNALS: [(i32, &str); 15] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (31, "SIGSYS"),
];

/// How it is with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It has ended and says that all is well (status 0).
    EndedWell,
    /// It has ended otherwise.
    Crashed {
        /// How, and its last words.
        reason: String,
    },
}

/// A program with all that it starts, until it is dropped.
#[derive(Debug)]
pub struct Program {
    group: Group,
    errors: Option<ChildStderr>,
    last: Vec<u8>,
}

impl Program {
    /// Starts it, with this in its environment beside ours. It has no standard input.
    ///
    /// # Errors
    /// [`DesktopError::Start`] if there is no such program.
    pub fn start(
        command: &[OsString],
        environment: &[(String, OsString)],
    ) -> Result<Self, DesktopError> {
        let [program, arguments @ ..] = command else {
            return Err(DesktopError::start("program", "no command is given"));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut group = Group::start(&mut command, None)?;
        let errors = group.errors();
        if let Some(errors) = &errors {
            ioctl_fionbio(errors, true).map_err(|error| {
                DesktopError::start(&program.to_string_lossy(), error.to_string())
            })?;
            // A small one does as well, unless the program says a lot.
            let _ = fcntl_setpipe_size(errors, PIPE);
        }
        Ok(Self { group, errors, last: Vec::new() })
    }

    /// How it is. To be asked several times a second: what the program says waits until then.
    pub fn poll(&mut self) -> State {
        // First whether it has ended, then all that it said before.
        let ending = self.group.ending();
        self.listen();
        match ending {
            None => State::Running,
            Some(ending) if ending.exit_status() == Some(0) => State::EndedWell,
            Some(ending) => State::Crashed { reason: self.reason(&ending) },
        }
    }

    /// Ends it and all that it started: SIGTERM, and SIGKILL for who is there after two seconds.
    pub fn end(&mut self) {
        self.group.end();
        self.listen();
    }

    fn listen(&mut self) {
        let Some(errors) = &mut self.errors else { return };
        let mut bytes = [0; 4_096];
        // As much as the pipe held: who says more without an end must not keep us here.
        for _ in 0..=PIPE / bytes.len() {
            match errors.read(&mut bytes) {
                Ok(0) => return self.errors = None,
                Ok(count) => {
                    // Who closed our standard error does not want to hear of it.
                    let _ = std::io::stderr().write_all(&bytes[..count]);
                    self.last.extend(&bytes[..count]);
                    self.last.drain(..self.last.len().saturating_sub(MAX_BYTES));
                }
                Err(_) => return,
            }
        }
    }

    fn reason(&self, ending: &WaitIdStatus) -> String {
        let how = match (ending.exit_status(), ending.terminating_signal()) {
            (Some(status), _) => format!("it ended with status {status}"),
            (None, Some(number)) => match SIGNALS.iter().find(|(own, _)| *own == number) {
                Some((_, name)) => format!("it was ended by {name}"),
                None => format!("it was ended by signal {number}"),
            },
            (None, None) => "it ended".to_owned(),
        };
        let words = String::from_utf8_lossy(&self.last);
        let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
        let lines = &lines[lines.len().saturating_sub(MAX_LINES)..];
        if lines.is_empty() { how } else { format!("{how}; it said: {}", lines.join("\n")) }
    }
}
