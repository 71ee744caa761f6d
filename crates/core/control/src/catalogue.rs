//! Controllers by name: what a file can say of one, and the controller that is built from it.
//!
//! A controller declares its options once, as the fields of its configuration ([`gameway_units::declared`]).

use crate::{
    ControllerAlgorithm, CopaOptions, FixedOptions, GccOptions, NadaOptions, PudicaOptions,
    RateController, RateLimits, SalsifyOptions, ScreamOptions, SqpOptions,
};
use gameway_units::declared::{Catalogue, Description, Entry, OptionError, Options};
use std::fmt;
use std::sync::Arc;

/// Why a controller cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// There is none of this name; which there are.
    #[error("{}", .0.why)]
    Unknown(OptionError),
    /// An option cannot be.
    #[error("controller \"{controller}\": {source}")]
    Option {
        /// The controller.
        controller: &'static str,
        /// Which option, and what is allowed.
        source: OptionError,
    },
}

type Built = Result<Box<dyn RateController>, OptionError>;
type Build = Arc<dyn Fn(&Description, &Options, RateLimits) -> Built + Send + Sync>;

/// The controllers that files can name.
#[derive(Clone, Default)]
pub struct Controllers(Catalogue<Build>);

impl fmt::Debug for Controllers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.names()).finish()
    }
}

impl Controllers {
    /// Those of this crate.
    #[must_use]
    pub fn standard() -> Self {
        Self::default()
            .with::<CopaOptions>()
            .with::<FixedOptions>()
            .with::<GccOptions>()
            .with::<NadaOptions>()
            .with::<PudicaOptions>()
            .with::<SalsifyOptions>()
            .with::<ScreamOptions>()
            .with::<SqpOptions>()
    }

    /// These and another one; it takes the place of one of the same name.
    #[must_use]
    pub fn with<C: ControllerAlgorithm>(self) -> Self {
        let build = |description: &Description, options: &Options, limits| {
            Ok(description.read::<C>(options)?.build(limits))
        };
        Self(self.0.with(Description::of::<C>(), Arc::new(build)))
    }

    /// These and one whose options nobody but `build` knows.
    #[must_use]
    pub fn with_builder(
        self,
        description: Description,
        build: impl Fn(&Options, RateLimits) -> Built + Send + Sync + 'static,
    ) -> Self {
        Self(self.0.with(description, Arc::new(move |_, options, limits| build(options, limits))))
    }

    /// What is known of each.
    pub fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.0.descriptions()
    }

    /// A controller of this name with these options, for a stream with these limits.
    ///
    /// # Errors
    /// If there is no such controller, or the first option that is wrong; and what is allowed.
    pub fn build(
        &self,
        name: &str,
        options: &Options,
        limits: RateLimits,
    ) -> Result<Box<dyn RateController>, ControllerError> {
        let entry = self.0.get("controller", name).map_err(ControllerError::Unknown)?;
        let Entry { description, functions: build } = entry;
        build(description, options, limits)
            .map_err(|source| ControllerError::Option { controller: description.name, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::declared::Declared;
    use gameway_units::{Duration, Rate};
    use serde_json::{Value, json};

    fn limits() -> RateLimits {
        RateLimits {
            min: Rate::from_mbps(2),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(5),
            frame_interval: Duration::from_nanos(16_666_667),
        }
    }

    fn error(name: &str, options: Value) -> String {
        let Value::Object(options) = options else { panic!("options are a table") };
        let built = Controllers::standard().build(name, &options, limits());
        built.err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn messages_name_controller_option_and_value_and_what_is_allowed() {
        for (name, options, told) in [
            (
                "pudcia",
                json!({}),
                "unknown controller \"pudcia\"; known are copa, fixed, gcc, nada, pudica, salsify, scream, sqp",
            ),
            (
                "fixed",
                json!({ "bitrat": "5 Mb/s" }),
                "controller \"fixed\": bitrat: is no option; known are bitrate, pace_multiplier",
            ),
            (
                "fixed",
                json!({ "pace_multiplier": 0.5 }),
                "controller \"fixed\": pace_multiplier: 0.5 is not between 1 and 1000",
            ),
            (
                "pudica",
                json!({ "trigger": "both" }),
                "controller \"pudica\": trigger: unknown variant `both`, expected one of `uncorrected`, `corrected`, `own`",
            ),
            (
                "pudica",
                json!({ "pace": "0.5" }),
                "controller \"pudica\": pace: 0.5 is not between 1 and 1000",
            ),
            (
                "nada",
                json!({ "xref": "2 s" }),
                "controller \"nada\": xref: 2 s is not between 0.1 ms and 1 s",
            ),
        ] {
            assert_eq!(error(name, options), told);
        }
        assert!(error("fixed", json!({ "bitrate": "5" })).contains("Mb/s"));
        assert!(error("scream", json!({ "exchanged": "all" })).contains("`pacing-rate`"));
    }

    /// What an option can be set to by its declaration: the default, the bounds and the words.
    fn allowed(option: &Declared) -> Vec<String> {
        let words = option.kind.split(", ").filter(|word| !word.starts_with("or "));
        let words = words.filter(|_| option.kind.contains(", ")).map(str::to_owned);
        let bounds = option.min.iter().chain(&option.max).cloned();
        bounds.chain(words).chain([option.default.clone()]).collect()
    }

    #[test]
    fn each_option_takes_what_its_declaration_allows() {
        let controllers = Controllers::standard();
        let mut taken = 0;
        for description in controllers.descriptions() {
            for option in description.options() {
                let place = format!("{}.{}", description.name, option.name);
                assert!(option.summary.len() > 8, "{place}: {}", option.summary);
                for value in allowed(&option) {
                    let options = json!({ option.name.clone(): value });
                    assert_eq!(error(description.name, options), "", "{place} = {value}");
                    taken += 1;
                }
            }
            let built = controllers.build(description.name, &Options::new(), limits());
            assert_eq!(built.map(|one| one.name()).ok(), Some(description.name));
        }
        assert!(taken > 150, "{taken}");
    }
}
