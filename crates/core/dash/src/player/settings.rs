//! What can be set of a player, with dash.js's defaults.

use crate::Strategy;
use gameway_units::{Bytes, Duration, Rate};

/// Sizes of what is not media. Ours, measured at no server: the order of magnitude is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpCosts {
    /// A GET request of a browser with its headers.
    pub request: Bytes,
    /// Headers of an answer.
    pub response: Bytes,
    /// A manifest of five levels by template.
    pub manifest: Bytes,
    /// Movie header of one track.
    pub initialization: Bytes,
}

impl Default for HttpCosts {
    fn default() -> Self {
        Self {
            request: Bytes::new(450),
            response: Bytes::new(300),
            manifest: Bytes::new(2_000),
            initialization: Bytes::new(800),
        }
    }
}

/// Options of a player; the defaults are those of dash.js 5.2.1 for video on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Which rules choose.
    pub strategy: Strategy,
    /// The first segment has the highest level within this.
    pub initial_bitrate: Rate,
    /// How much shall be buffered below the highest level.
    pub buffer_target: Duration,
    /// And at the highest level.
    pub top_buffer_target: Duration,
    /// And at the highest level of a video of [`Settings::long_video`] or more.
    pub long_buffer_target: Duration,
    /// From here on a video is long; an endless one is.
    pub long_video: Duration,
    /// Whether a rise replaces what is buffered.
    pub fast_switch: bool,
    /// What is not media.
    pub http: HttpCosts,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            strategy: Strategy::Dynamic,
            initial_bitrate: Rate::from_kbps(1_000),
            buffer_target: Duration::from_secs(18),
            top_buffer_target: Duration::from_secs(30),
            long_buffer_target: Duration::from_secs(60),
            long_video: Duration::from_secs(600),
            fast_switch: true,
            http: HttpCosts::default(),
        }
    }
}
