//! A home behind a provider's queue: servers, the provider's link, the gateway, the home's wire.

use crate::support::{Run, empty_path, quantile, run, with, with_ping, with_tcp};
use serde_json::{Value, json};

/// What a game waits at most, in 99 of 100 packets, and what downloads have of the link at least.
const MAX_WAIT_MS: f64 = 20.0;
const MIN_SHARE: f64 = 0.98;

/// The provider's link.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) mbps: u32,
    pub(super) rtt_ms: u32,
    pub(super) queue_ms: u32,
}

pub(super) const SLOW: Line = Line { mbps: 20, rtt_ms: 30, queue_ms: 200 };

fn home(line: Line, seconds: u32, gateway: &str) -> Value {
    let bytes = line.mbps * line.queue_ms * 125;
    let provider = json!({
        "name": "provider", "place": "in-front", "capacity": format!("{} Mb/s", line.mbps),
        "queue": { "kind": "drop-tail", "size": format!("{bytes} B") },
    });
    let spec = with(empty_path(seconds), "/path/capacity", json!("1 Gb/s"));
    let spec = with(spec, "/path/base_rtt", json!(format!("{} ms", line.rtt_ms)));
    // All of the distance is between the servers and the home.
    let spec = with(spec, "/path/forward_delay", json!("0 s"));
    let spec = with(spec, "/path/queue/size", json!("2000 packets"));
    let spec = with(spec, "/path/hop", json!([provider]));
    with(with_ping(spec, "10 ms"), "/path/gateway", json!(gateway))
}

/// So many downloads, each `apart` seconds after the one before.
pub(super) fn with_downloads(
    spec: Value,
    congestion_control: &str,
    count: u32,
    apart: f64,
) -> Value {
    (0..count).fold(spec, |spec, number| {
        let start = format!("{} s", 1.0 + f64::from(number) * apart);
        let more = json!({ "name": format!("download-{number}"), "start": start });
        with_tcp(spec, congestion_control, more)
    })
}

/// What 99 of 100 pings wait at most, in ms.
pub(super) fn wait(run: &Run, line: Line, from: f64, to: f64) -> f64 {
    quantile(&run.rtts(from, to), 0.99) - f64::from(line.rtt_ms)
}

/// The part of the provider's link that downloads have.
fn share(run: &Run, line: Line, from: f64, to: f64) -> f64 {
    let bins = run.table("bins").between("bin_start_ns", from, to);
    bins.sum("received_bytes") * 8.0 / (to - from) / (f64::from(line.mbps) * 1e6)
}

#[test]
fn a_game_does_not_wait_in_the_providers_queue_and_downloads_have_their_link() {
    let fast = Line { mbps: 200, rtt_ms: 20, queue_ms: 100 };
    let far = Line { mbps: 20, rtt_ms: 100, queue_ms: 300 };
    let near = Line { mbps: 20, rtt_ms: 10, queue_ms: 100 };
    // Where downloads begin together, from when on they are steered: a second, but for ramps over 100 ms.
    for (line, congestion_control, count, from) in [
        (SLOW, "cubic", 1, 2.0),
        (SLOW, "cubic", 4, 2.0),
        (SLOW, "cubic", 20, 2.0),
        (SLOW, "bbr", 4, 2.0),
        (far, "cubic", 1, 4.0),
        (far, "cubic", 4, 4.0),
        (near, "cubic", 4, 2.0),
        (fast, "cubic", 1, 2.0),
        (fast, "cubic", 20, 2.0),
        (fast, "bbr", 4, 2.0),
    ] {
        let of =
            |gateway| run(&with_downloads(home(line, 10, gateway), congestion_control, count, 0.0));
        let (steered, alone) = (of("windows"), of("none"));
        let what = format!("{count} {congestion_control} on {} Mb/s", line.mbps);
        let waited = wait(&steered, line, from, 10.0);
        assert!((0.0..MAX_WAIT_MS).contains(&waited), "{what}: {waited} ms");
        let (with, without) = (share(&steered, line, from, 10.0), share(&alone, line, from, 10.0));
        assert!(with > MIN_SHARE && with > 0.99 * without, "{what}: {with} and {without}");
        // The twin.
        let waited = wait(&alone, line, from, 10.0);
        assert!(waited > 1.4 * MAX_WAIT_MS, "{what}: {waited} ms without");
    }
}

