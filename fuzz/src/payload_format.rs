//! The payload formats of video, by one measure: RTP payloads from a peer are a frame or an error, and a frame goes
//! through again unchanged.

use crate::Input;
use gameway_codec::payload;
use gameway_codec::payload::{MIN_PAYLOAD, nal_units};
use gameway_units::VideoCodec;

/// Cuts any byte stream, and puts any payloads together.
pub fn check(codec: VideoCodec, bytes: &[u8]) {
    // A byte stream of any kind.
    for largest in [MIN_PAYLOAD, 1200] {
        let payloads = payload::packetize(codec, bytes, largest);
        assert!(payloads.iter().all(|payload| (1..=largest).contains(&payload.len())));
    }
    // Payloads of any kind: each a length and so many bytes.
    let mut input = Input::new(bytes);
    let mut payloads = Vec::new();
    while !input.is_empty() && payloads.len() < 64 {
        let length = usize::from(input.any::<u8>()).min(input.left());
        payloads.push((0..length).map(|_| input.any::<u8>()).collect::<Vec<_>>());
    }
    let Ok(frame) = payload::depacketize(codec, &payloads) else { return };
    assert!(frame.len() <= payloads.iter().map(|payload| payload.len() + 4).sum::<usize>() * 4);
    let units = |frame: &[u8]| nal_units(frame).map(<[u8]>::to_vec).collect::<Vec<_>>();
    if let Ok(again) = payload::depacketize(codec, payload::packetize(codec, &frame, 100)) {
        assert_eq!(units(&again), units(&frame));
    }
}
