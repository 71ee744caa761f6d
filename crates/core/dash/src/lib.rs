//! A video player over HTTP, sans-IO: DASH with the adaptation of dash.js 5.
//!
//! Source: dash.js 5.2.1 with its default settings, rule by rule; ISO/IEC 23009-1 for the words. A [`Player`]
//! fetches the manifest, then one piece after the other over one connection, chooses the level of each
//! segment, plays, stalls and goes on. It owns no clock and no socket: it is told how much of an answer is
//! there, says when it wants to be asked again, and hands out requests ([`Player::poll_action`]) and what
//! happened ([`Player::poll_event`]).
//!
//! # Examples
//! A link of 8 Mb/s with 20 ms per round trip:
//! ```
//! use gameway_dash::{Action, Event, Ladder, Player, Presentation, SegmentSizes, Settings, SEGMENT_LENGTH};
//! use gameway_units::{Bytes, Duration, Instant, Rate};
//!
//! let sizes = SegmentSizes::Constant;
//! let video = Presentation::new(Ladder::xu_claypool(), SEGMENT_LENGTH, Some(30), sizes)?;
//! let mut player = Player::new(Settings::default(), video, Instant::ZERO);
//! let mut stalls = 0;
//! while let Some(due) = player.next_deadline() {
//!     let mut now = due;
//!     player.on_deadline(now);
//!     while let Some(Action::Send(request)) = player.poll_action() {
//!         now += Duration::from_millis(20);
//!         player.on_received(now, Bytes::new(1));
//!         now += Rate::from_mbps(8).time_for(request.download);
//!         player.on_received(now, request.download);
//!     }
//!     while let Some(event) = player.poll_event() {
//!         stalls += u32::from(matches!(event, Event::Stalled { .. }));
//!     }
//! }
//! assert_eq!(stalls, 0);
//! # Ok::<(), gameway_dash::PresentationError>(())
//! ```

mod ladder;
mod playback;
mod player;
mod presentation;
mod rules;
mod sizes;
mod throughput;

pub use ladder::{Ladder, LadderError, Level};
pub use player::{
    Action, Event, Fate, HttpCosts, Player, PlayerState, Request, RequestKind, Segment, Settings,
};
pub use presentation::{Presentation, PresentationError, SEGMENT_LENGTH, SegmentSizes};
pub use rules::Strategy;
pub use sizes::{SizesError, parse_sizes};
pub use throughput::Throughput;
