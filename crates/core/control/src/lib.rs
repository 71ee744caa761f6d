//! Rate controllers for interactive video, one module each, behind one trait; and the pacer.
//!
//! Everything here is sans-IO: time and input come in as arguments, decisions and the next deadline go
//! out. A controller belongs to one stream; `gameway-session` drives it. [`Controllers`] lists them and makes one by name.

mod catalogue;
mod controller;
pub mod copa;
mod filter;
pub mod fixed;
pub mod gcc;
mod loss_bound;
mod loss_share;
pub mod nada;
pub mod oracle;
mod pacer;
pub mod pudica;
pub mod salsify;
pub mod scream;
pub mod sqp;

pub use catalogue::{ControllerError, Controllers};
pub use controller::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameId, FrameReceived, FrameSent, Notice,
    Pacing, PacketKind, PacketReport, ProbeCluster, RateController, RateLimits, Requests,
    SentPacket, SequenceNumber, Target,
};
pub use copa::{Copa, CopaOptions};
pub use fixed::{Fixed, FixedOptions};
pub use gameway_units::Ecn;
pub use gcc::{Gcc, GccOptions};
pub use nada::{Nada, NadaOptions};
pub use oracle::{Foresight, Oracle, OracleOptions};
pub use pacer::{FramePart, Pacer, PacerOutput};
pub use pudica::{Pudica, PudicaOptions};
pub use salsify::{Salsify, SalsifyOptions};
pub use scream::{Scream, ScreamOptions};
pub use sqp::{Sqp, SqpOptions};
