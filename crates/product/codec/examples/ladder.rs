//! What a picture is worth by its size, its frame rate and its bitrate: encoded as a host does, scaled up again, and
//! compared with the original by VMAF, or by SSIM where ffmpeg has none. The table of `gameway_media::ladder` is from here.
//!
//!     cargo run --release -p gameway-codec --features x264 --example ladder -- [scene | FILE.yuv] [WIDTHxHEIGHT]
//!         [--encoder NAME] [--ffmpeg PROGRAM] [--folder FOLDER]
//!
//! A file has pictures of 4:2:0 at 60 frames/s, as `ffmpeg -i FILM -pix_fmt yuv420p FILE.yuv` writes them. What is written
//! and read again lies in the folder, by default /tmp/gameway-ladder. Debian's ffmpeg has no VMAF; that of the Python
//! package `imageio-ffmpeg` has.

use gameway_codec::encoder::{EncodeRequest, EncoderConfig, open};
use gameway_codec::{Picture, Scaler, Scene, Size};
use gameway_media::rate_control::FrameBudgets;
use gameway_units::{Instant, Rate};
use std::fs::{File, create_dir_all};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const FPS: u32 = 60;
const FRAMES: usize = 300;
/// Sizes by that of the original, over twelve.
const SIZES: [u32; 4] = [12, 8, 6, 4];
/// One picture of so many.
const EVERY: [u32; 3] = [1, 2, 3];
const RATES_KBPS: [u64; 8] = [500, 1_000, 2_000, 3_500, 6_000, 10_000, 17_000, 30_000];
/// VMAF of one picture of so many.
const SUBSAMPLE: u32 = 3;

/// Where things are.
struct Place {
    ffmpeg: String,
    vmaf: bool,
    folder: PathBuf,
    encoder: String,
}

fn original(source: &str, size: Size) -> Box<dyn Iterator<Item = Picture>> {
    if source == "scene" {
        let scene = Scene::new(1, size);
        return Box::new((0..FRAMES as u64).map(move |frame| scene.picture(frame)));
    }
    let mut file = BufReader::new(File::open(source).expect("a file"));
    let next = move || {
        let mut picture = Picture::black(size);
        file.read_exact(picture.samples_mut()).ok().map(|()| picture)
    };
    Box::new(std::iter::from_fn(next).take(FRAMES))
}

/// Encodes, and gives the rate that it took, in Mb/s.
fn encode(place: &Place, pictures: &[Picture], every: u32, rate: Rate, to: &Path) -> f64 {
    let frames_per_second = FPS / every;
    let config = EncoderConfig { size: pictures[0].size(), frames_per_second, rate };
    let mut encoder = open(&place.encoder, config).expect("an encoder");
    let mut budgets = FrameBudgets::new(frames_per_second);
    let mut file = BufWriter::new(File::create(to).expect("a file"));
    let (mut bytes, mut frames) = (0, 0);
    for picture in pictures.iter().step_by(every as usize) {
        let request = EncodeRequest {
            frame_budget: budgets.next(rate),
            rate,
            key_frame: frames == 0,
            refers_back: 1,
            timestamp: Instant::ZERO,
        };
        let data = encoder.encode(picture, request).expect("the encoder lives").data;
        file.write_all(&data).expect("room");
        (bytes, frames) = (bytes + data.len(), frames + 1);
    }
    bytes as f64 * 8.0 * f64::from(frames_per_second) / frames as f64 / 1e6
}

