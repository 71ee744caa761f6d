//! Gateways by name: what a file can say of one, and the gateway that is built from it.
//!
//! A gateway declares its options once, as the fields of its configuration ([`gameway_units::declared`]).

use crate::GatewayAlgorithm;
use crate::{BothConfig, Gateway, ShapeConfig, WindowsConfig, sap_law, voap};
use gameway_units::declared::{Catalogue, Description, Entry, OptionError, Options};

type Build = fn(&Description, &Options) -> Result<Box<dyn Gateway>, OptionError>;

/// The gateways that files can name.
#[derive(Debug)]
pub struct Gateways(Catalogue<Build>);

impl Gateways {
    /// Those of this crate.
    #[must_use]
    pub fn standard() -> Self {
        Self(Catalogue::default())
            .with::<sap_law::SapLawConfig>()
            .with::<voap::VoapConfig>()
            .with::<WindowsConfig>()
            .with::<ShapeConfig>()
            .with::<BothConfig>()
    }

    /// These and another one; it takes the place of one of the same name.
    #[must_use]
    pub fn with<A: GatewayAlgorithm>(self) -> Self {
        let build: Build = |description, options| Ok(description.read::<A>(options)?.build());
        Self(self.0.with(Description::of::<A>(), build))
    }

    /// What is known of each.
    pub fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.0.descriptions()
    }

    /// A gateway of this name with these options.
    ///
    /// # Errors
    /// If there is no such gateway, or the first option that is wrong; and what is allowed.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Gateway>, OptionError> {
        let Entry { description, functions: build } = self.0.get("gateway", name)?;
        build(description, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_are_built_by_name_if_their_options_allow() {
        let known = Gateways::standard();
        assert!(
            known
                .descriptions()
                .map(|one| one.name)
                .eq(["both", "sap-law", "shape", "voap", "windows"])
        );
        let wrong = |name| known.build(name, &Options::new()).err();
        assert_eq!(wrong("voap").map(|error| error.why), None);
        let error = wrong("sap-law").expect("a capacity must be given");
        assert_eq!(error.option.as_deref(), Some("capacity"));
        assert!(wrong("none").is_some());
    }
}
