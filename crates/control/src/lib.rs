//! Rate controllers for interactive video, one module each, behind one trait; and the pacer.
//!
//! Everything here is sans-IO: time and input come in as arguments, decisions and the next deadline go
//! out. A controller belongs to one stream; `gameway-session` drives it.

mod controller;

pub use controller::{
    FeedbackBatch, FeedbackStyle, FrameId, FrameSent, Pacing, PacketKind, PacketReport,
    ProbeCluster, RateController, RateLimits, SentPacket, SequenceNumber, Target,
};
