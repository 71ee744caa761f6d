//! Head.
mod clock;
pub mod data;
mod error;
pub mod feedback;
pub mod frame_extension;
pub mod ice;
mod identity;
mod peer;
pub mod rtp;
pub mod sdp;
mod secrets;
mod sequence;
mod srtp;
mod transmit;

pub use data::Delivery;
pub use error::WebrtcError;
pub use identity::{Fingerprint, Identity};
pub use peer::{ClientConfig, CloseReason, Event, HostConfig, Peer};
pub use rtp::{Extensions, RtpHeader, RtpPacket};
pub use sdp::Negotiated;
pub use secrets::Secrets;
pub use sequence::unwrap_number;
pub use srtp::SrtpKeys;
pub use transmit::Transmit;
