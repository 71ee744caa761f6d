//! Video frames on their way: where they come from, how they are cut into packets, and how the other
//! side puts them together and shows them.
//!
//! ```text
//! FrameTable ──► EncoderModel ──► packetize ──► (session, path) ──► Reassembly ──► Playout
//! ```
//!
//! Everything is sans-IO: time and packets come in as arguments, outcomes go out. Frame sizes are those
//! of a real game through a real encoder ([`FrameTable`]), not of a formula.

mod encoder;
mod frame_table;
mod ladder;
mod packetizer;
mod playout;
pub mod rate_control;
mod reassembly;

pub use encoder::{
    EncodedFrame, EncoderCalibration, EncoderModel, RecordedVideo, RecordedVideoError,
};
pub use frame_table::{FrameTable, FrameTableError, RecordedFrame, Rung};
pub use ladder::{Ladder, LadderConfig, Level};
pub use packetizer::{
    FrameBudget, HEADER, MAX_MEDIA_PACKETS, MAX_PAYLOAD, MAX_TRAIN_PACKETS, Overhead, PacketPlan,
    Train, headers_of_slices, packets_after_slices, repair_packets,
};
pub use playout::{FrameOutcome, Playout, PlayoutConfig, PlayoutEvent};
pub use reassembly::{Admission, FrameProgress, MAX_BACK, PacketPlace, Reassembly};
