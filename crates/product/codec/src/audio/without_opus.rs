//! What a build without Opus has in its place: a sentence that says how to have it.

use super::{AudioDecoder, AudioEncoder, AudioError, PacketDuration};
use gameway_units::Rate;

fn missing() -> AudioError {
    AudioError::Codec("this build is without it; with CMake installed, `make demo-live` builds it in (cargo feature `opus`)".to_owned())
}

/// Opus at a constant rate.
///
/// # Errors
/// This build has no Opus.
pub fn open_encoder(
    _duration: PacketDuration,
    _rate: Rate,
) -> Result<Box<dyn AudioEncoder>, AudioError> {
    Err(missing())
}

/// Opus; lost packets are taken to be of `duration`.
///
/// # Errors
/// This build has no Opus.
pub fn open_decoder(_duration: PacketDuration) -> Result<Box<dyn AudioDecoder>, AudioError> {
    Err(missing())
}
