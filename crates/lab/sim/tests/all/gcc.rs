//! GCC over a step, with what the encoder's model and its key frames do to it. Its growth is in `gameway-control`.

use crate::support::{Run, empty_path, quantile, run, with, with_stream};
use serde_json::json;

const RUNS: u32 = 100;

/// Mean queueing delay in ms over the last three seconds.
fn standing(run: &Run, seconds: f64) -> f64 {
    let delays = run.table("queue_delay").between("window_start_ns", seconds - 3.0, seconds);
    delays.sum("sum_ns") / delays.sum("packets") / 1e6
}

/// The capacity falls from 20 to 8 Mb/s. A decrease needs a round trip since the last change. With the longest time from
/// a packet to the report on it, which has the queue and the holding in it, overuse was over before that had passed,
/// and 9 of 100 runs left 100 to 240 ms of the queue standing: near its last rate GCC adds half a packet per response
/// time only.
#[test]
fn no_run_leaves_a_queue_standing_after_a_step() {
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["8 s", "8 Mb/s"]] });
    let spec = with(empty_path(16), "/path/capacity", steps);
    let spec =
        with(with(spec, "/path/base_rtt", json!("20 ms")), "/path/queue/size", json!("300 ms"));
    let spec = with(spec, "/record", json!({ "delay_window": "500 ms" }));
    let stream = json!({ "video": "scene", "start_bitrate": "10 Mb/s", "max_bitrate": "30 Mb/s" });
    let spec = with_stream(spec, json!("gcc"), stream);
    let delays: Vec<f64> = (1..=RUNS)
        .map(|seed| standing(&run(&with(spec.clone(), "/seed", json!(seed))), 16.0))
        .collect();
    assert!(quantile(&delays, 1.0) < 40.0, "{delays:?}");
    assert!(quantile(&delays, 0.5) > 1.0, "{delays:?}");
}
