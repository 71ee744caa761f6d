//! The protocol of data control, as one of its two names, and what a compositor says by it.
//!
//! Source: ext-data-control-v1 (wayland-protocols 1.39, staging), and wlr-data-control-unstable-v1 version 1, of which it is the standard;
//! requests and events are the same. Used of it:
//!
//! | object | requests | events |
//! |---|---|---|
//! | manager | `create_data_source`, `get_data_device` | |
//! | device, of a seat | `set_selection` | `data_offer`, `selection`, `finished`; of `primary_selection` the offer is destroyed |
//! | source, a text of ours | `offer` (a type), `destroy` | `send` (type, pipe), `cancelled` |
//! | offer, a text of anyone's | `receive` (type, pipe), `destroy` | `offer` (a type) |
//!
//! | limit | why |
//! |---|---|
//! | types by their usual names alone, [`TYPES`] | toolkits and Xwayland have these; of others an offer may have any number, and none is kept |
//! | programs that want the text at once, and are looked at: as many as may take | who asks more often keeps no more descriptors of ours |

use crate::clipboard::text::MAX_RECEIVERS;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wayland_client::protocol::wl_callback::{self, WlCallback};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::{
    Connection, Dispatch, Proxy, QueueHandle, delegate_noop, event_created_child,
};
use wayland_protocols::ext::data_control::v1::client as ext;
use wayland_protocols_wlr::data_control::v1::client as wlr;

use ext::ext_data_control_device_v1::{self as ext_device, ExtDataControlDeviceV1 as ExtDevice};
use ext::ext_data_control_manager_v1::ExtDataControlManagerV1 as ExtManager;
use ext::ext_data_control_offer_v1::{self as ext_offer, ExtDataControlOfferV1 as ExtOffer};
use ext::ext_data_control_source_v1::{self as ext_source, ExtDataControlSourceV1 as ExtSource};
use wlr::zwlr_data_control_device_v1::{self as wlr_device, ZwlrDataControlDeviceV1 as WlrDevice};
use wlr::zwlr_data_control_manager_v1::ZwlrDataControlManagerV1 as WlrManager;
use wlr::zwlr_data_control_offer_v1::{self as wlr_offer, ZwlrDataControlOfferV1 as WlrOffer};
use wlr::zwlr_data_control_source_v1::{self as wlr_source, ZwlrDataControlSourceV1 as WlrSource};

/// Names of text, the best last: the first one's coding is not said, and UTF-8 by custom.
const TYPES: [&str; 3] = ["text/plain", "UTF8_STRING", "text/plain;charset=utf-8"];
/// What is used is there from the first version of each on.
const VERSION: u32 = 1;

/// An object by one of the two names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named<E, W> {
    Ext(E),
    Wlr(W),
}

/// The same of either.
macro_rules! either {
    ($of:expr, $object:ident => $done:expr) => {
        match $of {
            Named::Ext($object) => $done,
            Named::Wlr($object) => $done,
        }
    };
}

type Manager = Named<ExtManager, WlrManager>;
type Device = Named<ExtDevice, WlrDevice>;
type Source = Named<ExtSource, WlrSource>;
type Offer = Named<ExtOffer, WlrOffer>;

/// Which of [`TYPES`] an offer has: the number of the best one, from 1 on.
#[derive(Debug, Default)]
pub(super) struct Best(AtomicUsize);

impl Best {
    fn note(&self, name: &str) {
        let found = TYPES.iter().position(|known| *known == name);
        self.0.fetch_max(found.map_or(0, |at| at + 1), Ordering::Relaxed);
    }

    fn name(&self) -> Option<&'static str> {
        self.0.load(Ordering::Relaxed).checked_sub(1).map(|at| TYPES[at])
    }
}

/// A program that pastes what is ours.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) text: Arc<str>,
    pub(super) pipe: OwnedFd,
}

