//! The clipboard of an X11 screen: its text is read when it is asked for, and a text that is given is owned until another program copies.
//!
//! Source: Inter-Client Communication Conventions Manual 2.0 (X Consortium), sections 2.1 to 2.7: CLIPBOARD is a selection whose owner
//! converts it for who asks; what is too large for one property goes in pieces (INCR, section 2.7.2).
//! Model: what programs ask is answered by [`Clipboard::poll`], and so is what was asked of them. Only the X server is waited for, which
//! answers at once.
//!
//! | limit | why |
//! |---|---|
//! | no conversion to several targets at once (MULTIPLE) | no program of today's toolkits asks so for text |

mod offer;
mod reading;

use crate::clipboard::Clipboard;
use crate::{DesktopError, connect};
use gameway_input::clipboard::Outcome;
use gameway_units::Instant;
use offer::Offer;
use reading::Reading;
use std::error::Error;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use x11rb::atom_manager;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

atom_manager! {
    /// Names that the server numbers.
    Atoms: AtomsCookie {
        CLIPBOARD,
        INCR,
        TARGETS,
        TIMESTAMP,
        UTF8_STRING,
        UTF8_TEXT: b"text/plain;charset=utf-8",
        // Properties of our window: to which others convert, and by whose change the server tells its time.
        GAMEWAY_CONVERTED,
        GAMEWAY_TIME,
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct X11Clipboard {
    screen: Screen,
    display: String,
    offer: Offer,
    reading: Reading,
}

/// What both ways need.
#[derive(Debug)]
struct Screen {
    connection: RustConnection,
    atoms: Atoms,
    own: Window,
}

impl X11Clipboard {
    /// For a display (":0"; `None` for the environment's); see [`connect`].
    ///
    /// # Errors
    /// [`DesktopError::Display`] says what is missing.
    pub fn connect(display: Option<&str>, authority: Option<&Path>) -> Result<Self, DesktopError> {
        let (connection, number) = connect(display, authority)?;
        let failed = |reason: String| DesktopError::display(display, reason);
        let root = connection.setup().roots[number].root;
        let (atoms, own) = prepare(&connection, root).map_err(|error| failed(error.to_string()))?;
        let screen = Screen { connection, atoms, own };
        let display = display.unwrap_or("of DISPLAY").to_owned();
        Ok(Self { screen, display, offer: Offer::default(), reading: Reading::default() })
    }

    fn look(&mut self, now: Instant) -> Result<Option<Result<String, Outcome>>, Box<dyn Error>> {
        let (screen, offer, reading) = (&self.screen, &mut self.offer, &mut self.reading);
        while let Some(event) = screen.connection.poll_for_event()? {
            match event {
                Event::SelectionRequest(event) => offer.on_request(screen, now, &event)?,
                Event::SelectionClear(event) if event.selection == screen.atoms.CLIPBOARD => {
                    offer.on_loss(&event);
                }
                Event::SelectionNotify(event) => reading.on_converted(screen, now, &event)?,
                Event::PropertyNotify(event) => {
                    offer.on_property(screen, now, &event)?;
                    reading.on_property(screen, now, &event)?;
                }
                // Of a window that is gone, whose program does not ask any more.
                _ => {}
            }
        }
        offer.on_deadline(now);
        screen.connection.flush()?;
        Ok(reading.take(now))
    }

    fn gone(&self, error: &dyn Error) -> DesktopError {
        DesktopError::gone(&self.display, error)
    }
}

impl Clipboard for X11Clipboard {
    fn give(&mut self, text: &str) -> Result<(), DesktopError> {
        let given = self.offer.give(&self.screen, text);
        given.map_err(|error| self.gone(&*error))
    }

    fn ask(&mut self, now: Instant) -> Result<(), DesktopError> {
        let asked = self.reading.ask(&self.screen, now, self.offer.text());
        asked.map_err(|error| self.gone(&*error))
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Result<String, Outcome>>, DesktopError> {
        self.look(now).map_err(|error| self.gone(&*error))
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.reading.next_deadline()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.screen.connection.stream().as_fd()
    }
}

/// The names, and a window that nobody sees, which owns and asks.
fn prepare(connection: &RustConnection, root: Window) -> Result<(Atoms, Window), Box<dyn Error>> {
    let atoms = Atoms::new(connection)?.reply()?;
    let own = connection.generate_id()?;
    let wanted = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    let (depth, kind) = (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
    connection.create_window(depth, own, root, 0, 0, 1, 1, 0, kind, 0, &wanted)?.check()?;
    Ok((atoms, own))
}