/// Each finds a queue when it begins, and does not take it for its path.
#[test]
fn downloads_that_come_one_after_the_other_are_no_wave() {
    let of = |gateway| run(&with_downloads(home(SLOW, 16, gateway), "cubic", 12, 1.0));
    let steered = of("windows");
    let waited = wait(&steered, SLOW, 1.0, 16.0);
    assert!((0.0..1.25 * MAX_WAIT_MS).contains(&waited), "{waited} ms");
    assert!(share(&steered, SLOW, 2.0, 16.0) > MIN_SHARE);
    assert!(wait(&of("none"), SLOW, 1.0, 16.0) > 150.0);
}

/// Over five round trips: at some the first cut comes while the queue still grows and what comes falls, as of a path that is longer.
#[test]
fn a_link_that_halves_and_doubles_is_back_within_two_seconds() {
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["6 s", "10 Mb/s"], ["12 s", "20 Mb/s"]] });
    for (rtt_ms, downloads) in (20..=60).step_by(10).flat_map(|rtt_ms| [(rtt_ms, 1), (rtt_ms, 4)]) {
        let line = Line { rtt_ms, ..SLOW };
        let spec = with_downloads(home(line, 18, "windows"), "cubic", downloads, 0.0);
        let run = run(&with(spec, "/path/hop/0/capacity", steps.clone()));
        for (from, to, part) in [(8.0, 12.0, 0.5), (14.0, 18.0, 1.0)] {
            let what = format!("{downloads} over {rtt_ms} ms, {from} s");
            let waited = wait(&run, line, from, to);
            assert!((0.0..MAX_WAIT_MS).contains(&waited), "{what}: {waited} ms");
            let share = share(&run, line, from, to);
            assert!((MIN_SHARE..1.01).contains(&(share / part)), "{what}: {share}");
        }
    }
}

/// Pages of six transfers, one second after the last: alone they fill the link in their slow start, and cost little;
/// beside a download they are done sooner.
#[test]
fn pages_are_as_quick_as_without_and_quicker_beside_a_download() {
    let line = Line { mbps: 50, rtt_ms: 40, queue_ms: 200 };
    let pages = json!({ "name": "pages", "kind": "short-tcp", "connections": 6,
        "min_size": "30 kB", "max_size": "500 kB", "mean_gap": "1 s" });
    let of = |gateway, downloads| {
        let spec = with(home(line, 100, gateway), "/competitor/-", pages.clone());
        run(&with_downloads(spec, "cubic", downloads, 0.0)).count("pages", "transfer")
    };
    for (downloads, bounds) in [(0, 0.95..1.05), (1, 1.4..2.2)] {
        let (with, without) = (of("windows", downloads), of("none", downloads));
        let more = with as f64 / without as f64;
        assert!(bounds.contains(&more), "{downloads} downloads: {with} and {without} pages");
    }
}

/// A fade takes all windows to their least, and what waits then waits for as long as the fade lasts.
#[test]
fn a_link_that_fades_costs_downloads_little_more_than_the_fades() {
    let second = |at: u32| {
        let rate = if at.is_multiple_of(4) && at > 0 { "500 kb/s" } else { "20 Mb/s" };
        json!([format!("{at} s"), rate])
    };
    let steps = json!({ "steps": (0..24).map(second).collect::<Vec<_>>() });
    let of = |gateway| {
        let spec = with_downloads(home(SLOW, 24, gateway), "cubic", 1, 0.0);
        run(&with(spec, "/path/hop/0/capacity", steps.clone()))
    };
    let (steered, alone) = (of("windows"), of("none"));
    let kept = share(&steered, SLOW, 3.0, 24.0) / share(&alone, SLOW, 3.0, 24.0);
    assert!((0.85..1.05).contains(&kept), "{kept}");
    let median = |run: &Run| quantile(&run.rtts(3.0, 24.0), 0.5) - f64::from(SLOW.rtt_ms);
    let (with, without) = (median(&steered), median(&alone));
    assert!(with < MAX_WAIT_MS && without > 2.0 * with, "{with} and {without} ms");
}

