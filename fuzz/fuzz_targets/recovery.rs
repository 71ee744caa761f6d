//! Every controller on a good path after feedback that lied: no lie may be believed for ever.
//!
//! The test network of the controllers' own tests, with reports mangled by the fuzzer's bytes for as long as
//! there are any (at most 4 s), and then the truth.
#![no_main]

#[allow(dead_code, unused_imports, reason = "a part of it is used")]
#[path = "../../crates/core/control/tests/all/common/mod.rs"]
mod common;

use common::{ADAPTIVE, Mangle, Network, secs};
use gameway_control::PacketReport;
use gameway_fuzz::Input;
use gameway_units::{Bytes, Duration, Ecn};
use libfuzzer_sys::fuzz_target;

/// The time from which on the truth is told.
const LIES_END: f64 = 6.0;

/// How long a lie may be believed: GCC grows by 8 % a second from the minimum, others keep minima for 10 s.
fn believed(name: &str) -> f64 {
    if name == "gcc" { 40.0 } else { 13.0 }
}

fn lie(input: &mut Input<'_>, report: &mut PacketReport) {
    match input.any::<u8>() % 8 {
        0 => report.arrival = None,
        1 => report.arrival = Some(input.receiver_time()),
        2 => report.ecn = Ecn::Ce,
        3 => {
            let millis = i64::from(input.any::<i16>());
            report.arrival = report.arrival.map(|time| time + Duration::from_millis(millis));
        }
        _ => {}
    }
}

/// Uses up `bytes` report by report.
fn liar(bytes: Vec<u8>) -> Mangle {
    let mut used = 0;
    Box::new(move |now, reports, generated, in_flight| {
        let rest = &bytes[used.min(bytes.len())..];
        if rest.is_empty() || now < secs(2.0) || now > secs(LIES_END) {
            return;
        }
        let mut input = Input::new(rest);
        match input.any::<u8>() % 8 {
            0 => reports.reverse(),
            1 => reports.extend_from_within(..),
            2 => reports.clear(),
            3 => *generated = input.receiver_time(),
            4 => *in_flight = Bytes::new(input.number(100_000)),
            _ => reports.iter_mut().for_each(|report| lie(&mut input, report)),
        }
        used = bytes.len() - input.left();
    })
}

fuzz_target!(|bytes: &[u8]| {
    let [choice, lies @ ..] = bytes else { return };
    let (name, options) = ADAPTIVE[usize::from(*choice) % ADAPTIVE.len()];
    let mut network = Network::usual();
    network.mangle = Some(liar(lies.to_vec()));
    network.add(common::controller(name, options), 0.0, 0.0);
    let end = LIES_END + believed(name);
    network.run_until(end + 2.0);
    let rate = network.flows[0].received_mbps(end, end + 2.0);
    assert!(rate > 10.0, "{name} {options:?}: {rate} Mb/s");
});
