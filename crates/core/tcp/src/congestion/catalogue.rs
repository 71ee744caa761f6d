//! Congestion controls by name: what a file can say of one, and what is built from it.

use super::algorithm::{ConfiguredTcp, TcpAlgorithm};
use super::{CongestionControl, bbr, bbr2, bbr3, bic, cubic, new_reno, prague, vegas};
use gameway_units::declared::{Catalogue, Description, Entry, OptionError, Options};

type Configure = fn(&Description, &Options) -> Result<ConfiguredTcp, OptionError>;

/// The congestion controls that files can name.
#[derive(Debug)]
pub struct CongestionControls(Catalogue<Configure>);

impl CongestionControls {
    /// Those of this crate.
    #[must_use]
    pub fn standard() -> Self {
        Self(Catalogue::default())
            .with::<bbr::BbrConfig>()
            .with::<bbr2::Bbr2Config>()
            .with::<bbr3::Bbr3Config>()
            .with::<bic::BicConfig>()
            .with::<cubic::CubicConfig>()
            .with::<new_reno::NewRenoConfig>()
            .with::<prague::PragueConfig>()
            .with::<vegas::VegasConfig>()
    }

    /// These and another one; it takes the place of one of the same name.
    #[must_use]
    pub fn with<A: TcpAlgorithm>(self) -> Self {
        let configure: Configure =
            |description, options| description.read::<A>(options).map(ConfiguredTcp::new);
        Self(self.0.with(Description::of::<A>(), configure))
    }

    /// What is known of each.
    pub fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.0.descriptions()
    }

    /// The congestion control of this name with these options.
    ///
    /// # Errors
    /// If there is no such congestion control, or the first option that is wrong; and what is allowed.
    pub fn configure(&self, name: &str, options: &Options) -> Result<ConfiguredTcp, OptionError> {
        let Entry { description, functions } = self.0.get("congestion control", name)?;
        functions(description, options)
    }
}

/// One of this crate's, with its default options; `None` if there is none of that name.
#[must_use]
pub fn build(name: &str, segment_size: u32, seed: u64) -> Option<Box<dyn CongestionControl>> {
    let configured = CongestionControls::standard().configure(name, &Options::new()).ok()?;
    Some(configured.build(segment_size, seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_is_built_by_its_name_and_has_no_other_option_than_it_declares() {
        let known = CongestionControls::standard();
        for one in known.descriptions() {
            let configured = known.configure(one.name, &Options::new()).unwrap();
            assert_eq!(configured.name(), one.name);
            assert_eq!(format!("{configured:?}"), format!("ConfiguredTcp({})", one.name));
            assert_eq!(build(one.name, 1448, 1).unwrap().name(), one.name);
            let unknown = Options::from_iter([("aim".to_owned(), json!(1))]);
            let refused = known.configure(one.name, &unknown).unwrap_err().to_string();
            assert!(refused.contains("aim: is no option"), "{}: {refused}", one.name);
        }
        assert!(build("qubic", 1448, 1).is_none());
    }

    #[test]
    fn only_prague_needs_accurate_ecn() {
        let known = CongestionControls::standard();
        let needing = known.descriptions().filter(|one| {
            known.configure(one.name, &Options::new()).is_ok_and(|tcp| tcp.needs_accurate_ecn())
        });
        assert_eq!(needing.map(|one| one.name).collect::<Vec<_>>(), ["prague"]);
    }
}
