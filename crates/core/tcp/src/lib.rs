//! Competing TCP: a sans-IO bulk endpoint, one module per congestion control.
//!
//! A [`Receiver`] opens a connection and downloads; a [`Sender`] serves. Neither owns a clock or a
//! socket. After every event (a segment, a deadline, a stop) the driver takes segments out with
//! `poll_transmit` until it returns `None`, then asks `next_deadline`. Deadlines move often; a driver
//! may keep an outdated earlier one, because `on_deadline` is harmless when nothing is due.
//!
//! # Examples
//! One megabyte over a link with 10 ms each way:
//! ```
//! use gameway_tcp::{Application, Cubic, Receiver, ReceiverConfig, Segment, Sender, SenderConfig};
//! use gameway_units::{Bytes, Duration, Instant};
//! use std::collections::VecDeque;
//!
//! let application = Application { bytes: Some(Bytes::new(1_000_000)), ..Application::default() };
//! let config = SenderConfig { application, ..SenderConfig::default() };
//! let mut now = Instant::ZERO;
//! let mut sender = Sender::new(config, Box::new(Cubic::new(config.segment_size)));
//! let mut receiver = Receiver::new(ReceiverConfig::default(), now);
//! let (mut down, mut up) = (VecDeque::<(Instant, Segment)>::new(), VecDeque::new());
//! while !sender.is_finished() {
//!     while let Some(segment) = sender.poll_transmit(now) {
//!         down.push_back((now + Duration::from_millis(10), segment));
//!     }
//!     while let Some(segment) = receiver.poll_transmit(now) {
//!         up.push_back((now + Duration::from_millis(10), segment));
//!     }
//!     let arrivals = [down.front().map(|a| a.0), up.front().map(|a| a.0)];
//!     let deadlines = [sender.next_deadline(), receiver.next_deadline()];
//!     now = arrivals.into_iter().chain(deadlines).flatten().min().expect("something is due");
//!     if let Some((_, segment)) = down.front().copied().filter(|arrival| arrival.0 <= now) {
//!         down.pop_front();
//!         receiver.on_segment(now, &segment);
//!     } else if let Some((_, segment)) = up.front().copied().filter(|arrival| arrival.0 <= now) {
//!         up.pop_front();
//!         sender.on_segment(now, &segment);
//!     }
//!     sender.on_deadline(now);
//!     receiver.on_deadline(now);
//! }
//! assert_eq!(receiver.received(), Bytes::new(1_000_000));
//! assert_eq!(sender.stats().retransmissions, 0);
//! ```

mod application;
mod congestion;
mod delivery_rate;
mod ecn;
mod pacer;
mod prr;
mod quick_acks;
mod rack;
mod ranges;
mod receive_window;
mod receiver;
mod record;
mod rtt;
mod sack_compression;
mod scoreboard;
mod segment;
mod sender;
mod window_usage;
mod windowed_max;

/// What another transport shares with TCP.
pub mod shared {
    pub use crate::delivery_rate::{DeliveryRate, Snapshot};
    pub use crate::pacer::Pacer;
    pub use crate::ranges::{RangeSet, Run};
    pub use crate::window_usage::WindowUsage;
}

pub use application::{Application, OnOff};
pub use congestion::{
    AckEvent, Bbr, Bbr2Config, Bbr3, Bic, ConfiguredTcp, CongestionControl, CongestionControls,
    Cubic, CubicConfig, INITIAL_WINDOW_SEGMENTS, LostSegment, NewReno, Phase, Prague,
    SlowStartExit, TcpAlgorithm, TimeoutEvent, Vegas, build,
};
pub use delivery_rate::RateSample;
pub use ecn::EcnMode;
pub use pacer::Burst;
pub use receive_window::ReceiveWindow;
pub use receiver::{Receiver, ReceiverConfig};
pub use rtt::RtoFloor;
pub use segment::{AccurateEcnOption, Flags, MAXIMUM_SEGMENT_SIZE, SackBlock, SackBlocks, Segment};
pub use sender::{Sender, SenderConfig, SenderStats};
