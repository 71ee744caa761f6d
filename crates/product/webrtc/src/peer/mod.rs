//! One side of a session: sans-IO, all layers of WebRTC in their order.
//!
//! A datagram is told by its first byte (RFC 7983): 0-3 STUN, 20-63 DTLS, 128-191 RTP or RTCP. DTLS and media
//! are only taken from an address that ICE has accepted. Nothing is paced or held back: a packet that is
//! sent lies in `poll_transmit` at once, protected.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | silence | 30 s | RFC 7675 section 5.1: consent ends so long after the last check |
//! | connecting | 30 s | nobody waits longer for a picture |

mod dtls;
mod setup;

pub use setup::{ClientConfig, HostConfig};

use crate::data::{DataChannels, DataEvent, Delivery};
use crate::error::WebrtcError;
use crate::ice::{Ice, Pair};
use crate::identity::Identity;
use crate::rtp::{Extensions, ParsedRtp, RtpHeader, RtpPacket};
use crate::sdp::Negotiated;
use crate::secrets::Secrets;
use crate::srtp::{Srtp, SrtpKeys};
use crate::transmit::{Remote, Transmit};
use bytes::Bytes;
use dtls::{DtlsEvent, DtlsLayer};
use gameway_units::{Duration, Ecn, Instant};
use std::collections::VecDeque;
use std::net::SocketAddr;

const SILENCE: Duration = Duration::from_secs(30);
const CONNECTING: Duration = Duration::from_secs(30);

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// We closed it.
    Local,
    /// The other side said goodbye.
    Remote,
    /// Nothing was heard for 30 s.
    Silence,
    /// No connection within 30 s.
    NeverConnected,
    /// The other side's certificate is not the one that its description named.
    WrongFingerprint,
    /// DTLS failed.
    Dtls,
}

/// What a peer tells its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Media and data may flow.
    Connected,
    /// An RTP packet arrived.
    Rtp {
        /// Its header.
        header: RtpHeader,
        /// Its extensions.
        extensions: Extensions,
        /// Its payload, without padding.
        payload: Bytes,
        /// Its ECN field.
        ecn: Ecn,
        /// The time that the driver gave with it.
        arrival: Instant,
    },
    /// A compound RTCP packet arrived.
    Rtcp {
        /// Its bytes, plain.
        bytes: Bytes,
        /// The time that the driver gave with it.
        arrival: Instant,
    },
    /// The other side opened a data channel.
    ChannelOpened {
        /// Its number.
        channel: u16,
        /// Its label.
        label: String,
    },
    /// A data message arrived.
    Data {
        /// Its channel.
        channel: u16,
        /// The channel's label.
        label: String,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A data channel ended.
    ChannelClosed {
        /// Its number.
        channel: u16,
    },
    /// The session ended; nothing follows.
    Closed(CloseReason),
}

/// One side of a session.
#[derive(Debug)]
pub struct Peer {
    ice: Ice,
    dtls: DtlsLayer,
    srtp: Option<Srtp>,
    data: DataChannels,
    negotiated: Negotiated,
    /// What the client needs until the answer is there.
    pending: Option<(Identity, Secrets)>,
    exports_keys: bool,
    began: Instant,
    latest: Instant,
    handshake_done: bool,
    connected: bool,
    closed: bool,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    plain: Vec<u8>,
    refused: u64,
}

impl Peer {
    /// Takes a datagram that arrived at `arrival` (which may be before the last call's time), `from` there, at `to` of
    /// ours, with `ecn`.
    pub fn handle_datagram(
        &mut self,
        arrival: Instant,
        from: impl Into<Remote>,
        to: SocketAddr,
        ecn: Ecn,
        bytes: &[u8],
    ) {
        if self.closed {
            return;
        }
        let now = self.forward(arrival);
        let pair = Pair { local: to, remote: from.into() };
        match bytes.first() {
            Some(0..=3) => {
                self.ice.handle(now, pair, bytes, &mut self.transmits);
                if self.ice.selected().is_some() {
                    self.dtls.set_reachable(now);
                }
            }
            Some(20..=63) if self.ice.accepts(pair.remote) => self.dtls.handle(now, bytes),
            Some(128..=191) if self.ice.accepts(pair.remote) => self.on_media(arrival, ecn, bytes),
            _ => self.refused += 1,
        }
        self.advance(now);
    }

