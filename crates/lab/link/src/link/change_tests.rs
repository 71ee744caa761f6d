//! A path that becomes another one while packets are in it.

use super::tests::{Bench, END, MILLI, PLAIN, bench, bytes_of};
use super::*;
use gameway_events::RunEvent;
use gameway_experiment::check;
use gameway_path::Direction;
use proptest::prelude::*;
use serde_json::{Value, json};

impl Bench {
    /// The path is this one from then on.
    fn change(&mut self, now: i64, path: &str) -> Result<(), RunError> {
        let spec: PathSpec = path.parse().expect("it is a path");
        check::check_path(LinkRegistry::standard().known(), &spec).expect("it can be built");
        let now = Instant::from_nanos(now);
        self.path.advance(now, &mut self.arrived);
        let links = build::changed_links(&self.path.spec, &spec)?;
        self.path.change(now, spec, links)
    }

    /// All that was told to the end of the run, but for the changes themselves.
    fn log(self) -> (Vec<(i64, u16, u64)>, Vec<RunEvent>) {
        let (arrived, mut events) = self.whole_log();
        events.retain(|event| !is_change(event));
        (arrived, events)
    }

    fn whole_log(mut self) -> (Vec<(i64, u16, u64)>, Vec<RunEvent>) {
        self.path.advance(END, &mut self.arrived);
        let arrived = self.arrived.iter();
        let arrived = arrived.map(|one| (one.due.as_nanos(), one.packet.flow.0, one.packet.number));
        (arrived.collect(), self.events.try_iter().collect())
    }
}

fn is_change(event: &RunEvent) -> bool {
    matches!(event, RunEvent::Flow(event) if &*event.event == "path-changed")
}

/// A path as text, with these keys set.
fn path_with(keys: &[(&str, Value)]) -> String {
    let mut path: Value = serde_json::from_str(PLAIN).expect("it is JSON");
    keys.iter().for_each(|(key, value)| path[*key] = value.clone());
    path.to_string()
}

fn queue(kind: &str, size: &str) -> Value {
    json!({ "kind": kind, "size": size })
}

/// Time to the next packet, whether it goes down, its server, size and traffic class.
type Sent = (i64, bool, u8, usize, u8);

fn sends(count: usize) -> impl Strategy<Value = Vec<Sent>> {
    let one = (0_i64..2_000_000, any::<bool>(), 1_u8..3, 28_usize..1500, 0_u8..4);
    prop::collection::vec(one, 1..count)
}

/// Sends all of it, and between does what is due.
fn run(bench: &mut Bench, sends: &[Sent], mut at: impl FnMut(&mut Bench, i64)) {
    let mut now = 0;
    for &(pause, down, server, size, tos) in sends {
        now += pause;
        at(bench, now);
        let direction = if down { Direction::Down } else { Direction::Up };
        bench.send(now, direction, &bytes_of(server, direction, tos, size));
    }
    let end = END.as_nanos() - 1;
    at(bench, end);
    bench.path.advance(Instant::from_nanos(end), &mut bench.arrived);
}

