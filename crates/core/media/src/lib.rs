//! Video frames on their way: where they come from, how they are cut into packets, and how the other
//! side puts them together and shows them.
//!
//! ```text
//! FrameTable ──► EncoderModel ──► packetize ──► (session, path) ──► Reassembly ──► Playout
//! ```
//!
//! Everything is sans-IO: time and packets come in as arguments, outcomes go out. Frame sizes are those
//! of a real game through a real encoder ([`FrameTable`]), not of a formula.
//!
//! # Examples
//! A frame at 12 Mb/s is cut into packets, which make it whole again:
//! ```
//! use gameway_control::FrameId;
//! use gameway_media::{EncoderModel, FrameProgress, Overhead, PacketPlace, Reassembly, Train};
//! use gameway_units::{Bytes, Duration, Rate, Ratio, ReceiverInstant};
//!
//! let mut encoder = EncoderModel::steady(Duration::from_nanos(16_666_667));
//! let encoded = encoder.next_frame(Rate::from_mbps(12), true);
//! let overhead = Overhead::new(Bytes::new(68), Bytes::ZERO, None);
//! let train = Train::new(encoded.payload, Ratio::default(), overhead);
//! let mut frames = Reassembly::new();
//! for index in 0..train.packets() {
//!     let place = PacketPlace {
//!         frame: FrameId(0),
//!         index,
//!         media_packets: train.media_packets(),
//!         train_packets: train.packets(),
//!         key_frame: encoded.key_frame,
//!         refers_back: 1,
//!     };
//!     let arrival = ReceiverInstant::ZERO + Duration::from_millis(index.into());
//!     frames.on_packet(arrival, &place);
//!     let is_whole = matches!(frames.progress(FrameId(0)), FrameProgress::Complete { .. });
//!     assert_eq!(is_whole, index + 1 == train.packets());
//! }
//! ```

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
