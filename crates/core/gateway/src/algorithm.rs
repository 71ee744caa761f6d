//! What a gateway must have so that a file can name it.

use crate::Gateway;
use gameway_units::declared::Configuration;

/// A gateway that a file can name, by its configuration.
pub trait GatewayAlgorithm: Configuration {
    /// A gateway that has seen nothing yet.
    fn build(self) -> Box<dyn Gateway>;
}
