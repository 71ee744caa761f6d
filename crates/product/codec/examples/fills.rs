//! How much of its buffer libx264 gives to key frames, to those behind them, and to others: means and deviations over
//! the built-in scene. The simulator's model of it (`gameway_media`, `constrained`) has its constants from here.
//!
//!     cargo run --release -p gameway-codec --features x264 --example fills [SEED OF THE SCENE]

use gameway_codec::encoder::{EncodeRequest, EncoderConfig, open};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_media::rate_control::{Calibrator, FrameBudgets, bytes_per_frame};
use gameway_units::{Instant, Rate};

const FPS: u32 = 60;
const FRAMES: usize = 720;
/// Until the calibrator knows its encoder.
const LEARNT: usize = 60;
const RATES: [u64; 6] = [1, 2, 5, 10, 20, 30];
/// A key frame each so many frames.
const KEY_FRAMES: [usize; 4] = [720, 60, 15, 5];
const BEHIND: usize = 3;

/// Size and share of the buffer of each frame.
fn fills(pictures: &[Picture], rate: Rate, key_frames: usize) -> Vec<(f64, f64)> {
    let config = EncoderConfig { size: pictures[0].size(), frames_per_second: FPS, rate };
    let mut encoder = open("x264", config).expect("libx264");
    let mut budgets = FrameBudgets::new(FPS);
    // In step with the encoder's own, which says what buffer it asks for.
    let mut calibrator = Calibrator::default();
    let share = bytes_per_frame(rate, FPS);
    let one = |(frame, picture): (usize, &Picture)| {
        let (frame_budget, key_frame) = (budgets.next(rate), frame.is_multiple_of(key_frames));
        let buffer = calibrator.buffer(share, frame_budget.as_f64());
        let request = EncodeRequest {
            frame_budget,
            rate,
            key_frame,
            refers_back: 1,
            timestamp: Instant::ZERO,
        };
        let encoded = encoder.encode(picture, request).expect("the encoder lives");
        let size = encoded.data.len() as f64;
        calibrator.on_frame(size, buffer, share, encoded.key_frame);
        (size, size / buffer)
    };
    pictures.iter().enumerate().map(one).collect()
}

fn summary(of: &[(f64, f64)]) -> String {
    let count = of.len().max(1) as f64;
    let size = of.iter().map(|one| one.0).sum::<f64>() / count;
    let mean = of.iter().map(|one| one.1).sum::<f64>() / count;
    let square = of.iter().map(|one| (one.1 - mean) * (one.1 - mean)).sum::<f64>() / count;
    format!("{mean:.3} ± {:.3} ({size:6.0} B)", square.sqrt())
}

fn main() {
    let size = Size::new(1280, 720).expect("a size");
    let seed = std::env::args().nth(1).map_or(1, |seed| seed.parse().expect("the seed of a scene"));
    let scene = Scene::new(seed, size);
    let picture = |frame: usize| {
        let mut picture = Picture::black(size);
        scene.draw(frame as u64, &mut picture);
        let stamp = Stamp { frame: frame as u32, captured: Instant::ZERO, input: 0 };
        stamp.write(&mut picture).expect("room for a stamp");
        picture
    };
    let pictures: Vec<Picture> = (0..FRAMES).map(picture).collect();
    println!(
        "Mb/s  key frame each  others                     key frames                 first, second and third behind one"
    );
    for rate in RATES {
        for each in KEY_FRAMES {
            let fills = fills(&pictures, Rate::from_mbps(rate), each);
            let behind = |at: usize| {
                let frames = (LEARNT..FRAMES).filter(|frame| frame % each == at);
                frames.map(|frame| fills[frame]).collect::<Vec<_>>()
            };
            let others = (LEARNT..FRAMES).filter(|frame| frame % each > BEHIND);
            let others: Vec<_> = others.map(|frame| fills[frame]).collect();
            let kinds = (0..=BEHIND).map(|at| summary(&behind(at)));
            println!(
                "{rate:4}  {each:14}  {}  {}",
                summary(&others),
                kinds.collect::<Vec<_>>().join("  ")
            );
        }
    }
}
