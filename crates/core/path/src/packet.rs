//! What the path needs to know of a packet; what it carries is its owner's business.

use crate::header::{Dscp, Header, Traffic};
use crate::tcp::TcpHeader;
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
    /// Its headers.
    fn header(&self) -> Header;
    /// What a gateway in front of the queue takes its flow for; `None` if none looked, or not yet for long
    /// enough.
    fn traffic(&self) -> Option<Traffic> {
        None
    }
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Overwrites its ECN field; a queue calls this with [`Ecn::Ce`] on ECN-capable packets only.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Overwrites its code point.
    fn set_dscp(&mut self, _dscp: Dscp) {}
    /// Its TCP header; `None` of a packet that is not TCP, or of which nobody looked.
    fn tcp(&self) -> Option<TcpHeader> {
        None
    }
    /// Marks the packet if it is ECN-capable, and says whether it is.
    fn mark(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }
}

impl<P: PathPacket + ?Sized> PathPacket for Box<P> {
    #[inline]
    fn wire_size(&self) -> Bytes {
        (**self).wire_size()
    }
    #[inline]
    fn flow(&self) -> FlowId {
        (**self).flow()
    }
    #[inline]
    fn header(&self) -> Header {
        (**self).header()
    }
    #[inline]
    fn traffic(&self) -> Option<Traffic> {
        (**self).traffic()
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        (**self).ecn()
    }
    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        (**self).set_ecn(ecn);
    }
    #[inline]
    fn set_dscp(&mut self, dscp: Dscp) {
        (**self).set_dscp(dscp);
    }
    #[inline]
    fn tcp(&self) -> Option<TcpHeader> {
        (**self).tcp()
    }
    #[inline]
    fn mark(&mut self) -> bool {
        (**self).mark()
    }
}
