//! Encoders follow a target that moves. `--nocapture` prints the table. `GAMEWAY_SCENE` is the seed of another scene than
//! the first.
//!
//! A mean over a second is held against the rates of its frames. Always: two patterns of x264 and one of openh264; all of
//! them in `make long`.
#![cfg(any(feature = "x264", feature = "openh264"))]

use gameway_codec::capture::{self, Source};
use gameway_codec::encoder::{EncodeRequest, EncoderConfig, available, open};
use gameway_codec::{Picture, Size, Stamp};
use gameway_media::rate_control::FrameBudgets;
use gameway_units::VideoCodec::H264;
use gameway_units::{Instant, Rate};
use std::sync::LazyLock;

const FPS: usize = 60;
const FRAMES: usize = 480;

/// Pictures of the scene, or of the video file that `GAMEWAY_VIDEO` names; drawn once, since encoding is
/// what takes the time.
static PICTURES: LazyLock<Vec<Picture>> = LazyLock::new(|| {
    let size = Size::new(1280, 720).unwrap();
    let path = std::env::var_os("GAMEWAY_VIDEO").map(Into::into);
    let seed = std::env::var("GAMEWAY_SCENE").map_or(1, |seed| seed.parse().expect("a seed"));
    let source = path.map_or(Source::Scene { seed }, |path| Source::File { path });
    let mut source = capture::open(&source, size, FPS as u32).unwrap();
    let stamp = |frame: usize| Stamp {
        frame: frame as u32,
        captured: Instant::from_nanos(frame as i64 * 16_667_000),
        input: 0,
    };
    let picture = |frame: usize| {
        let mut picture = Picture::black(size);
        source.next(Instant::ZERO, frame as u64, &mut picture).unwrap();
        stamp(frame).write(&mut picture).unwrap();
        picture
    };
    (0..FRAMES).map(picture).collect()
});

/// Megabits per second at a frame.
type Pattern = fn(usize) -> f64;

/// Name, rates, and the least mean over a second of x264: 0.95, where no rise takes its frame from a second that has
/// little else (five times the rate).
const PATTERNS: [(&str, Pattern, f64); 8] = [
    ("constant 1", |_| 1.0, 0.95),
    ("constant 10", |_| 10.0, 0.95),
    ("constant 30", |_| 30.0, 0.95),
    ("steps 5, 25, 3", |frame| [5.0, 25.0, 3.0][frame * 3 / FRAMES], 0.93),
    ("sawtooth 5 to 20", |frame| 5.0 + 15.0 * (frame % 90) as f64 / 90.0, 0.95),
    ("trembling 10 +- 8 %", |frame| 10.0 * [1.0, 1.08, 0.92, 1.04][frame / 3 % 4], 0.95),
    // As Pudica's targets on a path with 4 ms of jitter, and as Copa's on one of 20 Mb/s.
    ("trembling 9 +- 15 %", |frame| 10.0 * [1.0, 0.85, 1.0, 0.7, 0.9][frame % 5], 0.95),
    ("swinging 12 to 30", |frame| 12.0 + 3.0 * (6.0 - (frame % 12) as f64).abs(), 0.95),
];

/// Of the patterns: the steepest steps, and the strongest trembling.
const STEPS: &str = "steps 5, 25, 3";
const TREMBLING: &str = "trembling 9 +- 15 %";

/// What a run gave, as shares of what was asked.
#[derive(Debug)]
struct Followed {
    /// Least and largest mean over any second, from the first second on.
    second: (f64, f64),
    /// Share of frames above their budget, and the worst of them.
    above: f64,
    worst: f64,
    /// Frames above the budget within 6 frames after a decrease.
    above_after_decrease: usize,
    /// The frame of the largest, against rate / frame rate.
    largest: f64,
}

