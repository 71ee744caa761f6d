//! A picture goes all the way: scene, stamp, encoder, payloads, reassembly, decoder, stamp.
#![cfg(all(feature = "x264", feature = "openh264"))]

use gameway_codec::decoder::{Decoder, DecoderError};
use gameway_codec::encoder::{
    EncodeRequest, EncoderConfig, FrameBudgets, Slices, VideoEncoder, X264,
};
use gameway_codec::h264_payload::{depacketize, packetize};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_units::{Duration, Instant, Rate};
use std::io::Write;
use std::process::{Command, Stdio};

const FPS: u32 = 60;

fn open(size: Size, rate: Rate) -> X264 {
    X264::new(EncoderConfig { size, frames_per_second: FPS, rate }, Slices::One).unwrap()
}

fn stamped(scene: &Scene, frame: u64) -> (Picture, Stamp) {
    let mut picture = scene.picture(frame);
    let captured = Instant::ZERO + Duration::from_micros(frame as i64 * 16_667 + 123);
    let stamp = Stamp { frame: frame as u32, captured, input: frame as u32 / 7 };
    stamp.write(&mut picture).unwrap();
    (picture, stamp)
}

/// Sends frames all the way; gives how many stamps were read, and the mean PSNR.
fn send(size: Size, rate: Rate, frames: u64) -> (u64, f64) {
    let scene = Scene::new(1, size);
    let mut encoder = open(size, rate);
    let mut decoder = Decoder::new().unwrap();
    let mut budgets = FrameBudgets::new(FPS);
    let (mut read, mut psnr) = (0, 0.0);
    for frame in 0..frames {
        let (picture, stamp) = stamped(&scene, frame);
        let frame_budget = budgets.next(rate);
        let timestamp = stamp.captured;
        let request = EncodeRequest { frame_budget, rate, key_frame: frame == 0, timestamp };
        let encoded = encoder.encode(&picture, request).unwrap();
        assert_eq!(encoded.key_frame, frame == 0);
        let payloads = packetize(&encoded.data, 1200);
        let access_unit = depacketize(&payloads).unwrap();
        let decoded = decoder.decode(&access_unit).unwrap();
        read += u64::from(Stamp::read(&decoded) == Some(stamp));
        psnr += decoded.luma_psnr(&picture) / frames as f64;
    }
    (read, psnr)
}

#[test]
fn counter_and_clock_arrive_in_every_picture() {
    let (read, psnr) = send(Size::new(1280, 720).unwrap(), Rate::from_mbps(10), 120);
    assert_eq!(read, 120);
    assert!((25.0..40.0).contains(&psnr), "{psnr} dB: neither a ruin nor a still picture");
}

#[test]
fn stamps_survive_300_kbps() {
    let rate = Rate::from_kbps(300);
    for (width, height) in [(1280, 720), (640, 360), (320, 180), (1920, 1080)] {
        let (read, _) = send(Size::new(width, height).unwrap(), rate, 90);
        assert_eq!(read, 90, "{width}x{height}");
    }
}

#[test]
fn after_a_loss_the_decoder_waits_for_a_key_frame() {
    let size = Size::new(640, 360).unwrap();
    let (scene, rate) = (Scene::new(2, size), Rate::from_mbps(5));
    let mut encoder = open(size, rate);
    let mut decoder = Decoder::new().unwrap();
    let mut outcomes = Vec::new();
    for frame in 0..8 {
        let (picture, stamp) = stamped(&scene, frame);
        let frame_budget = FrameBudgets::new(FPS).next(rate);
        let key_frame = frame == 5;
        let request = EncodeRequest { frame_budget, rate, key_frame, timestamp: stamp.captured };
        let mut data = encoder.encode(&picture, request).unwrap().data;
        if frame == 2 {
            data.truncate(data.len() / 2);
        }
        outcomes.push(match decoder.decode(&data) {
            Ok(decoded) => Stamp::read(&decoded) == Some(stamp),
            Err(DecoderError::NeedsKeyFrame | DecoderError::Damaged(_)) => false,
            Err(error) => panic!("{error}"),
        });
    }
    assert_eq!(outcomes, [true, true, false, false, false, true, true, true]);
}

