//! What travels between servers and clients: a packet of any flow, either way.

use crate::tcp_header::tcp_header;
use gameway_control::PacketKind;
use gameway_experiment::Recorded;
use gameway_path::{Dscp, FlowId, Header, Journey, NetworkPacket, PathPacket, TcpHeader, Traffic};
use gameway_quic::ServerDatagram;
use gameway_session::MediaPacket;
use gameway_tcp::Segment;
use gameway_units::{Bytes, Ecn};

/// An echo request or reply of the usual `ping`: 20 IPv4 + 8 ICMP + 56 payload.
pub const PING_SIZE: Bytes = Bytes::new(84);

/// A packet on the path.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowId,
    /// Its size on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its headers, which the network writes when the packet is sent.
    pub header: Header,
    /// What a gateway takes its flow for.
    pub traffic: Option<Traffic>,
    /// Of a flow that opens several connections: which.
    pub connection: u32,
    /// Where it comes from and what it met so far.
    pub journey: Journey,
    /// What it carries.
    pub content: Content,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// A packet of a game stream.
    Media(MediaPacket),
    /// A report of a game stream's receiver, which keeps what it says under this number.
    Report(u64),
    /// A TCP segment.
    Tcp(Segment),
    /// A datagram of a QUIC server.
    Quic(ServerDatagram),
    /// A datagram of a QUIC client, which keeps what it says under this number, and its spin bit, if it has one.
    QuicReturn(u64, Option<bool>),
    /// The request or the reply of the ping with this number.
    Ping(u64),
    /// A packet at a constant rate.
    Udp(u64),
}

impl Packet {
    /// A packet of `flow` with data, not ECN-capable.
    pub fn new(flow: FlowId, size: Bytes, content: Content) -> Self {
        Self {
            flow,
            size,
            ecn: Ecn::NotEct,
            header: Header::numbered(flow.0),
            traffic: None,
            connection: 0,
            journey: Journey::new(false),
            content,
        }
    }

    /// A packet of `flow` that its receiver sends back.
    pub fn back(flow: FlowId, size: Bytes, content: Content) -> Self {
        Self { journey: Journey::new(true), ..Self::new(flow, size, content) }
    }

    /// A TCP segment of `flow`, with the ECN field that its end gave it.
    pub fn of_segment(flow: FlowId, segment: Segment) -> Self {
        Self { ecn: segment.ecn, ..Self::new(flow, segment.wire_size(), Content::Tcp(segment)) }
    }

    /// One that its receiver sends back.
    pub fn back_of_segment(flow: FlowId, segment: Segment) -> Self {
        Self { journey: Journey::new(true), ..Self::of_segment(flow, segment) }
    }

    /// Its TCP segment as it arrived: queues mark the packet.
    pub fn segment(&self) -> Option<Segment> {
        let Content::Tcp(segment) = &self.content else { return None };
        Some(Segment { ecn: self.ecn, ..*segment })
    }
}

impl Recorded for Packet {
    fn identity(&self) -> (&'static str, u64) {
        match &self.content {
            Content::Media(media) => {
                let kind = match media.kind {
                    PacketKind::Media => "media",
                    PacketKind::Repair => "repair",
                    PacketKind::Probe => "probe",
                    PacketKind::Padding => "padding",
                    PacketKind::Retransmission => "retransmission",
                };
                (kind, media.sequence.0)
            }
            Content::Report(number) => ("report", *number),
            Content::Tcp(segment) if self.journey.returning => ("ack", segment.acknowledgment),
            Content::Tcp(segment) => ("tcp", segment.sequence),
            Content::Quic(datagram) => ("quic", datagram.number().unwrap_or_default()),
            Content::QuicReturn(number, _) => ("quic-return", *number),
            Content::Ping(number) if self.journey.returning => ("request", *number),
            Content::Ping(number) => ("ping", *number),
            Content::Udp(number) => ("udp", *number),
        }
    }
}

impl NetworkPacket for Packet {
    #[inline]
    fn journey(&self) -> &Journey {
        &self.journey
    }
    #[inline]
    fn journey_mut(&mut self) -> &mut Journey {
        &mut self.journey
    }
}

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        self.size
    }
    fn flow(&self) -> FlowId {
        self.flow
    }
    fn header(&self) -> Header {
        self.header
    }
    fn traffic(&self) -> Option<Traffic> {
        self.traffic
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn set_dscp(&mut self, dscp: Dscp) {
        self.header.dscp = dscp;
    }
    fn tcp(&self) -> Option<TcpHeader> {
        match &self.content {
            Content::Tcp(segment) => Some(tcp_header(segment)),
            _ => None,
        }
    }
}
