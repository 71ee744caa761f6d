//! What a frame costs that refers to an older one than the last, as after a loss: its size, how much of its buffer it
//! fills, and how much coarser it is. The simulator's model of it (`gameway_media`, `encoder`) has its constants from here.
//!
//!     cargo run --release -p gameway-codec --features x264 --example references [scene | FILE.yuv] [WIDTHxHEIGHT]
//!
//! A file has pictures of 4:2:0, one after the other, as `ffmpeg -i FILM -pix_fmt yuv420p FILE.yuv` writes them. With
//! `--write FILE.yuv` the scene is written to such a file instead.

use gameway_codec::encoder::{EncodeRequest, EncoderConfig, open};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_media::rate_control::{Calibrator, FrameBudgets, bytes_per_frame};
use gameway_units::{Instant, Rate};
use std::io::{Read, Write};

const FPS: u32 = 60;
const FRAMES: usize = 1200;
/// Until the calibrator knows its encoder.
const LEARNT: usize = 60;
/// One frame of so many refers to an older one: the sixteen before it are whole again.
const EACH: usize = 40;
const RATES: [u64; 4] = [2, 5, 10, 20];
/// Zero is a key frame.
const BACK: [u8; 7] = [0, 1, 2, 4, 8, 12, 16];
const BEHIND: usize = 3;

/// A frame: its size, its share of the buffer, and its quantizer.
#[derive(Clone, Copy)]
struct Made {
    size: f64,
    fill: f64,
    quantizer: f64,
}

fn encode(pictures: &[Picture], rate: Rate, back: u8) -> Vec<Made> {
    let config = EncoderConfig { size: pictures[0].size(), frames_per_second: FPS, rate };
    let mut encoder = open("x264", config).expect("libx264");
    let mut budgets = FrameBudgets::new(FPS);
    // In step with the encoder's own, which says what buffer it asks for.
    let mut calibrator = Calibrator::default();
    let share = bytes_per_frame(rate, FPS);
    let one = |(frame, picture): (usize, &Picture)| {
        let marked = is_marked(frame);
        let frame_budget = budgets.next(rate);
        let buffer = calibrator.buffer(share, frame_budget.as_f64());
        let request = EncodeRequest {
            frame_budget,
            rate,
            key_frame: frame == 0 || marked && back == 0,
            refers_back: if marked { back.max(1) } else { 1 },
            timestamp: Instant::ZERO,
        };
        let encoded = encoder.encode(picture, request).expect("the encoder lives");
        let size = encoded.data.len() as f64;
        assert_eq!(encoded.key_frame, request.key_frame, "frame {frame}");
        calibrator.on_frame(size, buffer, share, encoded.key_frame);
        let quantizer = f64::from(encoded.quantizer.expect("libx264 tells it"));
        Made { size, fill: size / buffer, quantizer }
    };
    pictures.iter().enumerate().map(one).collect()
}

fn is_marked(frame: usize) -> bool {
    frame > LEARNT && frame.is_multiple_of(EACH)
}

fn mean(of: impl Iterator<Item = f64>) -> (f64, f64) {
    let of: Vec<f64> = of.collect();
    let count = of.len().max(1) as f64;
    let mean = of.iter().sum::<f64>() / count;
    (mean, (of.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / count).sqrt())
}

/// Means over all marked frames, and those behind them: of size and quantizer by those of the same pictures without.
fn print(rate: u64, back: u8, with: &[Made], without: &[Made]) {
    print!("{rate:4}  {:>4}", if back == 0 { "key".to_owned() } else { back.to_string() });
    for behind in 0..=BEHIND {
        let frames = || (0..with.len() - BEHIND).filter(|at| is_marked(*at)).map(|at| at + behind);
        let (size, _) = mean(frames().map(|at| with[at].size / without[at].size));
        let (fill, deviation) = mean(frames().map(|at| with[at].fill));
        let (coarser, _) = mean(frames().map(|at| with[at].quantizer - without[at].quantizer));
        print!("   {size:.3} {fill:.3} ± {deviation:.3} {coarser:+5.1}");
    }
    println!();
}

fn scene(size: Size) -> Vec<Picture> {
    let scene = Scene::new(1, size);
    let picture = |frame: usize| {
        let mut picture = Picture::black(size);
        scene.draw(frame as u64, &mut picture);
        let stamp = Stamp { frame: frame as u32, captured: Instant::ZERO, input: 0 };
        stamp.write(&mut picture).expect("room for a stamp");
        picture
    };
    (0..FRAMES).map(picture).collect()
}

fn film(path: &str, size: Size) -> Vec<Picture> {
    let mut file = std::io::BufReader::new(std::fs::File::open(path).expect("a file"));
    let mut pictures = Vec::new();
    while pictures.len() < FRAMES {
        let mut picture = Picture::black(size);
        if !picture.planes_mut().into_iter().all(|plane| file.read_exact(plane).is_ok()) {
            break;
        }
        pictures.push(picture);
    }
    pictures
}

fn size_of(text: &str) -> Option<Size> {
    let (width, height) = text.split_once('x')?;
    Size::new(width.parse().ok()?, height.parse().ok()?).ok()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    let size = arguments.iter().find_map(|text| size_of(text));
    let size = size.unwrap_or(Size::new(1280, 720).expect("a size"));
    let pictures = match argument(0) {
        None | Some("scene" | "--write") => scene(size),
        Some(path) => film(path, size),
    };
    if argument(0) == Some("--write") {
        let mut file = std::fs::File::create(argument(1).expect("a file")).expect("a file");
        for picture in &pictures {
            picture.planes().iter().for_each(|plane| file.write_all(plane).expect("room"));
        }
        return;
    }
    println!(
        "each: size by that of the same picture without, fill of the buffer, quantizers coarser"
    );
    println!("Mb/s  back   it, and the three behind it");
    for rate in RATES {
        let without = encode(&pictures, Rate::from_mbps(rate), 1);
        for back in BACK {
            print(rate, back, &encode(&pictures, Rate::from_mbps(rate), back), &without);
        }
    }
}