fn follow(encoder: &str, pattern: Pattern) -> Followed {
    let rate = |frame| Rate::from_bps_f64(pattern(frame) * 1e6);
    let (size, frames_per_second) = (PICTURES[0].size(), FPS as u32);
    let config = EncoderConfig { size, frames_per_second, rate: rate(0) };
    let mut encoder = open(encoder, config).unwrap();
    let mut budgets = FrameBudgets::new(frames_per_second);
    let (mut sizes, mut shares, mut limits) = (Vec::new(), Vec::new(), Vec::new());
    for (frame, picture) in PICTURES.iter().enumerate() {
        let rate = rate(frame);
        let frame_budget = budgets.next(rate);
        let key_frame = frame == 0;
        let request = EncodeRequest {
            frame_budget,
            rate,
            key_frame,
            refers_back: 1,
            timestamp: Instant::ZERO,
        };
        let encoded = encoder.encode(picture, request).unwrap();
        sizes.push(encoded.data.len() as f64);
        shares.push(rate.as_bps_f64() / 8.0 / FPS as f64);
        limits.push(frame_budget.as_f64());
    }
    let mean = |start: usize| {
        let sum = |values: &[f64]| values[start..start + FPS].iter().sum::<f64>();
        sum(&sizes) / sum(&shares)
    };
    let means: Vec<f64> = (FPS..=FRAMES - FPS).map(mean).collect();
    let over: Vec<f64> = sizes.iter().zip(&limits).skip(1).map(|(s, l)| s / l).collect();
    let strict = |frame: usize| limits[frame] < shares[frame] * 1.05;
    Followed {
        second: means.iter().fold((f64::MAX, 0.0), |(a, b), m| (m.min(a), m.max(b))),
        above: over.iter().filter(|over| **over > 1.0).count() as f64 / over.len() as f64,
        worst: over.iter().copied().fold(0.0, f64::max),
        above_after_decrease: (1..FRAMES).filter(|f| strict(*f) && sizes[*f] > limits[*f]).count(),
        largest: sizes.iter().zip(&shares).skip(1).map(|(a, b)| a / b).fold(0.0, f64::max),
    }
}

/// What patterns of these names gave: name, least mean that is allowed, and what was found.
fn followed(encoder: &str, names: &[&str]) -> Vec<(&'static str, f64, Followed)> {
    let run = |(name, pattern, min_mean): &(&'static str, Pattern, f64)| {
        let followed = follow(encoder, *pattern);
        println!("{encoder:9} {name:20} {followed:.3?}");
        (*name, *min_mean, followed)
    };
    PATTERNS.iter().filter(|(name, ..)| names.contains(name)).map(run).collect()
}

fn all() -> Vec<&'static str> {
    PATTERNS.iter().map(|(name, ..)| *name).collect()
}

#[test]
fn x264_means_what_is_asked_and_keeps_to_the_budget() {
    x264_follows(&[STEPS, TREMBLING]);
}

#[test]
#[ignore = "takes half a minute: make long"]
fn x264_follows_every_pattern() {
    x264_follows(&all());
}

fn x264_follows(names: &[&str]) {
    if !available(H264).iter().any(|(name, _)| *name == "x264") {
        eprintln!("skipped: built without the feature x264");
        return;
    }
    // A game's frames vary more, and a rate that trembles keeps them under the strict budget longer.
    let game = std::env::var_os("GAMEWAY_VIDEO").is_some();
    let (of_least, max_of_share) = if game { (0.98, 1.4) } else { (1.0, 1.35) };
    for (name, min_mean, followed) in followed("x264", names) {
        let (min, max) = followed.second;
        assert!(min >= min_mean * of_least && max <= 1.05, "{name}: {followed:?}");
        assert_eq!(followed.above_after_decrease, 0, "{name}: {followed:?}");
        assert!(followed.above <= 0.005 && followed.worst <= 1.03, "{name}: {followed:?}");
        assert!(followed.largest <= max_of_share, "{name}: {followed:?}");
    }
}

/// The mean is as good as x264's, but there is no bound for a frame, and below 2 Mb/s its coarsest
/// quantizer is not coarse enough for this scene.
#[test]
fn openh264_means_what_is_asked_without_a_bound_for_frames() {
    openh264_follows(&[STEPS]);
}

#[test]
#[ignore = "takes half a minute: make long"]
fn openh264_follows_every_pattern() {
    openh264_follows(&all());
}

fn openh264_follows(names: &[&str]) {
    if !available(H264).iter().any(|(name, _)| *name == "openh264") {
        eprintln!("skipped: built without the feature openh264");
        return;
    }
    for (name, _, followed) in followed("openh264", names) {
        let (min, max) = followed.second;
        if name == "constant 1" {
            assert!(min > 1.3 && max < 2.3, "{name}: {followed:?}");
            continue;
        }
        assert!(min >= 0.93 && max <= 1.06, "{name}: {followed:?}");
        assert!(followed.above <= 0.2 && followed.worst <= 4.0, "{name}: {followed:?}");
    }
}

#[test]
fn an_unknown_encoder_is_refused_with_the_names_of_those_present() {
    let (size, rate) = (Size::new(64, 64).unwrap(), Rate::from_mbps(1));
    let config = EncoderConfig { size, frames_per_second: 60, rate };
    let message = open("nvenc", config).err().unwrap().to_string();
    for (name, _) in available(H264) {
        assert!(message.contains("nvenc") && message.contains(name), "{message}");
    }
}
