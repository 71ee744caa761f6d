//! Audio: sources of samples, and Opus (RFC 6716) at 48 kHz stereo.
//!
//! A packet of Opus is an RTP payload as it is (RFC 7587 section 4.2), its clock runs at 48 kHz whatever the
//! packet's length (section 4.1). Encoding is "restricted low delay" (RFC 6716 section 2.1.9's CELT alone):
//! 2.5 ms of look-ahead instead of 6.5.
//!
//! Sources are asked for a block at a time on the clock of who asks; none makes it wait for longer than a block. What a
//! device has not delivered by then is silence.
//!
//! libopus is under a BSD licence and is built from source by the feature `opus`.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | sample rate | 48 kHz, two channels, interleaved | RFC 7587 section 4.1; what games and sound servers play |
//! | largest packet | 1275 B | RFC 6716 section 3.2.1, one frame |

mod beep;
mod file;
#[cfg(feature = "opus")]
mod opus_coder;
mod piped;
mod pulse;
#[cfg(not(feature = "opus"))]
mod without_opus;

pub use beep::{BEEP_INTERVAL, Beep, OnsetDetector};
pub use file::FileSound;
#[cfg(feature = "opus")]
pub use opus_coder::{OpusDecoder, OpusEncoder, open_decoder, open_encoder};
pub use pulse::PulseMonitor;
#[cfg(not(feature = "opus"))]
pub use without_opus::{open_decoder, open_encoder};

use gameway_units::{Duration, Instant};
use thiserror::Error;

/// Samples per second and channel.
pub const SAMPLE_RATE: u32 = 48_000;
/// Interleaved channels.
pub const CHANNELS: usize = 2;

/// Why there is no audio.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AudioError {
    /// libopus refused.
    #[error("opus: {0}")]
    Codec(String),
    /// A block that is no packet's length.
    #[error("{got} samples, but a packet takes {needed}")]
    Samples {
        /// Given samples of all channels.
        got: usize,
        /// Samples of all channels in a packet.
        needed: usize,
    },
    /// The capturing program is not there or ended.
    #[error("capture of {device}: {reason}")]
    Capture {
        /// The device asked for.
        device: String,
        /// What went wrong, and what to install.
        reason: String,
    },
}

/// How much audio a packet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PacketDuration {
    /// 10 ms: less delay, more headers.
    #[default]
    Ten,
    /// 20 ms.
    Twenty,
}

impl PacketDuration {
    /// As a span.
    #[must_use]
    pub fn span(self) -> Duration {
        Duration::from_millis(if self == Self::Ten { 10 } else { 20 })
    }

    /// Samples of a channel; also the step of the RTP timestamp.
    #[must_use]
    pub fn samples(self) -> usize {
        if self == Self::Ten { 480 } else { 960 }
    }

    /// Samples of all channels.
    #[must_use]
    pub fn interleaved(self) -> usize {
        self.samples() * CHANNELS
    }
}

/// Something that plays.
pub trait AudioSource: Send {
    /// Fills `samples` (interleaved) with what plays from `now` on.
    ///
    /// # Errors
    /// [`AudioError::Capture`]; the source is then of no more use.
    fn next(&mut self, now: Instant, samples: &mut [i16]) -> Result<(), AudioError>;
}

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

/// A tone in both ears: 440 Hz left, 660 Hz right, at a quarter of full scale.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tone {
    at: u64,
}

