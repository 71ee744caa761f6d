//! What disciplines declare of their options holds for what they build.

use crate::support::Packet;
use gameway_path::{Disciplines, Limit, Options};
use gameway_units::declared::Declared;
use gameway_units::{Bytes, QueueSize};
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

#[test]
fn there_is_none_of_another_name() {
    let known = Disciplines::<Packet>::standard();
    let refused = known.build("red", &Options::new(), Limit::Packets(10), random()).err();
    assert_eq!(
        refused.unwrap().to_string(),
        "kind: unknown queue \"red\"; known are airtime, cake, codel, drop-tail, dual-pi2, fq-codel, pie"
    );
}
