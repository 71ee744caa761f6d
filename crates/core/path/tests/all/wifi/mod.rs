//! The Wi-Fi medium: times by hand, throughput by Bianchi's model, and what must hold whatever comes.

mod anomaly;
mod bianchi;
mod medium;
mod sending;
mod timing;

use gameway_path::{DropReason, DropTail, FlowId, Header, Limit, Medium, PathPacket, WifiConfig};
use gameway_units::{Bytes, Ecn, Instant};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::{IpAddr, Ipv4Addr};

/// A packet to or from a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub station: u16,
    pub size: u64,
}

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn flow(&self) -> FlowId {
        FlowId(self.station)
    }
    fn header(&self) -> Header {
        let mut header = Header::numbered(self.station);
        header.destination.address =
            IpAddr::V4(Ipv4Addr::from(0xC0A8_0000 + u32::from(self.station)));
        header
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
}

pub type Home = Medium<Packet, DropTail<Packet>>;

/// An access point and so many stations, each with a queue of so many packets.
pub fn home(config: WifiConfig, stations: usize, queue: u64, seed: u64) -> Home {
    let queues = (0..=stations).map(|_| DropTail::new(Limit::Packets(queue)));
    Medium::new(config, queues, Xoshiro256PlusPlus::seed_from_u64(seed)).unwrap()
}

/// What nodes that always have something to send got through.
pub struct Saturated {
    pub end: Instant,
    /// Packets of each node.
    pub delivered: Vec<u64>,
    pub given_up: u64,
}

impl Saturated {
    pub fn mbps(&self, size: u64) -> f64 {
        let bytes = self.delivered.iter().sum::<u64>() * size;
        bytes as f64 * 8.0 / self.end.as_secs_f64() / 1e6
    }
}

/// Stations 1 to `stations` always have packets of this size, until so many have been delivered.
pub fn saturate(
    config: WifiConfig,
    stations: usize,
    size: u64,
    packets: u64,
    seed: u64,
) -> Saturated {
    let mut home = home(config, stations, 1000, seed);
    let backlog = 2 * config.aggregation.packets as u64;
    let packet = |station: usize, number| Packet { number, station: station as u16, size };
    for station in 1..=stations {
        for number in 0..backlog {
            home.arrive(Instant::ZERO, station, packet(station, number));
        }
    }
    let (mut delivered, mut given_up, mut end) = (vec![0; stations + 1], 0, Instant::ZERO);
    while delivered.iter().sum::<u64>() < packets {
        end = home.next_deadline().expect("there is always something to send");
        home.on_deadline(end);
        while let Some(done) = home.poll_delivered() {
            let station = usize::from(done.packet.station);
            delivered[station] += 1;
            home.arrive(end, station, packet(station, 0));
        }
        let lost: Vec<_> = home.drain_dropped().collect();
        for lost in lost {
            assert_eq!(lost.reason, DropReason::RetryLimit);
            given_up += 1;
            home.arrive(end, usize::from(lost.packet.station), lost.packet);
        }
    }
    Saturated { end, delivered, given_up }
}
