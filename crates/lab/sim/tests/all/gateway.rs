//! A home gateway at the path's bottleneck, beside everything else that a path can have.

#![allow(clippy::float_cmp, reason = "flags are whole numbers")]

use crate::support::{Run, empty_path, fixed, max, run, try_run, with, with_stream, with_tcp};
use serde_json::{Value, json};

/// 25 Mb/s, 80 ms and 250 packets with a download, a steady stream of 6 Mb/s, and this gateway.
fn home(gateway: Value) -> Value {
    let spec = with_stream(empty_path(40), fixed("6 Mb/s"), json!({}));
    let spec = with_tcp(spec, "cubic", json!({ "start": "1 s" }));
    let spec = with(spec, "/path/base_rtt", json!("80 ms"));
    let queue = json!({ "kind": "drop-tail", "size": "250 packets" });
    let spec = with(spec, "/path/queue", queue);
    with(spec, "/path/gateway", gateway)
}

fn backlog() -> Value {
    json!({ "kind": "voap", "step": "backlog", "memory": "1 s" })
}

/// Mean queueing delay in ms of a flow's packets after it has settled.
fn mean_wait(run: &Run, flow: &str) -> f64 {
    run.mean_wait(flow, 20.0, 40.0)
}

#[test]
fn no_gateway_is_a_gateway_that_only_forwards() {
    let mut without = home(json!(null));
    without["path"].as_object_mut().map(|path| path.remove("gateway"));
    let forwards = run(&home(json!({ "kind": "none" })));
    assert!(run(&without).events == forwards.events);
}

#[test]
fn it_does_the_same_twice() {
    let events = || run(&home(backlog())).events;
    assert!(events() == events());
}

#[test]
fn the_queue_is_short_and_the_link_is_full() {
    let bare = run(&home(json!({ "kind": "none" })));
    assert!((50.0..110.0).contains(&mean_wait(&bare, "game")));
    for gateway in [backlog(), json!({ "kind": "sap-law", "capacity": "25 Mb/s" })] {
        let run = run(&home(gateway));
        let wait = mean_wait(&run, "game");
        assert!((1.0..15.0).contains(&wait), "{wait} ms");
        let share =
            run.received_mbps("download", 20.0, 40.0) / bare.received_mbps("download", 20.0, 40.0);
        assert!((0.98..1.02).contains(&share), "{share}");
    }
}

/// What comes back may have a queue of its own; the gateway sees it behind that.
#[test]
fn a_narrow_way_back_changes_nothing() {
    let run = run(&with(home(backlog()), "/path/back", json!({ "capacity": "2 Mb/s" })));
    let wait = mean_wait(&run, "game");
    assert!((1.0..15.0).contains(&wait), "{wait} ms");
    assert!(run.utilization(20.0, 40.0) > 0.97);
}

/// Its queue is the path's; what waits at a further hop it neither sees nor helps.
#[test]
fn a_flow_that_does_not_pass_the_gateway_is_left_alone() {
    let hop = json!({ "name": "last", "capacity": "20 Mb/s",
        "queue": { "kind": "drop-tail", "size": "250 packets" } });
    let spec = with(home(backlog()), "/path/hop", json!([hop]));
    let mut spec = with(spec, "/competitor/0/via", json!("last"));
    spec["stream"][0]["via"] = json!("last");
    let run = run(&spec);
    assert!((50.0..130.0).contains(&mean_wait(&run, "game")));
    assert!(run.variable("download", "voap_active", 0.0, 40.0).is_empty());
    assert_eq!(max(&run.variable("gateway", "queue_delay_max_ms", 0.0, 40.0)), 0.0);
}

