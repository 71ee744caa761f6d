//! What tests of queues and networks have in common: a packet, and times.

use gameway_path::{
    DropReason, Dropped, Dscp, FlowId, Header, Journey, NetworkPacket, PathPacket, Queue, TcpHeader,
};
use gameway_units::{Bytes, Duration, Ecn, Instant};

/// A packet that can be told from all others of its test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    pub header: Header,
    pub flow: u16,
    pub number: u64,
    pub size: u64,
    pub ecn: Ecn,
    pub tcp: Option<TcpHeader>,
    pub journey: Journey,
}

impl Packet {
    /// Of a flow with a header of its own, not ECN-capable.
    pub const fn new(flow: u16, number: u64, size: u64) -> Self {
        let (header, journey) = (Header::numbered(flow), Journey::new(false));
        Self { header, flow, number, size, ecn: Ecn::NotEct, tcp: None, journey }
    }

    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    pub const fn with_tcp(self, tcp: TcpHeader) -> Self {
        Self { tcp: Some(tcp), ..self }
    }

    /// With the data of its flow, or back.
    pub const fn with_direction(self, returning: bool) -> Self {
        Self { journey: Journey::new(returning), ..self }
    }

    pub const fn with_header(self, header: Header) -> Self {
        Self { header, ..self }
    }
}

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
    fn header(&self) -> Header {
        self.header
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
        self.tcp
    }
}

impl NetworkPacket for Packet {
    fn journey(&self) -> &Journey {
        &self.journey
    }
    fn journey_mut(&mut self) -> &mut Journey {
        &mut self.journey
    }
}

/// What an arrival costs, as a list.
pub trait Offer<P> {
    fn offer(&mut self, now: Instant, packet: P) -> Vec<Dropped<P>>;
}

impl<P, Q: Queue<P> + ?Sized> Offer<P> for Q {
    fn offer(&mut self, now: Instant, packet: P) -> Vec<Dropped<P>> {
        let mut dropped = Vec::new();
        self.enqueue(now, packet, &mut dropped);
        dropped
    }
}

/// Flows and numbers of the packets that an arrival cost for want of room.
pub fn numbers_of(dropped: &[Dropped<Packet>]) -> Vec<(u16, u64)> {
    assert!(dropped.iter().all(|drop| drop.reason == DropReason::Overflow));
    dropped.iter().map(|drop| (drop.packet.flow, drop.packet.number)).collect()
}

/// So many milliseconds after the start.
pub fn millis(count: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(count)
}