/// The mean score of a stream beside the original of that size.
fn score(place: &Place, stream: &Path, original: &Path, size: Size, every: u32) -> f64 {
    let (width, height) = (size.width(), size.height());
    let metric = match place.vmaf {
        true => format!("libvmaf=n_threads=2:n_subsample={SUBSAMPLE}"),
        false => "ssim".to_owned(),
    };
    // A browser's and a client's window scale by a filter of two samples.
    let filter = format!(
        "[0:v]scale={width}:{height}:flags=bilinear,setpts=N/60/TB[a];[1:v]select='not(mod(n,{every}))',setpts=N/60/TB[b];[a][b]{metric}"
    );
    let raw = format!("{width}x{height}");
    let kind = if place.encoder.contains("265") { "hevc" } else { "h264" };
    let ran = Command::new(&place.ffmpeg)
        .args(["-nostdin", "-hide_banner", "-threads", "2", "-r", "60", "-f", kind, "-i"])
        .arg(stream)
        .args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-r", "60", "-s", &raw, "-i"])
        .arg(original)
        .args(["-lavfi", &filter, "-f", "null", "-"])
        .output()
        .expect("ffmpeg runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    let mark = if place.vmaf { "VMAF score: " } else { "All:" };
    let number = said.rsplit(mark).next().and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

fn scaled(source: &str, size: Size, twelfths: u32) -> Vec<Picture> {
    let side = |side: usize| (side as u32 * twelfths / 12) & !1;
    let to = Size::new(side(size.width()), side(size.height())).expect("a size");
    let mut scaler = Scaler::default();
    let one = |picture: Picture| {
        let mut small = Picture::black(to);
        scaler.scale(&picture, &mut small);
        small
    };
    original(source, size).map(one).collect()
}

fn measure(place: &Place, source: &str, size: Size) {
    let whole = place.folder.join("original.yuv");
    let mut file = BufWriter::new(File::create(&whole).expect("a file"));
    for picture in original(source, size) {
        file.write_all(picture.samples()).expect("room");
    }
    drop(file);
    println!("{} of {source}: score, and Mb/s where it takes 5 % more than asked", place.encoder);
    print!("       size   1/n");
    RATES_KBPS.iter().for_each(|rate| print!("{:>14.1}", *rate as f64 / 1e3));
    println!();
    for twelfths in SIZES {
        let pictures = scaled(source, size, twelfths);
        let of = pictures[0].size();
        for every in EVERY {
            print!("{:>11}   1/{every}", format!("{}x{}", of.width(), of.height()));
            for kbps in RATES_KBPS {
                let (rate, stream) = (Rate::from_kbps(kbps), place.folder.join("stream.264"));
                let took = encode(place, &pictures, every, rate, &stream);
                let score = score(place, &stream, &whole, size, every);
                let more = took > 1.05 * rate.as_bps_f64() / 1e6;
                let more = if more { format!("({took:.1})") } else { String::new() };
                print!("{score:>8.3}{more:>6}");
                let _ = std::io::stdout().flush();
            }
            println!();
        }
    }
}

fn main() {
    let mut place = Place {
        ffmpeg: "ffmpeg".to_owned(),
        vmaf: false,
        folder: PathBuf::from("/tmp/gameway-ladder"),
        encoder: "x264".to_owned(),
    };
    let (mut source, mut size) = ("scene".to_owned(), Size::new(1280, 720).expect("a size"));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        let sides = argument
            .split_once('x')
            .and_then(|(width, height)| Size::new(width.parse().ok()?, height.parse().ok()?).ok());
        match (argument.as_str(), sides) {
            ("--encoder", _) => place.encoder = value(),
            ("--ffmpeg", _) => place.ffmpeg = value(),
            ("--folder", _) => place.folder = value().into(),
            (_, Some(sides)) => size = sides,
            (_, None) => source = argument,
        }
    }
    create_dir_all(&place.folder).expect("a folder");
    let filters = Command::new(&place.ffmpeg).args(["-hide_banner", "-filters"]).output();
    let filters = String::from_utf8_lossy(&filters.expect("ffmpeg runs").stdout).into_owned();
    place.vmaf = filters.contains(" libvmaf ");
    println!("{}", if place.vmaf { "VMAF, 0 to 100" } else { "SSIM, 0 to 1" });
    measure(&place, &source, size);
}
