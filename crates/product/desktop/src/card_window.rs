//! The test card: a window over the whole screen that counts presses of keys and shows the count ([`crate::card`]).
//!
//! Source: X Window System Protocol, version 11; X(7). The picture of an answer is made beside the screen and comes onto it by one
//! request (CopyArea), so that a capture has all of it or nothing. The screen has it once a later request is answered, as XSync waits for.

use crate::card::{self, Answer, CELLS, ROW};
use crate::{DesktopError, connect};
use gameway_runtime::clock::{self, Clock};
use gameway_units::Duration;
use std::error::Error;
use std::path::Path;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ChangeGCAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, Gcontext, InputFocus,
    Pixmap, Rectangle, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

const BRIGHT: u32 = 0xFF_FFFF;
const DARK: u32 = 0;
/// Above and below the cells: bars of the colours of a common test picture, at three quarters of full brightness.
const BARS: [u32; 7] =
    [0xC0_C0C0, 0xC0_C000, 0x00_C0C0, 0x00_C000, 0xC0_00C0, 0xC0_0000, 0x00_00C0];

struct Card {
    connection: RustConnection,
    window: Window,
    picture: Pixmap,
    context: Gcontext,
    size: (u16, u16),
}

/// Shows the card on a screen until that is gone, and tells of each answer, which is drawn `answer_after` the key. The first two
/// arguments are those of [`connect`].
///
/// # Errors
/// [`DesktopError::Display`] if there is no screen, or no more.
pub fn show_card(
    display: Option<&str>,
    authority: Option<&Path>,
    answer_after: Duration,
    tell: &mut dyn FnMut(Answer),
) -> Result<(), DesktopError> {
    let (connection, screen) = connect(display, authority)?;
    let failed =
        |error: Box<dyn Error>| DesktopError::display(display, format!("the test card: {error}"));
    let card = Card::open(connection, screen).map_err(failed)?;
    card.answer(answer_after, tell).map_err(failed)
}

impl Card {
    fn open(connection: RustConnection, screen: usize) -> Result<Self, Box<dyn Error>> {
        let root = &connection.setup().roots[screen];
        let size = (root.width_in_pixels, root.height_in_pixels);
        let (root, depth) = (root.root, root.root_depth);
        let [window, picture, context] =
            [connection.generate_id()?, connection.generate_id()?, connection.generate_id()?];
        let wanted = CreateWindowAux::new()
            .override_redirect(1)
            .event_mask(EventMask::KEY_PRESS | EventMask::EXPOSURE);
        let class = WindowClass::INPUT_OUTPUT;
        connection
            .create_window(depth, window, root, 0, 0, size.0, size.1, 0, class, 0, &wanted)?
            .check()?;
        connection.create_pixmap(depth, picture, window, size.0, size.1)?.check()?;
        connection
            .create_gc(context, window, &CreateGCAux::new().graphics_exposures(0))?
            .check()?;
        let card = Self { connection, window, picture, context, size };
        card.draw_bars()?;
        card.connection.map_window(window)?.check()?;
        card.connection
            .set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME)?
            .check()?;
        card.draw(0)?;
        Ok(card)
    }

    fn answer(
        &self,
        answer_after: Duration,
        tell: &mut dyn FnMut(Answer),
    ) -> Result<(), Box<dyn Error>> {
        let mut number = 0_u8;
        loop {
            match self.connection.wait_for_event()? {
                Event::KeyPress(_) => {
                    let got_ns = Clock::monotonic_ns();
                    number = number.wrapping_add(1);
                    if answer_after > Duration::ZERO {
                        clock::sleep(answer_after);
                    }
                    self.draw(number)?;
                    tell(Answer { number, got_ns, drawn_ns: Clock::monotonic_ns() });
                }
                Event::Expose(_) => self.draw(number)?,
                _ => {}
            }
        }
    }

    fn draw_bars(&self) -> Result<(), Box<dyn Error>> {
        let (width, height) = self.size;
        for (bar, colour) in BARS.into_iter().enumerate() {
            let left = part(width, bar, BARS.len());
            let right = part(width, bar + 1, BARS.len());
            self.fill(
                colour,
                &[Rectangle { x: left, y: 0, width: (right - left) as u16, height }],
            )?;
        }
        Ok(())
    }

    /// Shows a number; the screen has it then.
    fn draw(&self, number: u8) -> Result<(), Box<dyn Error>> {
        let shown = card::cells(number);
        for (colour, is_bright) in [(BRIGHT, true), (DARK, false)] {
            let own = (0..CELLS).filter(|cell| shown[*cell] == is_bright);
            let cells: Vec<Rectangle> = own.map(|cell| self.cell(cell)).collect();
            self.fill(colour, &cells)?;
        }
        let (width, height) = self.size;
        self.connection.copy_area(
            self.picture,
            self.window,
            self.context,
            0,
            0,
            0,
            0,
            width,
            height,
        )?;
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }

    fn fill(&self, colour: u32, places: &[Rectangle]) -> Result<(), Box<dyn Error>> {
        self.connection.change_gc(self.context, &ChangeGCAux::new().foreground(colour))?;
        self.connection.poly_fill_rectangle(self.picture, self.context, places)?;
        Ok(())
    }

    fn cell(&self, cell: usize) -> Rectangle {
        let (width, height) = self.size;
        let (left, right) = (part(width, cell, CELLS), part(width, cell + 1, CELLS));
        let (top, bottom) = (part(height, ROW.0, 8), part(height, ROW.1, 8));
        let side = |from: i16, to: i16| to.abs_diff(from);
        Rectangle { x: left, y: top, width: side(left, right), height: side(top, bottom) }
    }
}

/// So many of equal parts of a side; a screen's side has 15 bits.
fn part(side: u16, parts: usize, of: usize) -> i16 {
    i16::try_from(usize::from(side) * parts / of).unwrap_or(i16::MAX)
}
