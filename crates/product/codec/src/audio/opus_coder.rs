//! Opus itself: the only module that knows libopus.

use super::{AudioDecoder, AudioEncoder, AudioError, CHANNELS, PacketDuration, SAMPLE_RATE};
use gameway_units::Rate;

/// One frame of Opus.
const MAX_PACKET: usize = 1275;

/// Opus at a constant rate.
///
/// # Errors
/// If Opus has no such rate.
pub fn open_encoder(
    duration: PacketDuration,
    rate: Rate,
) -> Result<Box<dyn AudioEncoder>, AudioError> {
    Ok(Box::new(OpusEncoder::new(duration, rate)?))
}

/// Opus; lost packets are taken to be of `duration`.
///
/// # Errors
/// If libopus refuses.
pub fn open_decoder(duration: PacketDuration) -> Result<Box<dyn AudioDecoder>, AudioError> {
    Ok(Box::new(OpusDecoder::new(duration)?))
}

fn error(error: opus::Error) -> AudioError {
    AudioError::Codec(error.to_string())
}

/// Samples to packets.
pub struct OpusEncoder {
    encoder: opus::Encoder,
    duration: PacketDuration,
}

impl OpusEncoder {
    /// An encoder at a constant rate, so that audio takes a known share of the link.
    ///
    /// # Errors
    /// [`AudioError::Codec`] for a rate that Opus does not have (6 to 510 kb/s).
    pub fn new(duration: PacketDuration, rate: Rate) -> Result<Self, AudioError> {
        let application = opus::Application::LowDelay;
        let mut encoder =
            opus::Encoder::new(SAMPLE_RATE, opus::Channels::Stereo, application).map_err(error)?;
        let bits = i32::try_from(rate.as_bps()).unwrap_or(i32::MAX);
        if !(6_000..=510_000).contains(&bits) {
            return Err(AudioError::Codec(format!("{rate}: from 6 kb/s to 510 kb/s")));
        }
        encoder.set_bitrate(opus::Bitrate::Bits(bits)).map_err(error)?;
        encoder.set_vbr(false).map_err(error)?;
        Ok(Self { encoder, duration })
    }

    /// Encodes one packet's samples, interleaved.
    ///
    /// # Errors
    /// [`AudioError::Samples`] for another count of samples.
    pub fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, AudioError> {
        let (got, needed) = (samples.len(), self.duration.interleaved());
        if got != needed {
            return Err(AudioError::Samples { got, needed });
        }
        self.encoder.encode_vec(samples, MAX_PACKET).map_err(error)
    }
}

/// Packets to samples.
pub struct OpusDecoder {
    decoder: opus::Decoder,
    duration: PacketDuration,
}

impl OpusDecoder {
    /// A decoder; lost packets are taken to be of `duration`.
    ///
    /// # Errors
    /// [`AudioError::Codec`].
    pub fn new(duration: PacketDuration) -> Result<Self, AudioError> {
        let decoder = opus::Decoder::new(SAMPLE_RATE, opus::Channels::Stereo).map_err(error)?;
        Ok(Self { decoder, duration })
    }

    /// Decodes a packet, or conceals one that is lost (`None`); gives interleaved samples.
    ///
    /// # Errors
    /// [`AudioError::Codec`] for what is no Opus packet; the decoder can go on with the next.
    pub fn decode(&mut self, packet: Option<&[u8]>) -> Result<Vec<i16>, AudioError> {
        // A packet holds 120 ms at most (RFC 6716 section 3.2.5).
        let max = if packet.is_some() { 5760 } else { self.duration.samples() };
        let mut samples = vec![0; max * CHANNELS];
        // libopus takes an empty packet for a lost one; from a peer it is an error.
        if packet.is_some_and(<[u8]>::is_empty) {
            return Err(AudioError::Codec("an empty packet".to_owned()));
        }
        let count =
            self.decoder.decode(packet.unwrap_or_default(), &mut samples, false).map_err(error)?;
        samples.truncate(count * CHANNELS);
        Ok(samples)
    }
}

impl AudioEncoder for OpusEncoder {
    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, AudioError> {
        Self::encode(self, samples)
    }
}

impl AudioDecoder for OpusDecoder {
    fn decode(&mut self, packet: Option<&[u8]>) -> Result<Vec<i16>, AudioError> {
        Self::decode(self, packet)
    }
}
