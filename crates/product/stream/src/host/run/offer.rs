//! What a host does with an offer.

use super::Host;
use crate::host::reach::ways;
use crate::host::session::Session;
use crate::host::stays::Stay;
use crate::host::terms::terms;
use gameway_units::Instant;
use gameway_webrtc::http::Reply;
use gameway_webrtc::{Peer, Secrets};
use std::net::IpAddr;

/// A client that is let in.
pub(super) struct Comer {
    /// From where it made its offer.
    pub(super) from: IpAddr,
    /// Where it reached the host for that.
    pub(super) at: Option<(String, u16)>,
    /// The name that signalling has for its stay.
    pub(super) name: String,
}

impl Host {
    /// A client that is let in comes: it will take the place of the one before, who may be its former self.
    pub(super) fn on_offer(&mut self, now: Instant, who: Comer, offer: &str, reply: Reply) {
        let Comer { from, at, name } = who;
        let config = gameway_webrtc::HostConfig {
            identity: self.identity.clone(),
            candidates: ways(&self.config, self.wires.address(), self.wires.reflexive(), at),
            h265: self.h265,
            nack: self.config.repair.sends_again(),
            parity: self.config.repair.goal().is_some(),
            export_keys: self.config.export_keys.is_some(),
        };
        let made = Peer::answer(now, &config, Secrets::from_system(), offer)
            .map_err(|error| error.to_string())
            .and_then(|(peer, answer)| {
                Ok((
                    peer,
                    answer,
                    terms(&self.config, self.sessions, self.sound.is_there())
                        .map_err(|error| error.to_string())?,
                ))
            });
        match made {
            Ok((peer, answer, terms)) => {
                let session = Session::new(self.sessions, peer, terms);
                if let Some(late) = self.stays.expect(Stay { name, from, session }) {
                    self.end(late, &format!("another client has come, from {from}"));
                }
                reply.accept(answer);
            }
            Err(why) => reply.refuse(400, why),
        }
    }
}
