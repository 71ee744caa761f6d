//! Looks when something is drawn on the screen that is streamed, so that it is captured then.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | time between looks | 0.4 ms | finds requests of one drawing that are 0.5 ms apart; a program that never stops drawing costs 2500 looks a second at most |

use crate::HostConfig;
#[cfg(feature = "x11")]
use crate::SourceConfig;
#[cfg(feature = "x11")]
use crate::host::run::tell;
use crate::host::session::Session;
#[cfg(feature = "x11")]
use gameway_desktop::Drawings;
#[cfg(feature = "x11")]
use gameway_units::Duration;
use gameway_units::Instant;
#[cfg(feature = "x11")]
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;

#[cfg(feature = "x11")]
const LOOK: Duration = Duration::from_micros(400);

/// See the module's head.
pub(super) struct Drawn {
    #[cfg(feature = "x11")]
    drawings: Option<Drawings>,
    #[cfg(feature = "x11")]
    next_look: Instant,
}

#[cfg(feature = "x11")]
impl Drawn {
    /// Of the screen that is streamed, if it is one. A screen that does not tell is captured all the same.
    pub(super) fn open(config: &HostConfig) -> Self {
        let drawings = match &config.source {
            SourceConfig::X11 { display } => {
                let authority = config.surroundings.authority.as_deref();
                let drawings = Drawings::connect(display.as_deref(), authority);
                drawings.map_err(|error| no_more(&error.to_string())).ok()
            }
            SourceConfig::Scene | SourceConfig::File { .. } => None,
        };
        Self { drawings, next_look: Instant::ZERO }
    }

    /// Tells this session if something was drawn.
    pub(super) fn look(&mut self, now: Instant, session: &mut Session) {
        if now < self.next_look {
            return;
        }
        match self.drawings.as_mut().map(Drawings::poll) {
            Some(Ok(true)) => {
                self.next_look = now.saturating_add(LOOK);
                session.on_drawn(now);
            }
            Some(Err(error)) => {
                no_more(&error.to_string());
                self.drawings = None;
            }
            Some(Ok(false)) | None => {}
        }
    }

    /// When it may look again, if that is to come.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        self.drawings.as_ref()?;
        (now < self.next_look).then_some(self.next_look)
    }

    /// Readable when something was drawn; none before it may look.
    pub(super) fn descriptor(&self, now: Instant) -> Option<BorrowedFd<'_>> {
        let drawings = self.drawings.as_ref()?;
        (now >= self.next_look).then(|| drawings.as_fd())
    }
}

#[cfg(feature = "x11")]
fn no_more(why: &str) {
    tell("pictures are captured by the clock, up to a frame interval after they are drawn", why);
}

/// A build without X11 has no screens.
#[cfg(not(feature = "x11"))]
impl Drawn {
    pub(super) fn open(_config: &HostConfig) -> Self {
        Self {}
    }

    pub(super) fn look(&mut self, _now: Instant, _session: &mut Session) {}

    pub(super) fn next_look(&self, _now: Instant) -> Option<Instant> {
        None
    }

    pub(super) fn descriptor(&self, _now: Instant) -> Option<BorrowedFd<'_>> {
        None
    }
}