const KINDS: [&str; 6] = ["drop-tail", "codel", "fq-codel", "pie", "dual-pi2", "cake"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The same log to the nanosecond: packets under way, drops, tables.
    #[test]
    fn a_change_of_capacity_is_a_capacity_step(
        sends in sends(300),
        kind in prop::sample::select(KINDS.to_vec()),
        size in prop::sample::select(vec!["20 packets", "12 kB", "15 ms"]),
        changes in prop::collection::vec((1_i64..200_000_000, 1_u64..40_000), 1..4),
    ) {
        let mut steps = vec![(0, 12_000_000)];
        let mut at = 0;
        for (span, kbps) in &changes {
            at += span;
            steps.push((at, kbps * 1000));
        }
        let text = |rate: u64| json!(format!("{rate} b/s"));
        let list: Vec<Value> =
            steps.iter().map(|(at, rate)| json!([format!("{at} ns"), text(*rate)])).collect();
        let of = |capacity: Value| {
            let back = json!({ "capacity": capacity, "queue": queue("drop-tail", "30 ms") });
            path_with(&[("capacity", capacity), ("queue", queue(kind, size)), ("back", back)])
        };
        let mut known = bench(&of(json!({ "steps": list })));
        run(&mut known, &sends, |_, _| {});
        let mut changed = bench(&of(text(12_000_000)));
        let mut left = steps[1..].iter().peekable();
        run(&mut changed, &sends, |bench, now| {
            while let Some((at, rate)) = left.next_if(|(at, _)| *at <= now) {
                bench.change(*at, &of(text(*rate))).expect("it can be changed");
            }
        });
        prop_assert_eq!(known.log(), changed.log());
    }

    /// Whatever is changed, each packet arrives, is dropped or lost, or is inside.
    #[test]
    fn packets_are_conserved_over_changes(
        sends in sends(400),
        changes in prop::collection::vec(
            (0_usize..8, 0_usize..4, 1_i64..80, 0_u64..30, any::<[bool; 4]>()), 1..40),
    ) {
        let mut bench = bench(&conserved_path(&(0, 0, 20, 0, [false; 4])));
        let mut left = changes.iter().enumerate();
        run(&mut bench, &sends, |bench, now| {
            if let Some((_, keys)) = left.next() {
                bench.change(now, &conserved_path(keys)).expect("it can be changed");
            }
            let inside = bench.inside() as usize;
            assert_eq!(bench.path.pool().used(), inside + bench.arrived.len());
            let (arrived, dropped, lost, _) = bench.totals();
            assert!(dropped + lost <= arrived);
        });
        let (came, dropped, lost, delivered) = bench.totals();
        prop_assert_eq!((came, bench.inside()), (sends.len() as u64, 0));
        let copies = bench.path.recorder().totals.duplicated;
        prop_assert_eq!(came + copies, dropped + lost + delivered);
        prop_assert_eq!(delivered, bench.arrived.len() as u64);
    }

    /// Neither a shorter delay nor another queue lets a packet of a flow overtake another.
    #[test]
    fn packets_of_a_flow_stay_in_order(
        sends in sends(400),
        changes in prop::collection::vec((0_usize..4, 1_i64..100, any::<bool>()), 1..40),
    ) {
        let mut bench = bench(PLAIN);
        let mut left = changes.iter();
        run(&mut bench, &sends.iter().map(|&(at, down, server, size, _)| (at, down, server, size, 0)).collect::<Vec<_>>(), |bench, now| {
            let Some((kind, rtt, jitter)) = left.next() else { return };
            let mut keys = vec![
                ("queue", queue(KINDS[*kind], "20 packets")),
                ("base_rtt", json!(format!("{rtt} ms"))),
                ("forward_delay", json!(format!("{} ms", rtt / 2))),
            ];
            if *jitter {
                keys.push(("jitter", json!({ "kind": "half-normal", "deviation": "3 ms" })));
            }
            bench.change(now, &path_with(&keys)).expect("it can be changed");
        });
        for (flow, direction) in [0, 1].into_iter().flat_map(|flow| Direction::ALL.map(|way| (flow, way))) {
            let of = bench.arrived.iter().filter(|one| one.packet.flow.0 == flow && one.packet.direction == direction);
            prop_assert!(of.map(|one| one.packet.number).is_sorted());
        }
    }
}

