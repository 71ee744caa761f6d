//! BBR versions 1, 2 and 3 alone on a path and beside Cubic, side by side.

use crate::support::{Run, empty_path, max, mean, quantile, run, with, with_ping, with_tcp};
use serde_json::json;

fn alone(version: &str, capacity: &str, rtt: &str, queue: &str) -> Run {
    let spec = with_tcp(empty_path(35), version, json!({}));
    let spec = with(spec, "/path/capacity", json!(capacity));
    let spec = with(spec, "/path/base_rtt", json!(rtt));
    run(&with_ping(with(spec, "/path/queue/size", json!(queue)), "20 ms"))
}

/// Version 3 probes until the rate has not grown for three rounds, which queues a BDP for a moment; at
/// all other times its queue is empty, as that of version 2. Version 1 probes every eighth round.
#[test]
fn later_versions_cruise_with_an_empty_queue() {
    let paths = [("25 Mb/s", "16 ms", 16.0), ("50 Mb/s", "30 ms", 30.0)];
    for (capacity, rtt, base) in paths {
        for queue in ["0.5 bdp", "1 bdp", "7 bdp"] {
            for (version, means, top) in
                [("bbr", 2.5..5.0, 0.65), ("bbr2", 0.05..1.0, 0.4), ("bbr3", 0.5..3.5, 1.1)]
            {
                let run = alone(version, capacity, rtt, queue);
                let case = format!("{version}, {capacity}, {rtt}, {queue}");
                let used = run.utilization(5.0, 35.0);
                assert!((0.93..=1.0).contains(&used), "{case}: {used}");
                let delays: Vec<f64> =
                    run.rtts(5.0, 35.0).into_iter().map(|rtt| rtt - base).collect();
                assert!(means.contains(&mean(&delays)), "{case}: mean {} ms", mean(&delays));
                assert!(max(&delays) < top * base, "{case}: longest {} ms", max(&delays));
                let cruising = quantile(&delays, 0.5);
                let empty = if version == "bbr" { 1.5..5.0 } else { 0.0..0.8 };
                assert!(empty.contains(&cruising), "{case}: median {cruising} ms");
                let bins = run.table("bins").between("bin_start_ns", 5.0, 35.0);
                let lost = bins.sum("dropped_packets") / bins.sum("sent_packets");
                assert!(lost < 0.006, "{case}: {lost} lost");
            }
        }
    }
}

/// Share of the first of two downloads from 20 s to 80 s.
fn share(first: &str, second: &str, queue: &str) -> f64 {
    let spec = with_tcp(empty_path(80), first, json!({}));
    let spec = with_tcp(spec, second, json!({ "name": "other" }));
    let run = run(&with(spec, "/path/queue/size", json!(queue)));
    let own = run.received_mbps("download", 20.0, 80.0);
    own / (own + run.received_mbps("other", 20.0, 80.0))
}

/// Version 1 crowds Cubic out of shallow queues; version 2 gives way to it, version 3 holds its own. That
/// version 2 shares better than version 1, and not equally, is what Kfoury et al. 2020 measured; the bounds
/// are around what this simulator gives.
#[test]
fn beside_cubic_version_1_takes_most_and_version_2_least() {
    for queue in ["1 bdp", "2 bdp"] {
        let shares = ["bbr", "bbr2", "bbr3"].map(|version| share(version, "cubic", queue));
        assert!((0.55..0.95).contains(&shares[0]), "{queue}: {shares:?}");
        assert!((0.08..0.35).contains(&shares[1]), "{queue}: {shares:?}");
        assert!((0.38..0.68).contains(&shares[2]), "{queue}: {shares:?}");
        assert!(shares[1] < shares[2] && shares[2] < shares[0], "{queue}: {shares:?}");
    }
}

#[test]
fn two_flows_of_version_3_share_equally() {
    for queue in ["0.5 bdp", "2 bdp"] {
        let equal = share("bbr3", "bbr3", queue);
        assert!((0.42..0.58).contains(&equal), "{queue}: {equal}");
    }
}
