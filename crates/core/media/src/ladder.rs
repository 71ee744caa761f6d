//! Size and frame rate of the picture for a bitrate.
//!
//! # Model
//! Of all sizes and frame rates that are allowed, the best at a bitrate is the one with the greatest rating
//!
//! ```text
//! rating = 100 - 0.788 (100 - VMAF(content, size, bitrate)) - penalty(frame rate)
//! ```
//!
//! VMAF is that of pictures which are scaled up to the display's size, measured with x264 as a host asks it, at 60 frames/s on
//! a display of 1280x720, for three films (`examples/ladder.rs` of `gameway-codec`; docs/picture-ladder.md has the figures). For
//! another frame rate and display the bitrate is brought to those. The penalty is that of ITU-T G.1072 (01/2020) for a fast
//! game: its terms of unsteadiness and of missing control, and its delay of a frame's packets, which leave within an interval.
//! G.1072's own term of coding cannot choose a size: it knows pixels as a part of bits per pixel alone, so that the smallest
//! picture is always the best.
//!
//! From the ratings follow the bitrates from which on each level is the best; less bitrate never means a larger picture or more of them.
//! A level is left
//!
//! - **down**, soon: when all bitrates of half a second are below its own, for the level that is the best at their greatest;
//! - **up**, late: when all bitrates of five seconds would do for a higher one with a sixth less, for the level that is the
//!   best at their least, less that sixth;
//! - never within two seconds of the last change.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | scores | [`SCORES`] | measured: of low content Freedoom in Crispy Doom, of medium content Big Buck Bunny, of high content the built-in scene |
//! | bitrate by frame rate | to the power of 0.7 | measured: a half or a third of the frames has the score of all at 1.5 to 1.8 and 1.9 to 2.6 times the bitrate |
//! | bitrate by pixels | to the power of 0.8 | measured: the built-in scene has the score of 1280x720 at 1.9 times the bitrate in 1920x1080 |
//! | weights, terms | 0.788, 0.227, 0.625, 0.848 | G.1072, for video coding, temporal video quality, frames and delay; class high |
//! | down after | 0.5 s | ours: several reports, and less than libwebrtc's 2 s of quantizers (`quality_scaler.cc`): a target need not be measured |
//! | up after | 5 s | libwebrtc's `quality_scaler.cc`: 2 s, and 2.5 times as long for the next |
//! | between changes | 2 s | the same |
//! | margin | 1.2 | ours: a bitrate that trembles by less stays where it is |

use gameway_units::{Content, Duration, Instant, Ladder as Follows, Rate};

/// Sizes of a picture, in twelfths of the display's width and height.
const SIZES: [u8; 4] = [12, 8, 6, 4];
/// Time from frame to frame, in frame intervals of the source.
const INTERVALS: [u8; 3] = [1, 2, 3];
const RATES_BPS: [f64; 8] = [0.5e6, 1e6, 2e6, 3.5e6, 6e6, 10e6, 17e6, 30e6];
/// VMAF of each content, of each size, at each of these rates.
const SCORES: [[[f64; 8]; 4]; 3] = [
    [
        [39.0, 50.7, 64.5, 74.0, 81.7, 88.0, 93.6, 97.2],
        [32.9, 41.8, 51.5, 58.7, 65.2, 70.7, 74.9, 77.9],
        [26.0, 33.2, 41.6, 48.4, 54.6, 59.8, 63.9, 66.3],
        [16.6, 22.3, 29.9, 37.5, 44.5, 48.2, 49.6, 49.9],
    ],
    [
        [23.3, 37.1, 54.4, 64.9, 75.5, 83.3, 87.9, 91.4],
        [23.4, 33.3, 45.3, 53.8, 64.0, 72.2, 77.0, 80.2],
        [18.5, 26.6, 37.7, 46.2, 56.6, 63.1, 68.1, 70.8],
        [9.6, 18.3, 32.0, 43.2, 50.1, 54.5, 56.3, 56.9],
    ],
    [
        [11.8, 10.3, 24.7, 50.4, 68.3, 78.7, 86.1, 93.2],
        [8.9, 14.7, 33.7, 48.4, 59.9, 67.8, 76.0, 81.8],
        [8.5, 18.1, 37.6, 49.2, 59.4, 66.4, 72.1, 75.4],
        [9.5, 15.6, 25.2, 38.9, 51.0, 58.3, 61.9, 63.6],
    ],
];
/// No picture is made smaller: what is written into pictures to be read from them has that size.
const SMALLEST: (u32, u32) = (128, 64);
const DISPLAY_PIXELS: f64 = 1280.0 * 720.0;
const BY_FRAME_RATE: f64 = 0.7;
const BY_PIXELS: f64 = 0.8;

