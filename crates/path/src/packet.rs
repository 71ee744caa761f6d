//! What the path needs to know of a packet; what it carries is its owner's business.

use gameway_units::{Bytes, Ecn};

/// The flow that a packet belongs to, as the experiment numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u16);

/// A packet as the path sees it.
pub trait PathPacket {
    /// Size on the wire including the IP header.
    fn wire_size(&self) -> Bytes;
    /// Its flow.
    fn flow(&self) -> FlowId;
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Overwrites its ECN field; a queue calls this with [`Ecn::Ce`] on ECN-capable packets only.
    fn set_ecn(&mut self, ecn: Ecn);
}