/// The gateway of a home is behind the provider's queue: what comes to it has left that, at its rate, and does not wait
/// any more. The same gateway in front of the same queue sees it.
#[test]
fn the_gateway_sees_what_leaves_a_hop_in_front() {
    let at = |place: &str| {
        let hop = json!({ "name": "provider", "place": place, "capacity": "20 Mb/s",
            "queue": { "kind": "drop-tail", "size": "250 packets" } });
        let spec = with(home(backlog()), "/path/capacity", json!("40 Mb/s"));
        run(&with(spec, "/path/hop", json!([hop])))
    };
    let run = at("in-front");
    let wait = mean_wait(&run, "game");
    assert!((50.0..130.0).contains(&wait), "{wait} ms");
    let seen = max(&run.variable("gateway", "queue_delay_max_ms", 0.0, 40.0));
    // A packet of 1500 B leaves the hop each 0.6 ms, and takes 0.3 ms here.
    assert!(seen < 0.3, "{seen} ms");
    assert!(!run.variable("download", "voap_active", 0.0, 40.0).is_empty());
    // Behind it, what the server sends comes to the gateway first, in bursts.
    let seen = max(&at("behind").variable("gateway", "queue_delay_max_ms", 0.0, 40.0));
    assert!(seen > 1.0, "{seen} ms");
}

/// Short transfers are connections of their own; each is a flow of the table and logged under one name. The
/// slow start of each is left alone, as the paper says, so that the queue is not gone: HyStart keeps it short.
#[test]
fn short_transfers_come_under_control_and_go() {
    let pages = json!({ "name": "pages", "kind": "short-tcp", "congestion_control": "cubic",
        "mean_gap": "300 ms", "min_size": "2 MB", "max_size": "2 MB" });
    let run = run(&with(home(backlog()), "/competitor/-", pages));
    let active = run.variable("pages", "voap_active", 0.0, 40.0);
    assert!(active.contains(&1.0) && active.contains(&0.0), "{active:?}");
    let wait = mean_wait(&run, "game");
    assert!((6.0..20.0).contains(&wait), "{wait} ms");
}

/// A medium that recorded capacity makes change all the time: the gateway knows none of it.
#[test]
fn it_follows_a_capacity_that_changes() {
    let steps = json!({ "steps": [["0 s", "25 Mb/s"], ["15 s", "12 Mb/s"], ["25 s", "25 Mb/s"]] });
    let run = run(&with(home(backlog()), "/path/capacity", steps));
    let delays = |from, to| max(&run.variable("gateway", "queue_delay_max_ms", from, to));
    // A window for 25 Mb/s at 12 Mb/s: it waits, and is given up within seconds.
    assert!(delays(15.0, 17.0) > 40.0);
    assert!(delays(19.0, 25.0) < 25.0, "{}", delays(19.0, 25.0));
    let grown = run.received_mbps("download", 38.0, 40.0);
    assert!((14.0..19.1).contains(&grown), "{grown}");
}

#[test]
fn what_is_no_gateway_is_refused_with_its_field() {
    let cases = [
        (json!({ "kind": "vaop" }), "path.gateway.kind: unknown gateway \"vaop\""),
        (
            json!({ "kind": "none", "alpha": "1 ms" }),
            "path.gateway.alpha: a gateway that only forwards has no options",
        ),
        (json!({ "kind": "voap", "alpha": "16 ms" }), "path.gateway.beta: 15 ms is below alpha"),
        (json!({ "kind": "voap", "period": "0 ms" }), "path.gateway.period"),
        (json!({ "kind": "voap", "memory": "-1 s" }), "path.gateway.memory"),
        (json!({ "kind": "sap-law" }), "path.gateway.capacity: must be given"),
        (json!({ "kind": "sap-law", "capacity": "0 b/s" }), "path.gateway.capacity"),
        (json!({ "kind": "sap-law", "capacity": "1 Mb/s", "rtt": "0 s" }), "path.gateway.rtt"),
    ];
    for (gateway, told) in cases {
        let refused = try_run(&home(gateway)).expect_err(told);
        assert!(refused.contains(told), "{refused}");
    }
}