/// What the compositor has said.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// Numbers of what it offers.
    seat: Option<u32>,
    ext: Option<u32>,
    wlr: Option<u32>,
    /// Once it is bound.
    bound: Option<(Manager, Device)>,
    /// What is in the clipboard, of whomever.
    offer: Option<Offer>,
    /// Ours, until another program copies.
    own: Option<Source>,
    /// Whom nobody has looked at.
    receivers: Vec<Receiver>,
    /// The question that it has answered last, and so all that was said before.
    answered: u32,
    is_finished: bool,
}

impl Control {
    /// Takes the first seat's clipboard; whether the compositor has that to offer.
    pub(super) fn bind(&mut self, registry: &WlRegistry, queue: &QueueHandle<Self>) -> bool {
        let Some(seat) = self.seat else { return false };
        let manager: Manager = match (self.ext, self.wlr) {
            (Some(name), _) => Named::Ext(registry.bind(name, VERSION, queue, ())),
            (None, Some(name)) => Named::Wlr(registry.bind(name, VERSION, queue, ())),
            (None, None) => return false,
        };
        let seat: WlSeat = registry.bind(seat, 1, queue, ());
        let device = match &manager {
            Named::Ext(manager) => Named::Ext(manager.get_data_device(&seat, queue, ())),
            Named::Wlr(manager) => Named::Wlr(manager.get_data_device(&seat, queue, ())),
        };
        self.bound = Some((manager, device));
        true
    }

    /// From now on programs paste this. The one before is destroyed when the compositor says that it is over.
    pub(super) fn give(&mut self, text: &str, queue: &QueueHandle<Self>) {
        let text: Arc<str> = text.into();
        let Some((manager, device)) = &self.bound else { return };
        let source = match manager {
            Named::Ext(manager) => Named::Ext(manager.create_data_source(queue, text)),
            Named::Wlr(manager) => Named::Wlr(manager.create_data_source(queue, text)),
        };
        for name in TYPES.iter().rev() {
            either!(&source, source => source.offer((*name).to_owned()));
        }
        match (device, &source) {
            (Named::Ext(device), Named::Ext(source)) => device.set_selection(Some(source)),
            (Named::Wlr(device), Named::Wlr(source)) => device.set_selection(Some(source)),
            // A manager makes both by its own name.
            _ => {}
        }
        self.own = Some(source);
    }

    /// The text that is ours, while it is in the clipboard.
    pub(super) fn own_text(&self) -> Option<&str> {
        let text: &Arc<str> = either!(self.own.as_ref()?, source => source.data()?);
        Some(text)
    }

    /// Asks who has copied to write it there; whether it is text.
    pub(super) fn receive(&self, make: impl FnOnce() -> Option<OwnedFd>) -> bool {
        let Some(offer) = &self.offer else { return false };
        let best: Option<&Best> = either!(offer, offer => offer.data());
        let Some(name) = best.and_then(Best::name) else { return false };
        if let Some(pipe) = make() {
            let pipe: BorrowedFd<'_> = std::os::fd::AsFd::as_fd(&pipe);
            either!(offer, offer => offer.receive(name.to_owned(), pipe));
        }
        true
    }

    /// Programs that paste, each once.
    pub(super) fn take_receivers(&mut self) -> Vec<Receiver> {
        std::mem::take(&mut self.receivers)
    }

    /// Whether it has answered this question, and heard all that was said before.
    pub(super) fn has_answered(&self, number: u32) -> bool {
        self.answered == number
    }

    /// Whether there is no clipboard any more, as the seat is gone.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn on_selection(&mut self, offer: Option<Offer>) {
        if let Some(before) = std::mem::replace(&mut self.offer, offer) {
            either!(before, offer => offer.destroy());
        }
    }

    fn on_send(&mut self, name: &str, pipe: OwnedFd, text: &Arc<str>) {
        // Who is refused finds the end of its pipe.
        if TYPES.contains(&name) && self.receivers.len() < MAX_RECEIVERS {
            self.receivers.push(Receiver { text: Arc::clone(text), pipe });
        }
    }

    fn on_cancelled(&mut self, source: Source) {
        self.own.take_if(|own| *own == source);
        either!(source, source => source.destroy());
    }
}

