//! HTB in front of a link whose packets have other lengths: what leaves fits it to the cell.

use crate::support::{Offer, Packet, millis};
use gameway_path::{Classifier, DropTail, Htb, HtbClass, HtbConfig, Limit, LinkLayer, Queue};
use gameway_units::{Bytes, Instant, Rate, SignedBytes};

/// Mb/s of IP packets of this size that leave two equal classes of an 8 Mb/s link, of each class.
fn carried(link: Option<LinkLayer>, sizes: [u64; 2]) -> [f64; 2] {
    let (rate, ceil) = (Rate::from_mbps(4), Rate::from_mbps(8));
    let class = |name| HtbClass { ceil, ..HtbClass::new(name, rate) };
    let config = HtbConfig { rate: Some(ceil), classes: vec![class("one"), class("two")] };
    let rule = gameway_path::Rule { port: Some("2".parse().unwrap()), ..Default::default() };
    let made = Htb::new(&config, Classifier::new(vec![(rule, 1)], 0), |_, _| {
        Box::new(DropTail::new(Limit::Packets(1000)))
    });
    let mut queue = match link {
        Some(link) => made.unwrap().with_link_layer(&link),
        None => made.unwrap(),
    };
    let (mut now, mut bytes) = (Instant::ZERO, [0, 0]);
    while now < millis(10_000) {
        for (class, size) in sizes.into_iter().enumerate() {
            while queue.class_backlog(class).packets < 3 {
                queue.offer(now, Packet::new(class as u16 + 1, 0, size));
            }
        }
        while let Some(next) = queue.dequeue(now, &mut Vec::new()) {
            bytes[usize::from(next.packet.flow) - 1] += next.packet.size;
        }
        now = queue.next_release(now).unwrap();
    }
    bytes.map(|bytes| f64::from(u32::try_from(bytes).unwrap()) * 8.0 / 10e6)
}

fn near(found: [f64; 2], expected: [f64; 2]) {
    let close = found.iter().zip(expected).all(|(one, other)| (one / other - 1.0).abs() < 0.003);
    assert!(close, "{found:?} and not {expected:?}");
}

#[test]
fn classes_share_what_the_link_carries_in_cells() {
    let adsl = LinkLayer { overhead: SignedBytes::new(10), atm: true, ..LinkLayer::default() };
    // 100 + 10 B are three cells, 159 B; 1500 + 10 B are 32 of them, 1696 B.
    near(carried(Some(adsl), [100, 1500]), [4.0 * 100.0 / 159.0, 4.0 * 1500.0 / 1696.0]);
    // The twin counts IP packets.
    near(carried(None, [100, 1500]), [4.0, 4.0]);
}

#[test]
fn small_packets_count_as_the_least_frame() {
    let ethernet =
        LinkLayer { overhead: SignedBytes::new(38), min: Bytes::new(84), ..LinkLayer::default() };
    // 40 + 38 B count as 84, 1500 + 38 as 1540: entries of the table are for four bytes.
    near(carried(Some(ethernet), [40, 1500]), [4.0 * 40.0 / 84.0, 4.0 * 1500.0 / 1540.0]);
    let negative = LinkLayer { overhead: SignedBytes::new(-14), ..LinkLayer::default() };
    near(carried(Some(negative), [514, 1014]), [4.0 * 514.0 / 500.0, 4.0 * 1014.0 / 1000.0]);
}
