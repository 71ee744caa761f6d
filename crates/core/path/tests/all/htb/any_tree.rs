//! Whatever packets come to whatever tree: rates, ceilings, conservation.

use super::*;

fn any_leaf(kind: usize) -> Box<dyn Queue<Packet>> {
    let random = Xoshiro256PlusPlus::seed_from_u64(7);
    let limit = Limit::Packets(30);
    match kind % 5 {
        0 => Box::new(DropTail::new(limit)),
        1 => Box::new(Codel::new(CodelConfig { ecn: true, ..CodelConfig::default() }, limit)),
        2 => Box::new(FqCodel::new(FqCodelConfig::default(), limit, random)),
        3 => Box::new(Pie::new(PieConfig::default(), limit, random)),
        _ => Box::new(DualPi2::new(DualPi2Config::default(), limit, random)),
    }
}

/// Two customers, of which the second has two services below an inner class.
fn any_tree(rates: [u64; 3], spare: u64, bursts: [u64; 3], priorities: [u8; 3]) -> Vec<HtbClass> {
    let total = rates.iter().sum::<u64>() + spare;
    let leaf = |n: usize, parent| HtbClass {
        parent,
        burst: Bytes::new(bursts[n]),
        cburst: Bytes::new(2000),
        priority: priorities[n],
        ..class(rates[n], total)
    };
    let inner = class(rates[1] + rates[2], total);
    vec![leaf(0, None), leaf(1, Some(3)), leaf(2, Some(3)), inner]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Over any interval a class sends no more than its ceiling and burst allow, and all together no more
    /// than theirs; one without a lender no more than its rate and burst. A bucket that is not in debt pays
    /// for a packet of any size, so that one packet comes on top, and a byte
    /// for rounding.
    #[test]
    fn no_bucket_gives_more_than_it_gets(
        rates in prop::array::uniform3(1u64..20),
        spare in 0u64..20,
        bursts in prop::array::uniform3(1u64..20_000),
        priorities in prop::array::uniform3(0u8..8),
        size in 64u64..1500,
        shared in any::<bool>(),
    ) {
        let total = rates.iter().sum::<u64>() + spare;
        let classes = if shared {
            any_tree(rates, spare, bursts, priorities)
        } else {
            let alone = |n: usize| HtbClass {
                burst: Bytes::new(bursts[n]),
                cburst: Bytes::new(1_000_000),
                ..class(rates[n], rates[n])
            };
            (0..3).map(alone).collect()
        };
        let mut queue = tree_of(shared.then_some(total), 3, classes);
        let sent = run(&mut queue, millis(300), greedy(&[0, 1, 2], size));
        for which in 0..3 {
            let own: Vec<_> = sent.iter().filter(|one| one.1 == which).collect();
            let (rate, burst) = if shared { (total, 2000) } else { (rates[which], bursts[which]) };
            for first in (0..own.len()).step_by(7) {
                let mut bytes = 0;
                for last in &own[first..] {
                    bytes += last.2;
                    let max = Rate::from_mbps(rate) * (last.0 - own[first].0);
                    prop_assert!(bytes <= max.get() + 1 + burst + size, "{bytes} B of {which}");
                }
            }
        }
        if shared {
            let bytes: u64 = sent.iter().map(|one| one.2).sum();
            let expected = total as f64 * 1e6 / 8.0 * 0.3;
            // The root gets what it may and no more: leaves that are green do not ask it, so that their
            // bursts are owed; and somebody always wants what there is.
            prop_assert!(bytes as f64 <= expected + (bursts.iter().sum::<u64>() + 1600 + 3 * size) as f64);
            prop_assert!(bytes as f64 >= expected - 2.0 * size as f64, "{bytes} of {expected}");
        }
    }

    /// Whoever always has packets gets what it is assured, whatever the others do.
    #[test]
    fn nobody_starves(
        rates in prop::array::uniform3(1u64..20),
        spare in 0u64..20,
        priorities in prop::array::uniform3(0u8..8),
        busy in 1usize..8,
    ) {
        let total = rates.iter().sum::<u64>() + spare;
        let mut queue = tree_of(Some(total), 3, any_tree(rates, spare, [2000; 3], priorities));
        let busy: Vec<usize> = (0..3).filter(|class| busy >> class & 1 == 1).collect();
        let end = millis(1000);
        let sent = run(&mut queue, end, greedy(&busy, 1000));
        for &which in &busy {
            let assured = rates[which] as f64 * 1e6 / 8.0;
            prop_assert!(bytes_of(&sent, which) as f64 >= assured - 2000.0, "class {which}");
        }
        // Nothing is left while somebody wants it.
        let all: u64 = busy.iter().map(|&which| bytes_of(&sent, which)).sum();
        prop_assert!(all as f64 >= total as f64 * 1e6 / 8.0 - 3000.0);
    }

    /// Every packet leaves, is dropped or waits, once; within a leaf that is first in, first out they keep
    /// their order; only packets that can be marked are (the packet itself says so); and a shaper that holds
    /// some back says until when.
    #[test]
    fn packets_are_conserved(
        arrivals in prop::collection::vec((0i64..3_000_000, 0usize..3, 64u64..1500, 0u8..3), 1..400),
        kinds in prop::array::uniform3(0usize..5),
        rates in prop::array::uniform3(1u64..5),
    ) {
        let classes = any_tree(rates, 3, [1600; 3], [0, 1, 1]);
        let total = Rate::from_mbps(rates.iter().sum::<u64>() + 3);
        let config = HtbConfig { rate: Some(total), classes };
        let queue = Htb::new(&config, by_port(3), |number, _| any_leaf(kinds[number])).unwrap();
        let link = Link::constant(total).unwrap();
        let mut path = Bottleneck::new(link, QueueSize::Packets(1), Duration::ZERO, |_| queue);
        let (mut now, mut out, mut dropped) = (Instant::ZERO, Vec::new(), Vec::new());
        for (number, &(gap, which, size, ecn)) in arrivals.iter().enumerate() {
            now += Duration::from_nanos(gap);
            while path.next_deadline().is_some_and(|due| due <= now) {
                out.extend(path.on_deadline(now));
                dropped.extend(path.drain_dropped());
            }
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][usize::from(ecn)];
            let one = Packet { ecn, ..packet(which, number as u64, size) };
            path.arrive(now, one);
            dropped.extend(path.drain_dropped());
            prop_assert!(path.packets_inside() <= 1 + 3 * 31);
        }
        while let Some(due) = path.next_deadline() {
            out.extend(path.on_deadline(due));
            dropped.extend(path.drain_dropped());
        }
        prop_assert_eq!(path.packets_inside(), 0);
        for which in (0..3u16).filter(|&which| kinds[usize::from(which)] < 2) {
            let own = out.iter().filter(|left| left.packet.class == which);
            prop_assert!(own.map(|left| left.packet.number).is_sorted());
        }
        let numbers = out.iter().map(|left| left.packet.number);
        let mut all: Vec<u64> = numbers.chain(dropped.iter().map(|drop| drop.packet.number)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..arrivals.len() as u64).collect::<Vec<_>>());
    }
}