/// What looks like a queue and is none: a path that becomes longer, and jitter.
#[test]
fn a_path_that_becomes_longer_and_jitter_cost_downloads_nothing_that_lasts() {
    let longer = json!([{ "at": "6 s", "base_rtt": "55 ms" }]);
    let spec = with(home(SLOW, 14, "windows"), "/path/change", longer);
    let run_longer = run(&with_downloads(spec, "cubic", 4, 0.0));
    let share_then = share(&run_longer, SLOW, 8.0, 14.0);
    assert!((MIN_SHARE..1.01).contains(&share_then), "{share_then}");
    let waited = wait(&run_longer, SLOW, 8.0, 14.0) - 25.0;
    assert!((0.0..1.25 * MAX_WAIT_MS).contains(&waited), "{waited} ms");

    let jitter = json!({ "jitter": { "deviation": "6 ms" } });
    let spec = with(home(SLOW, 14, "windows"), "/path/back", jitter);
    let run_jitter = run(&with_downloads(spec, "cubic", 4, 0.0));
    let share_then = share(&run_jitter, SLOW, 3.0, 14.0);
    assert!((MIN_SHARE..1.01).contains(&share_then), "{share_then}");
    // Pings have the jitter, too: 14 ms in 99 of 100.
    let waited = wait(&run_jitter, SLOW, 3.0, 14.0);
    assert!((0.0..2.0 * MAX_WAIT_MS).contains(&waited), "{waited} ms");
}

/// The smallest loop is remembered for five to ten minutes: by then the queue must have been empty.
#[test]
fn after_ten_minutes_the_queue_is_as_after_one() {
    let line = Line { mbps: 5, rtt_ms: 50, queue_ms: 300 };
    let run = run(&with_downloads(home(line, 1300, "windows"), "cubic", 2, 0.0));
    for from in [60.0, 700.0, 1200.0] {
        let waited = wait(&run, line, from, from + 100.0);
        assert!((5.0..1.75 * MAX_WAIT_MS).contains(&waited), "{from} s: {waited} ms");
        let share = share(&run, line, from, from + 100.0);
        assert!((MIN_SHARE..1.01).contains(&share), "{from} s: {share}");
    }
}

/// A home whose own queue is a shaper, which follows the provider's link: per-flow queues, and CoDel for those whose windows
/// nobody lowers.
pub(super) fn shaped_home(line: Line, seconds: u32, gateway: &str) -> Value {
    // Above what mode `both` lets wait there.
    let target = if gateway == "both" { "30 ms" } else { "5 ms" };
    let all = json!({ "rate": "1 Gb/s", "queue": { "kind": "fq-codel", "target": target } });
    let queue =
        json!({ "kind": "htb", "rate": "1 Gb/s", "default": "all", "class": { "all": all } });
    with(home(line, seconds, gateway), "/path/queue", queue)
}

/// So many downloads over QUIC.
fn with_quic(spec: Value, congestion_control: &str, count: u32) -> Value {
    (0..count).fold(spec, |spec, number| {
        let more = json!({ "name": format!("quic-{number}"), "kind": "quic", "start": "1 s" });
        with_tcp(spec, congestion_control, more)
    })
}

/// TCP and QUIC, whose windows nobody can lower; from the fifth second on, when the link is known.
#[test]
fn a_shaper_that_follows_the_link_takes_the_queue_into_the_home() {
    let fast = Line { mbps: 200, rtt_ms: 20, queue_ms: 100 };
    for (gateway, line, (tcp, quic), max_wait_ms, min_share) in [
        ("both", SLOW, (("cubic", 1), ("cubic", 0)), 6.0, 0.97),
        ("both", SLOW, (("bbr", 4), ("cubic", 0)), 8.0, 0.96),
        ("both", SLOW, (("cubic", 1), ("cubic", 1)), 8.0, 0.97),
        ("both", SLOW, (("cubic", 0), ("cubic", 1)), 9.0, 0.96),
        ("both", fast, (("cubic", 20), ("cubic", 0)), 5.0, 0.97),
        ("shape", SLOW, (("cubic", 4), ("cubic", 0)), 8.0, 0.95),
        ("shape", SLOW, (("cubic", 1), ("cubic", 1)), 6.0, 0.96),
        ("shape", fast, (("cubic", 4), ("bbr", 1)), 8.0, 0.95),
    ] {
        let of = |spec| run(&with_quic(with_downloads(spec, tcp.0, tcp.1, 0.0), quic.0, quic.1));
        let (shaped, alone) = (of(shaped_home(line, 14, gateway)), of(home(line, 14, "none")));
        let what = format!("{gateway}: {tcp:?}, {quic:?} over QUIC on {} Mb/s", line.mbps);
        let waited = wait(&shaped, line, 4.0, 14.0);
        assert!((0.5..max_wait_ms).contains(&waited), "{what}: {waited} ms");
        let had = share(&shaped, line, 4.0, 14.0);
        assert!((min_share..1.0).contains(&had), "{what}: {had}");
        // The twin.
        let waited = wait(&alone, line, 4.0, 14.0);
        assert!(waited > 3.0 * max_wait_ms, "{what}: {waited} ms without");
    }
}

