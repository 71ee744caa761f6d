//! What the data path costs a packet: the kernel runs its programs a hundred thousand times on one packet, without what else a
//! packet costs. Needs root.

#[path = "../tests/all/kernel.rs"]
mod kernel;
#[path = "../tests/all/packets.rs"]
#[allow(dead_code, reason = "what its tests use")]
mod packets;

use etherparse::TcpOptionElement::{Noop, Timestamp};
use gameway_gateway::FlowTable;
use gameway_units::Instant;
use packets::{Wanted, packet, plain, read};

const TIMES: u32 = 100_000;

fn main() {
    let Some(loaded) = kernel::loaded() else { return };
    let options = vec![Noop, Noop, Timestamp(1, 1)];
    let data = Wanted { window: 5000, options, payload: 1400, ..plain() };
    let ack = Wanted { payload: 0, ..data.clone() };
    let mut other = packet(&data, true);
    other[23] = 17;
    let cost = |name: &str, what: &str, packet: &[u8]| {
        // The ring is full after the first thousands: that is told apart.
        let (_, ns) = loaded.pass_often(name, packet, TIMES);
        println!("{what:40} {ns:4} ns");
    };
    let told = |what: &str| {
        while loaded.next_record().is_some() {}
        let (_, ns) = loaded.pass_often("to_home", &packet(&data, true), 20_000);
        println!("{what:40} {ns:4} ns");
    };
    cost("to_home", "not TCP", &other);
    told("data, told");
    cost("to_home", "data, the ring is full", &packet(&data, true));
    cost("from_home", "acknowledgment, the ring is full", &packet(&ack, false));
    limit(&loaded, &data);
    told("data of a limited connection, told");
    cost("to_home", "data, limited, the ring is full", &packet(&data, true));
    cost("from_home", "acknowledgment, limited, the ring is full", &packet(&ack, false));
}

/// The connection is opened as far as a table needs to see, and limited.
fn limit(loaded: &kernel::Loaded, data: &Wanted) {
    let mut table = FlowTable::<()>::default();
    let syn =
        Wanted { flags: [false, true, false, false], sequence: 0, payload: 0, ..data.clone() };
    let answer = Wanted { flags: [false, true, false, true], sequence: 0, ..syn.clone() };
    for (wanted, to_home) in [(&syn, false), (&answer, true), (data, true)] {
        let bytes = packet(wanted, to_home);
        let mut segment = read(&bytes, wanted.below).expect("it is TCP");
        table.pass(Instant::ZERO, to_home, &mut segment, |_| None);
    }
    table.limits(|_| Some(100_000), &mut |limit| {
        loaded.data_path().limit(&limit).expect("there is room")
    });
}