impl AudioSource for Tone {
    fn next(&mut self, _now: Instant, samples: &mut [i16]) -> Result<(), AudioError> {
        for pair in samples.chunks_mut(CHANNELS) {
            for (sample, hertz) in pair.iter_mut().zip([440, 660]) {
                // Within a second, so that the argument stays small and exact.
                let turn =
                    (self.at * hertz % u64::from(SAMPLE_RATE)) as f64 / f64::from(SAMPLE_RATE);
                *sample = (libm::sin(turn * std::f64::consts::TAU) * 8192.0) as i16;
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_says_what_to_do() {
        let mut samples = [0; 960];
        // Without a server's name, parec would start one for this user, which stays.
        let server = Some("unix:no-such-server");
        // Where it is installed it takes a while to find out that there is no such server: silence until then.
        let outcome =
            PulseMonitor::open("no-such-device.monitor", server).and_then(|mut source| {
                let mut tries = 0..2_000;
                tries.try_for_each(|_| source.next(Instant::ZERO, &mut samples))
            });
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("no-such-device"), "{message}");
        assert!(message.contains("install") || message.contains("pactl"), "{message}");
    }

    #[test]
    fn the_tone_goes_on_where_it_stopped() {
        let (mut whole, mut parts) = ([0; 1920], [0; 1920]);
        Tone::default().next(Instant::ZERO, &mut whole).unwrap();
        let mut tone = Tone::default();
        parts.chunks_mut(960).for_each(|part| tone.next(Instant::ZERO, part).unwrap());
        assert_eq!(whole, parts);
        assert!(whole.iter().any(|sample| *sample > 8000));
    }

    /// Power of `samples` at a frequency, against all their power (Goertzel).
    #[cfg(feature = "opus")]
    fn share_at(samples: &[f64], hertz: f64) -> f64 {
        let turn = std::f64::consts::TAU * hertz / f64::from(SAMPLE_RATE);
        let wave = |f: fn(f64) -> f64| -> f64 {
            samples.iter().enumerate().map(|(i, s)| s * f(turn * i as f64)).sum()
        };
        let power: f64 = samples.iter().map(|s| s * s).sum();
        let (cosine, sine) = (wave(libm::cos), wave(libm::sin));
        2.0 * (cosine * cosine + sine * sine) / (power * samples.len() as f64)
    }

    #[cfg(feature = "opus")]
    #[test]
    fn a_tone_goes_through_opus_at_the_rate_asked() {
        use gameway_units::Rate;
        for (duration, bytes) in [(PacketDuration::Ten, 160), (PacketDuration::Twenty, 320)] {
            let mut encoder = OpusEncoder::new(duration, Rate::from_kbps(128)).unwrap();
            let mut decoder = OpusDecoder::new(duration).unwrap();
            let (mut tone, mut left) = (Tone::default(), Vec::new());
            let mut samples = vec![0; duration.interleaved()];
            for packet in 0..50 {
                tone.next(Instant::ZERO, &mut samples).unwrap();
                let encoded = encoder.encode(&samples).unwrap();
                assert_eq!(encoded.len(), bytes);
                // One is lost.
                let decoded = decoder.decode((packet != 30).then_some(&encoded[..])).unwrap();
                assert_eq!(decoded.len(), samples.len());
                left.extend(decoded.iter().step_by(CHANNELS).map(|sample| f64::from(*sample)));
            }
            let share = share_at(&left[4800..9600], 440.0);
            assert!(share > 0.99, "440 Hz has {share} of the power");
            assert!(share_at(&left[4800..9600], 500.0) < 0.01);
        }
    }

    #[cfg(feature = "opus")]
    #[test]
    fn what_is_no_packet_is_refused() {
        use gameway_units::Rate;
        let mut decoder = OpusDecoder::new(PacketDuration::Ten).unwrap();
        // Code 3 with a count of no frames (RFC 6716 section 3.2.5).
        assert!(decoder.decode(Some(&[0xff, 0x00])).is_err());
        assert!(decoder.decode(Some(&[])).is_err());
        let mut encoder = OpusEncoder::new(PacketDuration::Ten, Rate::from_kbps(64)).unwrap();
        let refused = encoder.encode(&[0; 100]);
        assert_eq!(refused, Err(AudioError::Samples { got: 100, needed: 960 }));
        assert!(OpusEncoder::new(PacketDuration::Ten, Rate::from_mbps(2)).is_err());
    }
}
