//! What each part of a frame's way costs: CPU milliseconds per 1280x720 picture, by the process's CPU clock.
//!
//!     cargo run --release -p gameway-codec --all-features --example costs
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use gameway_codec::encoder::{
    EncodeRequest, EncoderConfig, Hardware, VideoEncoder, available, open,
};
use gameway_codec::repair::{Received, RepairDecoder, RepairEncoder};
use gameway_codec::{Picture, Scene, Size, Stamp, payload};
use gameway_media::rate_control::FrameBudgets;
use gameway_units::{Instant, Rate, VideoCodec};

const FRAMES: usize = 240;
const FPS: u32 = 60;

/// Wall and CPU milliseconds of each call; CPU of all threads of the process, in the kernel's 10 ms ticks.
fn cost<T>(name: &str, calls: usize, mut call: impl FnMut(usize) -> T) -> Vec<T> {
    let (start, cpu) = (std::time::Instant::now(), cpu_ticks());
    let mut walls = Vec::with_capacity(calls);
    let results = (0..calls)
        .map(|index| {
            let before = start.elapsed();
            let result = call(index);
            walls.push((start.elapsed() - before).as_secs_f64() * 1e3);
            result
        })
        .collect();
    let cpu = (cpu_ticks() - cpu) as f64 * 10.0 / calls as f64;
    walls.sort_by(f64::total_cmp);
    let (median, late) = (walls[calls / 2], walls[calls * 99 / 100]);
    println!("{name:34} {median:7.3} ms median {late:7.3} p99 {cpu:7.3} CPU");
    results
}

fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may have blanks; user and system time are fields 14 and 15.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|t| t.parse::<u64>().ok()).unwrap_or(0);
    ticks(11) + ticks(12)
}

fn encode(encoder: &mut dyn VideoEncoder, pictures: &[Picture], rate: Rate) -> Vec<Vec<u8>> {
    let mut budgets = FrameBudgets::new(FPS);
    let name = format!("encode, {} at {rate}", encoder.name());
    cost(&name, pictures.len(), |frame| {
        let frame_budget = budgets.next(rate);
        let key_frame = frame == 0;
        let request = EncodeRequest {
            frame_budget,
            rate,
            key_frame,
            refers_back: 1,
            timestamp: Instant::ZERO,
        };
        encoder.encode(&pictures[frame], request).expect("the encoder lives").data
    })
}

