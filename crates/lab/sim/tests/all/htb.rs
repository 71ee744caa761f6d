//! HTB at the bottleneck: what an operator configures for a game, the headers by which it is known, and
//! set-ups that cannot be.

use crate::support::{Run, empty_path, run, try_run, with, with_stream, with_tcp};
use serde_json::{Value, json};

/// The game's class and the rest, which may each have all of 50 Mb/s.
fn game_and_rest() -> Value {
    json!({
        "kind": "htb", "rate": "50 Mb/s", "default": "rest",
        "class": {
            "game": {
                "rate": "30 Mb/s", "ceil": "50 Mb/s", "priority": 0, "burst": "64 kB",
                "match": { "protocol": "udp", "port": 5004 },
            },
            "rest": { "rate": "20 Mb/s", "ceil": "50 Mb/s", "priority": 1,
                      "queue": { "kind": "drop-tail", "size": "100 ms" } },
        },
    })
}

/// 50 Mb/s and 30 ms with this queue, SCReAM and a Cubic download.
fn scream_and_cubic(queue: &Value) -> Value {
    let path = with(empty_path(40), "/path/capacity", json!("50 Mb/s"));
    let path = with(with(path, "/path/base_rtt", json!("30 ms")), "/path/queue", queue.clone());
    let stream = json!({ "max_bitrate": "15 Mb/s" });
    with_tcp(with_stream(path, json!("scream"), stream), "cubic", json!({}))
}

/// Mean queueing delay in ms of a flow's packets after the start.
fn mean_wait(run: &Run, flow: &str) -> f64 {
    run.mean_wait(flow, 10.0, 40.0)
}

#[test]
fn a_game_in_its_class_hardly_waits_beside_a_download_that_does() {
    let shaped = run(&scream_and_cubic(&game_and_rest()));
    let (game, download) = (mean_wait(&shaped, "game"), mean_wait(&shaped, "download"));
    assert!(game < 2.0, "{game} ms");
    assert!(download > 20.0, "{download} ms");
    let rates = ["game", "download"].map(|flow| shaped.received_mbps(flow, 10.0, 40.0));
    assert!(rates[0] > 14.0 && rates[1] > 30.0, "{rates:?}");
    let used = shaped.utilization(10.0, 40.0);
    assert!((0.95..=1.001).contains(&used), "{used}");
    // The twin: one queue for both.
    let queue = json!({ "kind": "drop-tail", "size": "100 ms" });
    let shared = mean_wait(&run(&scream_and_cubic(&queue)), "game");
    assert!(shared > 20.0, "{shared} ms");
}

#[test]
fn flows_are_told_apart_by_the_headers_that_they_are_given() {
    let udp = |name: &str, header: Value| json!({ "name": name, "kind": "udp", "rate": "10 Mb/s", "header": header });
    let class = |rate: &str, rule: Value| json!({ "rate": rate, "match": rule });
    let queue = json!({
        "kind": "htb", "size": "20 packets", "default": "rest",
        "class": {
            "a-port": class("1 Mb/s", json!({ "protocol": "udp", "port": "6000-6100" })),
            "b-dscp": class("2 Mb/s", json!({ "dscp": "ef", "protocol": "udp" })),
            "c-host": class("3 Mb/s", json!({
                "one": { "destination": "192.168.0.77" }, "six": { "source": "2001:db8::/32" },
            })),
            "rest": { "rate": "4 Mb/s" },
        },
    });
    let path = with(empty_path(5), "/path/queue", queue);
    let spec = with(
        path,
        "/competitor",
        json!([
            udp("port", json!({ "port": 6100, "dscp": 46 })),
            udp("dscp", json!({ "dscp": "EF" })),
            udp("host", json!({ "client": "192.168.0.77" })),
            udp("same-host", json!({ "client": "192.168.0.77", "server": "198.18.9.9" })),
            udp("plain", json!({})),
        ]),
    );
    let rates = |spec: &Value| {
        let run = run(spec);
        ["port", "dscp", "host", "same-host", "plain"].map(|flow| run.received_mbps(flow, 1.0, 5.0))
    };
    let found = rates(&spec);
    let together = found[2] + found[3];
    for (found, expected) in
        [found[0], found[1], together, found[4]].iter().zip([1.0, 2.0, 3.0, 4.0])
    {
        assert!((found - expected).abs() < 0.05 * expected, "{found} of {expected}");
    }
    let ends = json!({ "client": "2001:db8:1::7", "server": "2001:db8:2::7" });
    let found = rates(&with(spec, "/competitor/4/header", ends));
    assert!((found[2] + found[3] + found[4] - 3.0).abs() < 0.15, "{found:?}");
}

