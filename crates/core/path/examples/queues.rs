//! A sender of 11 Mb/s in front of a link of 10: for how long packets wait, and how many are lost, with a
//! drop-tail queue and with CoDel.
//!
//! `cargo run --release -p gameway-path --example queues`

use gameway_path::{
    Bottleneck, Codel, CodelConfig, DropTail, FlowId, Header, Link, PathPacket, Queue, StepsError,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};

const CAPACITY: Rate = Rate::from_mbps(10);
const SENT: Rate = Rate::from_mbps(11);
const PACKET: Bytes = Bytes::new(1500);
const BASE_RTT: Duration = Duration::from_millis(20);
const SIZE: QueueSize = QueueSize::Time(Duration::from_millis(200));
const LENGTH: Duration = Duration::from_secs(60);

/// A full packet of the only flow.
#[derive(Clone, Copy)]
struct Packet;

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        PACKET
    }
    fn flow(&self) -> FlowId {
        FlowId(0)
    }
    fn header(&self) -> Header {
        Header::numbered(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
}

/// Mean queueing delay of the last half in milliseconds, and the share of all packets that was dropped.
fn measure<Q: Queue<Packet>>(mut bottleneck: Bottleneck<Packet, Q>) -> (f64, f64) {
    let (mut delays, mut sent, mut dropped) = (Vec::new(), 0, 0);
    let mut next = Instant::ZERO;
    while next < Instant::ZERO + LENGTH {
        if let Some(due) = bottleneck.next_deadline().filter(|due| *due <= next) {
            let left = bottleneck.on_deadline(due);
            let late = left.filter(|packet| packet.enqueued - Instant::ZERO > LENGTH / 2);
            delays.extend(late.map(|packet| packet.queueing_delay().as_millis_f64()));
        } else {
            bottleneck.arrive(next, Packet);
            sent += 1;
            next += SENT.time_for(PACKET);
        }
        dropped += bottleneck.drain_dropped().count() as u32;
    }
    (delays.iter().sum::<f64>() / delays.len() as f64, f64::from(dropped) / f64::from(sent))
}

fn drop_tail() -> Result<(f64, f64), StepsError> {
    Ok(measure(Bottleneck::new(Link::constant(CAPACITY)?, SIZE, BASE_RTT, DropTail::new)))
}

fn codel() -> Result<(f64, f64), StepsError> {
    let queue = |limit| Codel::new(CodelConfig::default(), limit);
    Ok(measure(Bottleneck::new(Link::constant(CAPACITY)?, SIZE, BASE_RTT, queue)))
}

fn main() -> Result<(), StepsError> {
    for (name, (delay, lost)) in [("drop-tail", drop_tail()?), ("CoDel", codel()?)] {
        println!("{name:10} {delay:6.1} ms {:5.1} % lost", lost * 100.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{codel, drop_tail};

    #[test]
    fn codel_waits_less_and_both_lose_what_is_too_much() {
        let (full, lost) = drop_tail().expect("a link of one rate");
        assert!((190.0..=200.0).contains(&full), "{full}");
        assert!((0.08..0.1).contains(&lost), "{lost}");
        let (short, lost) = codel().expect("a link of one rate");
        assert!((1.0..60.0).contains(&short), "{short}");
        assert!((0.08..0.1).contains(&lost), "{lost}");
    }
}
