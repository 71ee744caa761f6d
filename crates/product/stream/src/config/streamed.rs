//! Controllers as people stream with them.

use super::{ControllerConfig, HostConfig};
use crate::StreamError;
use gameway_control::{Controllers, RateController};
use gameway_units::Rate;

/// The option of controllers whose published law may send most of its packets into loss for good.
const GUARD: &str = "reduce_on_loss";
/// Options of controllers that come back too slowly by their published law: Pudica's on a longer path, GCC's after much loss.
const RECOVERY: [&str; 2] = ["longer_path", "loss_recovery"];
/// The option of controllers whose law spreads a frame over most of its interval, and its value: GCC's pacing factor (libwebrtc).
const PACING: (&str, f64) = ("min_pacing_factor", 2.5);

impl HostConfig {
    /// The controller as people stream with it, if it is chosen by its name alone: with [`GUARD`], [`RECOVERY`] and
    /// [`PACING`], if it has them.
    #[must_use]
    pub(crate) fn into_streamed(mut self, known: &Controllers) -> Self {
        let ControllerConfig::Name(kind) = self.controller.clone() else { return self };
        let switched = [GUARD, RECOVERY[0], RECOVERY[1]].map(|name| (name, "on".into()));
        for (name, value) in switched.into_iter().chain([(PACING.0, PACING.1.into())]) {
            let (_, mut options) = self.controller.parts();
            options.insert(name.to_owned(), value);
            let with = ControllerConfig::Options { kind: kind.clone(), options };
            let before = std::mem::replace(&mut self.controller, with);
            if self.build_controller(known).is_err() {
                self.controller = before;
            }
        }
        self
    }

    /// The same with the controller of this name, as people stream with it.
    ///
    /// # Errors
    /// If there is none; which there are.
    pub(crate) fn with_controller(
        &self,
        known: &Controllers,
        name: &str,
    ) -> Result<Self, StreamError> {
        let config = Self { controller: ControllerConfig::named(name), ..self.clone() };
        config.build_controller(known)?;
        Ok(config.into_streamed(known))
    }

    /// A controller for a stream that has this bitrate already.
    ///
    /// # Errors
    /// As [`Self::build_controller`].
    pub(crate) fn build_controller_from(
        &self,
        known: &Controllers,
        bitrate: Rate,
    ) -> Result<Box<dyn RateController>, StreamError> {
        let start_bitrate = bitrate.clamp(self.min_bitrate, self.max_bitrate);
        Self { start_bitrate, ..self.clone() }.build_controller(known)
    }

    /// The controller by name, and those that there are, as a page reads it.
    #[must_use]
    pub(crate) fn told_controller(&self, known: &Controllers) -> String {
        let choices: Vec<&str> = known.descriptions().map(|one| one.name).collect();
        let (name, _) = self.controller.parts();
        serde_json::json!({ "controller": name, "choices": choices }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_that_takes_over_begins_at_the_bitrate_that_there_is() {
        let (config, known) = (HostConfig::default(), Controllers::standard());
        for (bitrate, started) in [(7, 7), (0, 1), (900, 40)] {
            let controller = config.build_controller_from(&known, Rate::from_mbps(bitrate));
            let controller = controller.expect("built");
            assert_eq!(controller.target().bitrate, Rate::from_mbps(started));
        }
        assert!(config.with_controller(&known, "oracle").is_err());
        let told = config.with_controller(&known, "gcc").expect("built").told_controller(&known);
        assert!(told.contains(r#""controller":"gcc""#) && told.contains(r#""pudica""#), "{told}");
    }

    #[test]
    fn a_controller_lowers_its_rate_where_much_is_lost_and_a_frame_leaves_in_a_part_of_its_interval()
     {
        for (name, options) in [
            ("pudica", &["longer_path", "reduce_on_loss"] as &[&str]),
            ("salsify", &["reduce_on_loss"]),
            ("sqp", &["reduce_on_loss"]),
            ("copa", &["reduce_on_loss"]),
            ("nada", &["min_pacing_factor"]),
            ("scream", &["min_pacing_factor"]),
            ("gcc", &["loss_recovery"]),
            ("fixed", &[]),
        ] {
            let mut config =
                HostConfig { controller: ControllerConfig::named(name), ..HostConfig::default() };
            config = config.into_streamed(&Controllers::standard());
            let (kind, given) = config.controller.parts();
            assert_eq!(kind, name);
            assert!(given.keys().eq(options), "{name}: {given:?}");
        }
    }
}
