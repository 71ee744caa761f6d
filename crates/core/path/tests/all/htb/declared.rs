//! Trees that are refused, by name and rule, and defaults.

use super::*;

fn refused(rate: Option<u64>, classes: Vec<HtbClass>) -> String {
    let config = HtbConfig { rate: rate.map(Rate::from_mbps), classes };
    config.check().expect_err("it cannot be").to_string()
}

#[test]
fn trees_that_cannot_be_are_refused_by_name_and_rule() {
    let told = |rate, classes: Vec<HtbClass>, words: &[&str]| {
        let error = refused(rate, classes);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let named = |name: &str, class: HtbClass| HtbClass { name: name.to_owned(), ..class };
    told(Some(50), vec![class(30, 50), class(21, 50)], &["rate: 50 Mb/s", "51 Mb/s"]);
    told(Some(50), vec![class(30, 51)], &["ceil: 51 Mb/s", "the rate of all"]);
    told(None, vec![class(30, 50)], &["ceil", "never reached"]);
    told(
        None,
        vec![named("a", class(30, 20))],
        &["class \"a\": ceil: 20 Mb/s is less than its rate"],
    );
    told(None, vec![class(0, 0)], &["rate: must be more than 0 b/s"]);
    told(Some(50), vec![], &["class: 0 classes"]);
    told(Some(50), vec![class(1, 1); 64], &["class: 64 classes"]);
    assert!(HtbConfig { rate: None, classes: vec![class(1, 1); 63] }.check().is_ok());
    told(Some(0), vec![class(1, 1)], &["rate: must be more"]);
    told(
        None,
        vec![HtbClass { priority: 8, ..class(1, 1) }],
        &["priority: 8 is not between 0 and 7"],
    );
    told(None, vec![HtbClass { quantum: Bytes::ZERO, ..class(1, 1) }], &["quantum"]);
    told(None, vec![HtbClass { parent: Some(7), ..class(1, 1) }], &["parent: is no class"]);
    let parent = Some(1);
    let child = || HtbClass { parent, ..class(3, 5) };
    told(
        None,
        vec![child(), named("in", class(5, 5)), child()],
        &["class \"in\": rate: 5 Mb/s", "6 Mb/s"],
    );
    told(
        None,
        vec![HtbClass { parent, ..class(3, 6) }, named("in", class(5, 5))],
        &["ceil: 6 Mb/s", "parent \"in\" (5 Mb/s)"],
    );
    let circle = vec![
        HtbClass { parent: Some(1), ..class(1, 1) },
        HtbClass { parent: Some(0), ..class(1, 1) },
    ];
    told(None, circle, &["parent: leads back"]);
    told(None, vec![HtbClass { parent: Some(0), ..class(1, 1) }], &["parent: leads back"]);
    let chain = |length: usize| -> Vec<HtbClass> {
        (0..length).map(|n| HtbClass { parent: n.checked_sub(1), ..class(1, 1) }).collect()
    };
    told(None, chain(9), &["parent: is too deep"]);
    told(Some(1), chain(8), &["parent: is too deep"]);
    let deepest = |rate: Option<u64>, length| {
        let config = HtbConfig { rate: rate.map(Rate::from_mbps), classes: chain(length) };
        let to_leaf = Classifier::new(Vec::new(), length - 1);
        let mut queue = Htb::new(&config, to_leaf, |_, _| Box::new(DropTail::new(LIMIT))).unwrap();
        let sent = run(&mut queue, millis(1000), |queue, now| {
            while queue.backlog().packets < 3 {
                queue.enqueue(now, packet(length - 1, 0, 1000), &mut Vec::new());
            }
        });
        assert!((124..=127).contains(&sent.len()), "1 Mb/s: {}", sent.len());
    };
    deepest(None, 8);
    deepest(Some(1), 7);
    // Packets go to leaves only.
    let config = HtbConfig { rate: None, classes: chain(2) };
    let leaf = |_: usize, _: &HtbClass| Box::new(DropTail::new(LIMIT)) as Box<dyn Queue<Packet>>;
    assert!(Htb::new(&config, Classifier::new(Vec::new(), 0), leaf).is_err());
}

#[test]
fn defaults_are_those_of_tc_and_the_kernel() {
    // tc -d class show, iproute2 6.1.0 on Linux 6.18: burst and cburst 1600b; quantum 200000 at 50 Mbit.
    let class = HtbClass::new("a", Rate::from_mbps(50));
    assert_eq!(
        (class.burst, class.cburst, class.quantum),
        (Bytes::new(1600), Bytes::new(1600), Bytes::new(200_000))
    );
    assert_eq!(HtbClass::default_quantum(Rate::from_mbps(8)), Bytes::new(100_000));
    assert_eq!(HtbClass::default_quantum(Rate::from_kbps(16)), Bytes::new(1000));
    assert_eq!(HtbClass::default_burst(Rate::from_mbps(16_000)), Bytes::new(1602));
}
