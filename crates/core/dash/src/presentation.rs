//! What a manifest describes: a ladder, cut into segments of one length, and how large each is.
//!
//! Model: all levels are cut at the same times, so that a player can change level at each segment. The
//! mean size of a level's segments is its bitrate times their length. Sizes are constant; or vary from
//! segment to segment by factors that all levels share, because a busy scene is large at every level; or
//! come from a table, for a ladder that was measured.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | length of a segment | 4 s | Big Buck Bunny of the DASH Industry Forum (`bbb_30fps.mpd`: duration 120 at timescale 30), the video of the paper |
//! | factors of [`SegmentSizes::varying`] | uniform from 1 - spread to 1 + spread | ours: the simplest with mean 1 and a bound on both sides |
//!
//! | Deviation | Why |
//! |---|---|
//! | the last segment is as long as the others | a video's end is not what is studied |
//! | video only | the paper's ladder names no audio; its 0.1 Mb/s are a hundredth of a video's |

use crate::Ladder;
use gameway_units::{Bytes, Duration};

/// Length of the segments of the DASH Industry Forum's Big Buck Bunny.
pub const SEGMENT_LENGTH: Duration = Duration::from_secs(4);

/// How large segments are.
#[derive(Debug, Clone, PartialEq)]
pub enum SegmentSizes {
    /// Bitrate times length.
    Constant,
    /// That times a factor for each segment, the same at every level; from the beginning after the last.
    Factors(Vec<f64>),
    /// Bytes of each segment of each level, the lowest level first; from the beginning after the last.
    Table(Vec<Vec<Bytes>>),
}

impl SegmentSizes {
    /// `count` factors uniform within `spread` (0 to below 1) of one, from `uniform` (0 to below 1 each).
    #[must_use]
    pub fn varying(count: usize, spread: f64, uniform: &mut dyn FnMut() -> f64) -> Self {
        Self::Factors((0..count).map(|_| 1.0 + spread * (2.0 * uniform() - 1.0)).collect())
    }
}

/// A video as its manifest describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Presentation {
    ladder: Ladder,
    segment: Duration,
    segments: Option<u64>,
    sizes: SegmentSizes,
}

/// Why something is no presentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PresentationError {
    /// The length of segments is not above zero.
    #[error("segments need a length above zero")]
    SegmentLength,
    /// A video has no segment.
    #[error("a video needs a segment")]
    NoSegments,
    /// There is not a row of sizes for each level, of the same length above zero.
    #[error("sizes need a row for each level, all of one length above zero")]
    TableShape,
    /// A size is zero, or a factor is not a positive number.
    #[error("each size must be above zero")]
    Size,
}

impl Presentation {
    /// A video with this number of segments of this length; endless without a number.
    ///
    /// # Errors
    /// If a length, number or size is zero, or sizes do not fit the ladder.
    pub fn new(
        ladder: Ladder,
        segment: Duration,
        segments: Option<u64>,
        sizes: SegmentSizes,
    ) -> Result<Self, PresentationError> {
        if segment <= Duration::ZERO {
            return Err(PresentationError::SegmentLength);
        }
        if segments == Some(0) {
            return Err(PresentationError::NoSegments);
        }
        check_sizes(&sizes, ladder.levels().len())?;
        Ok(Self { ladder, segment, segments, sizes })
    }

    /// Its levels.
    #[must_use]
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// Length of each segment.
    #[must_use]
    pub fn segment(&self) -> Duration {
        self.segment
    }

    /// How many segments there are; none if endless.
    #[must_use]
    pub fn segments(&self) -> Option<u64> {
        self.segments
    }

    /// How long it plays; none if endless.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        self.segments.map(|count| self.start_of(count))
    }

    /// Media time at which a segment begins.
    #[must_use]
    pub fn start_of(&self, index: u64) -> Duration {
        self.segment * i64::try_from(index).unwrap_or(i64::MAX)
    }

    /// The segment that plays at a media time.
    #[must_use]
    pub fn segment_at(&self, time: Duration) -> u64 {
        (time.as_nanos() / self.segment.as_nanos()).unsigned_abs()
    }

    /// Size of a segment's media.
    #[must_use]
    pub fn size(&self, level: usize, index: u64) -> Bytes {
        let mean = self.ladder.bitrate(level) * self.segment;
        let place = |length: usize| (index % length as u64) as usize;
        match &self.sizes {
            SegmentSizes::Constant => mean,
            SegmentSizes::Factors(factors) => {
                Bytes::from_f64(mean.as_f64() * factors[place(factors.len())]).max(Bytes::new(1))
            }
            SegmentSizes::Table(table) => {
                let row = &table[level.min(self.ladder.top())];
                row[place(row.len())]
            }
        }
    }
}

