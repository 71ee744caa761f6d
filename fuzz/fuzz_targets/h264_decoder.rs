//! H.264 from a peer, as access units of one or two slices, the first of two ahead of the other, to each decoder of the build: a
//! picture or an error; after an error, none before a key frame.
#![no_main]

use gameway_codec::decoder::{Decoder, DecoderError, available};
use gameway_codec::payload::nal_units;
use gameway_units::VideoCodec;
use libfuzzer_sys::fuzz_target;

fn decode(mut decoder: Decoder, bytes: &[u8]) {
    let mut access_unit = Vec::new();
    // What was so before the first of two slices, and its type.
    let mut begun = None;
    for unit in nal_units(bytes).take(64) {
        access_unit.extend_from_slice(&[0, 0, 0, 1]);
        access_unit.extend_from_slice(unit);
        let kind = unit[0] & 0x1f;
        if !matches!(kind, 1 | 5) {
            continue;
        }
        let waited = decoder.needs_key_frame();
        if begun.is_none() && unit.len() % 2 == 1 {
            let refused = decoder.begin(&access_unit).is_err();
            assert!(!refused || decoder.needs_key_frame());
            begun = Some((waited, kind));
            access_unit.clear();
            continue;
        }
        let (waited, kind) = begun.take().unwrap_or((waited, kind));
        let decoded = decoder.decode(&access_unit).map(|picture| picture.size());
        match decoded {
            Ok(size) => {
                assert!(!decoder.needs_key_frame() && (!waited || kind == 5));
                assert!(size.luma() <= 4096 * 4096);
            }
            Err(DecoderError::NeedsKeyFrame) => assert!(decoder.needs_key_frame()),
            Err(_) => assert!(decoder.needs_key_frame()),
        }
        access_unit.clear();
    }
}

fuzz_target!(|bytes: &[u8]| {
    for (name, _) in available(VideoCodec::H264) {
        decode(Decoder::open(name, VideoCodec::H264).expect("a decoder"), bytes);
    }
});