const DOWN_AFTER: Duration = Duration::from_millis(500);
const UP_AFTER: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_secs(2);
const MARGIN: f64 = 1.2;

/// How large pictures are, and how often they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Width and height, in twelfths of the source's.
    pub twelfths: u8,
    /// From picture to picture, in frame intervals of the source.
    pub intervals: u8,
}

impl Level {
    /// All of the source.
    pub const WHOLE: Self = Self { twelfths: 12, intervals: 1 };

    /// Width and height by those of the source.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.twelfths) / 12.0
    }

    /// A width or height of the source in this size; even, as pictures of 4:2:0 are.
    #[must_use]
    pub fn side(self, source: u32) -> u32 {
        ((source * u32::from(self.twelfths) / 12) & !1).max(2)
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// What a ladder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderConfig {
    /// What follows the bitrate.
    pub follows: Follows,
    /// How hard its pictures are to encode.
    pub content: Content,
    /// Width and height of the source.
    pub size: (u32, u32),
    /// Frames per second of the source.
    pub frames_per_second: u32,
    /// No picture is lower than this, unless the source is.
    pub min_height: u32,
    /// No fewer frames per second than this, unless the source has.
    pub min_frames_per_second: u32,
}

impl LadderConfig {
    /// The smallest sizes and the lowest frame rates that there are; nothing, if nothing follows the bitrate.
    #[must_use]
    pub fn new(
        (follows, content): (Follows, Content),
        size: (u32, u32),
        frames_per_second: u32,
    ) -> Option<Self> {
        let (min_height, min_frames_per_second) = (0, 0);
        let config =
            Self { follows, content, size, frames_per_second, min_height, min_frames_per_second };
        (follows != Follows::None).then_some(config)
    }
}

/// See the module's head.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// The levels, each with the bitrate from which on it is the best; the first from zero on.
    steps: Vec<(Rate, Level)>,
    place: Option<usize>,
    changed: Instant,
    /// Since when all bitrates are below the level's own, and their greatest.
    below: Option<(Instant, Rate)>,
    /// Since when all would do for a higher level, and their least.
    above: Option<(Instant, Rate)>,
}

impl Ladder {
    /// A ladder of what `config` allows.
    #[must_use]
    pub fn new(config: &LadderConfig) -> Self {
        Self { steps: steps(config), place: None, changed: Instant::ZERO, below: None, above: None }
    }

    /// The levels from the lowest up, each with the bitrate from which on it is the best.
    #[must_use]
    pub fn steps(&self) -> &[(Rate, Level)] {
        &self.steps
    }

    /// The level now, of a stream whose encoder has this rate from now on.
    pub fn next(&mut self, now: Instant, rate: Rate) -> Level {
        let place = match self.place {
            None => self.place_of(rate),
            Some(place) => self.follow(now, rate, place),
        };
        if self.place != Some(place) {
            (self.place, self.changed) = (Some(place), now);
            (self.below, self.above) = (None, None);
        }
        self.steps[place].1
    }

    fn follow(&mut self, now: Instant, rate: Rate, place: usize) -> usize {
        let is_below = rate < self.steps[place].0;
        let less = rate.mul_f64(1.0 / MARGIN);
        let is_above = self.steps.get(place + 1).is_some_and(|(from, _)| less >= *from);
        self.below = is_below.then(|| {
            self.below.map_or((now, rate), |(since, greatest)| (since, greatest.max(rate)))
        });
        self.above =
            is_above.then(|| self.above.map_or((now, less), |(since, min)| (since, min.min(less))));
        if now.saturating_since(self.changed) < BETWEEN {
            return place;
        }
        let after = |span: Option<(Instant, Rate)>, time: Duration| {
            span.filter(|(since, _)| now.saturating_since(*since) >= time)
        };
        let span = after(self.below, DOWN_AFTER).or(after(self.above, UP_AFTER));
        span.map_or(place, |(_, rate)| self.place_of(rate))
    }

