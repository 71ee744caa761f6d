//! A frame that refers to an older one than the last is decoded without those between, as the encoder meant it.
#![cfg(all(feature = "x264", feature = "libav"))]

use gameway_codec::decoder::Decoder;
use gameway_codec::encoder::{EncodeRequest, EncoderConfig, VideoEncoder, X264};
use gameway_codec::payload::{Depacketizer, packetize};
use gameway_codec::{Picture, Scene, Size};
use gameway_media::rate_control::FrameBudgets;
use gameway_units::VideoCodec::H264;
use gameway_units::{Instant, Rate};

const FPS: u32 = 60;
const FRAMES: usize = 100;
/// The frame that follows lost ones.
const ANSWER: usize = 50;
/// How many numbers x264's frames have.
const NUMBERS: usize = 32;

/// Frames of the scene, of which [`ANSWER`] refers so many back.
fn encoded(size: Size, back: u8) -> Vec<Vec<u8>> {
    encoded_for(size, ANSWER, back)
}

/// Frames of the scene, of which this one refers so many back.
fn encoded_for(size: Size, answer: usize, back: u8) -> Vec<Vec<u8>> {
    let (scene, rate) = (Scene::new(1, size), Rate::from_mbps(5));
    let mut encoder = X264::new(EncoderConfig { size, frames_per_second: FPS, rate }).unwrap();
    let mut budgets = FrameBudgets::new(FPS);
    let frame = |frame: usize| {
        let request = EncodeRequest {
            frame_budget: budgets.next(rate),
            rate,
            key_frame: frame == 0,
            refers_back: if frame == answer { back } else { 1 },
            timestamp: Instant::ZERO,
        };
        let encoded = encoder.encode(&scene.picture(frame as u64), request).unwrap();
        assert_eq!(encoded.key_frame, frame == 0 || frame == answer && back > encoder.keeps());
        encoded.data
    };
    (0..FRAMES).map(frame).collect()
}

fn open() -> Decoder {
    Decoder::open("libav", H264).unwrap()
}

/// What the encoder has of each frame: what a decoder shows that gets all.
fn reconstructed(frames: &[Vec<u8>]) -> Vec<Picture> {
    let mut decoder = open();
    frames.iter().map(|frame| decoder.decode(frame).unwrap().clone()).collect()
}

/// The first packets of a frame, as a client has them of one whose last never come.
fn begin(decoder: &mut Decoder, frame: &[u8]) {
    let mut depacketizer = Depacketizer::new(H264);
    let payloads = packetize(H264, frame, 300);
    for payload in &payloads[..payloads.len() * 2 / 3] {
        depacketizer.push(payload).unwrap();
        let slices = depacketizer.take().unwrap();
        if !slices.is_empty() {
            decoder.begin(slices).unwrap();
        }
    }
}

/// What is shown from the answer on when the `lost` frames before it do not come, or in part; `None` where there is an error.
fn shown(frames: &[Vec<u8>], lost: usize, in_part: bool) -> Vec<Option<Picture>> {
    let mut decoder = open();
    for frame in &frames[..ANSWER - lost] {
        decoder.decode(frame).unwrap();
    }
    if in_part {
        begin(&mut decoder, &frames[ANSWER - lost]);
    }
    decoder.pass_over(lost as u32);
    frames[ANSWER..].iter().map(|frame| decoder.decode(frame).ok().cloned()).collect()
}

#[test]
fn what_follows_lost_frames_is_shown_as_the_encoder_has_it() {
    for size in [(320, 180), (1280, 720)].map(|(width, height)| Size::new(width, height).unwrap()) {
        for lost in [1, 2, 5, 15] {
            let frames = encoded(size, lost as u8 + 1);
            let meant = reconstructed(&frames);
            for in_part in [false, true] {
                let shown = shown(&frames, lost, in_part);
                let same = shown.iter().zip(&meant[ANSWER..]);
                let wrong = same.filter(|(shown, meant)| shown.as_ref() != Some(meant)).count();
                assert_eq!(wrong, 0, "{size:?}, {lost} lost, {in_part}");
            }
        }
    }
}

