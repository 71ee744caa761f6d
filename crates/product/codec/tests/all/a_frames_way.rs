//! A picture goes all the way: scene, stamp, encoder, payloads, reassembly, decoder, stamp.
#![cfg(all(feature = "x264", feature = "openh264"))]

use crate::support::hashes_by_ffmpeg;
use gameway_codec::decoder::{Decoder, DecoderError, available};
use gameway_codec::encoder::{EncodeRequest, EncoderConfig, VideoEncoder, X264};
use gameway_codec::payload::nal_units;
use gameway_codec::payload::{Depacketizer, depacketize, packetize};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_media::rate_control::FrameBudgets;
use gameway_units::VideoCodec::H264;
use gameway_units::{Duration, Instant, Rate};

const FPS: u32 = 60;

fn open(size: Size, rate: Rate) -> X264 {
    X264::new(EncoderConfig { size, frames_per_second: FPS, rate }).unwrap()
}

fn stamped(scene: &Scene, frame: u64) -> (Picture, Stamp) {
    let mut picture = scene.picture(frame);
    let captured = Instant::ZERO + Duration::from_micros(frame as i64 * 16_667 + 123);
    let stamp = Stamp { frame: frame as u32, captured, input: frame as u32 / 7 };
    stamp.write(&mut picture).unwrap();
    (picture, stamp)
}

/// Each decoder of this build.
fn decoders() -> impl Iterator<Item = Decoder> {
    available(H264).into_iter().map(|(name, _)| Decoder::open(name, H264).unwrap())
}

/// How a frame reaches the decoder.
#[derive(Debug, Clone, Copy)]
enum By {
    Whole,
    /// What is whole of it after each payload, as a client has it.
    Parts,
}

impl By {
    /// The stamp of the frame's picture, in how many parts it came; `None` if it is refused.
    fn decode(self, decoder: &mut Decoder, data: &[u8]) -> Option<(Option<Stamp>, usize)> {
        let decoded = match self {
            Self::Whole => (decoder.decode(data), 1),
            Self::Parts => {
                let (mut frame, mut parts) = (Depacketizer::new(H264), 1);
                for payload in packetize(H264, data, 300) {
                    frame.push(&payload).unwrap();
                    let part = frame.take().unwrap();
                    if !part.is_empty() {
                        // What it says of a part, it says of the rest.
                        let _ = decoder.begin(part);
                        parts += 1;
                    }
                }
                (decoder.decode(frame.finish().unwrap_or(&[])), parts)
            }
        };
        match decoded {
            (Ok(picture), parts) => Some((Stamp::read(picture), parts)),
            (Err(DecoderError::NeedsKeyFrame | DecoderError::Damaged(_)), _) => None,
            (Err(error), _) => panic!("{error}"),
        }
    }
}

/// Sends frames all the way; gives how many stamps were read, and the mean PSNR.
fn send(decoder: &mut Decoder, size: Size, rate: Rate, frames: u64) -> (u64, f64) {
    let scene = Scene::new(1, size);
    let mut encoder = open(size, rate);
    let mut budgets = FrameBudgets::new(FPS);
    let (mut read, mut psnr) = (0, 0.0);
    for frame in 0..frames {
        let (picture, stamp) = stamped(&scene, frame);
        let frame_budget = budgets.next(rate);
        let timestamp = stamp.captured;
        let request =
            EncodeRequest { frame_budget, rate, key_frame: frame == 0, refers_back: 1, timestamp };
        let encoded = encoder.encode(&picture, request).unwrap();
        assert_eq!(encoded.key_frame, frame == 0);
        let payloads = packetize(H264, &encoded.data, 1200);
        let access_unit = depacketize(H264, &payloads).unwrap();
        let decoded = decoder.decode(&access_unit).unwrap();
        read += u64::from(Stamp::read(decoded) == Some(stamp));
        psnr += decoded.luma_psnr(&picture) / frames as f64;
    }
    (read, psnr)
}

