//! Streams whose picture follows the bitrate, beside the same without.

use crate::support::{Run, empty_path, run, with, with_stream};
use serde_json::{Value, json};

const SECONDS: f64 = 60.0;
/// Enough for all of the picture, but between these times.
const SHORT: (f64, f64) = (15.0, 30.0);

fn stepped(controller: &str, keys: Value) -> Run {
    let steps = json!({ "steps": [["0 s", "40 Mb/s"], ["15 s", "2 Mb/s"], ["30 s", "40 Mb/s"]] });
    let spec = with(empty_path(SECONDS as u32), "/path/capacity", steps);
    let keys = with(keys, "/min_bitrate", json!("500 kb/s"));
    run(&with_stream(spec, json!(controller), keys))
}

/// Frames captured a second in a span, and of these key frames.
fn frames(run: &Run, from: f64, to: f64) -> (f64, f64) {
    let frames = run.table("frames").between("captured_ns", from, to);
    (frames.rows as f64 / (to - from), frames.sum("key_frame"))
}

/// When an event happened, in seconds, and its value.
fn events(run: &Run, event: &str) -> Vec<(f64, f64)> {
    let rows = run.table("events").only("event", event);
    let pairs = rows.present("time_ns").into_iter().zip(rows.present("value"));
    pairs.map(|(at, value)| (at / 1e9, value)).collect()
}

#[test]
fn frames_come_half_as_often_while_a_link_carries_little() {
    for controller in ["pudica", "gcc", "scream", "copa", "sqp", "nada"] {
        let keys = json!({ "ladder": "frame-rate", "content": "medium" });
        let [with, without] = [stepped(controller, keys), stepped(controller, json!({}))];
        let rates = events(&with, "frame-rate");
        eprintln!("{controller}: {rates:?}");
        let (low, _) = frames(&with, SHORT.0 + 5.0, SHORT.1);
        let (high, _) = frames(&with, SECONDS - 8.0, SECONDS - 1.0);
        let (twin, _) = frames(&without, SHORT.0 + 5.0, SHORT.1);
        assert!((28.0..=31.0).contains(&low), "{controller}: {low}");
        assert!((59.0..=61.0).contains(&high), "{controller}: {high}");
        assert!(twin > 50.0, "{controller}: {twin}");
        assert!(events(&without, "frame-rate").is_empty());
        // Half of the frames, each twice as large. Pudica has less of a short queue to fear from fewer frames.
        let rate = |run: &Run| run.received_mbps("game", SHORT.0 + 5.0, SHORT.1);
        let ratio = rate(&with) / rate(&without);
        eprintln!("{controller}: {ratio:.3} of the bitrate of all frames");
        assert!((0.85..1.35).contains(&ratio), "{controller}: {ratio}");
    }
}

#[test]
fn a_smaller_picture_begins_with_a_key_frame_soon_after_the_bitrate_fell_and_a_larger_late() {
    let keys = json!({ "ladder": "size", "content": "high" });
    let [with, without] = [stepped("gcc", keys), stepped("gcc", json!({}))];
    let sizes = events(&with, "picture-size");
    eprintln!("{sizes:?}");
    let smaller = sizes.iter().find(|(at, size)| *at > SHORT.0 && *size < 1.0).expect("smaller");
    assert!((SHORT.0 + 0.5..SHORT.0 + 4.0).contains(&smaller.0), "{smaller:?}");
    let larger = sizes.iter().find(|(at, size)| *at > SHORT.1 && *size > 0.999).expect("larger");
    assert!(larger.0 > SHORT.1 + 5.0, "{larger:?}");
    // Each new size has a key frame, and nothing else asks for one that the twin does not have.
    let (_, key_frames) = frames(&with, 0.0, SECONDS);
    let (_, of_twin) = frames(&without, 0.0, SECONDS);
    assert!(key_frames >= of_twin.min(1.0) + (sizes.len() - 1) as f64, "{key_frames}");
    let sizes_apart = sizes.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 2.0);
    assert!(sizes_apart, "{sizes:?}");
    // The frame rate stays.
    let (rate, _) = frames(&with, SHORT.0 + 5.0, SHORT.1);
    assert!(rate > 50.0, "{rate}");
}

#[test]
fn a_key_frame_of_a_new_size_is_no_larger_than_others_may_be() {
    let run = stepped("gcc", json!({ "ladder": "size", "content": "high" }));
    let frames = run.table("frames").between("captured_ns", 1.0, SECONDS);
    let (sizes, targets) = (frames.present("payload_bytes"), frames.present("target_bps"));
    let keys = frames.present("key_frame");
    let shares = sizes.iter().zip(&targets).map(|(size, target)| size * 8.0 * 60.0 / target);
    let of_keys: Vec<f64> =
        shares.zip(&keys).filter(|(_, key)| **key > 0.0).map(|(share, _)| share).collect();
    assert!(!of_keys.is_empty() && of_keys.iter().all(|share| *share < 1.4), "{of_keys:?}");
}
