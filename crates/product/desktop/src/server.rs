//! Starting a server and waiting until it serves.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | most waiting | 10 s | a screen takes 0.05 s, sound 0.01 s, on two cores that others share |
//! | step | 10 ms | little of what a start takes |

use crate::DesktopError;
use crate::group::Group;
use gameway_runtime::clock::{Clock, sleep};
use gameway_units::{Duration, Instant};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);
/// As much of what a server said as an error tells.
const WORDS: usize = 1_000;

/// A server that is being started.
pub(crate) struct Starting {
    /// The name of its program.
    program: String,
    /// What it says.
    log: PathBuf,
    group: Group,
    patience: Duration,
}

impl Starting {
    /// Starts it. What it says goes into a file, which nobody has to empty.
    pub(crate) fn start(
        command: &mut Command,
        packages: &'static str,
        log: PathBuf,
    ) -> Result<Self, DesktopError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let file = File::create(&log).map_err(|error| unusable(&program, &log, &error))?;
        let group = Group::start(command.stdin(Stdio::null()).stderr(file), Some(packages))?;
        Ok(Self { program, log, group, patience: PATIENCE })
    }

    /// The process.
    pub(crate) fn group(&mut self) -> &mut Group {
        &mut self.group
    }

    /// The server, and what says that it is ready; it is ended if that does not come.
    pub(crate) fn ready<T>(
        self,
        mut ready: impl FnMut() -> Option<T>,
    ) -> Result<(Group, T), DesktopError> {
        let clock = Clock::new(Clock::monotonic_ns());
        loop {
            let (has_ended, now) = (self.group.ending().is_some(), clock.now());
            if let Some(sign) = ready() {
                return Ok((self.group, sign));
            }
            if has_ended {
                return Err(self.refused("it ended at once"));
            }
            if now >= Instant::ZERO + self.patience {
                let seconds = self.patience.as_secs_f64();
                return Err(self.refused(&format!("it is not ready after {seconds} s")));
            }
            sleep(STEP);
        }
    }

    fn refused(&self, why: &str) -> DesktopError {
        let said = fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[said.len().saturating_sub(WORDS)..]);
        let reason = match said.trim() {
            "" => why.to_owned(),
            said => format!("{why}; it said: {said}"),
        };
        DesktopError::start(&self.program, reason)
    }
}

/// A file or folder that a server needs cannot be had.
pub(crate) fn unusable(program: &str, path: &Path, error: &io::Error) -> DesktopError {
    DesktopError::start(program, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is a script, and what comes of waiting for it.
    fn outcome<T>(
        script: &str,
        patience: i64,
        ready: impl FnMut() -> Option<T>,
    ) -> Result<T, String> {
        let name = format!("gameway-server-{}-{}.log", std::process::id(), script.len());
        let log = std::env::temp_dir().join(name);
        let mut command = Command::new("sh");
        let starting = Starting::start(command.args(["-c", script]), "a shell", log.clone());
        let mut starting = starting.expect("a shell");
        starting.patience = Duration::from_secs(patience);
        let outcome = starting.ready(ready).map(|(_, sign)| sign);
        fs::remove_file(log).expect("its log");
        outcome.map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_that_is_ready_is_had() {
        let mut asked = 0;
        let ready = || {
            asked += 1;
            (asked == 3).then_some(asked)
        };
        assert_eq!(outcome("sleep 100", 60, ready), Ok(3));
    }

    #[test]
    fn why_a_server_is_not_ready_is_told() {
        let never = || None::<()>;
        let ended = outcome("echo no room >&2; exit 1", 60, never);
        assert_eq!(ended, Err("sh: it ended at once; it said: no room".to_owned()));
        assert_eq!(outcome("exit 1", 60, never), Err("sh: it ended at once".to_owned()));
        let late = outcome("echo a moment >&2; sleep 100", 2, never);
        assert_eq!(late, Err("sh: it is not ready after 2 s; it said: a moment".to_owned()));
    }

    #[test]
    fn a_log_without_a_folder_is_named() {
        let log = std::env::temp_dir().join("gameway-no-such-folder/log");
        let message = Starting::start(&mut Command::new("sh"), "a shell", log).err();
        let message = message.expect("no log").to_string();
        assert!(message.contains("gameway-no-such-folder/log: No such file"), "{message}");
    }
}
