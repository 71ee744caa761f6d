//! When something is drawn on an X11 screen.
//!
//! Source: X Damage Extension 1.1, sections "DamageCreate" (on the root window, which tells of all windows of the screen) and "DamageSubtract".
//! At the level NonEmpty a server tells of the first drawing, and of the next one after it was told that the first is known: one event and
//! one request for each look, however many rectangles a program draws.

use crate::DesktopError;
use crate::x11::connect_with;
use std::error::Error;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::damage::{self, ConnectionExt as _, Damage, ReportLevel};
use x11rb::rust_connection::RustConnection;

/// See the module's head.
#[derive(Debug)]
pub struct Drawings {
    connection: RustConnection,
    display: String,
    damage: Damage,
}

impl Drawings {
    /// Of a display (":0"; `None` for the environment's); see [`crate::connect`].
    ///
    /// # Errors
    /// [`DesktopError::Display`] says what is missing.
    pub fn connect(display: Option<&str>, authority: Option<&Path>) -> Result<Self, DesktopError> {
        let extensions = [damage::X11_EXTENSION_NAME];
        let (connection, screen) = connect_with(display, authority, &extensions)?;
        let failed = |reason: String| DesktopError::display(display, reason);
        let root = connection.setup().roots[screen].root;
        let damage = prepare(&connection, root).map_err(|error| failed(error.to_string()))?;
        let display = display.unwrap_or("of DISPLAY").to_owned();
        Ok(Self { connection, display, damage })
    }

    /// Whether something was drawn since this was last asked; never waits.
    ///
    /// # Errors
    /// [`DesktopError::Display`] when the server is gone.
    pub fn poll(&mut self) -> Result<bool, DesktopError> {
        self.look().map_err(|error| DesktopError::gone(&self.display, &*error))
    }

    fn look(&mut self) -> Result<bool, Box<dyn Error>> {
        let mut is_drawn = false;
        while let Some(event) = self.connection.poll_for_event()? {
            is_drawn |= matches!(event, Event::DamageNotify(_));
        }
        if is_drawn {
            self.connection.damage_subtract(self.damage, x11rb::NONE, x11rb::NONE)?.ignore_error();
            self.connection.flush()?;
        }
        Ok(is_drawn)
    }
}

impl AsFd for Drawings {
    /// Readable when something was drawn.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.stream().as_fd()
    }
}

fn prepare(connection: &RustConnection, root: u32) -> Result<Damage, Box<dyn Error>> {
    // A client says what it knows before all else.
    connection.damage_query_version(1, 1)?.reply()?;
    let damage = connection.generate_id()?;
    connection.damage_create(damage, root, ReportLevel::NON_EMPTY)?.check()?;
    Ok(damage)
}
