//! The quality levels of a video.
//!
//! Source: Xu and Claypool, "Measurement of Cloud-based Game Streaming Systems Competing with DASH Flows",
//! Table I, for the default; dash.js 5.2.1 `AbrController.getOptimalRepresentationForBitrate` for the choice
//! by bitrate.
//! Model: levels from the lowest up, number 0 first. A player takes bitrates in whole numbers or fractions
//! of kb/s, as dash.js does.

use gameway_units::Rate;

/// One quality level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Mean bitrate of the media, what the manifest says as `@bandwidth`.
    pub bitrate: Rate,
}

/// Levels from the lowest to the highest bitrate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder(Vec<Level>);

/// Why levels are no ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LadderError {
    /// There is no level.
    #[error("a ladder needs a level")]
    Empty,
    /// This level (from 0) has no bitrate or no pixels.
    #[error("level {} needs width, height and bitrate above zero", .0 + 1)]
    Zero(usize),
    /// This level (from 0) has no more bitrate than the one before, or fewer pixels.
    #[error("level {} must have a higher bitrate than level {}, and no fewer pixels", .0 + 1, .0)]
    Order(usize),
}

impl Level {
    fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

impl Ladder {
    /// Levels in rising order.
    ///
    /// # Errors
    /// Without levels, with a zero in one, or if bitrates do not rise or pixels fall: a player that sorts
    /// by pixels, as dash.js does, would have another order than one that sorts by bitrate.
    pub fn new(levels: Vec<Level>) -> Result<Self, LadderError> {
        if levels.is_empty() {
            return Err(LadderError::Empty);
        }
        for (number, level) in levels.iter().enumerate() {
            if level.bitrate == Rate::ZERO || level.pixels() == 0 {
                return Err(LadderError::Zero(number));
            }
        }
        for (number, pair) in levels.windows(2).enumerate() {
            if pair[1].bitrate <= pair[0].bitrate || pair[1].pixels() < pair[0].pixels() {
                return Err(LadderError::Order(number + 1));
            }
        }
        Ok(Self(levels))
    }

    /// Xu and Claypool, Table I: five levels of Big Buck Bunny, 2 to 17.5 Mb/s.
    #[must_use]
    pub fn xu_claypool() -> Self {
        let level = |width, height, kbps| Level { width, height, bitrate: Rate::from_kbps(kbps) };
        Self(vec![
            level(480, 270, 2_000),
            level(640, 360, 3_000),
            level(960, 540, 5_000),
            level(1280, 720, 10_000),
            level(1920, 1080, 17_500),
        ])
    }

    /// The levels, the lowest first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.0
    }

    /// The number of the highest level.
    #[must_use]
    pub fn top(&self) -> usize {
        self.0.len() - 1
    }

    /// Bitrate of a level; of the highest one beyond it.
    #[must_use]
    pub fn bitrate(&self, level: usize) -> Rate {
        self.0[level.min(self.top())].bitrate
    }

    /// The same in kb/s.
    #[must_use]
    pub fn kbps(&self, level: usize) -> f64 {
        self.bitrate(level).as_bps_f64() / 1e3
    }

    /// The highest level with at most this bitrate in kb/s; the lowest if there is none.
    #[must_use]
    pub fn max_within(&self, kbps: f64) -> usize {
        (0..self.0.len()).rev().find(|level| self.kbps(*level) <= kbps).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(width: u32, kbps: u64) -> Level {
        Level { width, height: 100, bitrate: Rate::from_kbps(kbps) }
    }

    #[test]
    fn the_highest_level_within_a_bitrate() {
        let ladder = Ladder::xu_claypool();
        let found = [0.0, 1_999.0, 2_000.0, 4_999.9, 5_000.0, 17_499.0, 17_500.0, 1e9]
            .map(|kbps| ladder.max_within(kbps));
        assert_eq!(found, [0, 0, 0, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn what_is_no_ladder_is_refused() {
        assert_eq!(Ladder::new(vec![]), Err(LadderError::Empty));
        assert_eq!(Ladder::new(vec![level(1, 1), level(0, 2)]), Err(LadderError::Zero(1)));
        assert_eq!(Ladder::new(vec![level(1, 1), level(2, 0)]), Err(LadderError::Zero(1)));
        assert_eq!(Ladder::new(vec![level(1, 2), level(2, 2)]), Err(LadderError::Order(1)));
        assert_eq!(Ladder::new(vec![level(2, 1), level(1, 2)]), Err(LadderError::Order(1)));
        assert!(Ladder::new(vec![level(2, 1), level(2, 2)]).is_ok());
        assert!(Ladder::new(Ladder::xu_claypool().levels().to_vec()).is_ok());
    }
}