#[test]
fn counter_and_clock_arrive_in_every_picture() {
    for mut decoder in decoders() {
        let size = Size::new(1280, 720).unwrap();
        let (read, psnr) = send(&mut decoder, size, Rate::from_mbps(10), 120);
        assert_eq!(read, 120, "{}", decoder.name());
        assert!((25.0..40.0).contains(&psnr), "{psnr} dB: neither a ruin nor a still picture");
    }
}

#[test]
fn slices_are_given_as_they_are_made_and_are_the_whole() {
    let (size, rate) = (Size::new(640, 360).unwrap(), Rate::from_mbps(4));
    let scene = Scene::new(1, size);
    let (mut encoder, mut budgets) = (open(size, rate), FrameBudgets::new(FPS));
    for frame in 0..8 {
        let (picture, stamp) = stamped(&scene, frame);
        let (frame_budget, timestamp) = (budgets.next(rate), stamp.captured);
        let request =
            EncodeRequest { frame_budget, rate, key_frame: frame == 5, refers_back: 1, timestamp };
        let mut parts: Vec<Vec<u8>> = Vec::new();
        let encoded =
            encoder.encode_in_parts(&picture, request, &mut |part| parts.push(part.to_vec()));
        let encoded = encoded.unwrap();
        assert_eq!(parts.concat(), encoded.data);
        assert_eq!(parts.len() as u64, encoder.slices());
        let is_key = frame == 0 || frame == 5;
        for (index, part) in parts.iter().enumerate() {
            // ITU-T H.264 table 7-1: 7 and 8 are parameter sets, 5 and 1 slices of key frames and of others, 6 is
            // information that x264 adds.
            let kinds = nal_units(part).map(|unit| unit[0] & 31);
            let kinds: Vec<u8> = kinds.filter(|kind| *kind != 6).collect();
            let expected: &[u8] = match (is_key, index) {
                (true, 0) => &[7, 8, 5],
                (true, _) => &[5],
                (false, _) => &[1],
            };
            assert_eq!(kinds, expected, "part {index} of frame {frame}");
        }
    }
    let tiny = open(Size::new(64, 32).unwrap(), rate);
    assert_eq!(tiny.slices(), 2, "as many as rows of macroblocks");
}

#[test]
fn stamps_survive_300_kbps() {
    let rate = Rate::from_kbps(300);
    let mut decoder = Decoder::new(H264).unwrap();
    for (width, height) in [(1280, 720), (640, 360), (320, 180), (1920, 1080)] {
        let (read, _) = send(&mut decoder, Size::new(width, height).unwrap(), rate, 90);
        assert_eq!(read, 90, "{width}x{height}");
    }
}

/// What happens to a frame on its way; `None` if it does not arrive.
type Damage = Option<fn(&mut Vec<u8>)>;

/// Which of eight frames of four slices, the sixth a key frame, are shown when the third arrives as `damage`
/// makes it.
fn shown(decoder: &mut Decoder, by: By, damage: Damage) -> Vec<bool> {
    let size = Size::new(640, 360).unwrap();
    let (scene, rate) = (Scene::new(2, size), Rate::from_mbps(5));
    let mut encoder = open(size, rate);
    let mut outcomes = Vec::new();
    for frame in 0..8 {
        let (picture, stamp) = stamped(&scene, frame);
        let frame_budget = FrameBudgets::new(FPS).next(rate);
        let key_frame = frame == 5;
        let request = EncodeRequest {
            frame_budget,
            rate,
            key_frame,
            refers_back: 1,
            timestamp: stamp.captured,
        };
        let mut data = encoder.encode(&picture, request).unwrap().data;
        match damage {
            Some(damage) if frame == 2 => damage(&mut data),
            None if frame == 2 => {
                outcomes.push(false);
                continue;
            }
            _ => {}
        }
        let decoded = by.decode(decoder, &data);
        outcomes.push(decoded.is_some_and(|(read, _)| read == Some(stamp)));
    }
    outcomes
}