fn conserved_path((kind, size, rtt, loss, given): &(usize, usize, i64, u64, [bool; 4])) -> String {
    let size = ["3 packets", "20 packets", "2 bdp", "20 ms"][*size];
    let queue = match KINDS.get(*kind) {
        Some(kind) => queue(kind, size),
        None if *kind == 6 => {
            json!({ "kind": "htb", "default": "all", "class": { "all": { "rate": "5 Mb/s" } } })
        }
        None => json!({ "kind": "cake", "bandwidth": "3 Mb/s", "ack_filter": "on" }),
    };
    let share = json!({ "probability": format!("{loss} %") });
    let mut keys = vec![
        ("capacity", json!(format!("{} kb/s", 500 + 977 * rtt))),
        ("base_rtt", json!(format!("{rtt} ms"))),
        ("forward_delay", json!(format!("{} ms", rtt / 3))),
        ("queue", queue.clone()),
        ("back", json!({ "capacity": "5 Mb/s", "queue": queue, "loss": share })),
    ];
    let [loss, twice, reorder, gateway] = *given;
    if loss {
        keys.push(("loss", share.clone()));
    }
    if twice {
        keys.push(("duplicate", share.clone()));
    }
    if reorder {
        keys.push(("reorder", share));
    }
    if gateway {
        keys.push(("gateway", json!("voap")));
        keys.push(("classifier", json!("behaviour")));
    }
    path_with(&keys)
}

/// Each packet has the same draw: before the change it is lost as on the one path, behind it as on the other.
#[test]
fn a_change_of_loss_goes_on_in_its_random_numbers() {
    let of = |percent: u64| {
        path_with(&[("loss", json!({ "kind": "random", "probability": format!("{percent} %") }))])
    };
    let arrivals = |first: u64, then: u64| {
        let mut bench = bench(&of(first));
        for number in 0..2000 {
            if number == 1000 && first != then {
                bench.change(number * MILLI, &of(then)).expect("it can be changed");
            }
            bench.send(number * MILLI, Direction::Down, &bytes_of(1, Direction::Down, 0, 100));
        }
        bench.log().0
    };
    let (few, many, both) = (arrivals(5, 5), arrivals(30, 30), arrivals(5, 30));
    let early = |log: &[(i64, u16, u64)]| -> Vec<_> {
        log.iter().filter(|one| one.2 < 1000).copied().collect()
    };
    let late = |log: &[(i64, u16, u64)]| -> Vec<_> {
        log.iter().filter(|one| one.2 > 1000).copied().collect()
    };
    assert_eq!((early(&both), late(&both)), (early(&few), late(&many)));
    assert!(early(&few) != early(&many) && late(&few) != late(&many), "the shares differ");
}

