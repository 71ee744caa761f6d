//! Whether something comes by a clock: a line in the spectrum of a flow's bytes.
//!
//! Source: the periodogram of a window, and its distribution without a line (Fisher, "Tests of significance
//! in harmonic analysis", 1929): each ordinate is exponential about their mean.
//! Model: the bytes of 512 bins of 2 ms, less their mean, under Hann's window, so that slow changes do not
//! leak into high frequencies; their Fourier transform is microfft's, which is the same arithmetic on every
//! machine. The highest ordinate among frame rates is a line if it stands above the mean of all, and above all slower ones: a
//! train of bursts has its harmonics too, and its own rate is that of the first.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | frame rates | 28 to 150 Hz | 30 to 144 frames a second, and two ordinates of width |
//! | slower rhythms | from 5 Hz | below lies what an encoder's key frames and rate control do |
//! | line above the mean | 12 | chance has it once in 1300 looks: 125 ordinates, each above with exp(-12) |

use super::history::{BIN, BINS};
use microfft::real::rfft_512;

const LINE: f32 = 12.0;
const HALF: usize = BINS / 2;

/// The window is this long.
const WINDOW_SECS: f64 = BINS as f64 * BIN.as_nanos() as f64 * 1e-9;

/// The ordinate of a frequency.
const fn ordinate(hertz: f64) -> usize {
    (hertz * WINDOW_SECS + 0.5) as usize
}

const SLOWEST: usize = ordinate(5.0);
/// The slowest frame rate that is looked for.
pub const FIRST_FRAME_HZ: f64 = 28.0;
const FIRST_FRAME: usize = ordinate(FIRST_FRAME_HZ);
const LAST_FRAME: usize = ordinate(150.0);

/// Hann's window, and room for the transform.
#[derive(Debug)]
pub struct Spectrum {
    hann: Box<[f32; BINS]>,
    samples: Box<[f32; BINS]>,
    /// The periodogram.
    power: Box<[f32; HALF]>,
}

impl Spectrum {
    pub fn new() -> Self {
        let angle = |part: usize| std::f64::consts::TAU * part as f64 / BINS as f64;
        let hann = |place| (0.5 - 0.5 * libm::cos(angle(place))) as f32;
        Self {
            hann: Box::new(std::array::from_fn(hann)),
            samples: Box::new([0.0; BINS]),
            power: Box::new([0.0; HALF]),
        }
    }

    /// The frame rate at which `bytes` come, in hertz, if they do.
    pub fn line(&mut self, bytes: impl Iterator<Item = u32>) -> Option<f64> {
        self.fill(bytes);
        let ordinates = rfft_512(&mut self.samples);
        for (power, ordinate) in self.power.iter_mut().zip(ordinates) {
            *power = ordinate.norm_sqr();
        }
        let (frames, height) = self.highest(FIRST_FRAME, LAST_FRAME);
        let (_, slower) = self.highest(SLOWEST, FIRST_FRAME - 1);
        let others = &self.power[SLOWEST..];
        let mean = others.iter().sum::<f32>() / others.len() as f32;
        let stands_out = height > LINE * mean && height > slower;
        stands_out.then(|| frames as f64 / WINDOW_SECS)
    }

    fn fill(&mut self, bytes: impl Iterator<Item = u32>) {
        for (place, value) in self.samples.iter_mut().zip(bytes) {
            *place = value as f32;
        }
        let mean = self.samples.iter().sum::<f32>() / BINS as f32;
        for (value, weight) in self.samples.iter_mut().zip(self.hann.iter()) {
            *value = (*value - mean) * weight;
        }
    }

    /// The highest ordinate of `first..=last`, and its height.
    fn highest(&self, first: usize, last: usize) -> (usize, f32) {
        (first..=last)
            .map(|at| (at, self.power[at]))
            .fold((first, 0.0), |best, one| if one.1 > best.1 { one } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bursts of `size`, each over `share` of its period, at `hertz`.
    fn bursts(hertz: f64, share: f64, size: impl Fn(u64) -> f64) -> Vec<u32> {
        let period = 1.0 / hertz / 0.002;
        let level = |bin: f64| {
            let (frame, into) = ((bin / period) as u64, bin % period / period);
            if into < share { size(frame) / share } else { 0.0 }
        };
        // A tenth of a bin at a time.
        let bin =
            |bin: u32| (0..10).map(|tenth| level(f64::from(bin * 10 + tenth) / 10.0)).sum::<f64>();
        (0..512).map(|number| bin(number) as u32).collect()
    }

    #[test]
    fn frames_of_any_rate_and_pacing_have_their_line() {
        let mut spectrum = Spectrum::new();
        for hertz in [30.0, 50.0, 59.94, 60.0, 72.0, 90.0, 120.0, 144.0] {
            for share in [0.1, 0.4, 0.7] {
                // Sizes from half to one and a half of the mean.
                let size = |frame: u64| 1000.0 * (0.5 + (frame * 37 % 101) as f64 / 100.0);
                let line = spectrum.line(bursts(hertz, share, size).into_iter());
                let found = line.unwrap_or_else(|| panic!("none at {hertz}, {share}"));
                // Short bursts have harmonics as high as their own rate.
                let harmonic = (found / hertz).round();
                assert!(
                    harmonic >= 1.0 && (found - harmonic * hertz).abs() < 2.5,
                    "{found} {hertz}"
                );
            }
        }
    }

    /// A tone with `waves` periods in a window.
    fn tone(waves: usize) -> impl Iterator<Item = u32> {
        let angle = move |bin: u32| std::f64::consts::TAU * f64::from(bin) * waves as f64 / 512.0;
        (0..512).map(move |bin| (5_000.0 + 4_000.0 * libm::sin(angle(bin))) as u32)
    }

    #[test]
    fn a_tone_is_a_line_from_the_slowest_frame_rate_to_the_fastest() {
        let mut spectrum = Spectrum::new();
        // 28 and 150 Hz, in a window of 1.024 s.
        for waves in 29..=154 {
            let line = spectrum.line(tone(waves)).expect("it is one");
            assert!((line - waves as f64 / 1.024).abs() < 1e-9, "{line} of {waves}");
        }
        for waves in [5, 10, 27, 28, 157, 200] {
            assert_eq!(spectrum.line(tone(waves)), None, "{waves}");
        }
    }

    #[test]
    fn slow_bursts_and_even_flows_have_none() {
        let mut spectrum = Spectrum::new();
        for hertz in [6.0, 10.0, 15.0, 20.0, 24.0] {
            let line = spectrum.line(bursts(hertz, 0.4, |_| 1000.0).into_iter());
            assert_eq!(line, None, "{hertz}");
        }
        assert_eq!(spectrum.line([5_000; 512].into_iter()), None);
        assert_eq!(spectrum.line([0; 512].into_iter()), None);
        // A download that stops half-way.
        assert_eq!(spectrum.line((0..512).map(|bin| if bin < 256 { 6_000 } else { 0 })), None);
    }

    #[test]
    fn chance_seldom_draws_a_line() {
        let mut spectrum = Spectrum::new();
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u32 % 1_500
        };
        let found = (0..2_000).filter(|_| {
            let noise: Vec<u32> = (0..512).map(|_| draw()).collect();
            spectrum.line(noise.into_iter()).is_some()
        });
        // One or two are expected of 2000 looks.
        assert!(found.count() <= 8);
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_frame_rate_or_none(bytes in prop::collection::vec(any::<u32>(), 512)) {
            let line = Spectrum::new().line(bytes.into_iter());
            prop_assert!(line.is_none_or(|hertz| (27.0..152.0).contains(&hertz)));
        }
    }
}