    /// The layers want a time that never goes back; the kernel's arrivals lie before the time of reading them.
    fn forward(&mut self, time: Instant) -> Instant {
        self.latest = self.latest.max(time);
        self.latest
    }

    fn on_media(&mut self, arrival: Instant, ecn: Ecn, bytes: &[u8]) {
        let Some(srtp) = &mut self.srtp else {
            self.refused += 1;
            return;
        };
        // RFC 5761 section 4: payload types 64 to 95 are left to RTCP.
        let is_rtcp = bytes.get(1).is_some_and(|second| (192..=223).contains(second));
        let event = if is_rtcp {
            srtp.unprotect_rtcp(bytes).map(|plain| Event::Rtcp { bytes: plain.freeze(), arrival })
        } else {
            srtp.unprotect_rtp(bytes).and_then(|plain| {
                let parsed = ParsedRtp::parse(&plain, &self.negotiated)?;
                let payload = plain.freeze().slice(parsed.payload_start..parsed.payload_end);
                let ParsedRtp { header, extensions, .. } = parsed;
                Some(Event::Rtp { header, extensions, payload, ecn, arrival })
            })
        };
        match event {
            Some(event) => self.events.push_back(event),
            None => self.refused += 1,
        }
    }

    /// Lets the layers answer each other until they are silent.
    fn advance(&mut self, now: Instant) {
        if self.closed {
            return;
        }
        // What SCTP answers goes out in the same turn.
        for _ in 0..2 {
            let mut events = Vec::new();
            self.data.poll_transmit(now, |packet| self.dtls.send(packet, &mut events));
            self.dtls.poll(&mut events);
            for event in events {
                self.on_dtls(now, event);
            }
        }
        while let Some(event) = self.data.events.pop_front() {
            self.events.push_back(match event {
                DataEvent::Opened { channel, label } => Event::ChannelOpened { channel, label },
                DataEvent::Closed { channel } => Event::ChannelClosed { channel },
                DataEvent::Message { channel, label, bytes } => {
                    Event::Data { channel, label, bytes }
                }
            });
        }
    }

    fn on_dtls(&mut self, now: Instant, event: DtlsEvent) {
        match event {
            DtlsEvent::Packet(bytes) => {
                if let Some(pair) = self.ice.selected() {
                    self.transmits.push_back(pair.transmit(bytes, Ecn::NotEct));
                }
            }
            DtlsEvent::Keys(keys) => match Srtp::new(keys) {
                Ok(srtp) => {
                    self.srtp = Some(srtp);
                    self.connect();
                }
                Err(_) => self.end(CloseReason::Dtls),
            },
            DtlsEvent::Connected => {
                self.handshake_done = true;
                self.connect();
            }
            DtlsEvent::Data(bytes) => self.data.handle(now, &bytes),
            DtlsEvent::WrongFingerprint => self.end(CloseReason::WrongFingerprint),
            DtlsEvent::Closed => self.end(CloseReason::Remote),
            DtlsEvent::Failed => self.end(CloseReason::Dtls),
        }
    }

    /// Handshake and keys come in either order.
    fn connect(&mut self) {
        if !self.handshake_done || self.srtp.is_none() || self.connected {
            return;
        }
        if self.data.start().is_err() {
            self.end(CloseReason::Dtls);
            return;
        }
        self.connected = true;
        self.events.push_back(Event::Connected);
    }