/// When the slices of a frame are made, as shares of the time that encoding it takes: medians.
fn slices(encoder: &mut dyn VideoEncoder, pictures: &[Picture], rate: Rate) {
    let mut budgets = FrameBudgets::new(FPS);
    let mut shares: Vec<Vec<f64>> = Vec::new();
    for (frame, picture) in pictures.iter().enumerate() {
        let (frame_budget, key_frame) = (budgets.next(rate), frame == 0);
        let request = EncodeRequest {
            frame_budget,
            rate,
            key_frame,
            refers_back: 1,
            timestamp: Instant::ZERO,
        };
        let (start, mut made) = (std::time::Instant::now(), Vec::new());
        let encoded =
            encoder.encode_in_parts(picture, request, &mut |_| made.push(start.elapsed()));
        encoded.expect("the encoder lives");
        let took = start.elapsed();
        shares.push(made.iter().map(|at| at.as_secs_f64() / took.as_secs_f64()).collect());
    }
    let median = |slice: usize| {
        let mut of: Vec<f64> = shares.iter().map(|shares| shares[slice]).collect();
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    let medians: Vec<f64> = (0..encoder.slices() as usize).map(median).collect();
    println!("{:34} {medians:.2?} of the time", format!("slices, {} at {rate}", encoder.name()));
}

#[cfg(any(feature = "libav", feature = "openh264"))]
fn decode(codec: VideoCodec, frames: &[Vec<u8>], pictures: &[Picture]) {
    use gameway_codec::decoder::{Decoder, available};
    for (name, _) in available(codec) {
        let mut decoder = Decoder::open(name, codec).expect("a decoder");
        cost(&format!("decode, {name}"), frames.len(), |frame| {
            decoder.decode(&frames[frame]).expect("a picture");
        });
    }
    let Ok(mut decoder) = Decoder::new(codec) else { return };
    let mut decode = |frame: &Vec<u8>| decoder.decode(frame).expect("a picture").clone();
    let decoded: Vec<Picture> = frames.iter().map(&mut decode).collect();
    cost("stamp, read", decoded.len(), |frame| Stamp::read(&decoded[frame]).expect("a stamp"));
    let psnr: f64 = decoded.iter().zip(pictures).map(|(a, b)| a.luma_psnr(b)).sum();
    println!("{:34} {:7.2} dB", "luma PSNR", psnr / decoded.len() as f64);
}

fn payloads(codec: VideoCodec, frames: &[Vec<u8>]) {
    let cut = cost("packetize, 1200 B", frames.len(), |frame| {
        payload::packetize(codec, &frames[frame], 1200)
    });
    cost("depacketize", cut.len(), |frame| {
        payload::depacketize(codec, &cut[frame]).expect("whole")
    });
    let mut encoder = RepairEncoder::new();
    let parity = cost("repair, a fifth of parity", cut.len(), |frame| {
        encoder.protect(&cut[frame], cut[frame].len().div_ceil(5)).expect("a train")
    });
    let mut decoder = RepairDecoder::new();
    cost("repair, all parity needed", cut.len(), |frame| {
        let mut media: Vec<_> = cut[frame].iter().cloned().map(Some).collect();
        media[..parity[frame].len()].fill(None);
        let parity: Vec<_> = parity[frame].iter().cloned().map(Some).collect();
        decoder.repair(Received { media: &media, parity: &parity }).expect("repaired")
    });
}

/// Media bytes per second through the code, at 20 media and 4 parity payloads of 1200 bytes.
fn code_speed() {
    let media: Vec<Vec<u8>> = (0..20_u8).map(|i| vec![i; 1200]).collect();
    let mut encoder = RepairEncoder::new();
    let (calls, start) = (5000, std::time::Instant::now());
    for _ in 0..calls {
        std::hint::black_box(encoder.protect(&media, 4).expect("a train"));
    }
    let speed = f64::from(calls) * 24e3 / start.elapsed().as_secs_f64() / 1e6;
    println!("{:34} {speed:7.0} MB/s", "repair, 20 + 4 payloads of 1200 B");
}

#[cfg(feature = "opus")]
fn audio() {
    use gameway_codec::audio::{AudioSource, OpusDecoder, OpusEncoder, PacketDuration, Tone};
    let duration = PacketDuration::Ten;
    let mut encoder = OpusEncoder::new(duration, Rate::from_kbps(128)).expect("libopus");
    let mut decoder = OpusDecoder::new(duration).expect("libopus");
    let (mut tone, mut samples) = (Tone::default(), vec![0; duration.interleaved()]);
    let packets = cost("opus, encode 10 ms", 500, |_| {
        tone.next(Instant::ZERO, &mut samples).expect("a tone");
        encoder.encode(&samples).expect("a packet")
    });
    cost("opus, decode 10 ms", 500, |i| decoder.decode(Some(&packets[i])).expect("samples"));
}

/// The screen of DISPLAY, if there is one: best of the stream's size.
#[cfg(feature = "x11")]
fn screen(size: Size) {
    use gameway_codec::capture::{self, Source};
    let Ok(mut source) = capture::open(&Source::X11 { display: None, authority: None }, size, FPS)
    else {
        return;
    };
    let mut canvas = Picture::black(size);
    cost("capture, X11", FRAMES, |frame| {
        source.next(Instant::ZERO, frame as u64, &mut canvas).expect("a screen");
    });
}

/// Encoders of this build, and those in hardware that work here.
fn encoders(codec: VideoCodec, size: Size) -> Vec<(&'static str, &'static str)> {
    let config = EncoderConfig { size, frames_per_second: FPS, rate: Rate::from_mbps(5) };
    let names = Hardware::TRIED.map(|hardware| hardware.name(codec)).into_iter();
    let here = names.filter(|name| open(name, config).is_ok());
    available(codec).into_iter().chain(here.map(|name| (name, "the driver's"))).collect()
}

fn main() {
    let size = Size::new(1280, 720).expect("an even size");
    let scene = Scene::new(1, size);
    let mut canvas = Picture::black(size);
    cost("scene", FRAMES, |frame| scene.draw(frame as u64, &mut canvas));
    #[cfg(feature = "x11")]
    screen(size);
    let mut pictures: Vec<_> = (0..FRAMES).map(|frame| scene.picture(frame as u64)).collect();
    cost("stamp, write", FRAMES, |frame| {
        let stamp = Stamp { frame: frame as u32, captured: Instant::ZERO, input: 0 };
        stamp.write(&mut pictures[frame]).expect("large enough");
    });
    for codec in [VideoCodec::H264, VideoCodec::H265] {
        for (name, licence) in encoders(codec, size) {
            println!("-- {name} ({licence})");
            for mbps in [5, 10, 25] {
                let rate = Rate::from_mbps(mbps);
                let config = EncoderConfig { size, frames_per_second: FPS, rate };
                let mut encoder = open(name, config).expect("an encoder");
                let frames = encode(&mut *encoder, &pictures, rate);
                #[cfg(any(feature = "libav", feature = "openh264"))]
                decode(codec, &frames, &pictures);
                payloads(codec, &frames);
                slices(&mut *open(name, config).expect("an encoder"), &pictures, rate);
            }
        }
    }
    code_speed();
    #[cfg(feature = "opus")]
    audio();
}
