//! The ECN field of the IP header: not a quantity, but the one word that path, transports and
//! controllers must share.

/// The ECN field (RFC 3168 section 5; RFC 9331 section 2 for ECT(1)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, L4S.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether congestion may be told by a mark; a packet that is marked already tells it, too.
    #[must_use]
    pub fn is_capable(self) -> bool {
        self != Self::NotEct
    }
}
