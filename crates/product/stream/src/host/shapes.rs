//! The shape of the pointer on the screen that is played, looked for now and then.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | time between looks | 20 ms | a change takes two, less than three pictures at 60 a second; a look takes one read of a socket |

use crate::HostConfig;
use crate::host::notes::tell;
use crate::host::session::Session;
use gameway_desktop::Pointer;
use gameway_units::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(20);

/// See the module's head.
pub(super) struct Shapes {
    pointer: Option<Pointer>,
    next_look: Instant,
    /// Of the newest shape, from one; and its message.
    number: u64,
    message: Vec<u8>,
}

impl Shapes {
    /// A screen without shapes is played all the same.
    pub(super) fn open(config: &HostConfig, display: Option<&str>) -> Self {
        let pointer = Pointer::connect(display, config.surroundings.authority.as_deref());
        let pointer = pointer.map_err(|error| no_more(&error.to_string())).ok();
        Self { pointer, next_look: Instant::ZERO, number: 0, message: Vec::new() }
    }

    /// Looks, if that is due, and gives the newest shape to this session.
    pub(super) fn show(&mut self, now: Instant, session: &mut Session) {
        if now < self.next_look {
            return;
        }
        self.next_look = now.saturating_add(LOOK);
        match self.pointer.as_mut().map(Pointer::poll) {
            Some(Ok(Some(shape))) => {
                self.number += 1;
                self.message = shape.to_bytes();
            }
            Some(Err(error)) => {
                no_more(&error.to_string());
                self.pointer = None;
            }
            Some(Ok(None)) | None => {}
        }
        if self.number > 0 {
            session.show_pointer(now, self.number, &self.message);
        }
    }
}

fn no_more(why: &str) {
    tell("the browser's own pointer is shown", why);
}
