//! Every controller by name: for building from an experiment file, for lists and for error messages.

use crate::{
    Copa, Fixed, Gcc, Nada, Pudica, RateController, RateLimits, Salsify, Scream, Sqp, copa, fixed,
    gcc, nada, pudica, salsify, scream, sqp,
};
use gameway_units::{Duration, Rate};

/// A controller that can be named in an experiment file.
#[derive(Debug, Clone, Copy)]
pub struct ControllerSpec {
    /// Its name in experiment files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What can be set.
    pub options: &'static [OptionSpec],
}

/// An option of a controller.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Its name in experiment files.
    pub name: &'static str,
    /// The value if not given, as it would be written.
    pub default: &'static str,
    /// What it does, with unit and allowed values.
    pub summary: &'static str,
}

/// All controllers, in alphabetical order.
pub const CATALOGUE: &[ControllerSpec] = &[
    ControllerSpec {
        name: "copa",
        summary: "keeps about 1/delta packets in the queue, paced at twice the window's rate",
        source: "Arun and Balakrishnan, Copa, NSDI 2018",
        options: copa::OPTIONS,
    },
    ControllerSpec {
        name: "fixed",
        summary: "constant bitrate, deaf to the network",
        source: "baseline",
        options: fixed::OPTIONS,
    },
    ControllerSpec {
        name: "gcc",
        summary: "Google Congestion Control: trend of one-way delay, loss, and bandwidth probes",
        source: "libwebrtc goog_cc (branch m128); draft-ietf-rmcat-gcc-02; Carlucci et al. 2017",
        options: gcc::OPTIONS,
    },
    ControllerSpec {
        name: "nada",
        summary: "RFC 8698: steers queueing delay, loss and marking to one level that falls with the rate",
        source: "RFC 8698",
        options: nada::OPTIONS,
    },
    ControllerSpec {
        name: "pudica",
        summary: "keeps the queue empty between frames, from the bandwidth utilization ratio of each",
        source: "Wang et al., Pudica, NSDI 2024",
        options: pudica::OPTIONS,
    },
    ControllerSpec {
        name: "salsify",
        summary: "budget of the next frame from the gaps between arrivals; queues up to a set delay",
        source: "Fouladi et al., Salsify, NSDI 2018; its code, alfalfa",
        options: salsify::OPTIONS,
    },
    ControllerSpec {
        name: "scream",
        summary: "SCReAM version 2: a window cut by loss, marks (L4S) and queueing delay",
        source: "draft-ietf-ccwg-rfc8298bis-screamv2; Ericsson's C++",
        options: scream::OPTIONS,
    },
    ControllerSpec {
        name: "sqp",
        summary: "bandwidth from paced frames over a short-lived least delay; fills nine tenths of it",
        source: "Ray et al., SQP, arXiv 2207.11857",
        options: sqp::OPTIONS,
    },
];

/// Why a controller could not be built; the message names what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No controller has this name.
    #[error("unknown controller \"{name}\"; allowed: {allowed}")]
    Controller {
        /// What was given.
        name: String,
        /// The names that exist.
        allowed: String,
    },
    /// The controller has no such option.
    #[error("controller \"{controller}\" has no option \"{option}\"; allowed: {allowed}")]
    Option {
        /// The controller.
        controller: &'static str,
        /// What was given.
        option: String,
        /// The options that it has.
        allowed: String,
    },
    /// The option was given twice.
    #[error("controller \"{controller}\": option \"{option}\" is given twice")]
    Twice {
        /// The controller.
        controller: &'static str,
        /// The option.
        option: String,
    },
    /// The option does not take this value.
    #[error("controller \"{controller}\": option \"{option}\" cannot be \"{value}\": {why}")]
    Value {
        /// The controller.
        controller: &'static str,
        /// The option.
        option: &'static str,
        /// What was given.
        value: String,
        /// What it takes.
        why: String,
    },
}

/// Builds a controller by name from options given as text.
///
/// # Errors
/// If the name, an option or a value is not allowed; the message says what is.
pub fn build(
    name: &str,
    options: &[(String, String)],
    limits: RateLimits,
) -> Result<Box<dyn RateController>, OptionError> {
    match name {
        "copa" => Ok(Box::new(Copa::from_options(options, limits)?)),
        "fixed" => Ok(Box::new(Fixed::from_options(options, limits)?)),
        "gcc" => Ok(Box::new(Gcc::from_options(options, limits)?)),
        "nada" => Ok(Box::new(Nada::from_options(options, limits)?)),
        "pudica" => Ok(Box::new(Pudica::from_options(options, limits)?)),
        "salsify" => Ok(Box::new(Salsify::from_options(options, limits)?)),
        "scream" => Ok(Box::new(Scream::from_options(options, limits)?)),
        "sqp" => Ok(Box::new(Sqp::from_options(options, limits)?)),
        _ => Err(OptionError::Controller {
            name: name.to_owned(),
            allowed: list(CATALOGUE.iter().map(|spec| spec.name)),
        }),
    }
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Options given as text, checked against the names that exist; what is not given has its default.
pub(crate) struct OptionValues<'a> {
    controller: &'static str,
    specs: &'static [OptionSpec],
    given: &'a [(String, String)],
}

