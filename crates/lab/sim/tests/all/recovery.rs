//! Streams whose lost frames are answered by a frame that refers to what the client has, instead of a key frame.

use crate::support::{Run, empty_path, fixed, run, with, with_loss, with_stream};
use serde_json::{Value, json};

const SECONDS: u32 = 30;

/// What became of a stream with 15 Mb/s.
#[derive(Debug)]
struct Outcome {
    /// Frames shown per second.
    shown: f64,
    /// Key frames a minute, without the first.
    key_frames: f64,
    /// How often a key frame was asked for, a minute.
    key_frame_requests: f64,
    /// How often a frame was asked for that refers to one which was shown, a minute.
    reference_requests: f64,
}

fn lossy(keys: Value, base_rtt: &str, loss: (f64, f64)) -> Run {
    let spec = with(empty_path(SECONDS), "/path/base_rtt", json!(base_rtt));
    run(&with_stream(with_loss(spec, loss.0, loss.1), fixed("15 Mb/s"), keys))
}

fn outcome(run: &Run) -> Outcome {
    let (begin, end) = (1.0, f64::from(SECONDS) - 1.0);
    let frames = run.table("frames").between("captured_ns", begin, end);
    let minutes = (end - begin) / 60.0;
    let a_minute = |event| {
        let events = run.table("events").only("event", event).between("time_ns", begin, end);
        events.rows as f64 / minutes
    };
    Outcome {
        shown: frames.present("shown_ns").len() as f64 / (end - begin),
        key_frames: frames.sum("key_frame") / minutes,
        key_frame_requests: a_minute("key-frame-request"),
        reference_requests: a_minute("reference-request"),
    }
}

/// With key frames, and with references.
fn both(repair: &str, base_rtt: &str, loss: (f64, f64)) -> [Outcome; 2] {
    ["key-frame", "reference"].map(|recovery| {
        let keys = json!({ "repair": repair, "recovery": recovery });
        outcome(&lossy(keys, base_rtt, loss))
    })
}

#[test]
fn where_losses_are_repaired_below_a_tenth_no_key_frame_is_asked_for() {
    for base_rtt in ["20 ms", "100 ms"] {
        for loss in [1.0, 2.0, 5.0, 9.0].map(|loss| [(loss, 1.0), (loss, 3.0)]).concat() {
            let [key, reference] = both("adaptive", base_rtt, loss);
            eprintln!("{base_rtt} {loss:?}: {key:?} {reference:?}");
            assert_eq!((reference.key_frames, reference.key_frame_requests), (0.0, 0.0));
            // A frame in reserve that comes before a late repetition costs those between.
            let min = if loss.0 > 5.0 { 59.2 } else { 59.7 };
            assert!((min..=60.1).contains(&reference.shown), "{base_rtt} {loss:?}: {reference:?}");
            assert!((59.9..=60.1).contains(&key.shown), "{key:?}");
        }
    }
}

/// Loss of packets, with the most that may be left of the key frames.
#[test]
fn without_repair_references_stand_in_for_key_frames() {
    for (base_rtt, loss, left) in [
        ("20 ms", 1.0, 0.02),
        ("20 ms", 2.0, 0.05),
        ("20 ms", 5.0, 0.30),
        ("100 ms", 1.0, 0.30),
        ("100 ms", 2.0, 0.50),
        ("100 ms", 5.0, 0.80),
    ] {
        let [key, reference] = both("none", base_rtt, (loss, 1.0));
        let share = reference.key_frames / key.key_frames;
        eprintln!("{base_rtt} {loss}: {share:.3} {key:?} {reference:?}");
        assert!(key.key_frames > 200.0 && key.reference_requests == 0.0, "{key:?}");
        assert!(share <= left && reference.reference_requests > 200.0, "{share}: {reference:?}");
        // Frames of this video are all as large: what is shown is the same.
        assert!((reference.shown / key.shown - 1.0).abs() < 0.02, "{key:?} {reference:?}");
    }
}

#[test]
fn what_is_lost_twice_on_a_long_way_is_passed_over() {
    for (loss, max_left) in [((5.0, 1.0), 0.2), ((9.0, 1.0), 0.5)] {
        let [key, reference] = both("nack", "100 ms", loss);
        let share = reference.key_frames / key.key_frames;
        eprintln!("{loss:?}: {share:.3} {key:?} {reference:?}");
        assert!(key.key_frames > 20.0 && share <= max_left, "{key:?} {reference:?}");
        assert!(reference.shown >= key.shown, "{key:?} {reference:?}");
    }
}

/// What refers to an older frame is larger, as measured.
#[test]
fn frames_that_refer_to_older_ones_have_the_sizes_that_were_measured() {
    for (video, at_least, at_most) in
        [("doom", 1.03, 1.14), ("scene", 1.03, 1.12), ("steady", 0.999, 1.001)]
    {
        let keys = json!({ "video": video, "recovery": "reference", "max_bitrate": "15 Mb/s" });
        let run = lossy(keys, "60 ms", (0.05, 1.0));
        let frames = run.table("frames").between("captured_ns", 1.0, f64::from(SECONDS) - 1.0);
        let (sizes, shown) = (frames.column("payload_bytes"), frames.column("shown_ns"));
        let after = |at: usize| at > 0 && shown[at].is_some() && shown[at - 1].is_none();
        let (answers, others): (Vec<usize>, Vec<usize>) =
            (1..sizes.len()).filter(|at| shown[*at].is_some()).partition(|at| after(*at));
        let mean = |of: &[usize]| {
            of.iter().filter_map(|at| sizes[*at]).sum::<f64>() / of.len().max(1) as f64
        };
        let larger = mean(&answers) / mean(&others);
        eprintln!("{video}: {larger:.3} of {}", answers.len());
        assert!(answers.len() > 10, "{video}: {}", answers.len());
        assert!((at_least..=at_most).contains(&larger), "{video}: {larger}");
    }
}
