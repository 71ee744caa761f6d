//! The shape of the pointer on an X11 screen.
//!
//! Source: X Fixes Extension 5.0, section "Cursor Image Monitoring" (SelectCursorInput, GetCursorImage): each change is told, and
//! the pixels of the newest shape are asked for. They are ARGB, their colours multiplied by the opacity. Answers are not waited for: a message
//! to a window of ours follows each question, and once it is back, the answer before it is here (X Window System Protocol, section 8: replies and
//! events keep the order of the requests).
//!
//! A server begins with a shape of its own, a black X, which no program has set; that is the first of its cursors and so has number 1. It is
//! left to the player's device, as is a shape that is larger than a browser shows.

use crate::DesktopError;
use crate::x11::connect_with;
use gameway_input::{Image, Shape};
use std::error::Error;
use std::mem::ManuallyDrop;
use std::path::Path;
use x11rb::connection::{Connection, RequestConnection, SequenceNumber};
use x11rb::errors::ReplyError;
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{self, ConnectionExt as _, CursorNotifyMask, GetCursorImageReply};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, CreateWindowAux,
    EventMask, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::x11_utils::TryParse;

/// The number of the shape with which a server begins.
const SERVERS_OWN: u32 = 1;

/// See the module's head.
#[derive(Debug)]
pub struct Pointer {
    connection: RustConnection,
    display: String,
    root: Window,
    /// To which the messages behind questions go.
    own: Window,
    screen: (u16, u16),
    /// The question that is not answered.
    asked: Option<SequenceNumber>,
    has_changed: bool,
    newest: Option<Shape>,
}

impl Pointer {
    /// For a display (":0"; `None` for the environment's); see [`crate::connect`].
    ///
    /// # Errors
    /// [`DesktopError::Display`] says what is missing.
    pub fn connect(display: Option<&str>, authority: Option<&Path>) -> Result<Self, DesktopError> {
        let extensions = [xfixes::X11_EXTENSION_NAME];
        let (connection, screen) = connect_with(display, authority, &extensions)?;
        let failed = |reason: String| DesktopError::display(display, reason);
        let root = &connection.setup().roots[screen];
        let (root, screen) = (root.root, (root.width_in_pixels, root.height_in_pixels));
        let own = prepare(&connection, root).map_err(|error| failed(error.to_string()))?;
        let display = display.unwrap_or("of DISPLAY").to_owned();
        let (asked, has_changed, newest) = (None, true, None);
        Ok(Self { connection, display, root, own, screen, asked, has_changed, newest })
    }

    /// The newest shape, if it is another one than was given last; never waits. A change is here with the second call after it.
    ///
    /// # Errors
    /// [`DesktopError::Display`] when the server is gone.
    pub fn poll(&mut self) -> Result<Option<Shape>, DesktopError> {
        self.look().map_err(|error| DesktopError::gone(&self.display, &*error))
    }

    fn look(&mut self) -> Result<Option<Shape>, Box<dyn Error>> {
        let mut is_answered = false;
        while let Some(event) = self.connection.poll_for_event()? {
            match event {
                Event::XfixesCursorNotify(_) => self.has_changed = true,
                Event::ConfigureNotify(event) if event.window == self.root => {
                    self.screen = (event.width, event.height);
                    self.has_changed = true;
                }
                Event::ClientMessage(event) => is_answered |= event.window == self.own,
                _ => {}
            }
        }
        let mut shape = None;
        if is_answered && let Some(asked) = self.asked.take() {
            shape = Some(self.read(asked)?);
        }
        if self.has_changed && self.asked.is_none() {
            self.ask()?;
        }
        if shape.is_none() || shape == self.newest {
            return Ok(None);
        }
        self.newest.clone_from(&shape);
        Ok(shape)
    }

    fn ask(&mut self) -> Result<(), Box<dyn Error>> {
        // A cookie that is dropped refuses its answer.
        let asked = ManuallyDrop::new(self.connection.xfixes_get_cursor_image()?).sequence_number();
        let message = ClientMessageEvent::new(32, self.own, AtomEnum::CURSOR, [0_u32; 5]);
        // Without a mask it goes to who made the window.
        let sent = self.connection.send_event(false, self.own, EventMask::NO_EVENT, message)?;
        sent.ignore_error();
        self.connection.flush()?;
        (self.asked, self.has_changed) = (Some(asked), false);
        Ok(())
    }

