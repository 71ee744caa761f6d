//! A text that programs may paste.
//!
//! Source: Inter-Client Communication Conventions Manual 2.0, sections 2.1 (the time of an acquisition is the server's, of a change of a
//! property), 2.2 (answers), 2.6.2 (targets) and 2.7.2 (INCR).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | a piece | 64 KiB | a quarter of the largest request (X Window System Protocol, section 1) |

use super::Screen;
use crate::clipboard::text::{MAX_RECEIVERS, Outgoing};
use gameway_units::Instant;
use std::error::Error;
use std::sync::Arc;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, PropMode, Property,
    PropertyNotifyEvent, SELECTION_NOTIFY_EVENT, SelectionClearEvent, SelectionNotifyEvent,
    SelectionRequestEvent, Timestamp, Window,
};
use x11rb::wrapper::ConnectionExt as _;

const PIECE: usize = 65_536;

/// A text on its way to a program in pieces.
#[derive(Debug)]
struct Transfer {
    requestor: Window,
    property: Atom,
    target: Atom,
    outgoing: Outgoing,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// Given, and not owned before the server has told its time: a loss until then is of the text before.
    next: Option<Arc<str>>,
    /// Ours, until another program copies.
    text: Option<Arc<str>>,
    since: Timestamp,
    transfers: Vec<Transfer>,
}

impl Offer {
    pub(super) fn text(&self) -> Option<&str> {
        self.next.as_deref().or(self.text.as_deref())
    }

    /// The clipboard is owned once the server has told its time.
    pub(super) fn give(&mut self, screen: &Screen, text: &str) -> Result<(), Box<dyn Error>> {
        self.next = Some(text.into());
        let (property, kind) = (screen.atoms.GAMEWAY_TIME, AtomEnum::STRING);
        screen.connection.change_property8(PropMode::APPEND, screen.own, property, kind, &[])?;
        Ok(())
    }

    /// Another program has copied something.
    pub(super) fn on_loss(&mut self, event: &SelectionClearEvent) {
        // Times of a server wrap; one that is older than our own acquisition is of the one before.
        if event.time.wrapping_sub(self.since) < Timestamp::MAX / 2 {
            self.text = None;
        }
    }

    pub(super) fn on_property(
        &mut self,
        screen: &Screen,
        now: Instant,
        event: &PropertyNotifyEvent,
    ) -> Result<(), Box<dyn Error>> {
        let is_time = event.window == screen.own && event.atom == screen.atoms.GAMEWAY_TIME;
        if is_time && let Some(text) = self.next.take() {
            (self.text, self.since) = (Some(text), event.time);
            let clipboard = screen.atoms.CLIPBOARD;
            screen.connection.set_selection_owner(screen.own, clipboard, event.time)?;
        }
        if event.state != Property::DELETE {
            return Ok(());
        }
        let is_its = |one: &Transfer| (one.requestor, one.property) == (event.window, event.atom);
        let Some(at) = self.transfers.iter().position(is_its) else { return Ok(()) };
        let transfer = &mut self.transfers[at];
        let rest = transfer.outgoing.rest();
        let piece = &rest[..rest.len().min(PIECE)];
        let (requestor, property) = (transfer.requestor, transfer.property);
        let (mode, target) = (PropMode::REPLACE, transfer.target);
        screen.connection.change_property8(mode, requestor, property, target, piece)?;
        let bytes = piece.len();
        transfer.outgoing.advance(now, bytes);
        // An empty one has said that this is all.
        if bytes == 0 {
            self.transfers.remove(at);
        }
        Ok(())
    }

    /// A program wants it.
    pub(super) fn on_request(
        &mut self,
        screen: &Screen,
        now: Instant,
        event: &SelectionRequestEvent,
    ) -> Result<(), Box<dyn Error>> {
        // Programs older than these conventions name none.
        let none = x11rb::NONE;
        let property = if event.property == none { event.target } else { event.property };
        let is_given = self.convert(screen, now, event, property)?;
        let answer = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: event.time,
            requestor: event.requestor,
            selection: event.selection,
            target: event.target,
            property: if is_given { property } else { none },
        };
        let mask = EventMask::NO_EVENT;
        screen.connection.send_event(false, event.requestor, mask, answer)?;
        Ok(())
    }

    fn convert(
        &mut self,
        screen: &Screen,
        now: Instant,
        event: &SelectionRequestEvent,
        property: Atom,
    ) -> Result<bool, Box<dyn Error>> {
        let (connection, atoms) = (&screen.connection, &screen.atoms);
        let (requestor, target, mode) = (event.requestor, event.target, PropMode::REPLACE);
        let Some(text) = self.text.clone().filter(|_| event.selection == atoms.CLIPBOARD) else {
            return Ok(false);
        };
        if target == atoms.TARGETS {
            let all = [atoms.TARGETS, atoms.TIMESTAMP, atoms.UTF8_STRING, atoms.UTF8_TEXT];
            connection.change_property32(mode, requestor, property, AtomEnum::ATOM, &all)?;
        } else if target == atoms.TIMESTAMP {
            let since = [self.since];
            connection.change_property32(mode, requestor, property, AtomEnum::INTEGER, &since)?;
        } else if target != atoms.UTF8_STRING && target != atoms.UTF8_TEXT {
            return Ok(false);
        } else if text.len() <= PIECE {
            connection.change_property8(mode, requestor, property, target, text.as_bytes())?;
        } else if self.transfers.len() == MAX_RECEIVERS {
            return Ok(false);
        } else {
            let wanted = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
            connection.change_window_attributes(requestor, &wanted)?;
            let size = [text.len() as u32];
            connection.change_property32(mode, requestor, property, atoms.INCR, &size)?;
            // A program that asks again, or a window whose number another one has by now, takes nothing of what was on its way before.
            self.transfers.retain(|one| (one.requestor, one.property) != (requestor, property));
            let outgoing = Outgoing::new(text, now);
            self.transfers.push(Transfer { requestor, property, target, outgoing });
        }
        Ok(true)
    }

    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.transfers.retain(|one| now < one.outgoing.deadline());
    }
}
