//! Data channels: SCTP (RFC 8831) in DTLS, opened in band (RFC 8832).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | SCTP packet | 1100 B | fits into 1200 B of UDP payload with DTLS around it |
//! | channels | 64 | a page needs two or three |
//! | message | 64 KiB | `max-message-size` of our descriptions |
//! | waiting to be sent | 1 MiB | what a channel that is not read may hold |

use crate::clock::TimeBase;
use crate::error::WebrtcError;
use crate::sdp::MAX_MESSAGE;
use bytes::Bytes;
use gameway_units::Instant;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event,
    Payload, PayloadProtocolIdentifier as Protocol, ReliabilityType, ServerConfig, StreamEvent,
    Transmit, TransportConfig,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

const PACKET: u32 = 1_100;
const MAX_CHANNELS: usize = 64;
const MAX_WAITING: usize = 1 << 20;
/// SCTP runs inside DTLS and sees no addresses.
const INSIDE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);

const OPEN: u8 = 3;
const ACKNOWLEDGE: u8 = 2;
/// Label and protocol of an open message.
const MAX_LABEL: usize = 256;

/// How a channel delivers (RFC 8832 section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// In the order in which messages were sent.
    pub ordered: bool,
    /// How often a message is sent again at most; `None` until it arrives.
    pub retransmissions: Option<u32>,
}

impl Delivery {
    /// In order, each message.
    pub const RELIABLE: Self = Self { ordered: true, retransmissions: None };
    /// As it comes, once.
    pub const UNRELIABLE: Self = Self { ordered: false, retransmissions: Some(0) };
}

/// What happened on the channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataEvent {
    Opened { channel: u16, label: String },
    Message { channel: u16, label: String, bytes: Vec<u8> },
    Closed { channel: u16 },
}

#[derive(Debug)]
struct Channel {
    label: String,
    delivery: Delivery,
    /// Ours, and not yet opened at SCTP.
    waiting: bool,
}

/// All channels of a session.
#[derive(Debug)]
pub(crate) struct DataChannels {
    base: TimeBase,
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    channels: BTreeMap<u16, Channel>,
    is_client: bool,
    next_channel: u16,
    established: bool,
    pub(crate) events: VecDeque<DataEvent>,
}

impl DataChannels {
    /// `is_client`: has DTLS's client role, which begins, and even channel numbers (RFC 8832 section 6).
    pub(crate) fn new(base: TimeBase, is_client: bool) -> Self {
        let mut config = EndpointConfig::new();
        config.max_payload_size(PACKET);
        let mut server = ServerConfig::new();
        server.transport = transport();
        Self {
            base,
            endpoint: Endpoint::new(Arc::new(config), Some(Arc::new(server))),
            association: None,
            channels: BTreeMap::new(),
            is_client,
            next_channel: u16::from(!is_client),
            established: false,
            events: VecDeque::new(),
        }
    }

    /// DTLS stands: begins.
    pub(crate) fn start(&mut self) -> Result<(), WebrtcError> {
        if self.is_client && self.association.is_none() {
            let mut config = ClientConfig::new();
            config.transport = transport();
            let association = self.endpoint.connect(config, INSIDE);
            self.association = Some(association.map_err(|e| WebrtcError::layer("SCTP", e))?);
        }
        Ok(())
    }

    pub(crate) fn open(&mut self, label: &str, delivery: Delivery) -> Result<u16, WebrtcError> {
        if label.len() > MAX_LABEL {
            return Err(WebrtcError::TooLarge {
                what: "a data channel's label",
                size: label.len(),
                limit: MAX_LABEL,
            });
        }
        if self.channels.len() >= MAX_CHANNELS {
            return Err(WebrtcError::layer("data channel", "64 channels are open already"));
        }
        let number = self.next_channel;
        self.next_channel += 2;
        let channel = Channel { label: label.to_owned(), delivery, waiting: true };
        self.channels.insert(number, channel);
        self.open_waiting();
        Ok(number)
    }

    fn open_waiting(&mut self) {
        let Some((_, association)) = &mut self.association else { return };
        if !self.established {
            return;
        }
        for (number, channel) in self.channels.iter_mut().filter(|(_, channel)| channel.waiting) {
            channel.waiting = false;
            let Ok(mut stream) = association.open_stream(*number, Protocol::Unknown) else {
                continue;
            };
            // The opening itself must arrive (RFC 8832 section 6): the channel's own way applies after it.
            let _ = stream.write_with_ppi(&open_message(channel), Protocol::Dcep);
            let _ = set_delivery(&mut stream, channel.delivery);
        }
    }

