//! What each thread of a part costs.

use gameway_events::{CpuRecord, RunEvent, Sink};
use gameway_units::Duration;
use rustix::time::{ClockId, clock_gettime};

/// Processor time of a thread, and how long it was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTime {
    /// What the thread does.
    pub thread: &'static str,
    /// Processor time.
    pub cpu: Duration,
    /// Time from its begin to its end.
    pub wall: Duration,
}

/// Measures the thread that makes it, from then on.
#[derive(Debug)]
pub struct Meter {
    thread: &'static str,
    began: Duration,
    cpu: Duration,
    process: Duration,
}

impl Meter {
    /// Begins.
    #[must_use]
    pub fn new(thread: &'static str) -> Self {
        let (cpu, process) = (read(ClockId::ThreadCPUTime), read(ClockId::ProcessCPUTime));
        Self { thread, began: read(ClockId::Monotonic), cpu, process }
    }

    /// What it was until now.
    #[must_use]
    pub fn read(&self) -> ThreadTime {
        let wall = read(ClockId::Monotonic) - self.began;
        ThreadTime { thread: self.thread, cpu: read(ClockId::ThreadCPUTime) - self.cpu, wall }
    }

    /// What threads of libraries took, an encoder's among them: all of the process less these.
    #[must_use]
    pub fn others(&self, known: &[ThreadTime]) -> ThreadTime {
        let all = read(ClockId::ProcessCPUTime) - self.process;
        let own = known.iter().fold(Duration::ZERO, |sum, time| sum + time.cpu);
        let wall = read(ClockId::Monotonic) - self.began;
        ThreadTime { thread: "libraries", cpu: (all - own).max(Duration::ZERO), wall }
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::from_secs(time.tv_sec) + Duration::from_nanos(time.tv_nsec)
}

/// Tells of the threads of a part.
pub fn tell(sink: &mut dyn Sink, part: &str, times: &[ThreadTime]) {
    for time in times {
        sink.take(RunEvent::Cpu(CpuRecord {
            part: part.into(),
            thread: time.thread.into(),
            cpu_ns: time.cpu.as_nanos(),
            wall_ns: time.wall.as_nanos(),
        }));
    }
}