#[test]
fn rules_are_asked_in_the_order_that_the_classes_have() {
    let rate = |order: u32| {
        let mut queue = game_and_rest();
        queue["class"]["all"] = json!({
            "rate": "0.5 Mb/s", "match": { "protocol": "udp" }, "order": order,
        });
        queue["class"]["game"]["rate"] = json!("29 Mb/s");
        queue["class"]["game"]["order"] = json!(1);
        queue["class"]["rest"]["order"] = json!(3);
        let mut spec = scream_and_cubic(&queue);
        spec["duration"] = json!("10 s");
        spec["stream"][0]["header"] = json!({ "port": 5004 });
        try_run(&spec).map(|_| run(&spec).received_mbps("game", 5.0, 10.0))
    };
    assert!(rate(2).unwrap() > 5.0);
    // First it takes what the game's rule would take.
    assert!(rate(0).unwrap_err().contains("path.queue.class.game.match: can never match"));
}

/// What is refused when `pointer` of the good queue has this value.
fn refused(pointer: &str, value: &Value) -> String {
    let mut queue = game_and_rest();
    // 1 Mb/s is left for one more class.
    queue["class"]["game"]["rate"] = json!("29 Mb/s");
    let spec = scream_and_cubic(&queue);
    let spec = with(spec, &format!("/path/queue{pointer}"), value.clone());
    let error = try_run(&with(spec, "/duration", json!("10 ms"))).err();
    error.unwrap_or_else(|| panic!("{pointer} = {value} was accepted"))
}

