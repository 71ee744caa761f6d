//! Shapers whose rate changes while packets wait: what leaves is what the rate lets go, to the packet.

use crate::support::{Packet, millis};
use gameway_path::{
    Bottleneck, Cake, CakeConfig, Classifier, DropTail, Htb, HtbClass, HtbConfig, Limit, Link,
    Queue,
};
use gameway_units::{Bytes, Duration, Instant, QueueSize, Rate};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const SIZE: u64 = 1000;
const ROOM: Limit = Limit::Packets(1_000_000);

fn htb() -> Box<dyn Queue<Packet>> {
    let ceil = Rate::from_mbps(20);
    let class = |name, rate| HtbClass { ceil, ..HtbClass::new(name, Rate::from_mbps(rate)) };
    let classes = vec![class("all", 15), class("game", 5)];
    let config = HtbConfig { rate: Some(ceil), classes };
    let leaf = |_: usize, _: &HtbClass| -> Box<dyn Queue<Packet>> { Box::new(DropTail::new(ROOM)) };
    Box::new(Htb::new(&config, Classifier::new(Vec::new(), 0), leaf).expect("it can be"))
}

fn cake() -> Box<dyn Queue<Packet>> {
    let rtt = Duration::from_secs(36_000);
    let bandwidth = Some(Rate::from_mbps(20));
    let config = CakeConfig { rtt, bandwidth, ..CakeConfig::default() };
    Box::new(Cake::new(config, ROOM, Xoshiro256PlusPlus::seed_from_u64(1)))
}

/// Bytes that leave in each second, while 100 packets wait at least, with these rates from these milliseconds on.
fn seconds_of(queue: Box<dyn Queue<Packet>>, rates: &[(i64, u64)], end: i64) -> Vec<u64> {
    let link = Link::constant(Rate::from_mbps(10_000)).expect("it is more than zero");
    let size = QueueSize::Packets(1);
    let mut path = Bottleneck::new(link, size, Duration::from_millis(20), |_| queue);
    let (mut came, mut left) = (0, vec![0; usize::try_from(end / 1000).expect("seconds")]);
    for now in 0..end {
        while path.packets_inside() < 100 {
            path.arrive(millis(now), Packet::new(0, came, SIZE));
            came += 1;
        }
        if let Some((_, rate)) = rates.iter().find(|(at, _)| *at == now) {
            path.set_shaped_rate(millis(now), Rate::from_mbps(*rate));
            assert_eq!(path.shaped_rate(), Some(Rate::from_mbps(*rate)));
        }
        while let Some(due) = path.next_deadline().filter(|due| *due < millis(now + 1)) {
            if path.on_deadline(due).is_some() {
                left[usize::try_from(now / 1000).expect("a second")] += SIZE;
            }
        }
    }
    assert!(!path.has_dropped());
    assert_eq!(left.iter().sum::<u64>() / SIZE + path.packets_inside(), came);
    left
}

#[test]
fn a_shaper_has_its_new_rate_at_once_and_loses_nothing() {
    for (name, queue) in [("htb", htb()), ("cake", cake())] {
        let left = seconds_of(queue, &[(2000, 5), (4000, 40)], 6000);
        for (second, mbps) in [20_u64, 20, 5, 5, 40, 40].into_iter().enumerate() {
            let wanted = mbps * 125_000;
            // Three packets, and a burst of HTB.
            let differs = left[second].abs_diff(wanted);
            assert!(differs <= 5 * SIZE, "{name}, second {second}: {} of {wanted} B", left[second]);
        }
    }
}

#[test]
fn a_shaper_that_waited_for_a_low_rate_goes_on_with_a_higher_one() {
    for (name, queue) in [("htb", htb()), ("cake", cake())] {
        let left = seconds_of(queue, &[(0, 1), (1000, 20)], 2000);
        assert!(left[0].abs_diff(125_000) <= 10 * SIZE, "{name}: {}", left[0]);
        // The packet before was paid for at the rate of before: 8 ms.
        assert!((2_470_000..2_510_000).contains(&left[1]), "{name}: {}", left[1]);
    }
}

#[test]
fn what_shapes_nothing_has_no_rate_and_takes_none() {
    let mut queue: Box<dyn Queue<Packet>> = Box::new(DropTail::new(ROOM));
    queue.set_rate(Instant::ZERO, Rate::from_mbps(1));
    assert_eq!(queue.rate(), None);
    let mut unshaped: Box<dyn Queue<Packet>> =
        Box::new(Cake::new(CakeConfig::default(), ROOM, Xoshiro256PlusPlus::seed_from_u64(1)));
    unshaped.set_rate(Instant::ZERO, Rate::from_mbps(1));
    assert_eq!(unshaped.rate(), None);
    assert_eq!(unshaped.backlog().bytes, Bytes::ZERO);
}
