//! What else takes, holds or passes on packets at the home's interface.
//!
//! The order of a packet's way is that of `net/core/dev.c` of Linux 6.1: on its way in, tc (TCX, then filters of clsact), then
//! nftables' hook `ingress`, where a table of flows (`net/netfilter/nf_flow_table_ip.c`) takes what it knows, then the bridge; on its
//! way out, tc of the interface that sends. A table of flows of Linux 5.13 or later hands a packet for a bridge to the bridge's port
//! (`nft_dev_forward_path`), past the bridge's own tc, if that port is one of the table's devices; and takes what comes from the home
//! at that port, before the bridge. So a gateway at the bridge sees nothing of such a
//! connection but its first packets. Of a table with the bridge itself, or with other devices alone, it sees all: what the table takes is
//! sent through tc of the interface that it leaves by. `python/tests/test_gateway_machine.py` counts that on Linux 6.1.

use super::{Check, Place};
use crate::data_path::{is_own, programs_at};
use crate::netlink::{self, FlowTable, Interface, Qdisc, Station, Wifi};
use crate::own_queue::is_own as is_own_queue;

/// Queues that hold nothing back, or hold it shortly: Linux's defaults, and what tc hangs filters on.
const PLAIN: [&str; 7] = ["noqueue", "fq_codel", "fq", "pfifo_fast", "mq", "clsact", "ingress"];
/// Features by which devices pass on or join packets.
const LARGE_RECEIVE: &str = "rx-lro";
const HARDWARE_FLOWS: &str = "hw-tc-offload";

/// Other programs and filters of tc.
pub(super) fn others(place: &Place) -> Check {
    const NAME: &str = "other filters";
    let mut found = match netlink::filters(place.home.index) {
        Ok(found) => found,
        Err(error) => return unknown(NAME, &error),
    };
    found.extend(programs_at(&place.home.name));
    let is_running = found.iter().any(|one| is_own(one));
    found.retain(|one| !is_own(one));
    found.dedup();
    if !found.is_empty() {
        let found = format!(
            "{} has programs or filters of tc already: {}",
            place.home.name,
            found.join(", ")
        );
        let mend = "leave them where they only look or mark; what they drop or send elsewhere, the gateway does not count";
        return Check::warning(NAME, found, mend);
    }
    let own =
        if is_running { "the programs of a gateway that runs, and no others" } else { "none" };
    Check::ok(NAME, own)
}

/// Queues at the home's side.
pub(super) fn queues(place: &Place) -> Check {
    match netlink::qdiscs() {
        Ok(all) => queues_of(place, &all),
        Err(error) => unknown("queues", &error),
    }
}

fn queues_of(place: &Place, all: &[Qdisc]) -> Check {
    const NAME: &str = "queues";
    let kinds_of = |one: &Interface| {
        let own =
            all.iter().filter(|queue| queue.interface == one.index && !is_own_queue(queue.handle));
        own.map(|queue| queue.kind.clone()).collect::<Vec<_>>()
    };
    let found = place.all().flat_map(|one| {
        kinds_of(one).into_iter().map(|kind| (one.name.clone(), kind)).collect::<Vec<_>>()
    });
    let mut shaping: Vec<String> = found
        .filter(|(_, kind)| !PLAIN.contains(&kind.as_str()))
        .map(|(name, kind)| format!("{kind} at {name}"))
        .collect();
    shaping.dedup();
    let has_own =
        all.iter().any(|one| one.interface == place.home.index && is_own_queue(one.handle));
    if shaping.is_empty() && has_own {
        return Check::ok(NAME, "the queue of a gateway in mode \"shape\", and no others");
    }
    if shaping.is_empty() {
        return Check::ok(NAME, "nothing that shapes towards the home");
    }
    Check::warning(
        NAME,
        format!("{}: what waits there counts in mode \"windows\" alone", shaping.join(", ")),
        "take a shaper away that stands there for the downloads: the gateway needs none",
    )
}

/// What waits for stations, where an interface at the home's side is one of Wi-Fi.
pub(super) fn wifi(place: &Place) -> Option<Check> {
    let found = place.all().filter(|one| netlink::is_wifi(&one.name));
    let stations = |one: &Interface| Wifi::open().and_then(|wifi| wifi.stations(one.index));
    let known: Vec<_> =
        found.map(|one| (one.name.as_str(), stations(one).unwrap_or_default())).collect();
    wifi_of(&known)
}