    pub(crate) fn send(&mut self, channel: u16, bytes: &[u8]) -> Result<(), WebrtcError> {
        if bytes.len() > MAX_MESSAGE as usize {
            let (size, limit) = (bytes.len(), MAX_MESSAGE as usize);
            return Err(WebrtcError::TooLarge { what: "a data message", size, limit });
        }
        let association = self.association.as_mut().filter(|_| self.established);
        let Some((_, association)) = association else { return Err(WebrtcError::NotConnected) };
        let mut stream =
            association.stream(channel).map_err(|e| WebrtcError::layer("data channel", e))?;
        if stream.buffered_amount().unwrap_or(0) > MAX_WAITING {
            return Err(WebrtcError::layer("data channel", "1 MiB waits to be sent already"));
        }
        // An empty message travels as one byte (RFC 8831 section 6.6).
        let (bytes, protocol) = match bytes {
            [] => (&[0][..], Protocol::BinaryEmpty),
            bytes => (bytes, Protocol::Binary),
        };
        stream.write_with_ppi(bytes, protocol).map_err(|e| WebrtcError::layer("SCTP", e))?;
        Ok(())
    }

    /// Takes a packet out of DTLS.
    pub(crate) fn handle(&mut self, now: Instant, bytes: &[u8]) {
        let now = self.base.standard(now);
        let packet = Bytes::copy_from_slice(bytes);
        match self.endpoint.handle(now, INSIDE, None, None, packet) {
            // One association for a session; a repeated beginning changes nothing.
            Some((handle, DatagramEvent::NewAssociation(association)))
                if self.association.is_none() =>
            {
                self.association = Some((handle, association));
            }
            Some((handle, DatagramEvent::AssociationEvent(event))) => {
                if let Some((ours, association)) = &mut self.association
                    && *ours == handle
                {
                    association.handle_event(event);
                }
            }
            _ => {}
        }
        self.advance();
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let now = self.base.standard(now);
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        self.advance();
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let (_, association) = self.association.as_ref()?;
        self.base.ours(association.poll_timeout()?)
    }

    /// Packets to put into DTLS.
    pub(crate) fn poll_transmit(&mut self, now: Instant, mut put: impl FnMut(&[u8])) {
        let now = self.base.standard(now);
        while let Some(transmit) = self.endpoint.poll_transmit() {
            put_all(transmit, &mut put);
        }
        if let Some((_, association)) = &mut self.association {
            while let Some(transmit) = association.poll_transmit(now) {
                put_all(transmit, &mut put);
            }
        }
    }

    fn advance(&mut self) {
        let Some((handle, association)) = &mut self.association else { return };
        while let Some(event) = association.poll_endpoint_event() {
            if let Some(back) = self.endpoint.handle_event(*handle, event) {
                association.handle_event(back);
            }
        }
        let mut readable = Vec::new();
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.established = true,
                Event::AssociationLost { .. } | Event::HandshakeFailed { .. } => {
                    self.established = false;
                }
                Event::Stream(StreamEvent::Readable { id }) => readable.push(id),
                Event::Stream(StreamEvent::Finished { id } | StreamEvent::Stopped { id, .. })
                    if self.channels.remove(&id).is_some() =>
                {
                    self.events.push_back(DataEvent::Closed { channel: id });
                }
                _ => {}
            }
        }
        for id in readable {
            self.read(id);
        }
        self.open_waiting();
    }

    fn read(&mut self, id: u16) {
        loop {
            let Some((_, association)) = &mut self.association else { return };
            let Ok(mut stream) = association.stream(id) else { return };
            let Ok(Some(chunks)) = stream.read() else { return };
            let mut bytes = vec![0; chunks.len()];
            if chunks.read(&mut bytes).is_err() {
                return;
            }
            match chunks.ppi {
                Protocol::Dcep => self.on_control(id, &bytes),
                Protocol::StringEmpty | Protocol::BinaryEmpty => self.on_message(id, Vec::new()),
                _ => self.on_message(id, bytes),
            }
        }
    }

    fn on_message(&mut self, channel: u16, bytes: Vec<u8>) {
        // Unordered data may overtake the opening (RFC 8832 section 6); it is of an unknown channel then.
        let label = self.channels.get(&channel).map(|it| it.label.clone()).unwrap_or_default();
        self.events.push_back(DataEvent::Message { channel, label, bytes });
    }

    fn on_control(&mut self, id: u16, bytes: &[u8]) {
        let is_theirs = (id & 1 == 0) != self.is_client;
        let Some((_, association)) = &mut self.association else { return };
        let Some((label, delivery)) = parse_open(bytes).filter(|_| is_theirs) else { return };
        if self.channels.len() >= MAX_CHANNELS || self.channels.contains_key(&id) {
            return;
        }
        if let Ok(mut stream) = association.stream(id) {
            let _ = stream.write_with_ppi(&[ACKNOWLEDGE], Protocol::Dcep);
            let _ = set_delivery(&mut stream, delivery);
        }
        self.channels.insert(id, Channel { label: label.clone(), delivery, waiting: false });
        self.events.push_back(DataEvent::Opened { channel: id, label });
    }
}