impl Dispatch<WlRegistry, ()> for Control {
    fn event(
        control: &mut Self,
        _: &WlRegistry,
        event: wl_registry::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let wl_registry::Event::Global { name, interface, .. } = event else { return };
        let place = match &*interface {
            found if found == WlSeat::interface().name => &mut control.seat,
            found if found == ExtManager::interface().name => &mut control.ext,
            found if found == WlrManager::interface().name => &mut control.wlr,
            _ => return,
        };
        place.get_or_insert(name);
    }
}

impl Dispatch<WlCallback, u32> for Control {
    fn event(
        control: &mut Self,
        _: &WlCallback,
        _: wl_callback::Event,
        number: &u32,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        control.answered = *number;
    }
}

delegate_noop!(Control: ignore WlSeat);
delegate_noop!(Control: ExtManager);
delegate_noop!(Control: WlrManager);

/// What objects of one of the names say.
macro_rules! heard {
    ($name:ident, $Device:ty, $device:ident, $Source:ty, $source:ident, $Offer:ty, $offer:ident) => {
        impl Dispatch<$Device, ()> for Control {
            fn event(
                control: &mut Self,
                _: &$Device,
                event: $device::Event,
                (): &(),
                _: &Connection,
                _: &QueueHandle<Self>,
            ) {
                match event {
                    $device::Event::Selection { id } => control.on_selection(id.map(Named::$name)),
                    $device::Event::PrimarySelection { id: Some(offer) } => offer.destroy(),
                    $device::Event::Finished => control.is_finished = true,
                    _ => {}
                }
            }

            event_created_child!(Control, $Device, [
                $device::EVT_DATA_OFFER_OPCODE => ($Offer, Best::default()),
            ]);
        }

        impl Dispatch<$Source, Arc<str>> for Control {
            fn event(
                control: &mut Self,
                source: &$Source,
                event: $source::Event,
                text: &Arc<str>,
                _: &Connection,
                _: &QueueHandle<Self>,
            ) {
                match event {
                    $source::Event::Send { mime_type, fd } => control.on_send(&mime_type, fd, text),
                    $source::Event::Cancelled => control.on_cancelled(Named::$name(source.clone())),
                    _ => {}
                }
            }
        }

        impl Dispatch<$Offer, Best> for Control {
            fn event(
                _: &mut Self,
                _: &$Offer,
                event: $offer::Event,
                best: &Best,
                _: &Connection,
                _: &QueueHandle<Self>,
            ) {
                if let $offer::Event::Offer { mime_type } = event {
                    best.note(&mime_type);
                }
            }
        }
    };
}

heard!(Ext, ExtDevice, ext_device, ExtSource, ext_source, ExtOffer, ext_offer);
heard!(Wlr, WlrDevice, wlr_device, WlrSource, wlr_source, WlrOffer, wlr_offer);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_name_of_text_counts_in_whatever_order_and_no_other() {
        let best = |names: &[&str]| {
            let best = Best::default();
            names.iter().for_each(|name| best.note(name));
            best.name()
        };
        assert_eq!(best(&[]), None);
        assert_eq!(best(&["image/png", "text/html", "TEXT/PLAIN", ""]), None);
        assert_eq!(best(&["image/png", "text/plain"]), Some("text/plain"));
        assert_eq!(best(&["UTF8_STRING", "text/plain"]), Some("UTF8_STRING"));
        let utf8 = "text/plain;charset=utf-8";
        assert_eq!(best(&[utf8, "UTF8_STRING", "image/png"]), Some(utf8));
    }

    #[test]
    fn as_many_as_may_take_are_kept_and_of_text_alone() {
        let mut control = Control::default();
        let text: Arc<str> = "text".into();
        let mut send = |name: &str| {
            let (_, pipe) = rustix::pipe::pipe().expect("a pipe");
            control.on_send(name, pipe, &text);
            control.receivers.len()
        };
        assert_eq!(send("image/png"), 0);
        for taken in 1..=8 {
            assert_eq!(send("text/plain"), taken);
        }
        assert_eq!(send("text/plain"), 8);
    }
}