fn wifi_of(interfaces: &[(&str, Vec<Station>)]) -> Option<Check> {
    const NAME: &str = "Wi-Fi";
    let has_own = |stations: &[Station]| stations.iter().any(|one| one.queues.is_empty());
    let unseen = interfaces.iter().filter(|(_, stations)| has_own(stations));
    let unseen = unseen.map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if !unseen.is_empty() {
        let found = format!(
            "the driver of {unseen} has queues of its own for stations: what waits there the gateway does not see"
        );
        let mend = "Linux 6.2 or newer has them for all drivers of mac80211";
        return Some(Check::warning(NAME, found, mend));
    }
    let all = interfaces.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let stations: usize = interfaces.iter().map(|(_, stations)| stations.len()).sum();
    let found = format!(
        "{all}, with stations: {stations}; what waits for them counts in mode \"windows\", best with `windows.target = \"frames\"`"
    );
    (!interfaces.is_empty()).then(|| Check::ok(NAME, found))
}

/// Tables of flows of nftables.
pub(super) fn flow_tables(place: &Place) -> Check {
    match netlink::flow_tables() {
        Ok(tables) => flow_tables_of(place, &tables),
        Err(error) => unknown("flow tables", &error),
    }
}

fn flow_tables_of(place: &Place, tables: &[FlowTable]) -> Check {
    const NAME: &str = "flow tables";
    let is_port = |device: &String| place.ports.iter().any(|one| one.name == *device);
    let off = "switch it off (OpenWrt: flow_offloading and flow_offloading_hw are 0 in /etc/config/firewall), or take the ports of the home's bridge out of its devices";
    if let Some(table) = tables.iter().find(|table| table.is_hardware) {
        let devices = table.devices.join(", ");
        let found = format!(
            "{} has {devices} pass on connections in hardware: the gateway sees their first packets only",
            table.name
        );
        return Check::fault(NAME, found, off);
    }
    if let Some(table) = tables.iter().find(|table| table.devices.iter().any(is_port)) {
        let ports: Vec<_> = table.devices.iter().filter(|one| is_port(one)).cloned().collect();
        let found = format!(
            "{} takes packets at {}, before {} and past it: the gateway sees the first packets of a connection only",
            table.name,
            ports.join(", "),
            place.home.name
        );
        return Check::fault(NAME, found, off);
    }
    match tables {
        [] => Check::ok(NAME, "none"),
        [table, ..] => {
            let devices = table.devices.join(", ");
            Check::ok(
                NAME,
                format!("{} takes packets at {devices}: the gateway sees them all", table.name),
            )
        }
    }
}

/// What devices do by themselves.
pub(super) fn offloads(place: &Place) -> Check {
    let mut features = Vec::new();
    for one in place.all() {
        match netlink::features(&one.name) {
            Ok(found) => features.push((one.name.as_str(), found)),
            Err(error) => return unknown("offloads", &error),
        }
    }
    offloads_of(&features)
}

