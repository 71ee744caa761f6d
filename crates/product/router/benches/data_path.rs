//! What the data path costs a packet, without what else a packet costs: the kernel runs its programs on packets of 10 flows and of
//! 10,000, one after the other, so that what the flows before left in the processor's caches is gone as it is on a router. Of each,
//! the mean of all runs; what the clock around a run costs is in it, and is told by a packet that is not read. Needs root.

#[path = "../tests/all/kernel.rs"]
#[allow(dead_code, reason = "what its tests use")]
mod kernel;
#[path = "../tests/all/packets.rs"]
#[allow(dead_code, reason = "what its tests use")]
mod packets;

use etherparse::TcpOptionElement::{Noop, Timestamp};
use gameway_gateway::FlowTable;
use gameway_path::{Dscp, Header, Protocol};
use gameway_router::data_path::Settings;
use gameway_router::record::Verdict;
use gameway_units::Instant;
use kernel::Loaded;
use packets::{Wanted, datagram, packet, plain, read};

const RUNS: usize = 60_000;
/// As many connections as the algorithm limits at most.
const LIMITED: u16 = 1000;

/// The packet of a flow of this number, which the data path was told what is thought of.
type Make<'a> = &'a dyn Fn(u16, &Loaded) -> Vec<u8>;

fn main() {
    let Some(loaded) = kernel::loaded() else { return };
    println!("ns per packet                               few flows  many flows");
    compare(&loaded, "neither TCP nor UDP", true, 10_000, &|flow, _| {
        let mut other = packet(&data(flow), true);
        other[23] = 50;
        other
    });
    tcp(&loaded);
    udp(&loaded);
}

fn tcp(loaded: &Loaded) {
    let down: Make<'_> = &|flow, _| packet(&data(flow), true);
    compare(loaded, "TCP to the home, told", true, 10_000, down);
    let up: Make<'_> = &|flow, _| packet(&ack(flow), false);
    compare(loaded, "TCP from the home, told", false, 10_000, up);
    compare(loaded, "TCP to the home, limited, told", true, LIMITED, &|flow, loaded| {
        limit(loaded, &data(flow));
        packet(&data(flow), true)
    });
    let what = "TCP from the home, limited: window written";
    compare(loaded, what, false, LIMITED, &|flow, loaded| {
        limit(loaded, &data(flow));
        packet(&ack(flow), false)
    });
}

fn udp(loaded: &Loaded) {
    let is = |game, quiet| Verdict { game, quiet };
    for (what, verdict, mark) in [
        ("UDP, not judged: told", is(None, false), None),
        ("UDP, judged to be no game: quiet", is(None, true), None),
        ("UDP, judged to be a game: told", is(Some(true), false), None),
        ("UDP, a game that is marked: told", is(Some(true), false), Some(Dscp(46))),
    ] {
        loaded.data_path().set(Settings { mark, ..Settings::default() });
        compare(loaded, what, true, 10_000, &|flow, loaded| {
            let bytes = datagram(&data(flow), true, &[0xc0; 1200]);
            loaded.data_path().judge(&flow_of(&bytes), verdict).expect("there is room");
            bytes
        });
    }
}

fn data(flow: u16) -> Wanted {
    let options = vec![Noop, Noop, Timestamp(1, 1)];
    Wanted { ports: (10_000 + flow, 443), window: 5000, options, payload: 1400, ..plain() }
}

fn ack(flow: u16) -> Wanted {
    Wanted { payload: 0, ..data(flow) }
}

/// Packets of 10 flows, and of `many`.
fn compare(loaded: &Loaded, what: &str, to_home: bool, many: u16, make: Make<'_>) {
    let name = if to_home { "to_home" } else { "from_home" };
    let cost = |flows: u16| {
        let packets: Vec<_> = (0..flows).map(|flow| make(flow, loaded)).collect();
        drain(loaded);
        let mut sum = 0_u64;
        for run in 0..RUNS {
            sum += u64::from(loaded.pass_often(name, &packets[run % packets.len()], 1).1);
            if run % 4096 == 4095 {
                drain(loaded);
            }
        }
        sum as f64 / RUNS as f64
    };
    let (few, many) = (cost(10), cost(many));
    println!("{what:42} {few:10.0} {many:11.0}");
}

fn drain(loaded: &Loaded) {
    while loaded.data_path().next_passed().is_some() {}
}

/// The flow of a datagram to the home.
fn flow_of(bytes: &[u8]) -> Header {
    let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mut header = read(&packet(&plain(), true), plain().below).expect("it is TCP").header;
    (header.source.port, header.destination.port) = (port(34), port(36));
    Header { protocol: Protocol::Udp, ..header }
}

/// The connection is opened as far as a table needs to see, and limited.
fn limit(loaded: &Loaded, data: &Wanted) {
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
        loaded.data_path().limit(&limit).expect("there is room");
    });
}