    fn place_of(&self, rate: Rate) -> usize {
        self.steps.partition_point(|(from, _)| *from <= rate).saturating_sub(1)
    }
}

/// The best of the allowed levels at bitrates from the greatest to the least; given from the least up.
fn steps(config: &LadderConfig) -> Vec<(Rate, Level)> {
    /// Two in a hundred from one bitrate to the next.
    const FINE: f64 = 1.02;
    const RANGE: (f64, f64) = (50e3, 1e9);
    let allowed = allowed(config);
    let (mut rate, mut level) = (RANGE.1, Level::WHOLE);
    let mut steps = Vec::new();
    while rate > RANGE.0 {
        let worth = |level: Level| rating(config, level, rate);
        let no_more =
            |one: &Level| one.twelfths <= level.twelfths && one.intervals >= level.intervals;
        let better = |best: Level, one: Level| if worth(one) > worth(best) { one } else { best };
        let best = allowed.iter().copied().filter(no_more).fold(level, better);
        if best != level {
            steps.push((Rate::from_bps_f64(rate), level));
            level = best;
        }
        rate /= FINE;
    }
    steps.push((Rate::ZERO, level));
    steps.reverse();
    steps
}

fn allowed(config: &LadderConfig) -> Vec<Level> {
    let sizes = SIZES.into_iter().filter(|twelfths| {
        let level = Level { twelfths: *twelfths, intervals: 1 };
        let high_enough = level.side(config.size.1) >= config.min_height;
        let fits =
            level.side(config.size.0) >= SMALLEST.0 && level.side(config.size.1) >= SMALLEST.1;
        *twelfths == 12 || config.follows.changes_size() && high_enough && fits
    });
    let often_enough = |intervals: u8| {
        config.frames_per_second >= config.min_frames_per_second.saturating_mul(intervals.into())
    };
    let level = |twelfths: u8| {
        let intervals = INTERVALS.into_iter().filter(move |intervals| {
            *intervals == 1 || config.follows.changes_frame_rate() && often_enough(*intervals)
        });
        intervals.map(move |intervals| Level { twelfths, intervals })
    };
    sizes.flat_map(level).collect()
}

/// What a level is worth at a bitrate in bit/s.
fn rating(config: &LadderConfig, level: Level, rate: f64) -> f64 {
    let frame_rate = f64::from(config.frames_per_second) / f64::from(level.intervals);
    let pixels = f64::from(config.size.0) * f64::from(config.size.1);
    let by_frame_rate = libm::pow(60.0 / frame_rate, BY_FRAME_RATE);
    let comparable = rate * by_frame_rate * libm::pow(DISPLAY_PIXELS / pixels, BY_PIXELS);
    100.0
        - 0.788 * (100.0 - score(config.content, level.twelfths, comparable))
        - penalty(frame_rate)
}

/// On the line between two measured rates, by their logarithms; below them on that of the first two, above as at the last.
fn score(content: Content, twelfths: u8, rate: f64) -> f64 {
    let size = SIZES.iter().position(|size| *size == twelfths).unwrap_or(0);
    let scores = match content {
        Content::Medium => &SCORES[1][size],
        Content::High => &SCORES[2][size],
        _ => &SCORES[0][size],
    };
    let rate = rate.min(RATES_BPS[RATES_BPS.len() - 1]);
    let above = RATES_BPS.partition_point(|known| *known <= rate).clamp(1, RATES_BPS.len() - 1);
    let (low, high) = (RATES_BPS[above - 1], RATES_BPS[above]);
    let part = libm::log(rate / low) / libm::log(high / low);
    let (from, to) = (scores[above - 1], scores[above]);
    from + (to - from) * part
}

/// What a frame rate takes from the rating of G.1072 (01/2020), class high.
fn penalty(frame_rate: f64) -> f64 {
    let rate = frame_rate.clamp(10.0, 60.0);
    let temporal = (47.03 + 0.01747 * rate * rate - 1.823 * rate).clamp(0.0, 61.29);
    let frames = (54.71 + 0.02589 * rate * rate - 2.485 * rate).clamp(0.0, 68.98);
    let delay = 90.0 / (1.0 + libm::exp(1.191 - 9.775 / rate)) - 18.73;
    0.227 * temporal + 0.625 * frames + 0.848 * delay.clamp(0.0, 68.98)
}

#[cfg(test)]
mod tests;
