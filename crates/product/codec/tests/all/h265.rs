//! H.265 goes all the way, too: scene, stamp, x265, payloads, libavcodec, stamp. Small pictures: libx265 is slow.
#![cfg(all(feature = "x265", feature = "libav"))]

use crate::support::hashes_by_ffmpeg;
use gameway_codec::decoder::{Decoder, DecoderError};
use gameway_codec::encoder::{EncodeRequest, EncoderConfig, VideoEncoder, X265};
use gameway_codec::payload::{depacketize, packetize};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_media::rate_control::FrameBudgets;
use gameway_units::VideoCodec::H265;
use gameway_units::{Duration, Instant, Rate};

const FPS: u32 = 60;

/// A host of pictures of 320x180.
struct Host {
    scene: Scene,
    encoder: X265,
    budgets: FrameBudgets,
}

/// A frame as it leaves the host.
struct Sent {
    picture: Picture,
    stamp: Stamp,
    data: Vec<u8>,
    budget: f64,
}

impl Host {
    fn new(rate: Rate) -> Self {
        let size = Size::new(320, 180).unwrap();
        let config = EncoderConfig { size, frames_per_second: FPS, rate };
        let (encoder, budgets) = (X265::new(config).unwrap(), FrameBudgets::new(FPS));
        Self { scene: Scene::new(1, size), encoder, budgets }
    }

    fn send(&mut self, frame: u64, rate: Rate, key_frame: bool) -> Sent {
        let mut picture = self.scene.picture(frame);
        let captured = Instant::ZERO + Duration::from_micros(frame as i64 * 16_667 + 123);
        let stamp = Stamp { frame: frame as u32, captured, input: frame as u32 / 7 };
        stamp.write(&mut picture).unwrap();
        let frame_budget = self.budgets.next(rate);
        let request =
            EncodeRequest { frame_budget, rate, key_frame, refers_back: 1, timestamp: captured };
        let encoded = self.encoder.encode(&picture, request).unwrap();
        assert_eq!(encoded.key_frame, key_frame, "frame {frame}");
        assert_eq!(encoded.timestamp, captured);
        Sent { picture, stamp, data: encoded.data, budget: frame_budget.as_f64() }
    }
}

#[test]
fn counter_and_clock_arrive_and_ffmpeg_sees_the_same_pictures() {
    let rate = Rate::from_mbps(2);
    let mut host = Host::new(rate);
    let mut decoder = Decoder::new(H265).unwrap();
    let (mut cut, mut ours, mut psnr) = (Vec::new(), Vec::new(), 0.0);
    for frame in 0..60 {
        let sent = host.send(frame, rate, frame % 40 == 0);
        let payloads = packetize(H265, &sent.data, 300);
        assert!(payloads.len() > 2 && payloads.iter().all(|payload| payload.len() <= 300));
        let whole = depacketize(H265, &payloads).unwrap();
        let decoded = decoder.decode(&whole).unwrap();
        assert_eq!(Stamp::read(decoded), Some(sent.stamp));
        psnr += decoded.luma_psnr(&sent.picture) / 60.0;
        ours.extend_from_slice(decoded.samples());
        cut.extend(whole);
    }
    assert!((28.0..45.0).contains(&psnr), "{psnr} dB: neither a ruin nor a still picture");
    let Some(hashes) = hashes_by_ffmpeg("-f hevc", &cut) else {
        eprintln!("skipped: ffmpeg is not installed");
        return;
    };
    assert_eq!(hashes.len(), 60);
    let raw = hashes_by_ffmpeg("-f rawvideo -pix_fmt yuv420p -s 320x180", &ours);
    assert_eq!(Some(hashes), raw);
}

#[test]
fn frames_follow_a_rate_that_moves() {
    let rate = |frame: u64| Rate::from_kbps([2_000, 500, 3_000][frame as usize / 120]);
    let mut host = Host::new(rate(0));
    let mut sizes: Vec<f64> = Vec::new();
    let mut worst = 0.0_f64;
    for frame in 0..360 {
        let sent = host.send(frame, rate(frame), frame == 0);
        sizes.push(sent.data.len() as f64);
        worst = worst.max(sent.data.len() as f64 / sent.budget);
    }
    for (part, sizes) in sizes.chunks(120).enumerate() {
        // The first quarter of a second is the step's.
        let mean = sizes[15..].iter().sum::<f64>() / 105.0;
        let share = rate(part as u64 * 120).as_bps_f64() / 8.0 / f64::from(FPS);
        println!("part {part}: {:.3} of the rate", mean / share);
        assert!((0.94..1.04).contains(&(mean / share)), "part {part}: {mean} B of {share} B");
    }
    println!("largest frame: {worst:.3} of its budget");
    assert!((0.9..1.7).contains(&worst), "the largest frame has {worst} of its budget");
}

/// Which of eight frames, the sixth a key frame, are shown when the third arrives as `damage` makes it.
fn shown(damage: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<bool> {
    let rate = Rate::from_mbps(2);
    let mut host = Host::new(rate);
    let mut decoder = Decoder::new(H265).unwrap();
    let outcome = |frame| {
        let sent = host.send(frame, rate, frame == 0 || frame == 5);
        let Some(data) = (if frame == 2 { damage(&sent.data) } else { Some(sent.data) }) else {
            return false;
        };
        match decoder.decode(&data) {
            Ok(decoded) => Stamp::read(decoded) == Some(sent.stamp),
            Err(DecoderError::NeedsKeyFrame | DecoderError::Damaged(_)) => false,
            Err(error) => panic!("{error}"),
        }
    };
    (0..8).map(outcome).collect()
}

#[test]
fn after_a_loss_the_decoder_waits_for_a_key_frame() {
    assert_eq!(shown(|data| Some(data.to_vec())), [true; 8]);
    let without_the_third = [true, true, false, false, false, true, true, true];
    assert_eq!(shown(|_| None), without_the_third, "a frame that did not come");
    assert_eq!(shown(|_| Some(Vec::new())), without_the_third, "an empty frame");
    let half = |data: &[u8]| Some(data[..data.len() / 2].to_vec());
    assert_eq!(shown(half), without_the_third, "half a frame");
}
