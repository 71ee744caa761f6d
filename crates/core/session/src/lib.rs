//! Sender and receiver of a game stream, and the feedback between them.
//!
//! ```text
//! Sender: capture ─► encoder ─► packets ─► pacer ─► MediaPacket ──path──► Receiver: frames ─► playout
//!            ▲ target                        │ sent                          │
//!         controller ◄── FeedbackBatch ◄── history ◄──────path── FeedbackPacket ◄─ arrival log
//! ```
//!
//! Both ends are sans-IO. A driver, in virtual or in real time, does for each end in a loop: hand over
//! what arrived; call the poll functions until they have nothing more; sleep until `next_deadline`.
//! The end's events must be drained too: they are kept until then.
//!
//! # Examples
//! A second of a stream with a fixed target, through a path of 10 ms that loses nothing:
//! ```
//! use gameway_control::{Controllers, FeedbackStyle, RateLimits};
//! use gameway_media::EncoderModel;
//! use gameway_session::{FeedbackPacket, Receiver, ReceiverConfig, ReceiverEvent, Sender, SenderConfig};
//! use gameway_units::declared::Options;
//! use gameway_units::{Duration, Ecn, Instant, Rate, ReceiverInstant};
//!
//! let frame_interval = Duration::from_nanos(16_666_667);
//! let start = Rate::from_mbps(5);
//! let limits = RateLimits { min: start, start, max: start, frame_interval };
//! let controller = Controllers::standard().build("fixed", &Options::default(), limits)?;
//! let mut sender = Sender::new(SenderConfig::new(Instant::ZERO, frame_interval), controller);
//! let mut receiver = Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame));
//! let mut encoder = EncoderModel::steady(frame_interval);
//! let (mut report, mut shown) = (FeedbackPacket::default(), 0);
//! for milli in 0..1000 {
//!     let now = Instant::ZERO + Duration::from_millis(milli);
//!     let arrival = ReceiverInstant::ZERO + Duration::from_millis(milli + 10);
//!     sender.on_deadline(now);
//!     sender.encode_with(now, &mut encoder);
//!     while let Some(packet) = sender.poll_transmit(now) {
//!         receiver.on_packet(arrival, &packet, Ecn::NotEct);
//!     }
//!     while receiver.poll_feedback(arrival, &mut report) {
//!         sender.on_feedback(now, &report);
//!     }
//!     while let Some(event) = receiver.poll_event() {
//!         shown += u32::from(matches!(event, ReceiverEvent::FrameShown { .. }));
//!     }
//! }
//! assert!(shown >= 55);
//! # Ok::<(), gameway_control::ControllerError>(())
//! ```

mod arrivals;
mod capture_slots;
mod circuit_breaker;
mod encode_request;
mod feedback;
mod history;
mod loss_model;
mod missing;
mod packet;
mod parity_losses;
mod protection;
mod receiver;
mod references;
mod repair_code;
mod repair_plan;
mod repair_time;
mod repeat_budget;
mod resend;
mod sender;
mod sender_config;
mod sender_event;
mod sent_frames;
mod spares;

pub use circuit_breaker::{BreakerAction, CircuitBreaker, TripCause};
pub use encode_request::EncodeRequest;
pub use feedback::{FeedbackPacket, ReceivedPacket, nack_entries};
pub use packet::MediaPacket;
pub use receiver::{Receiver, ReceiverConfig, ReceiverEvent};
pub use repair_code::{MAX_PARITY_SPAN, RepairCode, parity_for};
pub use sender::{ModelFrame, Sender};
pub use sender_config::SenderConfig;
pub use sender_event::SenderEvent;
