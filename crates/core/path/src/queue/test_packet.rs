//! A packet of 1500 B for the tests beside the disciplines.

use crate::{FlowId, Header, PathPacket};
use gameway_units::{Bytes, Ecn};

/// With its flow and its code point.
pub(crate) struct Packet(pub(crate) FlowId, pub(crate) Ecn);

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        Bytes::new(1500)
    }
    fn flow(&self) -> FlowId {
        self.0
    }
    fn header(&self) -> Header {
        Header::numbered(self.0.0)
    }
    fn ecn(&self) -> Ecn {
        self.1
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.1 = ecn;
    }
}
