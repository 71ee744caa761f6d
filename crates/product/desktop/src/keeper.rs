//! Whether a program that has ended is started again.
//!
//! Source: this project's own.
//! Model: a program that ended well has ended, since its player left it. One that crashed is started again after a while, unless
//! it crashes over and over.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | pause | 1 s | a crash at once must not fill the machine; a player waits for a game's start anyway |
//! | most starts again | 3 in 60 s | a driver that comes back or a network that was away; what crashes four times in a minute cannot start |

use crate::{DesktopError, Program, State};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;
use std::ffi::OsString;

const PAUSE: Duration = Duration::from_secs(1);
const SPAN: Duration = Duration::from_secs(60);
const MAX_STARTS: usize = 3;

/// What becomes of a program that has crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is to be started again at this time.
    Again(Instant),
    /// It has crashed too often.
    Over,
}

/// The rule alone; see the module's head.
#[derive(Debug, Clone, Default)]
pub struct RestartPolicy {
    /// When it was started again.
    starts: VecDeque<Instant>,
}

impl RestartPolicy {
    /// The program has crashed.
    pub fn on_crash(&mut self, now: Instant) -> Fate {
        let next = now.saturating_add(PAUSE);
        self.starts.retain(|start| next.saturating_since(*start) < SPAN);
        if self.starts.len() == MAX_STARTS {
            return Fate::Over;
        }
        self.starts.push_back(next);
        Fate::Again(next)
    }
}

/// What has happened to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It has crashed and will be started again.
    Crashed {
        /// How, and its last words.
        reason: String,
        /// When it will be.
        again: Instant,
    },
    /// It was started again.
    Started,
    /// It has ended for good.
    Ended {
        /// How, and its last words if it crashed.
        reason: String,
    },
}

/// A program that is started again when it crashes, until it is dropped.
#[derive(Debug)]
pub struct KeptProgram {
    command: Vec<OsString>,
    environment: Vec<(String, OsString)>,
    keeper: RestartPolicy,
    program: Option<Program>,
    again: Option<Instant>,
}

impl KeptProgram {
    /// Starts it as [`Program::start`] does.
    ///
    /// # Errors
    /// [`DesktopError::Start`] if there is no such program.
    pub fn start(
        command: Vec<OsString>,
        environment: Vec<(String, OsString)>,
    ) -> Result<Self, DesktopError> {
        let program = Some(Program::start(&command, &environment)?);
        Ok(Self { command, environment, keeper: RestartPolicy::default(), program, again: None })
    }

    /// What has happened, if anything has. To be asked several times a second, as [`Program::poll`].
    pub fn poll(&mut self, now: Instant) -> Option<News> {
        if let Some(program) = &mut self.program {
            let state = program.poll();
            if state == State::Running {
                return None;
            }
            // What it started ends with it.
            self.program = None;
            return Some(match state {
                State::Crashed { reason } => self.crashed(now, reason),
                _ => News::Ended { reason: "it has ended".to_owned() },
            });
        }
        self.again.filter(|again| *again <= now)?;
        self.again = None;
        Some(match Program::start(&self.command, &self.environment) {
            Ok(program) => {
                self.program = Some(program);
                News::Started
            }
            Err(error) => News::Ended { reason: error.to_string() },
        })
    }

    /// Ends it and all that it started, for good.
    pub fn end(&mut self) {
        (self.program, self.again) = (None, None);
    }

    fn crashed(&mut self, now: Instant, reason: String) -> News {
        match self.keeper.on_crash(now) {
            Fate::Again(again) => {
                self.again = Some(again);
                News::Crashed { reason, again }
            }
            Fate::Over => News::Ended { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn three_crashes_in_a_minute_are_forgiven() {
        let mut keeper = RestartPolicy::default();
        for millis in [0, 20_000, 40_000] {
            assert_eq!(keeper.on_crash(at(millis)), Fate::Again(at(millis + 1_000)));
        }
        let mut other = keeper.clone();
        assert_eq!(keeper.on_crash(at(59_999)), Fate::Over);
        // The first start again, at 1 s, is a minute ago when the next would be, at 61 s.
        assert_eq!(other.on_crash(at(60_000)), Fate::Again(at(61_000)));
        assert_eq!(other.on_crash(at(60_001)), Fate::Over);
    }
}