fn offloads_of(features: &[(&str, Vec<String>)]) -> Check {
    const NAME: &str = "offloads";
    let with = |feature: &str| {
        let has = |(_, found): &&(&str, Vec<String>)| found.iter().any(|one| one == feature);
        features.iter().filter(has).map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let (flows, joins) = (with(HARDWARE_FLOWS), with(LARGE_RECEIVE));
    if !flows.is_empty() {
        return Check::warning(
            NAME,
            format!("{flows} may pass on packets in hardware for filters of tc (hw-tc-offload)"),
            format!("`ethtool -K DEVICE hw-tc-offload off`, if something uses it: {flows}"),
        );
    }
    if !joins.is_empty() {
        return Check::warning(
            NAME,
            format!("{joins} joins segments so that they cannot be told apart (LRO)"),
            "the kernel switches it off where it forwards; `ethtool -K DEVICE lro off` does so by hand",
        );
    }
    Check::ok(NAME, "what the kernel joins (GRO) is read as it was on the wire; nothing else")
}

fn unknown(name: &'static str, error: &std::io::Error) -> Check {
    Check::warning(name, format!("the kernel does not tell: {error}"), "look by hand")
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use crate::netlink::StationQueue;
    use crate::own_queue::HANDLE;

    fn interface(index: u32, name: &str, kind: &str) -> Interface {
        let (name, kind) = (name.to_owned(), kind.to_owned());
        Interface { index, name, is_up: true, has_carrier: true, kind, master: None }
    }

    fn place() -> Place {
        let ports = vec![interface(3, "lan1", ""), interface(4, "lan2", "")];
        Place { home: interface(2, "br-lan", "bridge"), ports }
    }

    fn table(devices: &[&str], is_hardware: bool) -> FlowTable {
        let devices = devices.iter().map(|one| (*one).to_owned()).collect();
        FlowTable { name: "fw4 ft".to_owned(), devices, is_hardware }
    }

    #[test]
    fn flows_that_pass_by_are_a_fault() {
        for (tables, state, word) in [
            (vec![], State::Ok, "none"),
            (vec![table(&["wan", "lan1"], true)], State::Fault, "in hardware"),
            (vec![table(&["wan", "lan2"], false)], State::Fault, "at lan2, before br-lan"),
            (vec![table(&["br-lan", "wan"], false)], State::Ok, "sees them all"),
            (vec![table(&["wan", "guest"], false)], State::Ok, "sees them all"),
        ] {
            let check = flow_tables_of(&place(), &tables);
            assert_eq!(check.state, state, "{check:?}");
            assert!(check.found.contains(word), "{check:?}");
        }
    }

    #[test]
    fn a_shaper_towards_the_home_is_told() {
        let with_handle = |interface, kind: &str, handle| {
            let kind = kind.to_owned();
            Qdisc { interface, kind, handle, parent: netlink::ROOT }
        };
        let queue = |interface, kind| with_handle(interface, kind, 0x1_0000);
        let plain = [queue(2, "noqueue"), queue(3, "fq_codel"), queue(9, "htb")];
        assert_eq!(queues_of(&place(), &plain).state, State::Ok);
        let own = queues_of(&place(), &[with_handle(2, "htb", HANDLE)]);
        assert_eq!(own.state, State::Ok);
        assert!(own.found.starts_with("the queue of a gateway"), "{}", own.found);
        let shaped = queues_of(&place(), &[queue(3, "cake"), queue(2, "htb")]);
        assert_eq!(shaped.state, State::Warning);
        assert!(shaped.found.starts_with("htb at br-lan, cake at lan1: "), "{}", shaped.found);
    }

    #[test]
    fn what_waits_for_stations_of_wifi_is_counted_where_the_kernel_has_their_queues() {
        let queue = StationQueue { identifier: 0, sent_bytes: 0, backlog_bytes: 0 };
        let station =
            |queues: &[StationQueue]| Station { address: [2; 6], queues: queues.to_vec() };
        assert_eq!(wifi_of(&[]), None);
        let seen = [("wlan0", vec![station(&[queue])]), ("wlan1", vec![])];
        let check = wifi_of(&seen).expect("there is Wi-Fi");
        assert_eq!(check.state, State::Ok);
        assert!(check.found.starts_with("wlan0, wlan1, with stations: 1; "), "{}", check.found);
        let unseen = [("wlan0", vec![station(&[queue])]), ("wlan1", vec![station(&[])])];
        let check = wifi_of(&unseen).expect("there is Wi-Fi");
        assert_eq!(check.state, State::Warning);
        assert!(check.found.starts_with("the driver of wlan1 has queues"), "{}", check.found);
    }

    #[test]
    fn what_devices_do_by_themselves_is_told() {
        let of = |name, feature: &str| (name, vec![feature.to_owned()]);
        assert_eq!(offloads_of(&[of("lan1", "rx-gro")]).state, State::Ok);
        let hardware = offloads_of(&[of("lan1", "rx-gro"), of("lan2", HARDWARE_FLOWS)]);
        assert!(hardware.found.starts_with("lan2 may pass on"), "{}", hardware.found);
        assert_eq!(offloads_of(&[of("lan1", LARGE_RECEIVE)]).state, State::Warning);
    }
}
