//! How a stream answers losses: what experiments, sessions and hosts share.

use crate::{Duration, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How losses of a stream are repaired, beside the share of repair packets that its frames may have anyway. As text it is a
/// word, or a table with the goal of what is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
#[non_exhaustive]
pub enum Repair {
    /// Nothing is sent again.
    #[default]
    None,
    /// The receiver asks for what is missing, and the sender sends it again while that is in time.
    Nack,
    /// The same as a browser's libwebrtc has it: what is sent again may be as much as the target, and is taken from the frames by
    /// its share in what left in the last second, at most half. For simulations that stand for a browser.
    Libwebrtc,
    /// Frames leave with as many repair packets as the measured losses make necessary for this share of frames to be whole; nothing
    /// is sent again.
    Fec(Ratio),
    /// Both, in the mix that takes the fewest bytes.
    Adaptive(RepairGoal),
}

/// What planned repair is to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairGoal {
    /// Share of frames that shall be whole in time.
    pub share: Ratio,
    /// How much later than without losses a frame is in time; if not given, 100 ms and time enough for one retransmission.
    pub deadline: Option<Duration>,
}

impl Default for RepairGoal {
    fn default() -> Self {
        Self { share: default_share(), deadline: None }
    }
}

/// At 60 frames/s one frame in 17 s is late.
const fn default_share() -> Ratio {
    Ratio::from_ppm(999_000)
}

impl Repair {
    /// Whether the receiver asks for what is missing, and the sender sends it again.
    #[must_use]
    pub const fn sends_again(self) -> bool {
        matches!(self, Self::Nack | Self::Libwebrtc | Self::Adaptive(_))
    }

    /// What is to be reached, if the sender plans by the losses that it hears of.
    #[must_use]
    pub const fn goal(self) -> Option<RepairGoal> {
        match self {
            Self::Fec(share) => Some(RepairGoal { share, deadline: None }),
            Self::Adaptive(goal) => Some(goal),
            Self::None | Self::Nack | Self::Libwebrtc => None,
        }
    }
}

/// How it is written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "none, nack, libwebrtc, fec, adaptive, or a table like { kind = \"adaptive\", goal = \"99 %\" }"
)]
enum Form {
    Word(Word),
    Table(Table),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Word {
    None,
    Nack,
    Libwebrtc,
    Fec,
    Adaptive,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    /// repair packets by the measured losses
    Fec {
        /// share of frames that shall be whole in time
        #[serde(default = "default_share")]
        #[schemars(extend("x-min" = "50 %", "x-max" = "99.99 %", "examples" = ["99 %"]))]
        goal: Ratio,
    },
    /// the cheapest mix of repair packets and of sending again, once or several times
    Adaptive {
        /// share of frames that shall be whole in time
        #[serde(default = "default_share")]
        #[schemars(extend("x-min" = "50 %", "x-max" = "99.99 %", "examples" = ["99 %"]))]
        goal: Ratio,
        /// how much later than without losses a frame is in time
        #[serde(default)]
        #[schemars(extend("x-min" = "1 ms", "x-max" = "10 s", "x-none" = "100 ms, at least 1.5 round trips"))]
        deadline: Option<Duration>,
    },
}

impl From<Form> for Repair {
    fn from(form: Form) -> Self {
        match form {
            Form::Word(Word::None) => Self::None,
            Form::Word(Word::Nack) => Self::Nack,
            Form::Word(Word::Libwebrtc) => Self::Libwebrtc,
            Form::Word(Word::Fec) => Self::Fec(default_share()),
            Form::Word(Word::Adaptive) => Self::Adaptive(RepairGoal::default()),
            Form::Table(Table::Fec { goal }) => Self::Fec(goal),
            Form::Table(Table::Adaptive { goal: share, deadline }) => {
                Self::Adaptive(RepairGoal { share, deadline })
            }
        }
    }
}

impl From<Repair> for Form {
    fn from(repair: Repair) -> Self {
        let usual = repair.goal() == Some(RepairGoal::default());
        match repair {
            Repair::None => Self::Word(Word::None),
            Repair::Nack => Self::Word(Word::Nack),
            Repair::Libwebrtc => Self::Word(Word::Libwebrtc),
            Repair::Fec(_) if usual => Self::Word(Word::Fec),
            Repair::Adaptive(_) if usual => Self::Word(Word::Adaptive),
            Repair::Fec(goal) => Self::Table(Table::Fec { goal }),
            Repair::Adaptive(RepairGoal { share: goal, deadline }) => {
                Self::Table(Table::Adaptive { goal, deadline })
            }
        }
    }
}

impl JsonSchema for Repair {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Repair".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Form::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_word_is_a_table_with_the_usual_goal() {
        let goal = RepairGoal { share: Ratio::from_ppm(999_000), deadline: None };
        for (text, repair) in [
            (json!("none"), Repair::None),
            (json!("nack"), Repair::Nack),
            (json!("libwebrtc"), Repair::Libwebrtc),
            (json!("fec"), Repair::Fec(goal.share)),
            (json!("adaptive"), Repair::Adaptive(goal)),
        ] {
            assert_eq!(from_value::<Repair>(text.clone()).unwrap(), repair);
            assert_eq!(to_value(repair).unwrap(), text);
        }
        let table = json!({ "kind": "adaptive" });
        assert_eq!(from_value::<Repair>(table).unwrap(), Repair::Adaptive(goal));
    }

    #[test]
    fn another_goal_is_kept() {
        let (share, deadline) = (Ratio::from_ppm(990_000), Some(Duration::from_millis(80)));
        for (table, repair) in [
            (
                json!({ "kind": "adaptive", "goal": "99 %", "deadline": "80 ms" }),
                Repair::Adaptive(RepairGoal { share, deadline }),
            ),
            (json!({ "kind": "fec", "goal": "99 %" }), Repair::Fec(share)),
        ] {
            assert_eq!(from_value::<Repair>(table.clone()).unwrap(), repair);
            assert_eq!(to_value(repair).unwrap(), table);
        }
    }

    #[test]
    fn what_there_is_not_is_refused_with_what_there_is() {
        for wrong in [
            json!("again"),
            json!({ "kind": "nack" }),
            json!({ "kind": "fec", "goa": 1 }),
            // Nothing comes later that a deadline could be for.
            json!({ "kind": "fec", "deadline": "80 ms" }),
        ] {
            let error = from_value::<Repair>(wrong).unwrap_err().to_string();
            assert!(error.contains("none, nack, libwebrtc, fec, adaptive"), "{error}");
        }
    }
}
