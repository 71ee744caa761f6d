//! A path that becomes another one in a run, as its specification says.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{
    Run, Table, empty_path, fixed, mean, run, try_run, with, with_ping, with_stream, with_tcp,
};
use gameway_events::RunEvent;
use proptest::prelude::*;
use serde_json::{Value, json};

fn changed(spec: Value, changes: Value) -> Value {
    with(spec, "/path/change", changes)
}

/// All that was told but for the changes themselves, and how many of these there were.
fn told(run: Run) -> (Vec<RunEvent>, usize) {
    let is_change = |event: &RunEvent| matches!(event, RunEvent::Flow(event) if &*event.event == "path-changed");
    let all = run.events.len();
    let others: Vec<RunEvent> = run.events.into_iter().filter(|one| !is_change(one)).collect();
    let changes = all - others.len();
    (others, changes)
}

/// A game and a download over ten seconds, with pings.
fn busy() -> Value {
    let spec = with_stream(empty_path(10), json!("gcc"), json!({ "max_bitrate": "20 Mb/s" }));
    with_ping(with_tcp(spec, "cubic", json!({ "start": "2 s" })), "50 ms")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// To the last event: only the changes are told beside.
    #[test]
    fn changes_of_capacity_are_steps(
        kind in prop::sample::select(vec!["drop-tail", "codel", "fq-codel", "pie", "dual-pi2"]),
        changes in prop::collection::vec((1_i64..2_000_000_000, 1_u64..40_000), 1..5),
    ) {
        let mut at = 0;
        let times: Vec<(String, String)> = changes
            .iter()
            .map(|(span, kbps)| {
                at += span;
                (format!("{at} ns"), format!("{kbps} kb/s"))
            })
            .collect();
        let mut steps = vec![json!(["0 s", "25 Mb/s"])];
        steps.extend(times.iter().map(|(at, rate)| json!([at, rate])));
        let list: Vec<Value> =
            times.iter().map(|(at, rate)| json!({ "at": at, "capacity": rate })).collect();
        let spec = with(busy(), "/path/queue", json!({ "kind": kind, "size": "100 packets" }));
        let stepped = told(run(&with(spec.clone(), "/path/capacity", json!({ "steps": steps }))));
        let count = list.len();
        let changed = told(run(&changed(spec, json!(list))));
        prop_assert_eq!(stepped.1, 0);
        prop_assert_eq!(changed.1, count);
        prop_assert!(stepped.0 == changed.0);
    }
}

