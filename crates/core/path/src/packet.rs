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

#[cfg(test)]
mod tests {
    use super::*;

    /// One of which all that can be read is something else than a default.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Packet(Ecn, Dscp);

    impl PathPacket for Packet {
        fn wire_size(&self) -> Bytes {
            Bytes::new(700)
        }
        fn flow(&self) -> FlowId {
            FlowId(5)
        }
        fn header(&self) -> Header {
            Header { dscp: self.1, ..Header::numbered(5) }
        }
        fn traffic(&self) -> Option<Traffic> {
            Some(Traffic::Game)
        }
        fn ecn(&self) -> Ecn {
            self.0
        }
        fn set_ecn(&mut self, ecn: Ecn) {
            self.0 = ecn;
        }
        fn set_dscp(&mut self, dscp: Dscp) {
            self.1 = dscp;
        }
        fn tcp(&self) -> Option<TcpHeader> {
            Some(TcpHeader { acknowledgment: 9, ..TcpHeader::default() })
        }
    }

    /// All that a queue can read, and the packet after it was marked and given a code point.
    fn seen(mut packet: impl PathPacket) -> String {
        let marked = packet.mark();
        let header = packet.header();
        packet.set_dscp(Dscp(46));
        let read = (packet.wire_size(), packet.flow(), header, packet.traffic(), packet.tcp());
        let after = (packet.ecn(), packet.header().dscp);
        packet.set_ecn(Ecn::NotEct);
        format!("{:?}", (marked, read, after, packet.ecn()))
    }

    /// One of which nobody looked into the headers.
    struct Opaque;

    impl PathPacket for Opaque {
        fn wire_size(&self) -> Bytes {
            Bytes::new(40)
        }
        fn flow(&self) -> FlowId {
            FlowId(0)
        }
        fn header(&self) -> Header {
            Header::numbered(0)
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ecn(&mut self, _: Ecn) {}
    }

    #[test]
    fn what_nobody_looked_at_is_not_known() {
        assert_eq!((Opaque.tcp(), Opaque.traffic(), Opaque.mark()), (None, None, false));
    }

    #[test]
    fn a_box_is_the_packet_in_it() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let packet = Packet(ecn, Dscp(10));
            assert_eq!(seen(Box::new(packet)), seen(packet));
        }
        let mut packet = Packet(Ecn::Ect1, Dscp(10));
        assert_eq!((packet.mark(), packet.ecn()), (true, Ecn::Ce));
        packet.set_ecn(Ecn::NotEct);
        assert_eq!((packet.mark(), packet.ecn()), (false, Ecn::NotEct));
    }
}
