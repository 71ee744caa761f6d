//! Gateways by name: what a file can say of one, and the gateway that is built from it.
//!
//! A gateway declares its options once, as the fields of its configuration ([`gameway_units::declared`]).

use crate::{Gateway, sap_law, voap};
use gameway_units::declared::{self, OptionError, Options};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// A gateway that a file can name, by its configuration.
pub trait GatewayAlgorithm: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Its name in files.
    const NAME: &'static str;
    /// What it is, in one line.
    const SUMMARY: &'static str;
    /// Where it comes from.
    const SOURCE: &'static str;

    /// Whether the options go together.
    ///
    /// # Errors
    /// The first option that does not go with the others, and why.
    fn check(&self) -> Result<(), OptionError> {
        Ok(())
    }

    /// A gateway that has seen nothing yet.
    fn build(self) -> Box<dyn Gateway>;
}

/// What is known of a gateway without building one.
#[derive(Debug, Clone)]
pub struct GatewayInfo {
    /// Its name in files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its options.
    pub schema: Schema,
    build: fn(&Options) -> Result<Box<dyn Gateway>, OptionError>,
}

impl GatewayInfo {
    /// That of an algorithm.
    #[must_use]
    pub fn of<A: GatewayAlgorithm>() -> Self {
        Self {
            name: A::NAME,
            summary: A::SUMMARY,
            source: A::SOURCE,
            schema: declared::schema::<A>(),
            build: |options| {
                let algorithm: A = declared::read(options)?;
                algorithm.check()?;
                Ok(algorithm.build())
            },
        }
    }

    /// A gateway with these options.
    ///
    /// # Errors
    /// The first option that is wrong, and what is allowed.
    pub fn build(&self, options: &Options) -> Result<Box<dyn Gateway>, OptionError> {
        (self.build)(options)
    }
}

/// The gateways of this crate, in alphabetical order.
#[must_use]
pub fn standard() -> Vec<GatewayInfo> {
    vec![GatewayInfo::of::<sap_law::SapLawConfig>(), GatewayInfo::of::<voap::VoapConfig>()]
}
