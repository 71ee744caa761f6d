//! A game beside downloads at a Wi-Fi access point: with one queue for all stations, and with a queue for each and turns by
//! airtime; with windows that are lowered by time, and by frames.

use crate::support::{Run, empty_path, quantile, run, with, with_ping, with_tcp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const FROM: f64 = 4.0;
const TO: f64 = 10.0;
/// What a game may wait in 99 of 100 packets, and what downloads keep of what they have without.
const MAX_WAIT_MS: f64 = 5.0;
const MIN_KEPT: f64 = 0.97;

fn ac() -> Value {
    json!({ "wifi": "802.11ac" })
}

/// Long frames of 802.11n, of which only the short RTS collide.
fn n() -> Value {
    json!({ "wifi": "802.11n", "streams": 1, "aggregate_time": "4 ms", "rts_above": "3 kB" })
}

fn one_queue() -> Value {
    json!({ "kind": "drop-tail", "size": "1000 packets" })
}

fn airtime() -> Value {
    json!({ "kind": "airtime" })
}

fn frames() -> Value {
    json!({ "kind": "windows", "target": "frames" })
}

/// A marked game, and so many downloads (kind and congestion control), each on a station of its own.
fn home(wifi: Value, queue: Value, gateway: Value, downloads: (&str, &str, u32)) -> Value {
    let (kind, congestion_control, count) = downloads;
    let spec = with(empty_path(TO as u32), "/path/capacity", wifi);
    let spec = with(spec, "/path/base_rtt", json!("30 ms"));
    let spec = with(spec, "/path/forward_delay", json!("0 s"));
    let spec = with(with(spec, "/path/queue", queue), "/path/gateway", gateway);
    let provider = json!({ "name": "provider", "capacity": "1 Gb/s",
        "queue": { "kind": "drop-tail", "size": "200 ms" } });
    let spec = with(spec, "/path/hop", json!([provider]));
    let game = json!({ "name": "game", "kind": "onlive-ut", "header": { "dscp": "ef" } });
    let spec = with(spec, "/competitor/-", game);
    (0..count).fold(spec, |spec, number| {
        let name = format!("download-{number}");
        with_tcp(spec, congestion_control, json!({ "name": name, "kind": kind, "start": "1 s" }))
    })
}

/// Of the game's packets 99 % wait no longer, in ms; between the edges of a bucket in proportion.
fn wait(run: &Run) -> f64 {
    let delays = run.table("queue_delay").only("flow", "game");
    let delays = delays.between("window_start_ns", FROM, TO);
    let [low, high, packets] = ["delay_low_ns", "delay_high_ns", "packets"]
        .map(|name| delays.column(name).iter().map(|one| one.unwrap()).collect::<Vec<f64>>());
    let mut buckets = BTreeMap::new();
    for ((low, high), packets) in low.into_iter().zip(high).zip(packets) {
        buckets.entry(low as u64).or_insert((low, high, 0.0)).2 += packets;
    }
    let mut left = 0.99 * buckets.values().map(|(_, _, packets)| packets).sum::<f64>();
    for (low, high, packets) in buckets.into_values() {
        if packets >= left {
            return (low + (high - low) * left / packets) / 1e6;
        }
        left -= packets;
    }
    panic!("no packets")
}

/// Mb/s of all downloads, and of the one that has least.
fn downloads(run: &Run) -> (f64, f64) {
    let names = run.table("bins").names["flow"].iter().cloned().collect::<BTreeSet<_>>();
    let own = names.iter().filter(|name| name.starts_with("download"));
    let rates: Vec<f64> = own.map(|name| run.received_mbps(name, FROM, TO)).collect();
    (rates.iter().sum(), rates.into_iter().fold(f64::INFINITY, f64::min))
}

/// Transport, congestion control and number of downloads at an access point.
type Flows = (&'static str, &'static str, u32);

#[test]
fn a_game_waits_for_a_frame_and_downloads_have_no_less_than_without() {
    a_game_waits_for_a_frame(&[("tcp", "cubic", 20), ("tcp", "bbr", 1)]);
}

#[test]
#[ignore = "seven cases: make long"]
fn a_game_waits_for_a_frame_in_every_case() {
    a_game_waits_for_a_frame(&[
        ("tcp", "cubic", 1),
        ("tcp", "cubic", 20),
        ("tcp", "bbr", 1),
        ("tcp", "bbr", 20),
        ("quic", "cubic", 1),
        ("quic", "cubic", 20),
        ("quic", "bbr", 20),
    ]);
}

fn a_game_waits_for_a_frame(cases: &[Flows]) {
    for flows in cases.iter().copied() {
        for wifi in [ac, n] {
            let of = |queue, gateway| run(&home(wifi(), queue, gateway, flows));
            let (before, after) = (of(one_queue(), json!("none")), of(airtime(), json!("none")));
            let what = format!("{flows:?}, {}", wifi());
            let (waited, without) = (wait(&after), wait(&before));
            assert!((0.5..MAX_WAIT_MS).contains(&waited), "{what}: {waited} ms");
            // The twin.
            assert!(without > 2.0 * MAX_WAIT_MS, "{what}: {without} ms with one queue");
            let ((kept, min), (had, _)) = (downloads(&after), downloads(&before));
            assert!((MIN_KEPT..12.0).contains(&(kept / had)), "{what}: {kept} of {had}");
            assert!(min > 0.8 * kept / f64::from(flows.2), "{what}: {min} of {kept}");
            let steered = of(airtime(), frames());
            let waited = wait(&steered);
            assert!((0.5..MAX_WAIT_MS).contains(&waited), "{what}: {waited} ms");
            let (steered, _) = downloads(&steered);
            // Twenty CUBIC downloads on 802.11n: 96.5 to 97.8 % over seeds.
            assert!((0.96..1.07).contains(&(steered / kept)), "{what}: {steered} of {kept}");
        }
    }
}

/// What fails: the published variant, and windows that are lowered by a time which frames do not fit into. The same access
/// point keeps what it has where windows leave a frame for each station.
#[test]
fn windows_that_know_no_frames_cost_downloads_their_frames() {
    let wifi = || json!({ "wifi": "802.11n", "streams": 1 });
    // The published one needs half a minute.
    let of = |queue, count, gateway| {
        let spec = home(wifi(), queue, gateway, ("tcp", "cubic", count));
        let spec = with(with(spec, "/duration", json!("40 s")), "/path/base_rtt", json!("80 ms"));
        let spec = with_ping(spec, "10 ms");
        let run = run(&spec);
        (0..count)
            .map(|number| run.received_mbps(&format!("download-{number}"), 20.0, 40.0))
            .sum::<f64>()
    };
    let two_fifty = || json!({ "kind": "drop-tail", "size": "250 packets" });
    for (queue, count) in [(airtime as fn() -> Value, 4), (two_fifty, 2)] {
        let (voap, none) = (of(queue(), count, json!("voap")), of(queue(), count, json!("none")));
        assert!((0.6..0.9).contains(&(voap / none)), "{voap} of {none}");
    }
    let (kept, none) = (of(airtime(), 4, frames()), of(airtime(), 4, json!("none")));
    assert!((MIN_KEPT..1.03).contains(&(kept / none)), "{kept} of {none}");
    let many = |gateway| downloads(&run(&home(ac(), airtime(), gateway, ("tcp", "bbr", 20)))).0;
    let (by_time, none) = (many(json!("windows")), many(json!("none")));
    assert!((0.1..0.7).contains(&(by_time / none)), "{by_time} of {none}");
}

/// Downloads over QUIC have no windows to lower: those of TCP give way to them a little, and not for good.
#[test]
fn windows_by_frames_leave_tcp_its_share_beside_quic() {
    let of = |gateway| {
        let spec = home(ac(), airtime(), gateway, ("tcp", "cubic", 4));
        let quic = |name| json!({ "name": name, "kind": "quic", "start": "1 s" });
        let spec = ["quic-0", "quic-1"]
            .map(quic)
            .into_iter()
            .fold(spec, |spec, flow| with(spec, "/competitor/-", flow));
        let run = run(&spec);
        (downloads(&run).0, run.received_mbps("quic-0", FROM, TO), wait(&run))
    };
    let ((tcp, quic, waited), (had, _, _)) = (of(frames()), of(json!("none")));
    // Three quarters: rounds are taken for shorter than they are, since those of QUIC are not counted.
    assert!((0.65..1.05).contains(&(tcp / had)), "{tcp} of {had}");
    assert!((0.4..1.25).contains(&(tcp / 4.0 / quic)), "{tcp} of four, {quic} of one");
    assert!((0.5..MAX_WAIT_MS).contains(&waited), "{waited} ms");
}

/// Without RTS the frame and another one collide as a whole now and then, and the game waits for both.
#[test]
fn a_game_waits_for_one_frame_of_the_longest() {
    for (time, longest) in [("4 ms", 4.0), ("2 ms", 2.0)] {
        let wifi = with(n(), "/aggregate_time", json!(time));
        let flows = ("tcp", "cubic", 4);
        let waited = wait(&run(&home(wifi.clone(), airtime(), json!("none"), flows)));
        // And its acknowledgement of 48 us.
        assert!((0.95..1.3).contains(&(waited / longest)), "{time}: {waited} ms");
        let whole = with(wifi, "/rts_above", Value::Null);
        let waited = wait(&run(&home(whole, airtime(), json!("none"), flows)));
        assert!((1.5..2.2).contains(&(waited / longest)), "{time} without RTS: {waited} ms");
    }
}

/// A game that nobody told of is found by its behaviour; one that nobody looks for is one of the stations.
#[test]
fn a_game_is_served_first_by_its_mark_or_by_its_behaviour() {
    let of = |priority: &str, classifier: &str| {
        let queue = json!({ "kind": "airtime", "priority": priority });
        let spec = home(n(), queue, json!("none"), ("tcp", "cubic", 20));
        let unmarked = with(spec, "/competitor/0/header", json!({}));
        wait(&run(&with(unmarked, "/path/classifier", json!(classifier))))
    };
    let found = of("games", "behaviour");
    assert!((0.5..MAX_WAIT_MS).contains(&found), "{found} ms");
    // 6.3 Mb/s are more than its share of one in twenty-one.
    let (unseen, unmarked) = (of("games", "none"), of("marked", "behaviour"));
    assert!(unseen > 1000.0 && unmarked > 1000.0, "{unseen} and {unmarked} ms");
}

/// Paced downloads of four stations come packet by packet in turn: in one queue no two for one station stand together, so
/// that each frame has one packet. It is neither BBR nor the clients' acknowledgements: on one station all is well.
#[test]
fn paced_downloads_of_several_stations_need_a_queue_for_each() {
    let of = |queue: Value, stations: u32| {
        let spec = with(empty_path(8), "/path/capacity", ac());
        let spec = with(with(spec, "/path/base_rtt", json!("20 ms")), "/path/queue", queue);
        let provider = json!({ "name": "provider", "capacity": "200 Mb/s",
            "queue": { "kind": "drop-tail", "size": "200 ms" } });
        let spec = with(spec, "/path/hop", json!([provider]));
        let spec = (0..4).fold(spec, |spec, number| {
            let client = format!("192.168.0.{}", 20 + number % stations);
            let header = json!({ "client": client });
            with_tcp(spec, "bbr", json!({ "name": format!("download-{number}"), "header": header }))
        });
        let run = run(&with(with_ping(spec, "50 ms"), "/record", json!({ "packets": true })));
        let packets = run.table("packets").between("came_ns", 4.0, 8.0);
        let departed = packets.present("departed_ns");
        let frames: BTreeSet<u64> = departed.iter().map(|at| *at as u64).collect();
        let mbps =
            run.table("bins").between("bin_start_ns", 4.0, 8.0).sum("received_bytes") / 0.5e6;
        (mbps, departed.len() as f64 / frames.len() as f64)
    };
    let (rate, length) = of(one_queue(), 4);
    assert!((40.0..80.0).contains(&rate) && (1.0..2.0).contains(&length), "{rate}, {length}");
    for (queue, stations) in [(one_queue(), 1), (airtime(), 4)] {
        let (rate, length) = of(queue, stations);
        assert!((190.0..200.1).contains(&rate) && length > 4.0, "{rate}, {length}");
    }
}

/// The rest of the home gains, too: an unmarked ping waits for its turn and not for the others' queue.
#[test]
fn what_needs_little_waits_for_its_turn() {
    let of = |queue: Value| {
        let spec = home(ac(), queue, json!("none"), ("tcp", "cubic", 4));
        quantile(&run(&with_ping(spec, "20 ms")).rtts(FROM, TO), 0.5) - 30.0
    };
    let device = json!({ "kind": "airtime", "aql": "0 s" });
    let (one, held, at_once) = (of(one_queue()), of(airtime()), of(device));
    assert!(at_once > 1.0 && 2.0 * at_once < held && 2.0 * held < one, "{at_once} {held} {one}");
}
