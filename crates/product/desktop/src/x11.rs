//! Connections to X servers whose cookie is in a file that is named.
//!
//! Source: X(7), section "Access Control". Other libraries look for the file in the environment, which a program with threads must not change.

use crate::{DesktopError, authority};
use std::fs;
use std::path::Path;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;
use x11rb::reexports::x11rb_protocol::xauth::Family;
use x11rb::rust_connection::{DefaultStream, RustConnection};

/// Connects to a display (":0"; `None` for the environment's), with the cookie for it in `authority` (`None` for the
/// environment's file). Also the number of its screen.
///
/// # Errors
/// [`DesktopError::Display`] says why there is none.
pub fn connect(
    display: Option<&str>,
    authority: Option<&Path>,
) -> Result<(RustConnection, usize), DesktopError> {
    let failed = |reason: String| DesktopError::display(display, reason);
    let Some(file) = authority else {
        return x11rb::connect(display)
            .map_err(|error| failed(format!("no connection; is DISPLAY right? {error}")));
    };
    let file = fs::read(file).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    let parsed = parse_display(display)
        .map_err(|error| failed(format!("no connection; is DISPLAY right? {error}")))?;
    let mut why = "no connection; is DISPLAY right?".to_owned();
    for address in parsed.connect_instruction() {
        let (stream, (family, peer)) = match DefaultStream::connect(&address) {
            Ok(connected) => connected,
            Err(error) => {
                why = format!("no connection; is DISPLAY right? {error}");
                continue;
            }
        };
        let is_here = |own: u16, address: &[u8]| Family::from(own) == family && address == peer;
        let cookie = authority::cookie_for(&file, is_here, parsed.display);
        let (method, cookie) =
            cookie.map_or_else(Default::default, |cookie| (authority::METHOD.to_vec(), cookie));
        let screen = usize::from(parsed.screen);
        return RustConnection::connect_to_stream_with_auth_info(stream, screen, method, cookie)
            .map(|connection| (connection, screen))
            .map_err(|error| failed(format!("no connection: {error}")));
    }
    Err(failed(why))
}

/// The same to a server that has these extensions.
///
/// # Errors
/// As of [`connect`], and [`DesktopError::Display`] names the one that is missing.
pub(crate) fn connect_with(
    display: Option<&str>,
    authority: Option<&Path>,
    extensions: &[&'static str],
) -> Result<(RustConnection, usize), DesktopError> {
    let (connection, screen) = connect(display, authority)?;
    let failed = |reason: String| DesktopError::display(display, reason);
    for name in extensions {
        let there = connection.extension_information(name);
        if there.map_err(|error| failed(error.to_string()))?.is_none() {
            return Err(failed(format!("the X server has no {name} extension")));
        }
    }
    Ok((connection, screen))
}

/// Where the pointer of a display is, as a program of its own sees it; arguments are those of [`connect`].
///
/// # Errors
/// [`DesktopError::Display`] says why that cannot be known.
pub fn pointer(
    display: Option<&str>,
    authority: Option<&Path>,
) -> Result<(i16, i16), DesktopError> {
    let (connection, screen) = connect(display, authority)?;
    let root = connection.setup().roots[screen].root;
    let failed = |reason: String| DesktopError::display(display, reason);
    let asked = connection.query_pointer(root).map_err(|error| failed(error.to_string()))?;
    let seen = asked.reply().map_err(|error| failed(error.to_string()))?;
    Ok((seen.root_x, seen.root_y))
}