impl<'a> OptionValues<'a> {
    pub(crate) fn new(
        controller: &'static str,
        specs: &'static [OptionSpec],
        given: &'a [(String, String)],
    ) -> Result<Self, OptionError> {
        for (index, (option, _)) in given.iter().enumerate() {
            if !specs.iter().any(|spec| spec.name == option) {
                let allowed = list(specs.iter().map(|spec| spec.name));
                return Err(OptionError::Option { controller, option: option.clone(), allowed });
            }
            if given[..index].iter().any(|(earlier, _)| earlier == option) {
                return Err(OptionError::Twice { controller, option: option.clone() });
            }
        }
        Ok(Self { controller, specs, given })
    }

    /// The text given for an option, or its default.
    fn text(&self, name: &str) -> &str {
        let given = self.given.iter().find(|(option, _)| option == name);
        let default = || self.specs.iter().find(|spec| spec.name == name).map_or("", |s| s.default);
        given.map_or_else(default, |(_, value)| value.trim())
    }

    fn refuse(&self, option: &'static str, why: String) -> OptionError {
        let value = self.text(option).to_owned();
        OptionError::Value { controller: self.controller, option, value, why }
    }

    pub(crate) fn number(
        &self,
        option: &'static str,
        least: f64,
        most: f64,
    ) -> Result<f64, OptionError> {
        let number = self.text(option).parse::<f64>().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| self.refuse(option, format!("a number from {least} to {most}")))
    }

    pub(crate) fn count(&self, option: &'static str, most: u32) -> Result<u32, OptionError> {
        let count = self.text(option).parse::<u32>().ok().filter(|count| *count <= most);
        count.ok_or_else(|| self.refuse(option, format!("a whole number from 0 to {most}")))
    }

    pub(crate) fn rate(&self, option: &'static str) -> Result<Rate, OptionError> {
        self.text(option)
            .parse()
            .map_err(|error: gameway_units::UnitError| self.refuse(option, error.to_string()))
    }

    /// A rate, or `otherwise` if the text is `word`.
    pub(crate) fn rate_or(
        &self,
        option: &'static str,
        word: &str,
        otherwise: Rate,
    ) -> Result<Rate, OptionError> {
        if self.text(option) == word { Ok(otherwise) } else { self.rate(option) }
    }

    pub(crate) fn duration(
        &self,
        option: &'static str,
        least: Duration,
        most: Duration,
    ) -> Result<Duration, OptionError> {
        let parsed: Result<Duration, gameway_units::UnitError> = self.text(option).parse();
        let span = parsed.map_err(|error| self.refuse(option, error.to_string()))?;
        let allowed = (least..=most).contains(&span);
        allowed
            .then_some(span)
            .ok_or_else(|| self.refuse(option, format!("from {least} to {most}")))
    }

    /// The choice that the text names.
    pub(crate) fn choice<C: Copy>(
        &self,
        option: &'static str,
        choices: &[(&'static str, C)],
    ) -> Result<C, OptionError> {
        let text = self.text(option);
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        found.ok_or_else(|| self.refuse(option, list(choices.iter().map(|(name, _)| *name))))
    }

    /// The choice that the text names, or what else it was read as.
    pub(crate) fn choice_or<C: Copy>(
        &self,
        option: &'static str,
        choices: &[(&'static str, C)],
        otherwise: Result<C, OptionError>,
    ) -> Result<C, OptionError> {
        match (self.choice(option, choices), otherwise) {
            (Ok(choice), _) | (Err(_), Ok(choice)) => Ok(choice),
            (Err(OptionError::Value { why: words, .. }), Err(OptionError::Value { why, .. })) => {
                Err(self.refuse(option, format!("{words}; or {why}")))
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    pub(crate) fn switch(&self, option: &'static str) -> Result<bool, OptionError> {
        // An experiment file's `true` arrives as text too.
        self.choice(option, &[("on", true), ("off", false), ("true", true), ("false", false)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> RateLimits {
        RateLimits {
            min: Rate::from_mbps(2),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(5),
            frame_interval: Duration::from_nanos(16_666_667),
        }
    }

    fn error(name: &str, options: &[(&str, &str)]) -> String {
        let owned: Vec<_> =
            options.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        build(name, &owned, limits()).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn messages_say_what_is_allowed() {
        assert_eq!(
            error("pudcia", &[]),
            "unknown controller \"pudcia\"; allowed: copa, fixed, gcc, nada, pudica, salsify, scream, sqp"
        );
        assert_eq!(
            error("fixed", &[("bitrat", "5 Mb/s")]),
            "controller \"fixed\" has no option \"bitrat\"; allowed: bitrate, pace_multiplier"
        );
        assert_eq!(
            error("fixed", &[("pace_multiplier", "0.5")]),
            "controller \"fixed\": option \"pace_multiplier\" cannot be \"0.5\": a number from 1 to 1000"
        );
        assert_eq!(
            error("pudica", &[("trigger", "both")]),
            "controller \"pudica\": option \"trigger\" cannot be \"both\": uncorrected, corrected, own"
        );
        assert!(error("gcc", &[("backoff", "0.8"), ("backoff", "0.8")]).contains("given twice"));
        assert!(error("fixed", &[("bitrate", "5")]).contains("Mb/s"));
    }

    #[test]
    fn every_default_is_a_value_that_may_be_written() {
        for spec in CATALOGUE {
            for option in spec.options {
                assert_eq!(
                    error(spec.name, &[(option.name, option.default)]),
                    "",
                    "{}",
                    option.name
                );
            }
            let built = build(spec.name, &[], limits()).map(|controller| controller.name());
            assert_eq!(built.ok(), Some(spec.name));
        }
    }

    #[test]
    fn names_are_sorted() {
        assert!(CATALOGUE.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