#[test]
fn a_shaper_is_back_within_two_seconds_when_the_link_halves_or_doubles() {
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["6 s", "10 Mb/s"], ["12 s", "20 Mb/s"]] });
    let spec = with_downloads(shaped_home(SLOW, 18, "both"), "cubic", 4, 0.0);
    let run = run(&with(spec, "/path/hop/0/capacity", steps));
    for (from, to, part) in [(7.0, 12.0, 0.5), (14.0, 18.0, 1.0)] {
        let waited = wait(&run, SLOW, from, to);
        assert!((0.5..15.0).contains(&waited), "{from} s: {waited} ms");
        let share = share(&run, SLOW, from, to);
        assert!((0.94..1.01).contains(&(share / part)), "{from} s: {share}");
    }
}

/// What looks like a queue and is none does not make the shaper fall for good.
#[test]
fn a_path_that_becomes_longer_does_not_shape_a_link_away() {
    let longer = json!([{ "at": "6 s", "base_rtt": "55 ms" }]);
    for gateway in ["shape", "both"] {
        let spec = with(shaped_home(SLOW, 16, gateway), "/path/change", longer.clone());
        let run = run(&with_downloads(spec, "cubic", 4, 0.0));
        let then = share(&run, SLOW, 11.0, 16.0);
        assert!((0.9..1.0).contains(&then), "{gateway}: {then}");
        let waited = wait(&run, SLOW, 11.0, 16.0) - 25.0;
        assert!((0.5..10.0).contains(&waited), "{gateway}: {waited} ms");
    }
}

/// Nor does jitter, in which pings are, too: 14 ms in 99 of 100 of them.
#[test]
fn jitter_does_not_shape_a_link_away() {
    for (gateway, tcp, quic) in [("both", 4, 0), ("shape", 1, 0), ("both", 0, 1)] {
        let jitter = json!({ "jitter": { "deviation": "6 ms" } });
        let spec = with(shaped_home(SLOW, 20, gateway), "/path/back", jitter);
        let run = run(&with_quic(with_downloads(spec, "cubic", tcp, 0.0), "cubic", quic));
        let what = format!("{gateway}, {tcp} over TCP, {quic} over QUIC");
        let had = share(&run, SLOW, 6.0, 20.0);
        assert!((0.9..1.0).contains(&had), "{what}: {had}");
        let waited = wait(&run, SLOW, 6.0, 20.0);
        assert!((5.0..40.0).contains(&waited), "{what}: {waited} ms");
    }
}

/// Flights of slow starts on a link that nothing fills for long: what comes of them in a round trip is no link that carries as much.
#[test]
fn short_transfers_do_not_shape_a_link_away() {
    let line = Line { mbps: 50, rtt_ms: 40, queue_ms: 200 };
    let sizes = [
        ("small", "10 kB", "100 kB", "500 ms"),
        ("medium", "100 kB", "1 MB", "2 s"),
        ("large", "1 MB", "5 MB", "5 s"),
    ];
    for (gateway, tcp, seed) in [
        ("shape", "cubic", 3),
        ("both", "cubic", 3),
        ("both", "cubic", 4),
        ("both", "cubic", 12),
        ("both", "bbr", 7),
    ] {
        let home = with(shaped_home(line, 60, gateway), "/seed", json!(seed));
        let home = with_ping(home, "100 ms");
        let spec = sizes.iter().fold(home, |spec, (name, min, max, gap)| {
            let more = json!({ "name": name, "kind": "short-tcp", "min_size": min,
                "max_size": max, "mean_gap": gap });
            with_tcp(spec, tcp, more)
        });
        let rates = run(&spec).variable("gateway", "shaped_rate_bps", 0.0, 60.0);
        let low = rates.iter().filter(|rate| **rate < 0.8 * 50e6).count() as f64;
        let part = low / rates.len() as f64;
        assert!(rates.len() > 40 && part < 0.05, "{gateway}, {tcp}, {seed}: {part}");
    }
}
