//! What no safe wrapper offers.
#![allow(unsafe_code, reason = "without a safe wrapper; each block says why it is sound")]

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `sched_setscheduler`: this thread runs before all others of the usual class; threads that it starts do not.
pub fn run_first(priority: i32) -> io::Result<()> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: a structure of integers, of which musl has more than glibc.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the kernel only reads the structure, which lives until the call returns; 0 is this thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the command starts is killed when the thread that starts it ends, however that ends (`PR_SET_PDEATHSIG`).
pub fn kill_with_starter(command: &mut Command) {
    let starter = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Who was gone before is not waited for.
        if getppid() == Some(starter) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure makes one system call, without allocation or lock.
    unsafe {
        command.pre_exec(ask);
    }
}
