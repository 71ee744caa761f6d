//! What a change of the own queue's rate takes, and a reading of its figures; in a network namespace. Needs root.

#[path = "../tests/all/network.rs"]
mod network;

use gameway_router::own_queue::{OwnQueue, QueueKind, Way};
use gameway_runtime::clock::Clock;
use gameway_units::{Duration, Rate};

const TIMES: u64 = 2000;

fn main() {
    if !network::has_network() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_gameway-gateway");
    for kind in [QueueKind::Htb, QueueKind::Cake] {
        let queue = OwnQueue::install_guarded_by(
            program,
            ("lan", Way::ToHome),
            kind,
            (Rate::from_mbps(10), Duration::from_millis(5)),
        );
        let mut queue = match queue {
            Ok(queue) => queue,
            Err(error) => {
                println!("{kind:?}: {error}");
                continue;
            }
        };
        let mut cost = |what: &str, done: &mut dyn FnMut(&mut OwnQueue, u64)| {
            let start = Clock::monotonic_ns();
            (0..TIMES).for_each(|number| done(&mut queue, number));
            let each = (Clock::monotonic_ns() - start).unsigned_abs() / TIMES;
            println!("{kind:?}: {what:30} {:6.1} µs", each as f64 / 1e3);
        };
        cost("a change of the rate", &mut |queue, number| {
            queue.set_rate(Rate::from_mbps(10 + number % 90)).expect("a rate");
        });
        cost("a reading, each second", &mut |queue, _| _ = queue.follow().expect("figures"));
    }
}
