//! What a medium cannot be, and what is allowed.

use gameway_units::Ratio;

/// Why a medium cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WifiError {
    /// No rate of 802.11g.
    #[error("rate: 802.11g has no {0} Mb/s; allowed are 6, 9, 12, 18, 24, 36, 48 and 54 Mb/s")]
    Rate(u32),
    /// No basic rate.
    #[error("basic_rate: {0} Mb/s is none of 6, 9, 12, 18, 24, 36, 48 and 54 Mb/s")]
    BasicRate(u32),
    /// No such scheme.
    #[error("mcs: {mcs} is not between 0 and {highest}")]
    Mcs {
        /// Given.
        mcs: u32,
        /// Allowed.
        highest: u32,
    },
    /// Too many streams, or none.
    #[error("streams: {0} is not between 1 and 4")]
    Streams(u32),
    /// No such channel.
    #[error("width: {width_mhz} MHz is none of 20, 40 and what doubles them up to {highest} MHz")]
    Width {
        /// Given.
        width_mhz: u32,
        /// Allowed.
        highest: u32,
    },
    /// The standard has each, but not together.
    #[error("mcs: the standard has no {mcs} with {streams} streams at {width_mhz} MHz")]
    LeftOut {
        /// Given.
        mcs: u32,
        /// Given.
        streams: u32,
        /// Given.
        width_mhz: u32,
    },
    /// The least window is above the greatest, or that above what a counter holds.
    #[error("cw_max: {cw_max} is not between cw_min ({cw_min}) and 32767")]
    Windows {
        /// Given.
        cw_min: u32,
        /// Given.
        cw_max: u32,
    },
    /// Nothing would ever be sent.
    #[error("attempts: 0; a frame is sent at least once")]
    Attempts,
    /// Nothing would ever arrive.
    #[error("error_rate: {0} is not below 100 %")]
    ErrorRate(Ratio),
    /// A block acknowledgement has room for 64.
    #[error("aggregate: {0} packets is not between 1 and 64")]
    Aggregate(usize),
    /// It has no aggregation.
    #[error("aggregate: 802.11g sends one packet at a time")]
    NoAggregation,
}