fn transport() -> Arc<TransportConfig> {
    Arc::new(
        TransportConfig::default()
            .with_max_send_message_size(MAX_MESSAGE)
            .with_max_receive_message_size(MAX_MESSAGE)
            .with_max_num_inbound_streams(MAX_CHANNELS as u16 * 4)
            // RFC 4960's 3 s would make the first message late; DTLS has just shown that the path works.
            .with_rto_initial_ms(400)
            .with_rto_min_ms(100)
            .with_rto_max_ms(2_000)
            // A blackout is the session's business; the association outlives it.
            .with_max_data_retransmits(None)
            .with_max_init_retransmits(None),
    )
}

fn put_all(transmit: Transmit, put: &mut impl FnMut(&[u8])) {
    if let Payload::RawEncode(packets) = transmit.payload {
        packets.iter().for_each(|packet| put(packet));
    }
}

fn set_delivery(
    stream: &mut sctp_proto::Stream<'_>,
    delivery: Delivery,
) -> Result<(), sctp_proto::Error> {
    let (kind, value) = match delivery.retransmissions {
        None => (ReliabilityType::Reliable, 0),
        Some(times) => (ReliabilityType::Rexmit, times),
    };
    stream.set_reliability_params(!delivery.ordered, kind, value)
}

/// RFC 8832 section 5.1.
fn open_message(channel: &Channel) -> Vec<u8> {
    let Channel { label, delivery, .. } = channel;
    let kind = u8::from(delivery.retransmissions.is_some()) | u8::from(!delivery.ordered) << 7;
    let mut bytes = vec![OPEN, kind, 0, 0];
    bytes.extend(delivery.retransmissions.unwrap_or(0).to_be_bytes());
    bytes.extend((label.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(label.as_bytes());
    bytes
}

/// Label and delivery of an open message; a lifetime in milliseconds is taken as "once".
#[must_use]
pub fn parse_open(bytes: &[u8]) -> Option<(String, Delivery)> {
    let head = bytes.get(..12).filter(|head| head[0] == OPEN)?;
    let length = usize::from(u16::from_be_bytes([head[8], head[9]]));
    let label = bytes.get(12..12 + length).filter(|_| length <= MAX_LABEL)?;
    let times = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    let retransmissions = match head[1] & 0x7F {
        0 => None,
        1 => Some(times),
        2 => Some(0),
        _ => return None,
    };
    let ordered = head[1] & 0x80 == 0;
    Some((String::from_utf8(label.to_vec()).ok()?, Delivery { ordered, retransmissions }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_read_as_it_was_written() {
        let ways = [
            Delivery::RELIABLE,
            Delivery::UNRELIABLE,
            Delivery { ordered: true, retransmissions: Some(3) },
        ];
        for delivery in ways {
            let channel = Channel { label: "frames".to_owned(), delivery, waiting: true };
            let message = open_message(&channel);
            assert_eq!(parse_open(&message), Some(("frames".to_owned(), delivery)));
            assert_eq!(parse_open(&message[..message.len() - 1]), None);
        }
        assert_eq!(parse_open(&[ACKNOWLEDGE]), None);
    }
}
