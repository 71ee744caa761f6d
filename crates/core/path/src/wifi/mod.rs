//! Wi-Fi: one channel that an access point and its stations share, half duplex.
//!
//! | module | what it knows |
//! |---|---|
//! | `rates` | the data rates of 802.11g, n and ac |
//! | `timing` | how long each frame and each pause lasts: closed forms |
//! | `config`, `error` | what can be set, and its defaults; what cannot be |
//! | `node` | a node's queue, the packets that its MAC has taken up, its back-off |
//! | `medium` | who sends when, and what becomes of it |

mod config;
mod error;
mod medium;
mod node;
mod rates;
mod timing;

pub use config::{Aggregation, Countdown, WifiConfig};
pub use error::WifiError;
pub use medium::Medium;
pub use rates::{DataRate, Generation, GuardInterval, Spatial};
pub use timing::Timing;
