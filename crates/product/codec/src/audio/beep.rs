//! The built-in scene's sound: a beep as each second of the clock begins; and who hears when it began.
//!
//! A sample is a function of its time alone, so that sound and pictures, which carry the same clock, can be compared
//! wherever they are decoded.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | beep | 100 ms of 1 kHz, a quarter of full scale, from the first sample of each second | long enough to hear, and short against the silence that must precede the next |
//! | onset | a quarter of the beep's amplitude after 200 ms below it | a sine is there after a 25th of its period, 40 us; what a codec smears ahead of it is weaker |

use super::{AudioError, AudioSource, CHANNELS, SAMPLE_RATE};
use gameway_units::{Duration, Instant};

/// From beep to beep.
pub const BEEP_INTERVAL: Duration = Duration::from_secs(1);

const HERTZ: i64 = 1_000;
const AMPLITUDE: f64 = 8_192.0;
/// Samples of a beep.
const LENGTH: i64 = SAMPLE_RATE as i64 / 10;
const LOUD: u16 = AMPLITUDE as u16 / 4;
/// Samples that must be quiet before an onset.
const QUIET: usize = SAMPLE_RATE as usize / 5;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beep;

impl AudioSource for Beep {
    fn next(&mut self, now: Instant, samples: &mut [i16]) -> Result<(), AudioError> {
        let rate = i64::from(SAMPLE_RATE);
        let first = (i128::from(now.as_nanos()) * i128::from(rate)).div_euclid(1_000_000_000);
        let first = first.rem_euclid(i128::from(rate)) as i64;
        for (at, pair) in samples.chunks_mut(CHANNELS).enumerate() {
            let place = (first + at as i64) % rate;
            let turn = (place * HERTZ % rate) as f64 / rate as f64;
            let sample = libm::sin(turn * std::f64::consts::TAU) * AMPLITUDE;
            pair.fill(if place < LENGTH { sample as i16 } else { 0 });
        }
        Ok(())
    }
}

/// Finds where silence ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnsetDetector {
    quiet: usize,
}

impl OnsetDetector {
    /// What follows, interleaved: at which sample (of a channel) it becomes loud, if it does after silence.
    pub fn hear(&mut self, samples: &[i16]) -> Option<usize> {
        let mut onset = None;
        for (at, pair) in samples.chunks(CHANNELS).enumerate() {
            let loud = pair.iter().any(|sample| sample.unsigned_abs() >= LOUD);
            if loud && self.quiet >= QUIET {
                onset = onset.or(Some(at));
            }
            self.quiet = if loud { 0 } else { self.quiet.saturating_add(1) };
        }
        onset
    }

    /// What follows does not follow what was heard: silence begins anew.
    pub fn reset(&mut self) {
        self.quiet = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Duration = Duration::from_millis(10);

    fn block(at: i64) -> Vec<i16> {
        let mut samples = vec![0; 480 * CHANNELS];
        Beep.next(Instant::ZERO + BLOCK * at, &mut samples).unwrap();
        samples
    }

    /// Samples from the beginning to each onset.
    fn onsets(
        blocks: std::ops::Range<i64>,
        change: impl Fn(i64, Vec<i16>) -> Vec<i16>,
    ) -> Vec<usize> {
        let mut detector = OnsetDetector::default();
        let first = blocks.start;
        let heard = blocks.filter_map(|at| {
            let onset = detector.hear(&change(at, block(at)))?;
            Some((at - first) as usize * 480 + onset)
        });
        heard.collect()
    }

    #[test]
    fn a_beep_begins_with_each_second_and_is_heard_once() {
        let heard = onsets(-150..350, |_, samples| samples);
        // A sine of 48 samples is at a quarter of its amplitude after two.
        assert_eq!(heard, [24_002, 72_002, 120_002, 168_002, 216_002]);
        let quiet = onsets(0..350, |_, samples| samples.iter().map(|it| it / 8).collect());
        assert_eq!(quiet, [0_usize; 0], "what is not loud does not begin");
        let noisy = onsets(0..350, |_, samples| samples.iter().map(|_| 4_000).collect());
        assert_eq!(noisy, [0_usize; 0], "what was never quiet does not begin");
    }

    #[test]
    fn a_gap_is_no_silence() {
        let mut detector = OnsetDetector::default();
        (50..100).for_each(|at| assert_eq!(detector.hear(&block(at)), None));
        let mut cut = detector;
        assert!(detector.hear(&block(100)).is_some());
        cut.reset();
        assert_eq!(cut.hear(&block(100)), None);
    }

    #[cfg(feature = "opus")]
    #[test]
    fn opus_delays_a_beep_by_its_look_ahead() {
        use crate::audio::{OpusDecoder, OpusEncoder, PacketDuration};
        let duration = PacketDuration::Ten;
        let rate = gameway_units::Rate::from_kbps(96);
        let mut encoder = OpusEncoder::new(duration, rate).unwrap();
        let mut decoder = OpusDecoder::new(duration).unwrap();
        let mut through = Vec::new();
        (50..350).for_each(|at| {
            let packet = encoder.encode(&block(at)).unwrap();
            through.push(decoder.decode(Some(&packet)).unwrap());
        });
        let heard = onsets(50..350, |at, _| through[(at - 50) as usize].clone());
        let delays: Vec<usize> = heard.iter().map(|at| (at + 24_000) % 48_000).collect();
        // 2.5 ms are 120 samples.
        assert_eq!(delays.len(), 3, "{heard:?}");
        assert!(delays.iter().all(|delay| (96..=168).contains(delay)), "{delays:?}");
    }
}
