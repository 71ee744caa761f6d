//! The host: captures, encodes, paces and sends a stream to the client that plays, and to those that may watch beside.

pub mod card;
#[cfg(feature = "x11")]
mod clips;
mod drawn;
mod encoders;
pub mod encoding;
pub mod hand;
mod log;
pub(crate) mod mapping;
mod metrics;
mod notes;
#[cfg(feature = "x11")]
mod pads;
pub mod page;
pub mod photon;
mod picture_feed;
mod played;
mod reach;
mod receiver_clock;
pub mod requests;
mod run;
mod sender_reports;
pub(crate) mod servers;
pub mod session;
#[cfg(feature = "x11")]
mod shapes;
mod signaling;
pub mod sound;
mod sources;
mod stage;
mod start;
pub mod stays;
pub mod terms;
mod watching;
mod wires;

#[cfg(feature = "cli")]
pub(crate) use reach::candidates as addresses;
pub use run::{HostReport, run};
pub use sources::screen_shows;
#[cfg(any(test, feature = "cli"))]
pub(crate) use stage::Folder;
pub use stage::{Stage, StageNews};