/// The log of 500 packets through CoDel, with something done before the one in the middle.
fn log_with(also: &dyn Fn(&mut Bench, i64)) -> (Vec<(i64, u16, u64)>, Vec<RunEvent>) {
    let mut bench = bench(&path_with(&[("queue", queue("codel", "100 packets"))]));
    for number in 0..500 {
        if number == 250 {
            also(&mut bench, number * MILLI / 2);
        }
        bench.send(number * MILLI / 2, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    bench.log()
}

#[test]
fn changes_of_a_specification_are_those_that_are_asked_for() {
    let changes = json!([
        { "at": "100.3 ms", "capacity": "3 Mb/s", "queue": { "kind": "pie", "size": "30 packets" } },
        { "at": "120 ms", "base_rtt": "90 ms", "forward_delay": "70 ms" },
        { "at": "200.5 ms", "capacity": "30 Mb/s", "loss": { "probability": "20 %" } },
    ]);
    let logged = |path: &str, asks: &[PathChange]| {
        let mut bench = bench(path);
        let mut asks = asks.iter().peekable();
        for number in 0..500 {
            let now = number * MILLI;
            while let Some(one) = asks.next_if(|one| one.at.as_nanos() <= now) {
                bench.path.advance(one.at, &mut bench.arrived);
                let change = bench.path.change(one.at, one.path.clone(), one.links.clone());
                change.expect("it can be changed");
            }
            bench.send(now, Direction::Down, &bytes_of(1, Direction::Down, 0, 1000));
        }
        bench.whole_log()
    };
    let path = path_with(&[("change", changes)]);
    let spec: PathSpec = path.parse().expect("it is a path");
    let asked = build::changes(&spec).expect("they can be made");
    let found = logged(&path, &[]);
    // Without a word: what differs would be thousands of lines.
    assert!(found == logged(PLAIN, &asked));
    let counted = found.1.iter().filter(|event| is_change(event)).count();
    assert_eq!(counted, 3, "the tables are told of each");
    assert!(found != logged(PLAIN, &asked[..2]));
    // Whoever waits for what is due next is woken for a change.
    assert_eq!(bench(&path).path.next_deadline(), asked[0].at);
}

#[test]
fn a_change_of_nothing_leaves_no_trace() {
    let changed = |queue: Value| {
        log_with(&|bench, now| {
            let path = path_with(&[("queue", queue.clone())]);
            bench.change(now, &path).expect("it can be changed");
        })
    };
    let alone = log_with(&|_, _| {});
    assert_eq!(changed(queue("codel", "100 packets")), alone);
    assert_ne!(changed(queue("drop-tail", "100 packets")), alone, "another queue leaves one");
}

#[test]
fn a_refused_change_leaves_no_trace() {
    let alone = log_with(&|_, _| {});
    let stalls =
        json!({ "interval": "20 ms", "lengths": [["5 ms", "5 ms", 1]], "connections": "0 %" });
    let hops = json!([{ "name": "access", "capacity": "5 Mb/s" }]);
    for (key, value, told) in [
        ("hop", hops, "path.hop: \"access\" cannot take the place of no hop"),
        (
            "back",
            json!({ "capacity": "5 Mb/s" }),
            "path.back.capacity: a bottleneck cannot take the place of no bottleneck",
        ),
        (
            "capacity",
            json!({ "wifi": "802.11n" }),
            "path.capacity: a Wi-Fi medium cannot take the place of a link",
        ),
        ("stalls", stalls, "path.stalls: other stalls cannot take the place of those"),
    ] {
        let refused = log_with(&|bench, now| {
            // With what could be changed: all or nothing.
            let queue = queue("pie", "1 bdp");
            let keys = [("base_rtt", json!("50 ms")), ("queue", queue), (key, value.clone())];
            let error = bench.change(now, &path_with(&keys)).expect_err(key).to_string();
            assert!(error.starts_with(told), "{error}");
        });
        assert_eq!(refused, alone, "{key}");
    }
}

#[test]
fn a_queue_whose_keys_stay_keeps_what_it_knows() {
    let of = |rtt: &str, kind: &str, target: &str| {
        let queue = json!({ "kind": kind, "size": "100 packets", "target": target });
        path_with(&[("queue", queue), ("base_rtt", json!(rtt))])
    };
    for kind in ["codel", "fq-codel", "pie", "dual-pi2"] {
        // A third more than the capacity, so that the discipline drops all the time.
        let arrived = |path: Option<String>| -> Vec<u64> {
            let mut bench = bench(&of("20 ms", kind, "10 ms"));
            for number in 0..4000 {
                let now = number * MILLI * 3 / 4;
                if number == 2000
                    && let Some(path) = &path
                {
                    bench.change(now, path).expect("it can be changed");
                }
                bench.send(now, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
            }
            bench.log().0.into_iter().map(|one| one.2).collect()
        };
        let alone = arrived(None);
        assert!(alone.len() < 3900, "{kind} drops: {}", alone.len());
        assert!(arrived(Some(of("90 ms", kind, "10 ms"))) == alone, "{kind}");
        assert!(arrived(Some(of("20 ms", kind, "11 ms"))) != alone, "another {kind} begins anew");
    }
}

#[test]
fn what_waits_goes_over_and_what_has_no_room_is_dropped() {
    // One is in transmission, ten wait.
    let full = || {
        let mut bench = bench(PLAIN);
        for _ in 0..11 {
            bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
        }
        bench
    };
    for kind in KINDS {
        let mut bench = full();
        bench.change(MILLI / 2, &path_with(&[("queue", queue(kind, "4 packets"))])).expect(kind);
        assert_eq!(bench.totals(), (11, 6, 0, 0), "{kind}");
        // 1 ms each onto the link, and 12 ms of propagation.
        let due: Vec<i64> = bench.advance(100 * MILLI).into_iter().map(|one| one.0).collect();
        assert_eq!(due, [13, 14, 15, 16, 17].map(|at| at * MILLI), "{kind}");
        // They came at zero: the last of five has waited 4 ms.
        assert_eq!(bench.path.waits().max_ns, 4 * MILLI, "{kind}");
    }
    // A size that follows the capacity: what waits stays, as where capacity steps.
    let mut bench = full();
    bench.change(0, &path_with(&[("queue", queue("drop-tail", "2 bdp"))])).expect("a size");
    let slow = path_with(&[("queue", queue("drop-tail", "2 bdp")), ("capacity", json!("1 Mb/s"))]);
    bench.change(0, &slow).expect("a capacity");
    assert_eq!((bench.totals().1, bench.inside()), (0, 11));
    for _ in 0..5 {
        bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    assert_eq!(bench.totals().1, 5, "2 BDP are 5000 B now");
}

#[test]
fn a_shaper_that_goes_lets_all_that_waits_go() {
    let shaped = json!({ "kind": "cake", "bandwidth": "1 Mb/s" });
    let mut bench = bench(&path_with(&[("queue", shaped.clone())]));
    for _ in 0..3 {
        bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    // 12 ms each at 1 Mb/s.
    bench.change(2 * MILLI, PLAIN).expect("it can be changed");
    let due: Vec<i64> = bench.advance(100 * MILLI).into_iter().map(|one| one.0).collect();
    assert_eq!(due, [13, 15, 16].map(|at| at * MILLI));
    // And one that comes has no credit of the time before.
    for _ in 0..3 {
        bench.send(100 * MILLI, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    bench.change(100 * MILLI + 1, &path_with(&[("queue", shaped)])).expect("it can be changed");
    let due: Vec<i64> = bench.advance(300 * MILLI).into_iter().map(|one| one.0).collect();
    assert_eq!(due[..2], [113 * MILLI, 114 * MILLI]);
    assert!((125 * MILLI..126 * MILLI).contains(&due[2]), "{due:?}");
}

#[test]
fn a_trace_begins_at_the_change() {
    let file = std::env::temp_dir().join(format!("gameway-change-{}.trace", std::process::id()));
    // An opportunity after 5 ms, and after each 20 ms.
    std::fs::write(&file, "5\n20\n").expect("a file");
    let mut bench = bench(PLAIN);
    let trace = path_with(&[("capacity", json!({ "trace": file }))]);
    bench.change(103 * MILLI, &trace).expect("it can be changed");
    std::fs::remove_file(&file).expect("it is there");
    for _ in 0..3 {
        bench.send(104 * MILLI, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    let due: Vec<i64> = bench.advance(500 * MILLI).into_iter().map(|one| one.0).collect();
    assert_eq!(due, [108, 123, 128].map(|at| (at + 12) * MILLI));
}

#[test]
fn a_gateway_that_comes_later_begins_then() {
    let mut bench = bench(PLAIN);
    let with = |kind: &str| path_with(&[("gateway", json!(kind))]);
    bench.change(1_000_250 * MILLI, &with("voap")).expect("it can be changed");
    assert!(bench.path.next_deadline() > Instant::from_nanos(1_000_250 * MILLI));
    bench.advance(1_002_000 * MILLI);
    let measured = |bench: &Bench| {
        let events = bench.events.try_iter();
        events
            .filter_map(|event| match event {
                RunEvent::Controller(record) => Some(record.time_ns),
                _ => None,
            })
            .collect::<Vec<i64>>()
    };
    let times = measured(&bench);
    assert!(!times.is_empty() && times.iter().all(|at| *at > 1_000_250 * MILLI), "{times:?}");
    bench.change(1_002_100 * MILLI, &with("none")).expect("it can be changed");
    bench.advance(1_010_000 * MILLI);
    assert!(measured(&bench).is_empty());
}
