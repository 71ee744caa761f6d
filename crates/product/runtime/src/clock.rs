//! The clock of a live run, and waiting on it.
//!
//! Time is CLOCK_MONOTONIC since the run's epoch: one machine, so all parts of a run share it. Waiting is
//! ppoll(2) with a timer slack of 1 us, under SCHED_FIFO and with memory locked where the user may.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | timer slack | 1 us | prctl(2) PR_SET_TIMERSLACK; Linux's default is 50 us |
//! | priority | 10 | any above 0 precedes all threads of the usual class; kernel threads that matter have 50 and more |
//!
//! Threads that encode or decode have no such priority, although it makes their slowest frames faster beside
//! other work: where they ask for all of a core, the kernel stops every real-time thread on it for 5 % of each
//! second (sched_rt_runtime_us), and packets leave late.

use crate::sys;
use gameway_units::{Duration, Instant};
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{ClockId as SleepClock, clock_nanosleep_relative};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::num::NonZeroU64;
use std::process::Command;

const SLACK_NANOS: NonZeroU64 = NonZeroU64::new(1_000).unwrap();
const PRIORITY: i32 = 10;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// A clock that shows the time since a run's epoch.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch_ns: i64,
}

impl Clock {
    /// A clock whose zero is at `epoch_ns` of CLOCK_MONOTONIC.
    #[must_use]
    pub const fn new(epoch_ns: i64) -> Self {
        Self { epoch_ns }
    }

    /// CLOCK_MONOTONIC now, in nanoseconds.
    #[must_use]
    pub fn monotonic_ns() -> i64 {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
        tv_sec * NANOS_PER_SECOND + tv_nsec
    }

    /// When the epoch is by the clock of the day, in nanoseconds since 1970 (as that clock is set now).
    #[must_use]
    pub fn epoch_since_1970_ns(&self) -> i64 {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Realtime);
        tv_sec * NANOS_PER_SECOND + tv_nsec - Self::monotonic_ns() + self.epoch_ns
    }

    /// The time since the epoch; before it, negative.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.at(Self::monotonic_ns())
    }

    /// What it shows at this time of CLOCK_MONOTONIC.
    #[must_use]
    pub const fn at(&self, monotonic_ns: i64) -> Instant {
        Instant::from_nanos(monotonic_ns.saturating_sub(self.epoch_ns))
    }
}

/// Waits until a descriptor is ready or so much time has passed. A signal ends it early, which is no error.
///
/// # Errors
/// Those of ppoll(2).
pub fn wait(descriptors: &mut [PollFd<'_>], max: Duration) -> io::Result<()> {
    let nanos = max.as_nanos().max(0);
    let max = Timespec { tv_sec: nanos / NANOS_PER_SECOND, tv_nsec: nanos % NANOS_PER_SECOND };
    match poll(descriptors, Some(&max)) {
        Ok(_) => Ok(()),
        // Descriptors' answers are then those of the call before.
        Err(Errno::INTR) => {
            descriptors.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Sleeps for so long, whatever happens meanwhile; a signal ends it early.
pub fn sleep(span: Duration) {
    let nanos = span.as_nanos().max(0);
    let span = Timespec { tv_sec: nanos / NANOS_PER_SECOND, tv_nsec: nanos % NANOS_PER_SECOND };
    let _ = clock_nanosleep_relative(SleepClock::Monotonic, &span);
}

/// Lets SIGTERM come when the process that started this one is gone: a part does not outlive its run.
///
/// # Errors
/// Those of prctl(2).
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?)
}

/// What this command starts is killed when the thread that starts it ends, by whatever: SIGKILL, too. What it starts itself is
/// not.
pub fn kill_with_starter(command: &mut Command) {
    sys::kill_with_starter(command);
}

/// What makes this thread punctual, and what of it the machine refused, in words for people.
#[must_use]
pub fn be_punctual() -> Vec<String> {
    let mut refused = Vec::new();
    if let Err(error) = rustix::thread::set_current_timer_slack(Some(SLACK_NANOS)) {
        refused.push(format!("timer slack stays as it is ({error})"));
    }
    if let Err(error) = sys::run_first(PRIORITY) {
        refused
            .push(format!("no real-time priority ({error}): other programs can make packets late"));
    }
    if let Err(error) = mlockall(MlockAllFlags::CURRENT) {
        refused.push(format!("memory is not locked ({error})"));
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_the_time_since_its_epoch() {
        let clock = Clock::new(Clock::monotonic_ns() - 5 * NANOS_PER_SECOND);
        let first = clock.now();
        assert!(first >= Instant::from_nanos(5 * NANOS_PER_SECOND));
        assert!(first < Instant::from_nanos(65 * NANOS_PER_SECOND));
        assert!(clock.now() >= first);
        let early = Clock::new(Clock::monotonic_ns() + 60 * NANOS_PER_SECOND).now();
        assert!(early < Instant::ZERO && early >= Instant::from_nanos(-60 * NANOS_PER_SECOND));
    }

    #[test]
    fn waiting_takes_its_time_and_no_minute() {
        let clock = Clock::new(Clock::monotonic_ns());
        wait(&mut [], Duration::from_millis(20)).expect("nothing to wait for");
        let passed = clock.now() - Instant::ZERO;
        assert!(passed >= Duration::from_millis(20), "{passed}");
        assert!(passed < Duration::from_secs(60), "{passed}");
    }
}
