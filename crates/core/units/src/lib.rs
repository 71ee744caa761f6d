//! Units as integer newtypes: [`Instant`], [`Duration`], [`Bytes`], [`Rate`], [`QueueSize`].
//!
//! State is whole nanoseconds, bytes and bits per second; floats stay inside an estimator. All types
//! parse the notation of experiment files ("25 Mb/s", "16 ms", "64 KiB", "2 bdp") and print it back.
//! Operators are exact and panic on overflow (a bug); where a value comes from a peer use the
//! `saturating_*` forms.
//!
//! # Examples
//! ```
//! use gameway_units::{Bytes, Duration, Rate};
//!
//! let rate: Rate = "12 Mb/s".parse()?;
//! assert_eq!(rate.time_for(Bytes::new(1500)), Duration::from_millis(1));
//! assert_eq!((rate * Duration::from_millis(20)).to_string(), "30 kB");
//! # Ok::<(), gameway_units::UnitError>(())
//! ```

mod bytes;
pub mod declared;
mod ecn;
mod ladder;
mod parse;
mod queue_size;
mod rate;
mod recovery;
mod repair;
mod text;
mod time;
mod video_codec;

pub use bytes::{Bytes, SignedBytes};
pub use ecn::Ecn;
pub use ladder::{Content, Ladder};
pub use parse::{Ratio, UnitError};
pub use queue_size::QueueSize;
pub use rate::Rate;
pub use recovery::Recovery;
pub use repair::{Repair, RepairGoal};
pub use time::{Duration, Instant, ReceiverInstant};
pub use video_codec::{PayloadFormat, VideoCodec};
