//! The text that another program has in the clipboard.
//!
//! Source: Inter-Client Communication Conventions Manual 2.0, sections 2.4 (who deletes a property) and 2.7.2 (INCR).

use super::Screen;
use crate::clipboard::text::Incoming;
use gameway_input::clipboard::{MAX_TEXT, Outcome};
use gameway_units::Instant;
use std::error::Error;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, GetPropertyReply, Property, PropertyNotifyEvent,
    SelectionNotifyEvent,
};

/// Units of four bytes: more than the longest text.
const MAX_UNITS: u32 = MAX_TEXT as u32 / 4 + 1;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Reading(Incoming);

impl Reading {
    /// Asks, unless the text is ours.
    pub(super) fn ask(
        &mut self,
        screen: &Screen,
        now: Instant,
        own: Option<&str>,
    ) -> Result<(), Box<dyn Error>> {
        if let Some(own) = own {
            self.0.end(Ok(own.to_owned()));
            return Ok(());
        }
        let (atoms, connection) = (&screen.atoms, &screen.connection);
        let property = atoms.GAMEWAY_CONVERTED;
        connection.delete_property(screen.own, property)?;
        let (selection, target) = (atoms.CLIPBOARD, atoms.UTF8_STRING);
        let time = x11rb::CURRENT_TIME;
        connection.convert_selection(screen.own, selection, target, property, time)?;
        self.0.ask(now);
        Ok(())
    }

    /// Somebody has answered.
    pub(super) fn on_converted(
        &mut self,
        screen: &Screen,
        now: Instant,
        event: &SelectionNotifyEvent,
    ) -> Result<(), Box<dyn Error>> {
        if !self.0.is_asked() {
            return Ok(());
        }
        if event.property == x11rb::NONE {
            self.0.end(Err(Outcome::Nothing));
            return Ok(());
        }
        let got = read(screen)?;
        self.0.begin(now);
        if got.type_ != screen.atoms.INCR {
            self.add(now, &got);
            self.0.finish();
        }
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
        if !is_piece || !self.0.has_begun() {
            return Ok(());
        }
        let got = read(screen)?;
        // An empty piece says that this is all.
        if got.value.is_empty() {
            self.0.finish();
        } else {
            self.add(now, &got);
        }
        Ok(())
    }

    fn add(&mut self, now: Instant, got: &GetPropertyReply) {
        match whole(got) {
            Ok(piece) => self.0.add(now, piece),
            Err(outcome) => self.0.end(Err(outcome)),
        }
    }

    /// When nobody is waited for any longer.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.next_deadline()
    }

    /// What has come of it, once.
    pub(super) fn take(&mut self, now: Instant) -> Option<Result<String, Outcome>> {
        self.0.take(now)
    }
}

/// Takes what is converted: deleting it says that it is taken.
fn read(screen: &Screen) -> Result<GetPropertyReply, Box<dyn Error>> {
    let (property, any) = (screen.atoms.GAMEWAY_CONVERTED, AtomEnum::ANY);
    let asked = screen.connection.get_property(true, screen.own, property, any, 0, MAX_UNITS)?;
    Ok(asked.reply()?)
}

fn whole(got: &GetPropertyReply) -> Result<&[u8], Outcome> {
    if got.bytes_after > 0 {
        return Err(Outcome::TooLong);
    }
    if got.format == 8 || got.value.is_empty() { Ok(&got.value) } else { Err(Outcome::NoText) }
}
