//! What a host does with what signalling asks of it.

use super::Host;
use crate::StreamError;
use crate::host::notes::tell;
use crate::host::reach::ways;
use crate::host::session::Session;
use crate::host::stays::Stay;
use crate::host::terms::terms;
use gameway_session::Sender;
use gameway_units::{Instant, Recovery};
use gameway_webrtc::devices::DeviceId;
use gameway_webrtc::http::{Places, Reply, SignalingRequest};
use gameway_webrtc::{Peer, Secrets};
use std::net::IpAddr;

/// What the client is told.
const REVOKED: &str = "this device was revoked by the host's owner";

/// A client that is let in.
pub(super) struct NewClient {
    /// From where it made its offer.
    pub(super) from: IpAddr,
    /// Where it reached the host for that.
    pub(super) at: Option<(String, u16)>,
    /// The name that signalling has for its stay.
    pub(super) name: String,
    /// Which device it is; none of who showed the token.
    pub(super) device: Option<DeviceId>,
    /// Whether it watches beside the client that plays.
    pub(super) watches: bool,
}

impl Host {
    pub(super) fn signal(&mut self, now: Instant) {
        self.bell.hush();
        while self.bell.take().is_some() {}
        while let Some(request) = self.signaling.poll() {
            match request {
                SignalingRequest::Offer { from, at, session, device, watches, offer, reply } => {
                    let from = from.ip().to_canonical();
                    let who = NewClient { from, at, name: session, device, watches };
                    self.on_offer(now, who, &offer, reply);
                }
                SignalingRequest::Watching { reply } => reply.accept(self.places()),
                SignalingRequest::Controller { name, reply } => {
                    match name.map_or(Ok(()), |name| self.choose_controller(now, &name)) {
                        Ok(()) => reply.accept(self.config.told_controller(&self.controllers)),
                        Err(error) => reply.refuse(400, error.to_string()),
                    }
                }
                SignalingRequest::Devices { let_in } => {
                    while let Some(stay) = self.take(|stay| stay.is_revoked(&let_in)) {
                        tell("a device was revoked", &format!("its stream to {} ends", stay.from));
                        self.end(stay, REVOKED);
                    }
                }
                SignalingRequest::End { session, reply } => {
                    if let Some(stay) = self.take(|stay| stay.name == session) {
                        self.end(stay, "the client has left");
                        reply.accept(String::new());
                    } else {
                        reply.refuse(404, "there is no such session".to_owned());
                    }
                }
            }
        }
    }

    /// Takes out a stay of which this holds, of who plays, is about to come, or watches.
    fn take(&mut self, is_it: impl Fn(&Stay) -> bool) -> Option<Stay> {
        self.stays.take(&is_it).or_else(|| self.watching.take(&is_it))
    }

    /// The stream, or the next one, gets another controller.
    fn choose_controller(&mut self, now: Instant, name: &str) -> Result<(), StreamError> {
        let config = self.config.with_controller(&self.controllers, name)?;
        for session in self.stays.sessions().chain(self.watching.sessions()) {
            let bitrate = session.sender().map_or(config.start_bitrate, Sender::bitrate);
            let controller = config.build_controller_from(&self.controllers, bitrate)?;
            session.set_controller(now, controller, &config);
        }
        if let Some(log) = &mut self.log {
            log.event(now, &format!("controller-{name}"), 1.0);
        }
        tell("another controller", name);
        self.config = config;
        Ok(())
    }

    fn places(&self) -> Places {
        Places {
            plays: self.stays.current.is_some(),
            watchers: self.watching.count() as u32,
            max_watchers: self.config.watchers,
        }
    }

    /// A client that is let in comes. One that plays will take the place of the one before, who may be its former self.
    fn on_offer(&mut self, now: Instant, who: NewClient, offer: &str, reply: Reply) {
        let NewClient { from, at, name, device, watches } = who;
        if watches && self.watching.count() >= self.config.watchers as usize {
            return reply.refuse(409, self.no_more_watchers());
        }
        let outside = self.wires.reflexive().chain(self.mapping.outside());
        let config = gameway_webrtc::HostConfig {
            identity: self.identity.clone(),
            candidates: ways(&self.config, self.wires.address(), outside, at),
            audio: self.sound.is_there(),
            h265: self.h265,
            nack: self.config.repair.sends_again(),
            parity: self.config.repair.goal().is_some(),
            references: self.config.recovery == Recovery::Reference,
            export_keys: self.config.export_keys.is_some(),
        };
        let number = if watches { self.watching.next_number() } else { self.sessions };
        let made = Peer::answer(now, &config, Secrets::from_system(), offer)
            .map_err(|error| error.to_string())
            .and_then(|(peer, answer)| {
                let terms = terms(&self.config, &self.controllers, number, self.sound.is_there());
                Ok((peer, answer, terms.map_err(|error| error.to_string())?))
            });
        let (peer, answer, mut terms) = match made {
            Ok(made) => made,
            Err(why) => return reply.refuse(400, why),
        };
        // What a screen has not is not offered.
        terms.clipboard &= self.played.has_clipboard();
        if watches {
            let session = Session::new(number, peer, terms.without_input());
            self.watching.expect(Stay { name, from, device, session });
        } else {
            let session = Session::new(number, peer, terms);
            if let Some(late) = self.stays.expect(Stay { name, from, device, session }) {
                self.end(late, &format!("another client has come, from {from}"));
            }
        }
        reply.accept(answer);
    }

    fn no_more_watchers(&self) -> String {
        match self.config.watchers {
            0 => "nobody may watch beside the player: start the host with --watchers 1".to_owned(),
            1 => "somebody watches already, and one may".to_owned(),
            max => format!("{max} watch already, and no more may"),
        }
    }
}
