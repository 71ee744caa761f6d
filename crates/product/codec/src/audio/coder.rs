//! What encodes and decodes, whether this build has it or not.

use super::{AudioError, PacketDuration};
use gameway_units::Rate;

/// Samples to packets.
pub trait AudioEncoder: Send {
    /// Encodes one packet's samples, interleaved.
    ///
    /// # Errors
    /// [`AudioError`] for another count of samples, or if the codec fails.
    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, AudioError>;
}

/// Packets to samples.
pub trait AudioDecoder: Send {
    /// Decodes a packet, or conceals one that is lost (`None`); gives interleaved samples.
    ///
    /// # Errors
    /// [`AudioError`] for what is no packet; it can go on with the next.
    fn decode(&mut self, packet: Option<&[u8]>) -> Result<Vec<i16>, AudioError>;
}

/// Opus at a constant rate.
///
/// # Errors
/// If this build has no Opus, or Opus has no such rate.
#[cfg(feature = "opus")]
pub fn open_encoder(
    duration: PacketDuration,
    rate: Rate,
) -> Result<Box<dyn AudioEncoder>, AudioError> {
    Ok(Box::new(super::OpusEncoder::new(duration, rate)?))
}

/// Opus; lost packets are taken to be of `duration`.
///
/// # Errors
/// If this build has no Opus.
#[cfg(feature = "opus")]
pub fn open_decoder(duration: PacketDuration) -> Result<Box<dyn AudioDecoder>, AudioError> {
    Ok(Box::new(super::OpusDecoder::new(duration)?))
}

#[cfg(not(feature = "opus"))]
fn missing() -> AudioError {
    AudioError::Codec("this build is without it; with CMake installed, `make demo-live` builds it in (cargo feature `opus`)".to_owned())
}

/// Opus at a constant rate.
///
/// # Errors
/// This build has no Opus.
#[cfg(not(feature = "opus"))]
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
#[cfg(not(feature = "opus"))]
pub fn open_decoder(_duration: PacketDuration) -> Result<Box<dyn AudioDecoder>, AudioError> {
    Err(missing())
}
