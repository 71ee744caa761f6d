//! The home gateway of a run. What is not given is as in the algorithm's own defaults.

use gameway_units::declared::Options;

/// A gateway with its options; `gameway list gateways` says what each does.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub struct GatewaySpec {
    /// The name of the algorithm.
    pub kind: String,
    /// Its options, which the algorithm reads.
    #[serde(flatten)]
    pub options: Options,
}

impl GatewaySpec {
    /// The name of a gateway that only forwards, and has no options.
    pub const NONE: &'static str = "none";
}
