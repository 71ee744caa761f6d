//! The text that another program has in the clipboard.
//!
//! Source: Inter-Client Communication Conventions Manual 2.0, sections 2.4 (who deletes a property) and 2.7.2 (INCR).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | a program answers, and gives each piece, within | 2 s | a person who has pressed a button waits no longer |

use super::Screen;
use gameway_input::clipboard::{MAX_TEXT, Outcome};
use gameway_units::{Duration, Instant};
use std::error::Error;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, GetPropertyReply, Property, PropertyNotifyEvent,
    SelectionNotifyEvent,
};

const PATIENCE: Duration = Duration::from_secs(2);
/// Units of four bytes: more than the longest text.
const MAX_UNITS: u32 = MAX_TEXT as u32 / 4 + 1;

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// Since then nobody has answered.
    Asked(Instant),
    /// Pieces come, the newest one then.
    Pieces(Vec<u8>, Instant),
    Done(Result<String, Outcome>),
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Reading(Phase);

impl Reading {
    /// Asks, unless the text is ours.
    pub(super) fn ask(
        &mut self,
        screen: &Screen,
        now: Instant,
        own: Option<&str>,
    ) -> Result<(), Box<dyn Error>> {
        if let Some(own) = own {
            self.0 = Phase::Done(Ok(own.to_owned()));
            return Ok(());
        }
        let (atoms, connection) = (&screen.atoms, &screen.connection);
        let property = atoms.GAMEWAY_CONVERTED;
        connection.delete_property(screen.own, property)?;
        let (selection, target) = (atoms.CLIPBOARD, atoms.UTF8_STRING);
        let time = x11rb::CURRENT_TIME;
        connection.convert_selection(screen.own, selection, target, property, time)?;
        self.0 = Phase::Asked(now);
        Ok(())
    }

    /// Somebody has answered.
    pub(super) fn on_converted(
        &mut self,
        screen: &Screen,
        now: Instant,
        event: &SelectionNotifyEvent,
    ) -> Result<(), Box<dyn Error>> {
        let Phase::Asked(_) = self.0 else { return Ok(()) };
        if event.property == x11rb::NONE {
            self.0 = Phase::Done(Err(Outcome::Nothing));
            return Ok(());
        }
        let got = read(screen)?;
        self.0 = if got.type_ == screen.atoms.INCR {
            Phase::Pieces(Vec::new(), now)
        } else {
            Phase::Done(whole(&got).and_then(|bytes| text(bytes.to_vec())))
        };
        Ok(())
    }

    /// A piece has come, if it is that.
    pub(super) fn on_property(
        &mut self,
        screen: &Screen,
        now: Instant,
        event: &PropertyNotifyEvent,
    ) -> Result<(), Box<dyn Error>> {
        let is_piece = event.window == screen.own
            && event.atom == screen.atoms.GAMEWAY_CONVERTED
            && event.state == Property::NEW_VALUE;
        let Phase::Pieces(bytes, newest) = &mut self.0 else { return Ok(()) };
        if !is_piece {
            return Ok(());
        }
        let got = read(screen)?;
        let done = match whole(&got) {
            Ok([]) => Some(text(std::mem::take(bytes))),
            Ok(piece) if bytes.len() + piece.len() > MAX_TEXT => Some(Err(Outcome::TooLong)),
            Ok(piece) => {
                bytes.extend(piece);
                *newest = now;
                None
            }
            Err(outcome) => Some(Err(outcome)),
        };
        if let Some(done) = done {
            self.0 = Phase::Done(done);
        }
        Ok(())
    }

    /// When nobody is waited for any longer.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self.0 {
            Phase::Asked(since) | Phase::Pieces(_, since) => Some(since.saturating_add(PATIENCE)),
            Phase::Idle | Phase::Done(_) => None,
        }
    }

    /// What has come of it, once.
    pub(super) fn take(&mut self, now: Instant) -> Option<Result<String, Outcome>> {
        if self.next_deadline().is_some_and(|due| due <= now) {
            self.0 = Phase::Done(Err(Outcome::NoAnswer));
        }
        match std::mem::take(&mut self.0) {
            Phase::Done(done) => Some(done),
            other => {
                self.0 = other;
                None
            }
        }
    }
}

/// Takes what is converted: deleting it says that it is taken.
fn read(screen: &Screen) -> Result<GetPropertyReply, Box<dyn Error>> {
    let (property, any) = (screen.atoms.GAMEWAY_CONVERTED, AtomEnum::ANY);
    let asked = screen.connection.get_property(true, screen.own, property, any, 0, MAX_UNITS)?;
    Ok(asked.reply()?)
}

fn whole(got: &GetPropertyReply) -> Result<&[u8], Outcome> {
    if got.bytes_after > 0 || got.value.len() > MAX_TEXT {
        return Err(Outcome::TooLong);
    }
    if got.format == 8 || got.value.is_empty() { Ok(&got.value) } else { Err(Outcome::NoText) }
}

fn text(bytes: Vec<u8>) -> Result<String, Outcome> {
    String::from_utf8(bytes).map_err(|_| Outcome::NoText)
}