/// The access unit without one of its NAL units, counted from its end.
fn without(data: &mut Vec<u8>, from_end: usize) {
    let units: Vec<&[u8]> = nal_units(data).collect();
    assert!(units.len() >= 4, "there are slices to be lost");
    let lost = units.len() - 1 - from_end;
    let kept = units.iter().enumerate().filter(|(place, _)| *place != lost);
    *data = kept.flat_map(|(_, unit)| [&[0, 0, 0, 1], *unit].concat()).collect();
}

#[test]
fn after_a_loss_the_decoder_waits_for_a_key_frame() {
    let without_the_third = [true, true, false, false, false, true, true, true];
    let damages: [Damage; 7] = [
        Some(|data| data.truncate(data.len() / 2)),
        Some(|data| data.truncate(data.len() - 9)),
        Some(|data| without(data, 0)),
        Some(|data| without(data, 1)),
        Some(|data| without(data, 3)),
        Some(Vec::clear),
        None,
    ];
    for mut decoder in decoders() {
        let name = decoder.name();
        for by in [By::Whole, By::Parts] {
            assert_eq!(shown(&mut decoder, by, Some(|_| ())), [true; 8], "{name} {by:?}");
            for (which, damage) in damages.into_iter().enumerate() {
                let shown = shown(&mut decoder, by, damage);
                assert_eq!(shown, without_the_third, "{name} {by:?}, damage {which}");
            }
        }
    }
}

/// What follows a part of a frame that will never be whole is refused until a key frame.
#[test]
fn a_frame_that_was_begun_is_lost_as_one_that_was_not() {
    let size = Size::new(640, 360).unwrap();
    let (scene, rate) = (Scene::new(3, size), Rate::from_mbps(5));
    for mut decoder in decoders() {
        let mut encoder = open(size, rate);
        let mut encode = |frame: u64| {
            let (picture, stamp) = stamped(&scene, frame);
            let (frame_budget, timestamp) = (FrameBudgets::new(FPS).next(rate), stamp.captured);
            let key_frame = frame == 0 || frame == 3;
            let request =
                EncodeRequest { frame_budget, rate, key_frame, refers_back: 1, timestamp };
            (encoder.encode(&picture, request).unwrap().data, stamp)
        };
        assert!(By::Parts.decode(&mut decoder, &encode(0).0).is_some_and(|(_, parts)| parts == 5));
        let (begun, _) = encode(1);
        let first = [&[0, 0, 0, 1], nal_units(&begun).next().unwrap()].concat();
        decoder.begin(&first).unwrap();
        decoder.lose();
        assert_eq!(By::Whole.decode(&mut decoder, &encode(2).0), None, "{}", decoder.name());
        let (key_frame, stamp) = encode(3);
        assert_eq!(By::Whole.decode(&mut decoder, &key_frame), Some((Some(stamp), 1)));
    }
}

