//! What travels towards the client: a packet of any flow.

use gameway_control::PacketKind;
use gameway_path::{FlowId, PathPacket};
use gameway_session::MediaPacket;
use gameway_tcp::Segment;
use gameway_units::{Bytes, Ecn};

/// An echo reply as the usual `ping` causes it: 20 IPv4 + 8 ICMP + 56 payload.
const PING_REPLY: Bytes = Bytes::new(84);

/// A packet on the path.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowId,
    /// Its size on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What it carries.
    pub content: Content,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// A packet of a game stream.
    Media(MediaPacket),
    /// A TCP segment.
    Tcp(Segment),
    /// The reply to the ping request with this number.
    Ping(u64),
}

impl Packet {
    /// A packet of `flow`, not ECN-capable.
    pub fn new(flow: FlowId, content: Content) -> Self {
        let size = match &content {
            Content::Media(media) => media.wire_size(),
            Content::Tcp(segment) => segment.wire_size(),
            Content::Ping(_) => PING_REPLY,
        };
        Self { flow, size, ecn: Ecn::NotEct, content }
    }
}

impl Content {
    /// Its kind and number as the log of packets names them.
    pub fn identity(&self) -> (&'static str, u64) {
        match self {
            Self::Media(media) => {
                let kind = match media.kind {
                    PacketKind::Media => "media",
                    PacketKind::Repair => "repair",
                    PacketKind::Probe => "probe",
                    PacketKind::Padding => "padding",
                };
                (kind, media.sequence.0)
            }
            Self::Tcp(segment) => ("tcp", segment.sequence),
            Self::Ping(number) => ("ping", *number),
        }
    }
}

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        self.size
    }
    fn flow(&self) -> FlowId {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
}
