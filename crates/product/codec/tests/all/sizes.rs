//! A stream whose pictures change their size: another encoder, the same decoder.

use gameway_codec::decoder::{self, Decoder};
use gameway_codec::encoder::{self, EncodeRequest, EncoderConfig};
use gameway_codec::{Picture, Scaler, Scene, Size, Stamp};
use gameway_units::{Bytes, Instant, Rate, VideoCodec};

const SIZES: [(u32, u32); 4] = [(1280, 720), (852, 480), (640, 360), (426, 240)];

fn size((width, height): (u32, u32)) -> Size {
    Size::new(width, height).expect("a size")
}

/// Each size for five frames, down and up again; the decoder gets slices as they are made.
fn all_sizes(decoder: &mut Decoder, name: &str) {
    let scene = Scene::new(1, size(SIZES[0]));
    let mut scaler = Scaler::default();
    let mut frame = 0;
    for of in SIZES.into_iter().chain(SIZES.into_iter().rev()).map(size) {
        let rate = Rate::from_mbps(3);
        let config = EncoderConfig { size: of, frames_per_second: 60, rate };
        let mut encoder = encoder::open(name, config).expect("an encoder");
        for number in 0..5 {
            let mut picture = Picture::black(of);
            scaler.scale(&scene.picture(frame), &mut picture);
            let stamp = Stamp { frame: frame as u32, captured: Instant::ZERO, input: 0 };
            stamp.write(&mut picture).expect("room");
            let request = EncodeRequest {
                frame_budget: Bytes::new(8_000),
                rate,
                key_frame: number == 0,
                refers_back: 1,
                timestamp: Instant::ZERO,
            };
            let mut parts = Vec::new();
            let encoded = encoder.encode_in_parts(&picture, request, &mut |part| {
                parts.push(part.to_vec());
            });
            assert_eq!(encoded.expect("it lives").key_frame, number == 0);
            let (last, first) = parts.split_last().expect("a part");
            first.iter().for_each(|part| decoder.begin(part).expect("slices"));
            let shown = decoder.decode(last).expect("a picture");
            assert_eq!(shown.size(), of, "{name}: {frame}");
            assert_eq!(Stamp::read(shown), Some(stamp), "{name}: {frame}");
            frame += 1;
        }
    }
}

#[test]
fn decoders_take_a_new_size_with_its_key_frame() {
    for codec in [VideoCodec::H264, VideoCodec::H265] {
        for (name, _) in encoder::available(codec) {
            for (decodes, _) in decoder::available(codec) {
                let mut decoder = Decoder::open(decodes, codec).expect("a decoder");
                all_sizes(&mut decoder, name);
            }
        }
    }
}
