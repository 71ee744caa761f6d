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
