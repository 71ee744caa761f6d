//! A child process with all that it starts, as a process group.
//!
//! Source: setpgid(2), waitid(2), proc_pid_stat(5) of Linux man-pages 6.
//! Model: the child is looked at without taking its status (`WNOWAIT`), so that it stays as a zombie, and its number, which is the group's, cannot
//! become another group's. It is taken when the whole group has ended.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | patience with an end | 2 s | a game writes its settings; who waits for Ctrl-C is a person |
//! | patience with SIGKILL | 1 s | the kernel frees memory and devices first |
//! | step | 10 ms | as long as nobody sees |

use crate::DesktopError;
use gameway_runtime::clock::{Clock, sleep};
use gameway_units::{Duration, Instant};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command};

const PATIENCE: Duration = Duration::from_secs(2);
const KILL_PATIENCE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(10);

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Child,
    number: Pid,
    is_over: bool,
    /// How the child had ended when it was taken.
    ending: Option<WaitIdStatus>,
}

impl Group {
    pub(crate) fn start(
        command: &mut Command,
        packages: Option<&'static str>,
    ) -> Result<Self, DesktopError> {
        let program = command.get_program().to_string_lossy().into_owned();
        gameway_runtime::clock::kill_with_starter(command);
        let leader = command.process_group(0).spawn().map_err(|error| match packages {
            Some(packages) if error.kind() == io::ErrorKind::NotFound => {
                DesktopError::NotInstalled { program: program.clone(), packages }
            }
            _ => DesktopError::start(&program, error.to_string()),
        })?;
        let number = Pid::from_child(&leader);
        Ok(Self { leader, number, is_over: false, ending: None })
    }

    /// What the child writes to its standard output, once.
    pub(crate) fn output(&mut self) -> Option<ChildStdout> {
        self.leader.stdout.take()
    }

    /// What the child writes to its standard error, once.
    pub(crate) fn errors(&mut self) -> Option<ChildStderr> {
        self.leader.stderr.take()
    }

    /// How the child ended, if it has.
    pub(crate) fn ending(&self) -> Option<WaitIdStatus> {
        if self.is_over {
            return self.ending;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.number), options).ok().flatten()
    }

    /// Ends all of the group, and waits for that.
    pub(crate) fn end(&mut self) {
        if self.is_over {
            return;
        }
        self.signal(Signal::TERM);
        self.wait(PATIENCE);
        self.signal(Signal::KILL);
        self.wait(KILL_PATIENCE);
        self.ending = self.ending();
        // It is a zombie, or the kernel is about to make it one.
        let _ = self.leader.wait();
        self.is_over = true;
    }

    fn signal(&self, signal: Signal) {
        // The group is there as long as its leader is not taken.
        let _ = kill_process_group(self.number, signal);
    }

    fn wait(&self, max: Duration) {
        let clock = Clock::new(Clock::monotonic_ns());
        while lives(self.number) && clock.now() < Instant::ZERO + max {
            sleep(STEP);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a process of the group runs.
fn lives(group: Pid) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let own = group.as_raw_pid().to_string();
    let stats =
        processes.flatten().filter_map(|process| fs::read(process.path().join("stat")).ok());
    stats.into_iter().any(|stat| {
        // A name may hold anything, and ends at the last bracket.
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
        let (state, group) = (fields.next(), fields.nth(1));
        group == Some(&own) && !matches!(state, Some("Z" | "X"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_missing_is_told_with_the_package() {
        let start = |packages| {
            let error = Group::start(&mut Command::new("no-such-server"), packages).err();
            error.expect("no such program").to_string()
        };
        let message = start(Some("xvfb"));
        assert_eq!(message, "no-such-server is not installed; install xvfb");
        let message = start(None);
        assert!(message.starts_with("no-such-server: No such file"), "{message}");
    }

    /// A name that looks like the fields that follow it.
    #[test]
    fn a_group_with_a_strange_name_is_seen() {
        let name = format!("{}) Z 1 2", std::process::id());
        let strange = std::env::temp_dir().join(name);
        std::os::unix::fs::symlink("/bin/sleep", &strange).expect("a link");
        let mut group = Group::start(Command::new(&strange).arg("100"), None).expect("sleep");
        fs::remove_file(&strange).expect("the link");
        let number = group.number;
        assert!(lives(number) && group.ending().is_none());
        group.end();
        assert!(!lives(number));
    }
}
