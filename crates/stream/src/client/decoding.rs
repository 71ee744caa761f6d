//! The thread that decodes pictures and reads their stamps, in the order of frames.

use crate::wake::Giver;
use gameway_codec::decoder::{Decoder, DecoderError};
use gameway_codec::{Stamp, h264_payload};
use gameway_control::FrameId;
use gameway_live::clock::Clock;
use gameway_units::Instant;
use std::sync::mpsc::Receiver;

/// A frame to be decoded.
#[derive(Debug)]
pub struct Job {
    /// Its number.
    pub frame: FrameId,
    /// The payloads of its media packets, in order.
    pub payloads: Vec<Vec<u8>>,
}

/// What became of it.
#[derive(Debug)]
pub struct Decoded {
    /// Its number.
    pub frame: FrameId,
    /// When its picture was there, and what it says; why there is none, if it could not be decoded.
    pub result: Result<(Instant, Option<Stamp>), String>,
}

/// Decodes until nobody gives any more.
pub fn run(jobs: &Receiver<Job>, decoded: &Giver<Decoded>, clock: Clock) {
    let mut decoder = None;
    for Job { frame, payloads } in jobs {
        let result = decode(&mut decoder, &payloads, clock);
        if !decoded.give(Decoded { frame, result }) {
            break;
        }
    }
}

fn decode(
    state: &mut Option<Decoder>,
    payloads: &[Vec<u8>],
    clock: Clock,
) -> Result<(Instant, Option<Stamp>), String> {
    let text = |error: DecoderError| error.to_string();
    let decoder = match state {
        Some(decoder) => decoder,
        None => state.insert(Decoder::new().map_err(text)?),
    };
    let access_unit = h264_payload::depacketize(payloads).map_err(|error| {
        decoder.lose();
        error.to_string()
    })?;
    let picture = decoder.decode(&access_unit).map_err(text)?;
    let at = clock.now();
    Ok((at, Stamp::read(&picture)))
}