#[test]
fn each_key_acts_from_its_time_on() {
    let spec = with_ping(with_stream(empty_path(30), fixed("5 Mb/s"), json!({})), "100 ms");
    let run = run(&changed(
        spec,
        json!([
            { "at": "5 s", "base_rtt": "60 ms" },
            { "at": "10 s", "loss": { "probability": "10 %" }, "jitter": { "deviation": "5 ms" } },
            { "at": "15 s", "loss": { "probability": "0 %" }, "jitter": { "deviation": "0 ms" },
              "capacity": "4 Mb/s", "queue": { "kind": "drop-tail", "size": "200 ms" } },
            { "at": "20 s", "queue": { "kind": "codel", "size": "200 ms" } },
            { "at": "25 s", "capacity": { "steps": [["0 s", "25 Mb/s"], ["2 s", "50 Mb/s"]] } },
        ]),
    ));
    let rtt = |from, to| mean(&run.rtts(from, to));
    assert!((16.0..17.5).contains(&rtt(1.0, 4.9)), "{}", rtt(1.0, 4.9));
    assert!((60.0..61.5).contains(&rtt(5.1, 9.9)), "{}", rtt(5.1, 9.9));
    let bins = |from, to| run.table("bins").only("flow", "game").between("bin_start_ns", from, to);
    let lost = |from, to| bins(from, to).sum("lost_packets") / bins(from, to).sum("sent_packets");
    assert_eq!((lost(0.0, 10.0), lost(15.5, 30.0)), (0.0, 0.0));
    assert!((0.07..0.13).contains(&lost(10.0, 15.0)), "{}", lost(10.0, 15.0));
    // A quarter more than the capacity fills a deaf queue, and CoDel keeps it short.
    let waits = |from, to| run.mean_wait("game", from, to);
    assert!((150.0..201.0).contains(&waits(15.0, 20.0)), "{}", waits(15.0, 20.0));
    assert!(waits(20.0, 25.0) < 0.8 * waits(15.0, 20.0), "{}", waits(20.0, 25.0));
    let capacity = |from, to| {
        let link: Table = run.table("link").between("bin_start_ns", from, to);
        link.sum("capacity_bytes") * 8e-6 / (to - from)
    };
    let found = [(0.0, 15.0), (15.0, 25.0), (25.0, 27.0), (27.0, 30.0)]
        .map(|(from, to)| capacity(from, to));
    assert_eq!(found, [25.0, 4.0, 25.0, 50.0]);
    let events = run.table("events").only("event", "path-changed");
    assert_eq!(events.present("time_ns"), [5e9, 10e9, 15e9, 20e9, 25e9]);
    assert_eq!(events.present("value"), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_gateway_and_a_way_back_come_with_their_change() {
    let spec = with_tcp(empty_path(20), "cubic", json!({}));
    let spec = with(spec, "/path/queue/size", json!("8 bdp"));
    let gateway = run(&changed(spec, json!([{ "at": "10 s", "gateway": "voap" }])));
    let told = gateway.table("controller").only("stream", "gateway").present("time_ns");
    assert!(told.iter().all(|at| *at > 10e9) && told.len() > 10, "{told:?}");
    let waits = |from, to| gateway.mean_wait("download", from, to);
    assert!(waits(15.0, 20.0) < 0.9 * waits(5.0, 10.0), "{}", waits(15.0, 20.0));

    let loss = json!([{ "at": "10 s", "back": { "loss": { "probability": "50 %" } } }]);
    let back = run(&changed(with_ping(empty_path(20), "20 ms"), loss));
    let answered = |from, to| back.rtts(from, to).len();
    assert_eq!(answered(0.0, 9.9), 495);
    assert!((200..300).contains(&answered(10.0, 20.0)), "{}", answered(10.0, 20.0));
}

#[test]
fn what_cannot_change_is_refused_with_its_key() {
    let of = |change: Value| try_run(&changed(busy(), json!([change]))).unwrap_err();
    for (change, field) in [
        (json!({ "at": "3 s" }), "path.change.0.at: changes nothing"),
        (json!({ "at": "0 s", "capacity": "5 Mb/s" }), "path.change.0.at: 0 s is not between"),
        (json!({ "at": "10 s", "capacity": "5 Mb/s" }), "path.change.0.at: 10 s is not before"),
        (json!({ "at": "3 s", "capacity": "0 b/s" }), "path.change.0.capacity"),
        (json!({ "at": "3 s", "queue": "codle" }), "path.change.0.queue"),
        (json!({ "at": "3 s", "base_rtt": "2 h" }), "path.change.0.base_rtt"),
        (json!({ "at": "3 s", "forward_delay": "1 s" }), "path.change.0.forward_delay"),
        (
            json!({ "at": "3 s", "capacity": { "wifi": "802.11n" } }),
            "path.change.0.capacity: a Wi-Fi medium cannot take the place of a link",
        ),
        (
            json!({ "at": "3 s", "back": { "capacity": "5 Mb/s" } }),
            "path.change.0.back.capacity: a bottleneck cannot take the place of no",
        ),
        (json!({ "at": "3 s", "hop": [] }), "unknown field `hop`"),
        (json!({ "at": "3 s", "capacity": { "trace": "/nowhere/x.trace" } }), "/nowhere/x.trace"),
    ] {
        let refused = of(change.clone());
        assert!(refused.contains(field), "{change}: {refused}");
    }
    let order = json!([{ "at": "3 s", "base_rtt": "1 ms" }, { "at": "3 s", "base_rtt": "2 ms" }]);
    let refused = try_run(&changed(busy(), order)).unwrap_err();
    assert!(refused.contains("path.change.1.at: is not after 3 s"), "{refused}");
    let foreseen = with_stream(empty_path(5), json!("oracle"), json!({}));
    let one = json!([{ "at": "1 s", "capacity": "5 Mb/s" }]);
    let refused = try_run(&changed(foreseen.clone(), one)).unwrap_err();
    assert!(refused.contains("cannot foresee path.change"), "{refused}");
    assert!(try_run(&changed(foreseen, json!([{ "at": "1 s", "base_rtt": "5 ms" }]))).is_ok());
}