/// The hash of each picture that ffmpeg reads from `input`; `None` without ffmpeg.
fn hashes_by_ffmpeg(format: &str, input: &[u8]) -> Option<Vec<String>> {
    let mut ffmpeg = Command::new("ffmpeg")
        .args(format!("-v error {format} -i - -pix_fmt yuv420p -f framemd5 -").split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    // The hashes are few: they fit the pipe until all input is written.
    ffmpeg.stdin.take()?.write_all(input).unwrap();
    let output = ffmpeg.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let frames = lines.lines().filter(|line| !line.starts_with('#'));
    Some(frames.map(|line| line.rsplit(", ").next().unwrap_or_default().to_owned()).collect())
}

#[test]
fn ffmpeg_decodes_what_was_cut_and_put_together() {
    let size = Size::new(640, 360).unwrap();
    let (scene, rate) = (Scene::new(4, size), Rate::from_mbps(8));
    for name in ["x264", "openh264"] {
        let config = EncoderConfig { size, frames_per_second: FPS, rate };
        let mut encoder = gameway_codec::encoder::open(name, config).unwrap();
        let mut decoder = Decoder::new().unwrap();
        let (mut direct, mut cut, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for frame in 0..30 {
            let (picture, stamp) = stamped(&scene, frame);
            let frame_budget = FrameBudgets::new(FPS).next(rate);
            let key_frame = frame == 0 || frame == 17;
            let timestamp = stamp.captured;
            let request = EncodeRequest { frame_budget, rate, key_frame, timestamp };
            let encoded = encoder.encode(&picture, request).unwrap();
            assert_eq!(encoded.key_frame, key_frame, "{name} {frame}");
            let whole = depacketize(packetize(&encoded.data, 300)).unwrap();
            ours.extend_from_slice(decoder.decode(&whole).unwrap().samples());
            direct.extend(encoded.data);
            cut.extend(whole);
        }
        let Some(hashes) = hashes_by_ffmpeg("-f h264", &cut) else {
            eprintln!("skipped: ffmpeg is not installed");
            return;
        };
        assert_eq!(hashes.len(), 30, "{name}");
        assert_eq!(Some(&hashes), hashes_by_ffmpeg("-f h264", &direct).as_ref(), "{name}");
        let raw = hashes_by_ffmpeg("-f rawvideo -pix_fmt yuv420p -s 640x360", &ours);
        assert_eq!(Some(&hashes), raw.as_ref(), "{name}: both decoders give the same pictures");
    }
}

#[test]
fn damaged_frames_are_errors_or_pictures_and_a_key_frame_mends_all() {
    let size = Size::new(320, 180).unwrap();
    let (scene, rate) = (Scene::new(6, size), Rate::from_mbps(2));
    let mut encoder = open(size, rate);
    let mut decoder = Decoder::new().unwrap();
    let (mut refused, mut random) = (0, 1_u64);
    for frame in 0..300 {
        let (picture, stamp) = stamped(&scene, frame);
        let frame_budget = FrameBudgets::new(FPS).next(rate);
        let (key_frame, timestamp) = (frame % 3 == 0, stamp.captured);
        let request = EncodeRequest { frame_budget, rate, key_frame, timestamp };
        let mut data = encoder.encode(&picture, request).unwrap().data;
        if key_frame {
            decoder.lose();
            let decoded = decoder.decode(&data).unwrap();
            assert_eq!(Stamp::read(&decoded), Some(stamp), "frame {frame}");
            continue;
        }
        for _ in 0..4 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let place = (random >> 33) as usize % data.len();
            data[place] ^= (random >> 25) as u8;
        }
        refused += u32::from(decoder.decode(&data).is_err());
    }
    assert!((100..=200).contains(&refused), "{refused} of 200 damaged frames were refused");
}

#[test]
fn a_dead_encoder_is_replaced_and_the_decoder_goes_on() {
    let (size, other) = (Size::new(640, 360).unwrap(), Size::new(320, 180).unwrap());
    let (scene, rate) = (Scene::new(2, size), Rate::from_mbps(5));
    let mut encoder = open(size, rate);
    let mut decoder = Decoder::new().unwrap();
    let mut deaths = 0;
    for frame in 0..12 {
        let (mut picture, stamp) = stamped(&scene, frame);
        if frame == 5 {
            picture = Picture::black(other);
        }
        let frame_budget = FrameBudgets::new(FPS).next(rate);
        let timestamp = stamp.captured;
        let request = EncodeRequest { frame_budget, rate, key_frame: false, timestamp };
        let Ok(encoded) = encoder.encode(&picture, request) else {
            deaths += 1;
            encoder = open(size, rate);
            continue;
        };
        assert_eq!(encoded.key_frame, frame == 0 || frame == 6);
        let decoded = decoder.decode(&encoded.data).unwrap();
        assert_eq!(Stamp::read(&decoded), Some(stamp));
    }
    assert_eq!(deaths, 1);
}
