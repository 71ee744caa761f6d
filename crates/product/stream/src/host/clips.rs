//! The clipboard of the screen that is played, for who plays.

use crate::HostConfig;
use crate::host::run::tell;
use crate::host::session::{Session, Wish};
use gameway_desktop::{Clipboard, DesktopError};
use gameway_input::clipboard::Outcome;
use gameway_units::Instant;
use std::os::fd::BorrowedFd;

/// See the module's head.
pub(super) struct Clips(Option<Clipboard>);

impl Clips {
    /// A screen without a clipboard is played all the same.
    pub(super) fn open(config: &HostConfig, display: Option<&str>) -> Self {
        if !config.shares_clipboard() {
            return Self(None);
        }
        let clipboard = Clipboard::connect(display, config.surroundings.authority.as_deref());
        Self(clipboard.map_err(|error| no_more(&error)).ok())
    }

    /// Does what this session wants, and answers programs.
    pub(super) fn serve(&mut self, now: Instant, session: &mut Session) {
        let wish = session.poll_wish();
        let Some(clipboard) = &mut self.0 else {
            if wish.is_some() {
                session.answer_clipboard(now, Err(Outcome::Gone));
            }
            return;
        };
        if let Err(error) = serve(clipboard, now, session, wish) {
            no_more(&error);
            session.answer_clipboard(now, Err(Outcome::Gone));
            self.0 = None;
        }
    }

    /// Answers programs while nobody plays.
    pub(super) fn serve_alone(&mut self, now: Instant) {
        if let Some(Err(error)) = self.0.as_mut().map(|clipboard| clipboard.poll(now)) {
            no_more(&error);
            self.0 = None;
        }
    }

    /// Readable when programs have said something.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(Clipboard::descriptor)
    }
}

fn serve(
    clipboard: &mut Clipboard,
    now: Instant,
    session: &mut Session,
    wish: Option<Wish>,
) -> Result<(), DesktopError> {
    match wish {
        Some(Wish::Read) => clipboard.ask(now)?,
        Some(Wish::Give(text)) => {
            clipboard.give(&text)?;
            session.answer_clipboard(now, Err(Outcome::Taken));
        }
        None => {}
    }
    if let Some(read) = clipboard.poll(now)? {
        session.answer_clipboard(now, read.as_deref().map_err(|outcome| *outcome));
    }
    Ok(())
}

fn no_more(error: &DesktopError) {
    tell("no clipboard", &error.to_string());
}
