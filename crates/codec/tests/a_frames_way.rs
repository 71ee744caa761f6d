//! A picture goes all the way: scene, stamp, encoder, payloads, reassembly, decoder, stamp.
#![cfg(all(feature = "x264", feature = "openh264"))]

use gameway_codec::decoder::{Decoder, DecoderError};
use gameway_codec::encoder::{
    EncodeRequest, EncoderConfig, FrameBudgets, Slices, VideoEncoder, X264,
};
use gameway_codec::h264_payload::{depacketize, packetize};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_units::{Duration, Instant, Rate};

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
