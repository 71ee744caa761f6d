//! The system call that no safe wrapper offers.
#![allow(
    unsafe_code,
    reason = "a system call without a safe wrapper; the block says why it is sound"
)]

use std::io;

/// `sched_setscheduler`: this thread runs before all others of the usual class; threads that it starts do not.
pub fn run_first(priority: i32) -> io::Result<()> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel only reads the structure, which lives until the call returns; 0 is this thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
