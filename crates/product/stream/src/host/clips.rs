//! The clipboard of the screen that is played, for who plays.

use crate::host::notes::tell;
use crate::host::session::{ClipboardRequest, Session};
use crate::{HostConfig, SourceConfig};
#[cfg(feature = "wayland")]
use gameway_desktop::WaylandClipboard;
use gameway_desktop::{Clipboard, DesktopError, X11Clipboard};
use gameway_input::clipboard::Outcome;
use gameway_units::Instant;
use std::os::fd::BorrowedFd;

/// See the module's head.
pub(super) struct Clips(Option<Box<dyn Clipboard>>);

impl Clips {
    /// A screen without a clipboard is played all the same.
    pub(super) fn open(config: &HostConfig) -> Self {
        if !config.shares_clipboard() {
            return Self(None);
        }
        Self(clipboard(config).map_err(|error| no_more(&error)).ok().flatten())
    }

    /// Whether there is one to offer.
    pub(super) fn are_there(&self) -> bool {
        self.0.is_some()
    }

    /// Does what this session wants, and answers programs.
    pub(super) fn serve(&mut self, now: Instant, session: &mut Session) {
        let request = session.poll_clipboard_request();
        let Some(clipboard) = &mut self.0 else {
            if request.is_some() {
                session.answer_clipboard(now, Err(Outcome::Gone));
            }
            return;
        };
        if let Err(error) = serve(&mut **clipboard, now, session, request) {
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

    /// When [`Self::serve`] or [`Self::serve_alone`] has something to do though no program says anything.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.as_ref().and_then(|clipboard| clipboard.next_deadline())
    }

    /// Readable when programs have said something.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|clipboard| clipboard.descriptor())
    }
}

/// The clipboard of the screen that is captured; a source that is no screen has none.
fn clipboard(config: &HostConfig) -> Result<Option<Box<dyn Clipboard>>, DesktopError> {
    Ok(match &config.source {
        SourceConfig::X11 { display } => {
            let authority = config.surroundings.authority.as_deref();
            Some(Box::new(X11Clipboard::connect(display.as_deref(), authority)?))
        }
        #[cfg(feature = "wayland")]
        SourceConfig::Portal => Some(Box::new(WaylandClipboard::connect(None)?)),
        _ => None,
    })
}

fn serve(
    clipboard: &mut dyn Clipboard,
    now: Instant,
    session: &mut Session,
    request: Option<ClipboardRequest>,
) -> Result<(), DesktopError> {
    match request {
        Some(ClipboardRequest::Read) => clipboard.ask(now)?,
        Some(ClipboardRequest::Give(text)) => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::stage::Folder;
    use gameway_desktop::{Screen, Surroundings};
    use gameway_units::Duration;

    #[test]
    fn a_program_that_does_not_answer_is_waited_for_until_a_deadline() {
        let folder = Folder::make().expect("a new folder");
        let screen = match Screen::start(320, 180, folder.path()) {
            Err(error @ DesktopError::NotInstalled { .. }) => return eprintln!("skipped: {error}"),
            started => started.expect("a screen"),
        };
        let (display, authority) = (Some(screen.display()), Some(screen.authority()));
        let config = HostConfig {
            input: true,
            source: SourceConfig::X11 { display: display.map(str::to_owned) },
            surroundings: Surroundings {
                authority: authority.map(std::path::Path::to_owned),
                ..Surroundings::default()
            },
            ..HostConfig::default()
        };
        let mut clips = Clips::open(&config);
        assert_eq!(clips.next_deadline(), None);
        // It has something in the clipboard, and never looks at who asks.
        let mut silent = X11Clipboard::connect(display, authority).expect("a screen");
        silent.give("nobody gets this").expect("a screen");
        let now = Instant::ZERO + Duration::from_secs(7);
        clips.0.as_mut().expect("a clipboard").ask(now).expect("a screen");
        clips.serve_alone(now);
        let due = now.saturating_add(Duration::from_secs(2));
        assert_eq!(clips.next_deadline(), Some(due));
        clips.serve_alone(due);
        assert_eq!(clips.next_deadline(), None, "what is over is waited for no longer");
    }
}
