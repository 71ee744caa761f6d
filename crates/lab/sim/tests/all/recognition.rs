//! The classifier in the simulated network: what it finds, what it leaves alone, what it changes.

use crate::support::{Run, empty_path, fixed, run, with, with_stream, with_tcp};
use serde_json::{Value, json};

fn watched(spec: Value) -> Run {
    run(&with(spec, "/path/classifier", json!("behaviour")))
}

/// Times in seconds at which a flow was recognised, or was so no longer.
fn events(run: &Run, flow: &str) -> Vec<(f64, f64)> {
    let table = run.table("events").only("flow", flow).only("event", "recognised");
    let times = table.present("time_ns").into_iter().map(|nanos| nanos / 1e9);
    times.zip(table.present("value")).collect()
}

#[test]
fn streams_of_any_controller_and_frame_rate_are_found_within_two_seconds() {
    for controller in ["pudica", "gcc", "scream", "nada", "sqp", "copa", "salsify"] {
        for frame_rate in [30, 60, 120] {
            let more = json!({ "video": "doom", "frame_rate": frame_rate });
            let found =
                events(&watched(with_stream(empty_path(8), json!(controller), more)), "game");
            let all = format!("{controller} at {frame_rate}: {found:?}");
            assert_eq!(found.first().map(|event| event.1), Some(1.0), "{all}");
            assert!((1.5..2.1).contains(&found[0].0), "{all}");
            assert_eq!(found.len(), 1, "{all}");
        }
    }
}

/// Copa keeps its window full, so that its packets leave by acknowledgements from its first second on, and FQ-CoDel's share
/// of the link changes with what else is there.
#[test]
fn a_stream_that_its_window_paces_on_a_full_path_is_found_within_two_seconds() {
    let path = with(empty_path(9), "/path/capacity", json!("15 Mb/s"));
    let path = with(path, "/path/base_rtt", json!("24 ms"));
    let path = with(path, "/path/queue", json!({ "kind": "fq-codel", "size": "100 ms" }));
    let film = json!({ "name": "film", "on_off": { "segment": "4 s", "bitrate": "3 Mb/s" } });
    let pages = json!({ "name": "pages", "kind": "short-tcp", "connections": 6, "mean_gap": "3 s",
        "begins": "on", "min_size": "20 kB", "max_size": "200 kB" });
    let busy =
        with_tcp(with_tcp(with_tcp(path, "cubic", json!({})), "cubic", film), "cubic", pages);
    for frame_rate in [30, 60, 120] {
        let more = json!({ "video": "doom", "frame_rate": frame_rate, "max_bitrate": "30 Mb/s", "start": "5 s" });
        let found = events(&watched(with_stream(busy.clone(), json!("copa"), more)), "game");
        assert!(
            matches!(found[..], [(at, 1.0)] if (6.5..7.0).contains(&at)),
            "{frame_rate}: {found:?}"
        );
    }
}

#[test]
fn a_stream_that_goes_up_is_found() {
    let more = json!({ "direction": "up", "video": "doom" });
    let run = watched(with_stream(empty_path(6), fixed("6 Mb/s"), more));
    assert_eq!(events(&run, "game").len(), 1);
}

#[test]
fn other_traffic_is_left_alone_and_onlive_is_found() {
    let others = [
        json!({ "name": "a", "kind": "tcp", "congestion_control": "cubic" }),
        json!({ "name": "a", "kind": "tcp", "congestion_control": "bbr", "direction": "up" }),
        json!({ "name": "a", "kind": "tcp", "congestion_control": "cubic", "rate_limit": "10 Mb/s" }),
        json!({ "name": "a", "kind": "tcp", "congestion_control": "cubic", "on_off": { "segment": "2 s", "bitrate": "5 Mb/s" } }),
        json!({ "name": "a", "kind": "short-tcp", "congestion_control": "cubic", "connections": 6, "mean_gap": "500 ms" }),
        json!({ "name": "a", "kind": "video-chat", "bitrate": "3 Mb/s" }),
        json!({ "name": "a", "kind": "video-chat", "bitrate": "4 Mb/s", "frame_rate": 60 }),
        json!({ "name": "a", "kind": "udp", "rate": "48 kb/s", "packet_size": "120 B", "return_rate": "48 kb/s" }),
        json!({ "name": "a", "kind": "udp", "rate": "8 Mb/s", "packet_size": "1278 B", "return_rate": "100 kb/s", "return_packet_size": "75 B" }),
    ];
    for other in others {
        let text = other.to_string();
        let found = events(&watched(with(empty_path(12), "/competitor/-", other)), "a");
        assert_eq!(found, [], "{text}");
    }
    for kind in ["onlive-ut", "onlive-rome"] {
        for spacing in ["even", "exponential"] {
            let game = json!({ "name": "a", "kind": kind, "spacing": spacing });
            let found = events(&watched(with(empty_path(12), "/competitor/-", game)), "a");
            assert_eq!(found.len(), 1, "{kind} {spacing}: {found:?}");
        }
    }
}

#[test]
fn a_pause_demotes_and_the_end_of_it_promotes() {
    let more = json!({ "video": "doom", "pause": { "from": "5 s", "to": "10 s" } });
    let found = events(&watched(with_stream(empty_path(15), fixed("6 Mb/s"), more)), "game");
    assert_eq!(found.iter().map(|event| event.1).collect::<Vec<_>>(), [1.0, 0.0, 1.0], "{found:?}");
    assert!((10.0..10.2).contains(&found[1].0) && found[2].0 < 12.0, "{found:?}");
}

#[test]
fn a_flow_that_does_not_pass_the_gateway_is_not_seen() {
    let hop = json!({
        "name": "access", "capacity": "30 Mb/s",
        "queue": { "kind": "drop-tail", "size": "2 bdp" },
    });
    let spec = with(empty_path(4), "/path/hop", json!([hop]));
    let spec = with_stream(spec, fixed("6 Mb/s"), json!({ "via": "access" }));
    assert_eq!(events(&watched(spec), "game"), []);
}

#[test]
fn to_look_changes_nothing_but_the_events() {
    let spec = with_tcp(
        with_stream(empty_path(6), json!("gcc"), json!({})),
        "cubic",
        json!({ "start": "2 s" }),
    );
    let (mut seen, mut unseen) = (watched(spec.clone()).events, run(&spec).events);
    assert!(seen != unseen);
    for events in [&mut seen, &mut unseen] {
        events.retain(|event| event.table() != "events");
    }
    assert!(seen == unseen);
}