    fn end(&mut self, reason: CloseReason) {
        if !self.closed {
            self.closed = true;
            self.connected = false;
            self.srtp = None;
            self.events.push_back(Event::Closed(reason));
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When `handle_timeout` is due next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.closed || self.pending.is_some() {
            return None;
        }
        let layers =
            [self.ice.next_deadline(), self.dtls.next_deadline(), self.data.next_deadline()];
        layers.into_iter().flatten().chain([self.expiry()]).min()
    }

    fn expiry(&self) -> Instant {
        match self.ice.last_consent() {
            Some(heard) if self.connected => heard.saturating_add(SILENCE),
            _ => self.began.saturating_add(CONNECTING),
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.closed || self.pending.is_some() {
            return;
        }
        let now = self.forward(now);
        if now >= self.expiry() {
            self.end(if self.connected {
                CloseReason::Silence
            } else {
                CloseReason::NeverConnected
            });
            return;
        }
        self.ice.handle_timeout(now, &mut self.transmits);
        self.dtls.handle_timeout(now);
        self.data.handle_timeout(now);
        self.advance(now);
    }

    /// Protects an RTP packet and makes it the next datagram, with `ecn` on it.
    ///
    /// # Errors
    /// If not connected, or if the payload type is none.
    pub fn send_rtp(&mut self, packet: &RtpPacket<'_>, ecn: Ecn) -> Result<(), WebrtcError> {
        let (Some(srtp), Some(pair)) = (&mut self.srtp, self.ice.selected()) else {
            return Err(WebrtcError::NotConnected);
        };
        self.plain.clear();
        packet.write(&self.negotiated, &mut self.plain)?;
        let bytes = srtp.protect_rtp(&self.plain)?;
        self.transmits.push_back(pair.transmit(bytes, ecn));
        Ok(())
    }

    /// Protects a compound (or reduced-size, RFC 5506) RTCP packet and makes it the next datagram.
    ///
    /// # Errors
    /// If not connected, or if it is shorter than a header.
    pub fn send_rtcp(&mut self, compound: &[u8]) -> Result<(), WebrtcError> {
        let (Some(srtp), Some(pair)) = (&mut self.srtp, self.ice.selected()) else {
            return Err(WebrtcError::NotConnected);
        };
        let bytes = srtp.protect_rtcp(compound)?;
        self.transmits.push_back(pair.transmit(bytes, Ecn::NotEct));
        Ok(())
    }

    /// Opens a data channel; it may be done before the connection stands.
    ///
    /// # Errors
    /// If the label is too long or too many are open.
    pub fn open_channel(&mut self, label: &str, delivery: Delivery) -> Result<u16, WebrtcError> {
        self.data.open(label, delivery)
    }

    /// Sends a message on a data channel.
    ///
    /// # Errors
    /// If not connected, if the channel is not open, or if too much waits on it already.
    pub fn send_data(
        &mut self,
        now: Instant,
        channel: u16,
        bytes: &[u8],
    ) -> Result<(), WebrtcError> {
        if self.closed {
            return Err(WebrtcError::NotConnected);
        }
        self.data.send(channel, bytes)?;
        self.advance(now);
        Ok(())
    }

    /// Says goodbye; send what `poll_transmit` gives.
    pub fn close(&mut self, now: Instant) {
        if !self.closed {
            self.dtls.close();
            self.advance(now);
            self.end(CloseReason::Local);
        }
    }

    /// Whether media may flow.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// What both sides agreed on; empty before a client has its answer.
    #[must_use]
    pub fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// When the other side last proved that it is there (a check every 2.5 s of ours; of browsers about as often).
    #[must_use]
    pub fn last_heard(&self) -> Option<Instant> {
        self.ice.last_consent()
    }

    /// Whether a datagram is for this session and no other: a check that names it, an answer to one of its own, or anything from
    /// an address that ICE has accepted.
    #[must_use]
    pub fn claims(&self, from: impl Into<Remote>, bytes: &[u8]) -> bool {
        match bytes.first() {
            Some(0..=3) => self.ice.is_meant_by(bytes),
            _ => self.ice.accepts(from.into()),
        }
    }

    /// Where media goes.
    #[must_use]
    pub fn remote(&self) -> Option<Remote> {
        self.ice.selected().map(|pair| pair.remote)
    }

    /// From where the other side has proven that it knows this session's password.
    #[must_use]
    pub fn accepted(&self) -> Vec<Remote> {
        self.ice.accepted()
    }

    /// How many datagrams were no message of this session: garbage, forged, replayed, from elsewhere.
    #[must_use]
    pub fn refused_datagrams(&self) -> u64 {
        self.refused
    }

    /// Bytes beside the payload of each video packet on the wire over IPv4, once connected.
    #[must_use]
    pub fn overhead(&self) -> Option<usize> {
        self.srtp.as_ref().map(|srtp| self.negotiated.overhead(srtp.keys().tag))
    }

    /// Bytes beside the payload of each audio packet on the wire over IPv4, once connected.
    #[must_use]
    pub fn audio_overhead(&self) -> Option<usize> {
        self.srtp.as_ref().map(|srtp| Negotiated::audio_overhead(srtp.keys().tag))
    }

    /// The keys of this session, if its configuration exports them. For debugging only: who has them reads
    /// everything.
    #[must_use]
    pub fn exported_keys(&self) -> Option<&SrtpKeys> {
        self.srtp.as_ref().filter(|_| self.exports_keys).map(Srtp::keys)
    }
}
