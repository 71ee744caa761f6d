//! What comes from a device: any bytes are read, marked and have their window lowered; nothing else changes.
#![no_main]

use gameway_link::link::wire;
use gameway_units::Ecn;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut packet = bytes.to_vec();
    let Some(before) = wire::parse(&packet) else { return };
    assert!(before.size.get() as usize <= packet.len());

    wire::mark(&mut packet);
    let marked = wire::parse(&packet).expect("a mark leaves a packet");
    assert_eq!((marked.ecn, marked.header, marked.size), (Ecn::Ce, before.header, before.size));
    assert_eq!(marked.tcp, before.tcp);
    // The ECN field, and the header's checksum in IPv4.
    let changed = (0..bytes.len()).filter(|&at| packet[at] != bytes[at]);
    assert!(changed.into_iter().all(|at| [1, 10, 11].contains(&at)));

    let Some(tcp) = before.tcp else { return };
    let segment = wire::segment(&packet, before.header, before.size, tcp).expect("it is whole");
    let lower = segment.window / 2;
    let marked = packet.clone();
    wire::set_window(&mut packet, tcp, lower);
    let after = wire::segment(&packet, before.header, before.size, tcp).expect("it is whole");
    assert_eq!(after, gameway_gateway::Segment { window: lower, ..segment });
    let changed = (0..bytes.len()).filter(|&at| packet[at] != marked[at]);
    assert!(changed.into_iter().all(|at| (14..18).contains(&(at - tcp))));
});
