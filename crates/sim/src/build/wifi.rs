//! A Wi-Fi medium among the flows that are on it.

use crate::hop::{Hop, Wifi};
use crate::network::Flow;
use gameway_events::Name;
use gameway_experiment::build::{self, wifi_config, wifi_refused};
use gameway_experiment::spec::{DropTailSpec, PathSpec, QueueSpec, Text, WifiSpec};
use gameway_experiment::{RunError, random};
use gameway_path::{Limit, Link, Medium};
use gameway_units::{Instant, QueueSize};
use std::net::IpAddr;

/// As Linux's `txqueuelen` of an interface: 1000 packets.
const STATION_QUEUE: QueueSpec =
    QueueSpec::DropTail(DropTailSpec { size: Text(QueueSize::Packets(1000)), mark_above: None });

/// The station of each client, numbered behind the access point; those of one address are one.
fn stations(clients: &[IpAddr]) -> Vec<usize> {
    let mut known: Vec<IpAddr> = Vec::new();
    let mut stations = Vec::with_capacity(clients.len());
    for client in clients {
        let place = known.iter().position(|one| one == client);
        if place.is_none() {
            known.push(*client);
        }
        stations.push(place.map_or(known.len(), |place| place + 1));
    }
    stations
}

/// The medium with the path's queue at its access point and a station for each client of the flows, which
/// have these names.
///
/// # Errors
/// If a key is wrong, or the generation does not have it.
pub fn hop(
    spec: &WifiSpec,
    path: &PathSpec,
    nominal: Link,
    flows: &[Flow],
    (seed, names): (u64, &[Name]),
) -> Result<Hop, RunError> {
    let clients: Vec<IpAddr> = flows.iter().map(|flow| flow.header.destination.address).collect();
    let stations = stations(&clients);
    let capacity = nominal.nominal_capacity(Instant::ZERO);
    let queue = |queue: &QueueSpec, part: &str| {
        let base_rtt = path.nominal_rtt();
        let limit = Limit::of(build::size(queue), capacity, base_rtt);
        build::queue(queue, limit, base_rtt, seed, part)
    };
    let mut all = vec![queue(&path.queue, "path")?];
    for (&station, name) in stations.iter().zip(names) {
        // Stations come in order: this is the first flow of a new one.
        if station == all.len() {
            let own = spec.station_queue.as_ref().unwrap_or(&STATION_QUEUE);
            all.push(queue(own, &format!("{name}/station"))?);
        }
    }
    let random = random::stream(seed, "path/wifi");
    let medium =
        Medium::new(wifi_config(spec)?, all, random).map_err(|error| wifi_refused(&error))?;
    let of_flow = clients.into_iter().zip(stations).collect();
    Ok(Hop::Wifi(Wifi::new(medium, nominal, of_flow)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_to_one_address_share_a_station() {
        let client = |last: u8| IpAddr::from([192, 168, 0, last]);
        let clients = [client(10), client(11), client(10), client(12), client(11)];
        assert_eq!(stations(&clients), [1, 2, 1, 3, 2]);
    }
}
