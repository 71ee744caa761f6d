//! Gateways that can be named in an experiment file.

/// A gateway algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayKind {
    /// Its name in experiment files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What can be set.
    pub options: &'static [GatewayOption],
}

/// An option of a gateway algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayOption {
    /// Its name in experiment files.
    pub name: &'static str,
    /// The value if not given, as it would be written.
    pub default: &'static str,
    /// What it does, with unit and allowed values.
    pub summary: &'static str,
}

/// All gateways, in alphabetical order.
pub const GATEWAYS: &[GatewayKind] = &[crate::sap_law::KIND, crate::voap::KIND];