fn check_sizes(sizes: &SegmentSizes, levels: usize) -> Result<(), PresentationError> {
    match sizes {
        SegmentSizes::Constant => Ok(()),
        SegmentSizes::Factors(factors) if factors.is_empty() => Err(PresentationError::TableShape),
        SegmentSizes::Factors(factors) => {
            let fits = factors.iter().all(|factor| factor.is_finite() && *factor > 0.0);
            fits.then_some(()).ok_or(PresentationError::Size)
        }
        SegmentSizes::Table(table) => {
            let length = table.first().map_or(0, Vec::len);
            if table.len() != levels || length == 0 || table.iter().any(|row| row.len() != length) {
                return Err(PresentationError::TableShape);
            }
            let fits = table.iter().flatten().all(|size| *size > Bytes::ZERO);
            fits.then_some(()).ok_or(PresentationError::Size)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(sizes: SegmentSizes) -> Result<Presentation, PresentationError> {
        Presentation::new(Ladder::xu_claypool(), SEGMENT_LENGTH, Some(159), sizes)
    }

    #[test]
    fn constant_sizes_are_bitrate_times_length() {
        let video = with(SegmentSizes::Constant).expect("a video");
        assert_eq!(video.size(0, 7), Bytes::new(1_000_000));
        assert_eq!(video.size(4, 0), Bytes::new(8_750_000));
        assert_eq!(video.duration(), Some(Duration::from_secs(636)));
        assert_eq!(video.segment_at(Duration::from_millis(7_999)), 1);
        assert_eq!(video.segment_at(Duration::from_secs(8)), 2);
    }

    #[test]
    fn varying_sizes_keep_their_mean_and_their_bounds() {
        let mut state = 0.0;
        // A sequence of low discrepancy: its mean is one half.
        let mut uniform = || {
            state = (state + 0.618_033_988_749_895) % 1.0;
            state
        };
        let video = with(SegmentSizes::varying(1_000, 0.3, &mut uniform)).expect("a video");
        let sizes: Vec<f64> = (0..1_000).map(|index| video.size(0, index).as_f64()).collect();
        let mean = sizes.iter().sum::<f64>() / 1_000.0;
        assert!((995_000.0..1_005_000.0).contains(&mean), "{mean}");
        assert!(sizes.iter().all(|size| (700_000.0..1_300_000.0).contains(size)));
        assert!(sizes.iter().any(|size| *size < 720_000.0));
        // A busy scene is busy at every level, and the factors begin again.
        let ratio = video.size(4, 3).as_f64() / video.size(0, 3).as_f64();
        assert!((ratio - 8.75).abs() < 1e-4, "{ratio}");
        assert_eq!(video.size(2, 1_003), video.size(2, 3));
    }

    #[test]
    fn a_table_is_taken_as_it_is() {
        let table: Vec<Vec<Bytes>> =
            (1..=5).map(|level| vec![Bytes::new(level * 10), Bytes::new(level * 11)]).collect();
        let video = with(SegmentSizes::Table(table)).expect("a video");
        assert_eq!(video.size(2, 0), Bytes::new(30));
        assert_eq!(video.size(2, 3), Bytes::new(33));
    }

    #[test]
    fn what_is_no_video_is_refused() {
        let ladder = Ladder::xu_claypool();
        let zero = Presentation::new(ladder.clone(), Duration::ZERO, None, SegmentSizes::Constant);
        assert_eq!(zero, Err(PresentationError::SegmentLength));
        let none = Presentation::new(ladder, SEGMENT_LENGTH, Some(0), SegmentSizes::Constant);
        assert_eq!(none, Err(PresentationError::NoSegments));
        let shape = Err(PresentationError::TableShape);
        assert_eq!(with(SegmentSizes::Table(vec![vec![Bytes::new(1)]])), shape);
        assert_eq!(with(SegmentSizes::Table(vec![vec![]; 5])), shape);
        assert_eq!(with(SegmentSizes::Factors(vec![])), shape);
        let size = Err(PresentationError::Size);
        assert_eq!(with(SegmentSizes::Table(vec![vec![Bytes::ZERO]; 5])), size);
        assert_eq!(with(SegmentSizes::Factors(vec![1.0, f64::NAN])), size);
    }

    #[test]
    fn factors_are_drawn_in_order_from_one_less_to_one_more_than_the_spread() {
        let mut draws = [0.0, 0.5, 0.75].into_iter();
        let mut uniform = || draws.next().expect("three are drawn");
        let SegmentSizes::Factors(factors) = SegmentSizes::varying(3, 0.5, &mut uniform) else {
            panic!("factors")
        };
        assert_eq!(factors, [0.5, 1.0, 1.25]);
    }

    #[test]
    fn each_factor_must_be_a_positive_number() {
        for wrong in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let factors = SegmentSizes::Factors(vec![1.0, wrong]);
            assert_eq!(with(factors), Err(PresentationError::Size), "{wrong}");
        }
        assert!(with(SegmentSizes::Factors(vec![1.0, 1e-9])).is_ok());
    }
}
