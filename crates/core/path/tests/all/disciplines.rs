//! What disciplines declare of their options holds for what they build.

use crate::support::{Offer, Packet, millis};
use gameway_path::{Backlog, Dequeued, Disciplines, Limit, Options};
use gameway_units::declared::Declared;
use gameway_units::{Bytes, Ecn, QueueSize};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

/// What an option can be set to by its declaration: the default, the bounds and the words.
fn allowed(option: &Declared) -> Vec<Value> {
    let number = |text: &str| match option.kind.as_str() {
        "integer" => text.parse().map(|number: u64| Value::from(number)).ok(),
        _ => text.parse().map(|number: f64| Value::from(number)).ok(),
    };
    let is_number = ["number", "integer"].contains(&option.kind.as_str());
    let words = option.kind.split(", ").filter(|_| option.kind.contains(", "));
    // A default that is nothing has a word of its own, which cannot be written.
    let nothing = ["never", "unlimited", "as framing says"];
    let default = Some(option.default.as_str()).filter(|text| !nothing.contains(text));
    let texts = [default, option.min.as_deref(), option.max.as_deref()].into_iter().flatten();
    let texts = texts.chain(words);
    texts.filter_map(|text| if is_number { number(text) } else { Some(text.into()) }).collect()
}

#[test]
fn each_option_takes_what_its_declaration_allows() {
    let known = Disciplines::<Packet>::standard();
    let mut taken = 0;
    for info in known.known().descriptions() {
        let options = info.options();
        for option in options.iter().filter(|option| option.name != "size") {
            let place = format!("{}.{}", info.name, option.name);
            assert!(option.summary.len() > 8, "{place}: {}", option.summary);
            for value in allowed(option) {
                let options = Options::from_iter([(option.name.clone(), value.clone())]);
                let built = known.build(info.name, &options, Limit::Packets(10), random());
                assert!(built.is_ok(), "{place} = {value}");
                taken += 1;
            }
        }
    }
    assert!(taken > 100, "{taken}");
}

/// A default that could not be read would make a queue of one packet.
#[test]
fn each_size_that_is_declared_is_the_one_that_a_queue_gets() {
    let known = Disciplines::<Packet>::standard().known();
    for info in known.descriptions() {
        let options = info.options();
        let declared = options.iter().find(|option| option.name == "size").unwrap();
        let default_size = known.get("queue", info.name).unwrap().functions;
        let size = default_size(info, &Options::new()).unwrap();
        match declared.default.parse::<QueueSize>() {
            Ok(written) => assert_eq!(size, written, "{}", info.name),
            // It follows from the other options: without a bandwidth, the most that CAKE takes.
            Err(_) => {
                assert_eq!(size, QueueSize::Bytes(Bytes::new(10_240 * 1514)), "{}", info.name)
            }
        }
    }
}

/// Another queue takes the place of each: all that waits is given, with the times at which it came, and none stays.
#[test]
fn each_gives_all_that_waits_each_flow_in_its_order() {
    let known = Disciplines::<Packet>::standard();
    for info in known.known().descriptions() {
        let built = known.build(info.name, &Options::new(), Limit::Packets(10), random());
        let mut queue = built.unwrap();
        let codes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1];
        let came: Vec<Dequeued<Packet>> = (0..8_u16)
            .map(|number| {
                let packet = Packet::new(number % 3, u64::from(number), 1000);
                let packet = packet.with_ecn(codes[usize::from(number % 3)]);
                Dequeued { packet, enqueued: millis(i64::from(number)) }
            })
            .collect();
        for one in &came {
            assert_eq!(queue.offer(one.enqueued, one.packet), [], "{}", info.name);
        }
        assert_eq!((queue.backlog().packets, queue.oldest()), (8, Some(millis(0))));
        let mut given = Vec::new();
        queue.drain(&mut given);
        // Of different flows, in no order.
        given.sort_by_key(|one| one.packet.flow);
        let mut wanted = came;
        wanted.sort_by_key(|one| one.packet.flow);
        assert_eq!(given, wanted, "{}", info.name);
        assert_eq!((queue.backlog(), queue.oldest()), (Backlog::default(), None), "{}", info.name);
        let next = queue.dequeue(millis(9), &mut Vec::new());
        assert_eq!((next, queue.next_release(millis(9))), (None, None), "{}", info.name);
    }
}

#[test]
fn there_is_none_of_another_name() {
    let known = Disciplines::<Packet>::standard();
    let refused = known.build("red", &Options::new(), Limit::Packets(10), random()).err();
    assert_eq!(
        refused.unwrap().to_string(),
        "kind: unknown queue \"red\"; known are airtime, cake, codel, drop-tail, dual-pi2, fq-codel, pie"
    );
}
