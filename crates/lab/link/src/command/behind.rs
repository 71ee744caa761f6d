//! A command behind a link: started in its namespace, heard of its end, told of signals.

use gameway_runtime::clock;
use gameway_runtime::stop::Stop;
use gameway_units::Duration;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

/// A shell adds this to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;
/// So long a command may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A command, and where it runs.
#[derive(Debug)]
pub struct CommandInNamespace<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// What it is told beside what this process was.
    pub environment: Vec<(&'static str, String)>,
    /// Program and arguments.
    pub words: &'a [OsString],
    /// Who says what cannot be run.
    pub name: &'a str,
}

/// Runs the command until it ends or until a signal comes, which it is told; its exit code as a shell has it.
///
/// # Errors
/// If it cannot be started. What is no program is no error: a shell says so, with 127 or 126.
pub fn run(behind: &CommandInNamespace<'_>, stop: &Stop) -> io::Result<i32> {
    let mut command = Command::new("ip");
    // A shell says what cannot be run: 127 for what is not there, 126 for what is no program.
    let shell = ["netns", "exec", behind.namespace, "/bin/sh", "-c", "exec \"$@\"", behind.name];
    command.args(shell).args(behind.words);
    let mut child = command.envs(behind.environment.iter().cloned()).spawn()?;
    while !stop.is_asked() {
        if let Some(status) = child.try_wait()? {
            return Ok(as_shell(status));
        }
        clock::sleep(LOOK);
    }
    let signal = stop.signal();
    // A terminal has told the command of Ctrl-C, too; some, as ping, then end well.
    let told = signal.filter(|number| *number != Signal::INT.as_raw());
    if let (Some(signal), Some(process)) =
        (told.and_then(Signal::from_named_raw), Pid::from_raw(child.id() as i32))
    {
        // One that has just ended cannot be told.
        let _ = kill_process(process, signal);
    }
    let status = ended(&mut child)?;
    Ok(told.map_or_else(|| as_shell(status), |number| BY_SIGNAL + number))
}

/// Waits for a command that was asked to end, for a time.
fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        clock::sleep(LOOK);
        waited += LOOK;
    }
    child.kill()?;
    child.wait()
}

fn as_shell(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| BY_SIGNAL + status.signal().unwrap_or(0))
}
