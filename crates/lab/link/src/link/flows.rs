//! Which flow a packet belongs to: its server's address says so.

use super::config::FlowConfig;
use super::packet::Packet;
use super::pool::Slot;
use super::tcp_header::tcp_header;
use super::wire::{self, Parsed};
use gameway_events::{BIN, Name};
use gameway_experiment::FlowOf;
use gameway_experiment::build::FlowWay;
use gameway_experiment::spec::Way;
use gameway_path::{Direction, FlowId, Header, Journey};
use gameway_units::Duration;
use std::net::IpAddr;

/// Name of what is of no flow, where its parts need one.
const OTHER: &str = "other";

/// The flows of a link.
#[derive(Debug, Clone)]
pub struct Flows {
    flows: Vec<FlowConfig>,
    /// Packets so far, of each flow and of what is of none.
    counts: Vec<u64>,
    observe_interval: Duration,
}

/// The number of the flow with this server, or of the one that takes all others.
fn number(flows: &[FlowConfig], server: IpAddr) -> Option<usize> {
    let all_others = || flows.iter().position(|flow| flow.address.is_none());
    flows.iter().position(|flow| flow.address == Some(server)).or_else(all_others)
}

impl Flows {
    /// These flows; controllers and gateways are observed so often.
    #[must_use]
    pub fn new(flows: Vec<FlowConfig>, observe_interval: Option<Duration>) -> Self {
        let counts = vec![0; flows.len() + 1];
        Self { flows, counts, observe_interval: observe_interval.unwrap_or(BIN) }
    }

    /// The names of the flows that are recorded.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.flows.iter().map(|flow| Name::from(flow.name.as_str()))
    }

    /// Where each flow goes, and last what is of none; each has a client of its own, as in the simulator.
    #[must_use]
    pub fn ways(&self) -> Vec<FlowWay<'_>> {
        let own = self.flows.iter().map(|flow| (flow.name.as_str(), flow.way()));
        let all = own.chain([(OTHER, Way::DEFAULT)]).zip(1..);
        all.map(|((name, way), station)| FlowWay { name, way, station }).collect()
    }

    /// How often controllers and gateways are observed.
    #[must_use]
    pub const fn observe_interval(&self) -> Duration {
        self.observe_interval
    }

    /// Packets that were of no flow.
    #[must_use]
    pub fn others(&self) -> u64 {
        self.counts[self.flows.len()]
    }

    /// The packet of these headers that goes this way; its bytes are in the slot.
    pub fn packet(
        &mut self,
        direction: Direction,
        slot: Slot,
        bytes: &[u8],
        parsed: &Parsed,
    ) -> Packet {
        let Parsed { header, ecn, size, tcp, echo, quic } = *parsed;
        let server = match direction {
            Direction::Down => header.source.address,
            Direction::Up => header.destination.address,
        };
        let flow = number(&self.flows, server).unwrap_or(self.flows.len());
        self.counts[flow] += 1;
        let upwards = self.flows.get(flow).is_some_and(|flow| flow.upwards);
        let returning = (direction == Direction::Up) != upwards;
        let segment = tcp.and_then(|at| wire::segment(bytes, header, size, at));
        let number = match segment {
            Some(segment) if returning => segment.acknowledgment.into(),
            Some(segment) => segment.sequence.into(),
            None => self.counts[flow],
        };
        Packet {
            slot,
            size,
            header,
            ecn,
            tcp,
            echo,
            quic,
            tcp_header: tcp.and_then(|at| tcp_header(&bytes[..size.get() as usize], at)),
            flow: FlowId(flow as u16),
            traffic: None,
            direction,
            number,
            journey: Journey::new(returning),
        }
    }

    /// What finds the flow of a header that goes either way.
    #[must_use]
    pub fn by_header(&self) -> FlowOf {
        let flows = self.flows.clone();
        Box::new(move |header: &Header| {
            let ends = [header.source.address, header.destination.address];
            let known = |address: &IpAddr| flows.iter().any(|flow| flow.address == Some(*address));
            let server = ends.into_iter().find(known).unwrap_or(ends[0]);
            number(&flows, server).map(|number| FlowId(number as u16))
        })
    }
}