#[test]
fn ffmpeg_decodes_what_was_cut_and_put_together() {
    let size = Size::new(640, 360).unwrap();
    let (scene, rate) = (Scene::new(4, size), Rate::from_mbps(8));
    for name in ["x264", "openh264"] {
        let config = EncoderConfig { size, frames_per_second: FPS, rate };
        let mut encoder = gameway_codec::encoder::open(name, config).unwrap();
        let mut decoders: Vec<_> = decoders().map(|decoder| (decoder, Vec::new())).collect();
        let mut in_parts = Decoder::new(H264).unwrap();
        let (mut direct, mut cut) = (Vec::new(), Vec::new());
        for frame in 0..30 {
            let (picture, stamp) = stamped(&scene, frame);
            let frame_budget = FrameBudgets::new(FPS).next(rate);
            let key_frame = frame == 0 || frame == 17;
            let timestamp = stamp.captured;
            let request =
                EncodeRequest { frame_budget, rate, key_frame, refers_back: 1, timestamp };
            let encoded = encoder.encode(&picture, request).unwrap();
            assert_eq!(encoded.key_frame, key_frame, "{name} {frame}");
            let whole = depacketize(H264, packetize(H264, &encoded.data, 300)).unwrap();
            for (decoder, ours) in &mut decoders {
                ours.extend_from_slice(decoder.decode(&whole).unwrap().samples());
            }
            let slices = nal_units(&encoded.data).filter(|unit| matches!(unit[0] & 0x1f, 1 | 5));
            let parts = slices.count() + 1;
            let decoded = By::Parts.decode(&mut in_parts, &encoded.data);
            assert_eq!(decoded, Some((Some(stamp), parts)), "{name} {frame}");
            assert!(name != "x264" || parts == 5, "{parts}");
            direct.extend(encoded.data);
            cut.extend(whole);
        }
        let Some(hashes) = hashes_by_ffmpeg("-f h264", &cut) else {
            eprintln!("skipped: ffmpeg is not installed");
            return;
        };
        assert_eq!(hashes.len(), 30, "{name}");
        assert_eq!(Some(&hashes), hashes_by_ffmpeg("-f h264", &direct).as_ref(), "{name}");
        for (decoder, ours) in decoders {
            let raw = hashes_by_ffmpeg("-f rawvideo -pix_fmt yuv420p -s 640x360", &ours);
            assert_eq!(Some(&hashes), raw.as_ref(), "{name}, decoded by {}", decoder.name());
        }
    }
}

/// How many of 200 frames with four random bytes are refused, where key frames between them mend all.
fn refused(decoder: &mut Decoder) -> u32 {
    let size = Size::new(320, 180).unwrap();
    let (scene, rate) = (Scene::new(6, size), Rate::from_mbps(2));
    let mut encoder = open(size, rate);
    let (mut refused, mut random) = (0, 1_u64);
    for frame in 0..300 {
        let (picture, stamp) = stamped(&scene, frame);
        let frame_budget = FrameBudgets::new(FPS).next(rate);
        let (key_frame, timestamp) = (frame % 3 == 0, stamp.captured);
        let request = EncodeRequest { frame_budget, rate, key_frame, refers_back: 1, timestamp };
        let mut data = encoder.encode(&picture, request).unwrap().data;
        if key_frame {
            decoder.lose();
            let decoded = decoder.decode(&data).unwrap();
            assert_eq!(Stamp::read(decoded), Some(stamp), "frame {frame}");
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
    refused
}

#[test]
fn damaged_frames_are_errors_or_pictures_and_a_key_frame_mends_all() {
    for mut decoder in decoders() {
        let refused = refused(&mut decoder);
        let name = decoder.name();
        assert!((100..=200).contains(&refused), "{name}: {refused} of 200 damaged frames");
    }
}

#[test]
fn a_dead_encoder_is_replaced_and_the_decoder_goes_on() {
    let (size, other) = (Size::new(640, 360).unwrap(), Size::new(320, 180).unwrap());
    let (scene, rate) = (Scene::new(2, size), Rate::from_mbps(5));
    let mut encoder = open(size, rate);
    let mut decoder = Decoder::new(H264).unwrap();
    let mut deaths = 0;
    for frame in 0..12 {
        let (mut picture, stamp) = stamped(&scene, frame);
        if frame == 5 {
            picture = Picture::black(other);
        }
        let frame_budget = FrameBudgets::new(FPS).next(rate);
        let timestamp = stamp.captured;
        let request =
            EncodeRequest { frame_budget, rate, key_frame: false, refers_back: 1, timestamp };
        let Ok(encoded) = encoder.encode(&picture, request) else {
            deaths += 1;
            encoder = open(size, rate);
            continue;
        };
        assert_eq!(encoded.key_frame, frame == 0 || frame == 6);
        let decoded = decoder.decode(&encoded.data).unwrap();
        assert_eq!(Stamp::read(decoded), Some(stamp));
    }
    assert_eq!(deaths, 1);
}
