//! Looks when something is drawn on the screen that is streamed, so that it is captured then.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | time between looks | 0.4 ms | finds requests of one drawing that are 0.5 ms apart; a program that never stops drawing costs 2500 looks a second at most |

use crate::HostConfig;
#[cfg(feature = "x11")]
use crate::SourceConfig;
#[cfg(feature = "x11")]
use crate::host::notes::tell;
use crate::host::session::Session;
#[cfg(feature = "x11")]
use gameway_desktop::Drawings;
use gameway_units::{Duration, Instant};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const LOOK: Duration = Duration::from_micros(400);

/// Who tells of drawings.
enum DrawingSource {
    /// The source of pictures itself, which has the picture then: readable when it has, until it is read.
    Source(OwnedFd),
    /// The server of a screen.
    #[cfg(feature = "x11")]
    Server(Box<Drawings>),
}

/// See the module's head.
pub(super) struct Drawn {
    source: Option<DrawingSource>,
    next_look: Instant,
}

impl Drawn {
    /// Of the screen that is streamed, if it is one; `told` is its source's own way to tell. A screen that does not tell is captured all the
    /// same.
    pub(super) fn open(config: &HostConfig, told: Option<OwnedFd>) -> Self {
        let source = told.map(DrawingSource::Source).or_else(|| server(config));
        Self { source, next_look: Instant::ZERO }
    }

    /// Tells this session if something was drawn.
    pub(super) fn look(&mut self, now: Instant, session: &mut Session) {
        if now < self.next_look {
            return;
        }
        let is_drawn = match &mut self.source {
            None => return,
            // Nothing is there to be read until it is drawn.
            Some(DrawingSource::Source(bell)) => rustix::io::read(&*bell, &mut [0_u8; 8]).is_ok(),
            #[cfg(feature = "x11")]
            Some(DrawingSource::Server(drawings)) => match drawings.poll() {
                Ok(is_drawn) => is_drawn,
                Err(error) => {
                    no_more(&error.to_string());
                    self.source = None;
                    return;
                }
            },
        };
        if is_drawn {
            self.next_look = now.saturating_add(LOOK);
            session.on_drawn(now);
        }
    }

    /// When it may look again, if that is to come.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        self.source.as_ref()?;
        (now < self.next_look).then_some(self.next_look)
    }

    /// Readable when something was drawn; none before it may look.
    pub(super) fn descriptor(&self, now: Instant) -> Option<BorrowedFd<'_>> {
        let source = self.source.as_ref().filter(|_| now >= self.next_look)?;
        Some(match source {
            DrawingSource::Source(bell) => bell.as_fd(),
            #[cfg(feature = "x11")]
            DrawingSource::Server(drawings) => drawings.as_fd(),
        })
    }
}

#[cfg(feature = "x11")]
fn server(config: &HostConfig) -> Option<DrawingSource> {
    let SourceConfig::X11 { display } = &config.source else { return None };
    let authority = config.surroundings.authority.as_deref();
    let drawings = Drawings::connect(display.as_deref(), authority);
    drawings
        .map(|drawings| DrawingSource::Server(Box::new(drawings)))
        .map_err(|error| no_more(&error.to_string()))
        .ok()
}

/// A build without X11 has no servers.
#[cfg(not(feature = "x11"))]
fn server(_config: &HostConfig) -> Option<DrawingSource> {
    None
}

#[cfg(feature = "x11")]
fn no_more(why: &str) {
    tell("pictures are captured by the clock, up to a frame interval after they are drawn", why);
}