#[test]
fn classes_that_cannot_be_are_refused_with_field_and_rule() {
    let leaf = |rate: &str| json!({ "rate": rate, "parent": "game", "match": { "port": 1 } });
    let cases = [
        (
            "/default",
            json!("rset"),
            "path.queue.default: \"rset\" is no class; known are game, rest",
        ),
        ("/rate", json!("49 Mb/s"), "is never reached"),
        ("/rate", json!("0 b/s"), "path.queue.rate: 0 b/s is not between 1 b/s"),
        (
            "/class/game/rate",
            json!("31 Mb/s"),
            "path.queue.rate: 50 Mb/s is less than its children are assured together (51 Mb/s)",
        ),
        (
            "/class/game/rate",
            json!("0 b/s"),
            "path.queue.class.game.rate: 0 b/s is not between 1 b/s",
        ),
        ("/class/game/rate", json!("-1 Mb/s"), "-1 Mb/s"),
        (
            "/class/game/ceil",
            json!("28 Mb/s"),
            "path.queue.class.game.ceil: 28 Mb/s is less than its rate (29 Mb/s)",
        ),
        (
            "/class/game/ceil",
            json!("51 Mb/s"),
            "path.queue.class.game.ceil: 51 Mb/s is never reached",
        ),
        (
            "/class/game/priority",
            json!(8),
            "path.queue.class.game.priority: 8 is not between 0 and 7",
        ),
        ("/class/game/priority", json!(-1), "-1 is not between 0 and 7"),
        (
            "/class/game/quantum",
            json!("0 B"),
            "path.queue.class.game.quantum: 0 B is not between 1 B and 1 GB",
        ),
        (
            "/class/game/burst",
            json!("2 GB"),
            "path.queue.class.game.burst: 2 GB is not between 1 B",
        ),
        (
            "/class/game/parent",
            json!("top"),
            "path.queue.class.game.parent: \"top\" is no class; known are game, rest",
        ),
        ("/class/game/parent", json!("game"), "path.queue.class.game"),
        ("/class/game/match", json!({}), "path.queue.class.game.match"),
        ("/class/game/match", json!({ "port": 0 }), "\"0\" is no port"),
        (
            "/class/game/match",
            json!({ "prot": "udp" }),
            "path.queue.class.game.match.prot: is no option; known are address, destination",
        ),
        (
            "/class/game/match",
            json!({ "protocol": "icmp", "port": 7 }),
            "path.queue.class.game.match: can never match: icmp has no ports",
        ),
        ("/class/game/match", json!({ "source": "10.0.0.1/8" }), "bits behind its length"),
        ("/class/game/match", json!({ "dscp": 64 }), "\"64\" is no DSCP"),
        ("/class/game/match", json!({ "traffic": "web" }), "\"web\" is no kind of traffic"),
        (
            "/class/rest/match",
            json!({ "protocol": "udp", "port": 5004, "ecn": "ect1" }),
            "path.queue.class.rest.match: can never match: a rule of \"game\"",
        ),
        (
            "/class/game/match",
            json!({ "a": { "port": 5004 }, "b": { "port": "5004-5004" } }),
            "path.queue.class.game.match.b: can never match",
        ),
        (
            "/class/child",
            leaf("1 Mb/s"),
            "path.queue.class.game.match: has no meaning: \"game\" has children",
        ),
        ("/class/other", json!({ "rate": "1 Mb/s" }), "path.queue.class.other.match: is missing"),
        (
            "/class/rest/queue",
            json!({ "kind": "pie", "size": "1 MB", "alpha": -1 }),
            "path.queue.class.rest.queue.alpha",
        ),
    ];
    for (pointer, value, expected) in cases {
        let message = refused(pointer, &value);
        assert!(message.contains(expected), "{pointer} = {value}: {message}");
    }
    // A default that has children, and a circle.
    let mut queue = game_and_rest();
    queue["class"]["rest"] = json!({ "rate": "20 Mb/s" });
    queue["class"]["child"] = json!({ "rate": "1 Mb/s", "parent": "rest", "match": { "port": 1 } });
    assert!(refused("", &queue).contains("path.queue.default: \"rest\" has children"));
    queue["class"]["rest"]["parent"] = json!("child");
    queue["class"]["child"] = json!({ "rate": "1 Mb/s", "parent": "rest" });
    assert!(refused("", &queue).contains("leads back to the class itself"));
}

#[test]
fn headers_that_cannot_be_are_refused_with_their_field() {
    let cases = [
        (json!({ "client": "192.168.0.300" }), "invalid IP address"),
        (json!({ "port": 0 }), "stream \"game\": header.port: 0 is not between 1 and 65535"),
        (json!({ "port": 65_536 }), "65536"),
        (json!({ "dscp": "gold" }), "\"gold\" is no DSCP"),
        (json!({ "server": "2001:db8::1" }), "stream \"game\": header.server: is of IPv6"),
        (json!({ "client": "0.0.0.0" }), "header.client: 0.0.0.0 is not the address of a host"),
        (json!({ "prot": "udp" }), "unknown field `prot`"),
    ];
    for (header, expected) in cases {
        let spec = with(scream_and_cubic(&game_and_rest()), "/stream/0/header", header.clone());
        let message = try_run(&spec).err();
        let message = message.unwrap_or_else(|| panic!("{header} was accepted"));
        assert!(message.contains(expected), "{header}: {message}");
    }
}

#[test]
fn a_game_gets_its_class_by_its_behaviour_alone() {
    let mut queue = game_and_rest();
    queue["class"]["game"]["match"] = json!({ "traffic": "game" });
    let by_behaviour = scream_and_cubic(&queue);
    let refused = try_run(&by_behaviour).unwrap_err();
    assert!(
        refused.contains("path.queue.class.game.match: \"traffic\" never matches"),
        "{refused}"
    );
    let recognised = run(&with(by_behaviour, "/path/classifier", json!("behaviour")));
    // As with a rule on ports, but for the moments in which it is not recognised.
    let (game, download) = (mean_wait(&recognised, "game"), mean_wait(&recognised, "download"));
    assert!(game < 4.0 && download > 20.0, "{game} and {download} ms");
}
