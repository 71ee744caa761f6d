//! H.264 from a peer, cut before each slice: a picture or an error; after an error, none before a key
//! frame.
#![no_main]

use gameway_codec::decoder::{Decoder, DecoderError};
use gameway_codec::h264_payload::nal_units;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut decoder = Decoder::new().expect("a decoder");
    let mut access_unit = Vec::new();
    for unit in nal_units(bytes).take(64) {
        access_unit.extend_from_slice(&[0, 0, 0, 1]);
        access_unit.extend_from_slice(unit);
        let kind = unit[0] & 0x1f;
        if !matches!(kind, 1 | 5) {
            continue;
        }
        let waited = decoder.needs_key_frame();
        match decoder.decode(&access_unit) {
            Ok(picture) => {
                assert!(!decoder.needs_key_frame() && (!waited || kind == 5));
                assert!(picture.size().luma() <= 4096 * 4096);
            }
            Err(DecoderError::NeedsKeyFrame) => assert!(waited),
            Err(_) => assert!(decoder.needs_key_frame()),
        }
        access_unit.clear();
    }
});