/// The twin: an answer that refers to a lost frame is drawn on a picture that the encoder does not have.
#[test]
fn a_frame_that_refers_to_a_lost_one_is_not_what_the_encoder_has() {
    let size = Size::new(320, 180).unwrap();
    let frames = encoded(size, 1);
    let meant = reconstructed(&frames);
    let shown = shown(&frames, 3, false);
    let wrong = shown
        .iter()
        .zip(&meant[ANSWER..])
        .filter(|(shown, meant)| shown.as_ref().is_none_or(|shown| shown.luma_psnr(meant) < 45.0));
    assert_eq!(wrong.count(), FRAMES - ANSWER);
}

#[test]
fn what_is_no_longer_kept_is_answered_by_a_key_frame() {
    let size = Size::new(320, 180).unwrap();
    let frames = encoded(size, 17);
    let meant = reconstructed(&frames);
    let shown = shown(&frames, 16, false);
    assert!(shown.iter().zip(&meant[ANSWER..]).all(|(shown, meant)| shown.as_ref() == Some(meant)));
}

#[test]
fn who_was_not_told_of_lost_frames_refuses_what_follows() {
    let frames = encoded(Size::new(320, 180).unwrap(), 4);
    let mut decoder = open();
    frames[..ANSWER - 3].iter().for_each(|frame| _ = decoder.decode(frame).unwrap());
    assert!(decoder.decode(&frames[ANSWER]).is_err());
    assert!(decoder.needs_key_frame());
}

/// FFmpeg's decoder does not count a wrap of the frames' numbers in a gap, and gives out nothing more: a host answers by a key frame there.
#[test]
fn frames_behind_a_gap_with_a_wrap_in_it_are_not_shown() {
    let decodes = |answer: usize, lost: usize| {
        let size = Size::new(320, 180).unwrap();
        let frames = encoded_for(size, answer, lost as u8 + 1);
        let mut decoder = open();
        frames[..answer - lost].iter().for_each(|frame| _ = decoder.decode(frame).unwrap());
        decoder.pass_over(lost as u32);
        decoder.decode(&frames[answer]).is_ok()
    };
    // Three are lost: the frame with number zero is the last, the middle and the first of them.
    let wrap = 2 * NUMBERS;
    let shown = [wrap - 1, wrap + 1, wrap + 2, wrap + 3, wrap + 4];
    assert_eq!(shown.map(|answer| decodes(answer, 3)), [true, false, false, false, true]);
}

/// Each third frame ends in the middle, and is answered. A decoder has room for eight of them, then it begins anew.
#[test]
fn after_eight_frames_that_broke_off_a_decoder_waits_for_a_key_frame() {
    let size = Size::new(320, 180).unwrap();
    let (scene, rate) = (Scene::new(1, size), Rate::from_mbps(5));
    let mut encoder = X264::new(EncoderConfig { size, frames_per_second: FPS, rate }).unwrap();
    let mut budgets = FrameBudgets::new(FPS);
    let (mut decoder, mut key_frames) = (open(), 0);
    for frame in 0..360 {
        let answers = frame > 0 && frame % 3 == 0;
        let request = EncodeRequest {
            frame_budget: budgets.next(rate),
            rate,
            key_frame: decoder.needs_key_frame(),
            refers_back: if answers { 2 } else { 1 },
            timestamp: Instant::ZERO,
        };
        key_frames += usize::from(request.key_frame);
        let picture = scene.picture(frame);
        let encoded = encoder.encode(&picture, request).unwrap();
        if frame % 3 == 2 {
            begin(&mut decoder, &encoded.data);
            decoder.pass_over(1);
            continue;
        }
        let shown = decoder.decode(&encoded.data).unwrap();
        assert!(shown.luma_psnr(&picture) > 30.0, "frame {frame}");
    }
    // 120 frames broke off, and each ninth was one too many.
    assert_eq!(key_frames, 1 + 120 / 9);
}
