//! Streams whose lost packets are sent again: frames are shown, in time, and the tables say what was sent twice.

use crate::support::{Run, empty_path, fixed, max, run, with, with_loss, with_stream, with_tcp};
use serde_json::{Value, json};

const SECONDS: u32 = 20;
/// Frames between the first second and the last.
const FRAMES: f64 = 60.0 * (SECONDS as f64 - 2.0);

fn lossy(repair: &str, percent: f64, burst_length: f64, more: Value) -> Run {
    let spec = with(empty_path(SECONDS), "/path/base_rtt", json!("20 ms"));
    let spec = with(with_loss(spec, percent, burst_length), "/record", json!({ "packets": true }));
    let mut keys = json!({ "repair": repair });
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    run(&with_stream(spec, fixed("15 Mb/s"), keys))
}

/// Frames shown of those captured between the first second and the last, and requests for key frames.
fn shown(run: &Run) -> (f64, usize) {
    let frames = run.table("frames").between("captured_ns", 1.0, f64::from(SECONDS) - 1.0);
    (
        frames.present("shown_ns").len() as f64 / FRAMES * 60.0,
        run.count("game", "key-frame-request"),
    )
}

#[test]
fn nearly_all_frames_are_shown_with_repair_and_far_fewer_without() {
    for (probability, burst, min) in [
        (0.5, 1.0, 59.9),
        (1.0, 1.0, 59.9),
        (2.0, 1.0, 59.8),
        (5.0, 1.0, 59.5),
        (0.5, 3.0, 59.8),
        (1.0, 3.0, 59.7),
        (2.0, 3.0, 59.0),
        (5.0, 3.0, 58.0),
    ] {
        let (with_repair, requests) = shown(&lossy("nack", probability, burst, json!({})));
        let (without, _) = shown(&lossy("none", probability, burst, json!({})));
        eprintln!("{probability} {burst}: {with_repair} {requests}, none {without}");
        assert!((min..=60.1).contains(&with_repair), "{probability} {burst}: {with_repair}");
        assert!(requests <= 3, "{probability} {burst}: {requests} requests");
        assert!(without < 55.0 && without < with_repair, "{probability} {burst}: {without}");
    }
}

#[test]
fn a_repaired_frame_is_a_round_trip_late_and_none_behind_it_by_more() {
    let names = ["pudica", "gcc", "copa", "nada", "salsify", "scream", "sqp"];
    for controller in names.map(|name| json!(name)).into_iter().chain([fixed("15 Mb/s")]) {
        let spec = with(empty_path(SECONDS), "/path/base_rtt", json!("20 ms"));
        let loss = json!({ "kind": "random", "probability": "0.1 %" });
        let spec = with(with(spec, "/path/loss", loss), "/record", json!({ "packets": true }));
        let more = json!({ "repair": "nack", "max_bitrate": "15 Mb/s" });
        let run = run(&with_stream(spec, controller.clone(), more));
        let frames = run.table("frames").between("captured_ns", 5.0, 19.0);
        let (sent, shown) = (frames.column("last_sent_ns"), frames.column("shown_ns"));
        // Beyond the path and the usual wait behind the frame's own packets.
        let mut late: Vec<f64> = sent
            .iter()
            .zip(shown)
            .filter_map(|(s, t)| Some((t.as_ref()? - s.as_ref()?) / 1e6 - 10.0))
            .collect();
        late.sort_by(f64::total_cmp);
        let worst = max(&late) - late[late.len() / 2];
        let lost = frames.present("lost_packets").iter().filter(|&&lost| lost > 0.0).count();
        eprintln!("{controller}: {lost} frames lost packets, the latest {worst} ms late");
        assert!(lost > 5, "{controller}: {lost}");
        assert!(worst <= 30.0, "{controller}: {worst} ms late");
        assert_eq!(run.count("game", "key-frame-request"), 0, "{controller}");
    }
}

#[test]
fn what_is_sent_again_is_marked_and_within_the_target() {
    let run = lossy("nack", 2.0, 1.0, json!({}));
    let packets = run.table("packets").only("flow", "game");
    let again = packets.only("kind", "retransmission");
    let lost = packets.only("kind", "media").only("fate", "lost").rows;
    assert!(again.rows >= lost && again.rows <= lost + lost / 10 + 5, "{} of {lost}", again.rows);
    let bytes = packets.sum("size_bytes") - packets.only("kind", "report").sum("size_bytes");
    let target = 15e6 / 8.0 * f64::from(SECONDS);
    assert!((0.97..=1.0).contains(&(bytes / target)), "{} of the target", bytes / target);
    assert!(run.table("packets").only("kind", "retransmission").rows > 0);
    let none = lossy("none", 2.0, 1.0, json!({}));
    assert_eq!(none.table("packets").only("kind", "retransmission").rows, 0);
}

#[test]
fn reordering_is_not_loss() {
    let spec = with(empty_path(SECONDS), "/path/base_rtt", json!("20 ms"));
    let reorder = json!({ "probability": "2 %", "later": "4 ms" });
    let spec = with(with(spec, "/path/reorder", reorder), "/record", json!({ "packets": true }));
    let run = run(&with_stream(spec, fixed("15 Mb/s"), json!({ "repair": "nack" })));
    let packets = run.table("packets").only("flow", "game");
    let again = packets.only("kind", "retransmission").rows;
    assert!(packets.rows > 20_000 && again <= 10, "{again} sent again");
    assert!(shown(&run).0 > 59.9);
}

/// CUBIC's bursts come between packets of a frame and make the queue grow: what is late is not sent again as lost.
#[test]
fn beside_a_download_as_much_is_sent_again_as_is_lost() {
    for (controller, size) in [("gcc", "0.5 bdp"), ("gcc", "2 bdp"), ("pudica", "7 bdp")] {
        let spec = with(empty_path(40), "/path/base_rtt", json!("20 ms"));
        let spec = with(spec, "/path/queue", json!({ "kind": "drop-tail", "size": size }));
        let spec = with(spec, "/record", json!({ "packets": true }));
        let spec = with_stream(spec, json!(controller), json!({ "repair": "nack" }));
        let run = run(&with_tcp(spec, "cubic", json!({ "start": "5 s" })));
        let packets = run.table("packets").only("flow", "game");
        let again = packets.only("kind", "retransmission").rows;
        let lost = packets.only("kind", "media").only("fate", "dropped").rows;
        eprintln!("{controller} {size}: {again} again, {lost} lost of {}", packets.rows);
        assert!(again <= lost + lost / 2 + 40, "{controller} {size}: {again} of {lost}");
        assert!(lost == 0 || again >= lost * 9 / 10, "{controller} {size}: {again} of {lost}");
    }
}

#[test]
fn repair_packets_come_first_and_the_rest_is_asked_for() {
    let both = lossy("nack", 2.0, 1.0, json!({ "fec": "5 %" }));
    let packets = both.table("packets").only("flow", "game");
    let again = packets.only("kind", "retransmission").rows;
    let lost = packets.only("kind", "media").only("fate", "lost").rows;
    assert!(again < lost / 3, "{again} of {lost} lost");
    assert!(shown(&both).0 > 59.9);
}
