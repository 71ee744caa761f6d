//! A packet on the live path: what the path needs to know, and where its bytes are.

use super::pool::Slot;
use gameway_experiment::{Recorded, Registry};
use gameway_gateway::QuicHeader;
use gameway_path::{
    Direction, Dscp, FlowId, Header, Journey, NetworkPacket, PathPacket, TcpHeader, Traffic,
};
use gameway_units::{Bytes, Ecn};

/// The queues, gateways and congestion controls that the path of a link can name.
pub type LinkRegistry = Registry<Packet>;

/// See the module's head.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its bytes.
    pub slot: Slot,
    /// How many, which is its size on the wire.
    pub size: Bytes,
    /// Its headers; the bytes follow a code point that a queue changes when it leaves the path.
    pub header: Header,
    /// Its ECN field, which queues change here; the bytes follow when it leaves the path.
    pub ecn: Ecn,
    /// Where its TCP header begins.
    pub tcp: Option<usize>,
    /// Identifier and number of an echo request or its reply.
    pub echo: Option<u32>,
    /// What begins as a QUIC packet, if it does.
    pub quic: Option<QuicHeader>,
    /// What that says, for queues that filter acknowledgements.
    pub tcp_header: Option<TcpHeader>,
    /// Its flow.
    pub flow: FlowId,
    /// What a gateway takes its flow for.
    pub traffic: Option<Traffic>,
    /// Which way it goes.
    pub direction: Direction,
    /// Its TCP sequence or acknowledgment number, or a running number.
    pub number: u64,
    /// Where it comes from and what it met so far.
    pub journey: Journey,
}

impl NetworkPacket for Packet {
    fn journey(&self) -> &Journey {
        &self.journey
    }
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
        self.tcp_header
    }
}

impl Recorded for Packet {
    fn identity(&self) -> (&'static str, u64) {
        use gameway_path::Protocol::{Icmp, Tcp, Udp};
        let kind = match (self.header.protocol, self.journey.returning) {
            (Tcp, false) => "tcp",
            (Tcp, true) => "ack",
            (Udp, false) => "udp",
            (Udp, true) => "report",
            (Icmp, false) => "ping",
            (Icmp, true) => "request",
        };
        (kind, self.number)
    }
}