    /// The answer, which is here.
    fn read(&self, asked: SequenceNumber) -> Result<Shape, Box<dyn Error>> {
        match self.connection.wait_for_reply_or_error(asked) {
            Ok(answer) => Ok(shape(&GetCursorImageReply::try_parse(&answer)?.0, self.screen)),
            // There is none, as on a screen without a pointer.
            Err(ReplyError::X11Error(_)) => Ok(Shape::Own),
            Err(ReplyError::ConnectionError(error)) => Err(error.into()),
        }
    }
}

/// Asks for changes of the pointer and of the screen's size; a window for messages to ourselves.
fn prepare(connection: &RustConnection, root: Window) -> Result<Window, Box<dyn Error>> {
    // A client says what it knows before all else; the first version has all that is used here.
    connection.xfixes_query_version(1, 0)?.reply()?;
    connection.xfixes_select_cursor_input(root, CursorNotifyMask::DISPLAY_CURSOR)?.check()?;
    let wanted = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
    connection.change_window_attributes(root, &wanted)?.check()?;
    let (own, kind) = (connection.generate_id()?, WindowClass::INPUT_ONLY);
    let plain = CreateWindowAux::new();
    connection.create_window(0, own, root, 0, 0, 1, 1, 0, kind, 0, &plain)?.check()?;
    Ok(own)
}

fn shape(answer: &GetCursorImageReply, screen: (u16, u16)) -> Shape {
    if answer.cursor_serial == SERVERS_OWN {
        return Shape::Own;
    }
    if answer.cursor_image.iter().all(|pixel| pixel >> 24 == 0) {
        return Shape::Hidden;
    }
    let side = |pixels: u16| u8::try_from(pixels).unwrap_or(u8::MAX);
    let image = Image {
        screen,
        size: (side(answer.width), side(answer.height)),
        hotspot: (side(answer.xhot), side(answer.yhot)),
        pixels: answer.cursor_image.iter().flat_map(|pixel| straight(*pixel)).collect(),
    };
    if image.is_whole() { Shape::Image(image) } else { Shape::Own }
}

/// ARGB whose colours are multiplied by the opacity, as RGBA whose colours are not; rounded.
fn straight(pixel: u32) -> [u8; 4] {
    let [opacity, red, green, blue] = pixel.to_be_bytes();
    if opacity == 0 {
        return [0; 4];
    }
    let whole = u32::from(opacity);
    let divided = |colour: u8| {
        let rounded = (u32::from(colour) * 255 + whole / 2) / whole;
        u8::try_from(rounded).unwrap_or(u8::MAX)
    };
    [divided(red), divided(green), divided(blue), opacity]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_as_before_they_were_multiplied() {
        assert_eq!(straight(0xff01_8002), [1, 128, 2, 255]);
        assert_eq!(straight(0x8080_4000), [255, 128, 0, 128]);
        assert_eq!(straight(0x0000_0000), [0, 0, 0, 0]);
        // Additive pixels, which some themes have, are brighter than their opacity allows.
        assert_eq!(straight(0x10ff_ff00), [255, 255, 0, 16]);
        for (colour, opacity) in (0..=255).zip((1..=255).rev()) {
            let multiplied = (colour * opacity + 127) / 255;
            let [red, _, _, _] = straight(opacity << 24 | multiplied << 16);
            let again = (u32::from(red) * opacity + 127) / 255;
            assert_eq!(again, multiplied, "{colour} at {opacity}");
        }
    }

    fn of(size: (u16, u16), hotspot: (u16, u16), pixel: u32) -> Shape {
        let answer = GetCursorImageReply {
            width: size.0,
            height: size.1,
            xhot: hotspot.0,
            yhot: hotspot.1,
            cursor_serial: 2,
            cursor_image: vec![pixel; usize::from(size.0) * usize::from(size.1)],
            ..GetCursorImageReply::default()
        };
        shape(&answer, (1_280, 720))
    }

    #[test]
    fn what_a_browser_does_not_show_is_left_to_it() {
        assert!(matches!(of((127, 127), (126, 0), u32::MAX), Shape::Image(_)));
        for (size, hotspot) in [
            ((128, 16), (0, 0)),
            ((16, 300), (0, 0)),
            ((0, 0), (0, 0)),
            ((16, 16), (16, 0)),
            ((16, 16), (0, 65_535)),
        ] {
            let wanted = if size.0 == 0 { Shape::Hidden } else { Shape::Own };
            assert_eq!(of(size, hotspot, u32::MAX), wanted, "{size:?} {hotspot:?}");
        }
        // A program may hide it with any size.
        assert_eq!(of((300, 300), (0, 0), 0x00ff_ffff), Shape::Hidden);
    }
}
