//! Options that are read, checked and listed by what is declared.

use super::*;
use crate::{Duration, Rate};
use serde_json::json;

/// A thing with options.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Thing {
    /// The wait that is
    /// aimed at.
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    target: Duration,
    /// Hz.
    #[schemars(range(min = 0.0, max = 1e3))]
    gain: f64,
    /// From it on.
    #[schemars(extend("x-none" = "never"))]
    above: Option<Duration>,
    /// Whether it marks.
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    ecn: bool,
    /// How fast.
    #[schemars(extend("minimum" = 1.0))]
    pace: Pace,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "is neither native nor burst nor a number")]
enum Pace {
    Native,
    Burst,
    #[serde(untagged)]
    Multiplier(f64),
}

impl Default for Thing {
    fn default() -> Self {
        let target = Duration::from_millis(15);
        Self { target, gain: 0.5, above: None, ecn: true, pace: Pace::Native }
    }
}

fn read_thing(options: Value) -> Result<Thing, String> {
    let Value::Object(options) = options else { panic!("options are a table") };
    read(&options).map_err(|error| error.to_string())
}

#[test]
fn what_is_not_given_is_the_default() {
    assert_eq!(read_thing(json!({})), Ok(Thing::default()));
    let given = json!({ "target": "20 ms", "gain": 1, "above": "1 ms", "ecn": "off" });
    let (target, above) = (Duration::from_millis(20), Some(Duration::from_millis(1)));
    let read = Thing { target, gain: 1.0, above, ecn: false, pace: Pace::Native };
    assert_eq!(read_thing(given), Ok(read));
}

#[test]
fn what_is_meant_counts_and_not_how_it_is_written() {
    let thing = Thing { gain: 2.0, ecn: false, pace: Pace::Multiplier(2.0), ..Thing::default() };
    for given in [
        json!({ "gain": 2, "ecn": "off", "pace": 2, "above": "never" }),
        json!({ "gain": "2", "ecn": false, "pace": "2", "above": null }),
        json!({ "gain": "2.0", "ecn": "false", "pace": 2.0 }),
    ] {
        assert_eq!(read_thing(given.clone()).as_ref(), Ok(&thing), "{given}");
    }
    for given in [json!({ "ecn": "on" }), json!({ "ecn": true }), json!({ "gain": 0.5 })] {
        assert_eq!(read_thing(given.clone()), Ok(Thing::default()), "{given}");
    }
    assert_eq!(read_thing(json!({ "pace": "burst" })).unwrap().pace, Pace::Burst);
}

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    for (given, told) in [
        (json!({ "target": "0.5 ms" }), "target: 0.5 ms is not between 1 ms and 1 h"),
        (json!({ "target": "61 min" }), "target: 61 min is not between 1 ms and 1 h"),
        (json!({ "target": "1 m" }), "target: \"1 m\" has \"m\" as unit; allowed are"),
        (json!({ "gain": 1000.5 }), "gain: 1000.5 is not between 0 and 1000"),
        (json!({ "gain": "-1" }), "gain: -1 is not between 0 and 1000"),
        (json!({ "gain": "much" }), "gain: \"much\" is no number"),
        (json!({ "pace": 0.5 }), "pace: 0.5 is less than 1"),
        (json!({ "pace": "slow" }), "pace: is neither native nor burst nor a number"),
        (json!({ "above": "always" }), "above: \"always\" has no number"),
        (json!({ "ecn": "yes" }), "ecn: unknown variant `yes`, expected `on` or `off`"),
        (json!({ "aim": 1 }), "aim: is no option; known are above, ecn, gain, pace, target"),
    ] {
        let refused = read_thing(given.clone()).unwrap_err();
        assert!(refused.contains(told), "{given}: {refused}");
    }
    // A word that is none is known without reading.
    let yes = Options::from_iter([("ecn".to_owned(), json!("yes"))]);
    assert!(check_document(&schema::<Thing>(), &yes).is_err_and(|error| error.option.is_some()));
}

#[test]
fn a_list_has_defaults_sentences_and_bounds() {
    let listed = list(&schema::<Thing>());
    let of = |name: &str| listed.iter().find(|one| one.name == name).unwrap().clone();
    let target = of("target");
    assert_eq!((target.default.as_str(), target.kind.as_str()), ("15 ms", "duration"));
    assert_eq!(target.summary, "The wait that is aimed at.");
    assert_eq!((target.min.as_deref(), target.max.as_deref()), (Some("1 ms"), Some("1 h")));
    assert_eq!((of("above").default.as_str(), of("above").kind.as_str()), ("never", "duration"));
    assert_eq!((of("ecn").default.as_str(), of("ecn").kind.as_str()), ("on", "on, off"));
    assert_eq!(of("pace").kind, "native, burst, or a number");
    assert_eq!((of("gain").default.as_str(), of("gain").max.as_deref()), ("0.5", Some("1000")));
}

/// A thing of several kinds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Several {
    /// One.
    Short {
        /// Hz.
        #[schemars(range(min = 1, max = 3))]
        gain: u32,
    },
    /// Another.
    Long {
        /// Hz.
        #[schemars(range(min = 4, max = 6))]
        gain: u32,
        /// Called so.
        name: String,
    },
}

#[test]
fn bounds_are_those_of_the_kind_that_is_given() {
    let schema = schema::<Several>();
    for (kind, gain, is_within) in
        [("short", 3, true), ("short", 4, false), ("long", 4, true), ("long", 3, false)]
    {
        let Value::Object(given) = json!({ "kind": kind, "gain": gain }) else { unreachable!() };
        assert_eq!(check_bounds(&schema, &given).is_ok(), is_within, "{kind} {gain}");
    }
}

#[test]
fn what_must_be_given_is_listed_as_required() {
    let several = schema::<Several>();
    let long: Schema = several.get("oneOf").unwrap()[1].clone().try_into().unwrap();
    let listed = list(&long);
    let of = |name: &str| listed.iter().find(|one| one.name == name).unwrap().clone();
    assert_eq!((of("name").default.as_str(), of("name").kind.as_str()), ("required", "text"));
    assert_eq!((of("gain").min.as_deref(), of("gain").max.as_deref()), (Some("4"), Some("6")));
}

/// A thing with tables.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Whole {
    /// fast or slow
    #[schemars(extend("examples" = ["5 ms"]))]
    time: Duration,
    /// one of two kinds
    wheel: Option<Wheel>,
    /// parts by name
    #[serde(default)]
    part: Vec<Part>,
    /// times and rates
    #[serde(default)]
    steps: Vec<(Duration, Rate)>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Wheel {
    Round {
        #[schemars(extend("x-max" = "1 s"))]
        turn: Duration,
    },
    Square {
        #[schemars(range(min = 4))]
        edges: u32,
    },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Part {
    name: String,
    #[schemars(extend("x-min" = "1 b/s"))]
    rate: Rate,
}

#[test]
fn a_table_in_a_table_is_checked_by_its_own_declaration() {
    let schema = schema::<Whole>();
    let check = |document: Value| {
        let Value::Object(document) = document else { panic!("a table") };
        check_document(&schema, &document).map_err(|error| error.to_string())
    };
    let part = |rate: &str| json!([{ "name": "axle", "rate": rate }]);
    for good in [
        json!({ "time": "1 ms", "wheel": null, "part": part("1 b/s"), "steps": [["0 s", "1 Mb/s"]] }),
        // Without a kind it is of the first.
        json!({ "time": "1 ms", "wheel": { "turn": "1 s" } }),
        json!({ "time": "1 ms", "wheel": { "kind": "square", "edges": 4 } }),
    ] {
        assert_eq!(check(good.clone()), Ok(()), "{good}");
    }
    for (wrong, told) in [
        (json!({}), "time: is missing; write for example \"5 ms\""),
        (json!({ "time": 1 }), "time: 1 has no unit; write for example \"5 ms\""),
        (json!({ "time": {} }), "time: {  } is no duration"),
        (json!({ "time": "1 ms", "wheel": "round" }), "wheel: \"round\" is no table"),
        (json!({ "time": "1 ms", "wheel": { "turn": "2 s" } }), "wheel.turn: 2 s is more than 1 s"),
        (
            json!({ "time": "1 ms", "wheel": { "kind": "square", "turn": "1 s" } }),
            "wheel.turn: is no option; known are edges, kind",
        ),
        (json!({ "time": "1 ms", "wheel": { "kind": "square" } }), "wheel.edges: is missing"),
        (
            json!({ "time": "1 ms", "wheel": { "kind": "oval" } }),
            "wheel.kind: unknown kind \"oval\"; known are round, square",
        ),
        (
            json!({ "time": "1 ms", "part": part("0 b/s") }),
            "part \"axle\": rate: 0 b/s is less than 1 b/s",
        ),
        (json!({ "time": "1 ms", "steps": [["0 s", "x"]] }), "steps.0.1: \"x\" has no number"),
        (json!({ "time": "1 ms", "steps": [["0 s"]] }), "steps.0: has 1 values instead of 2"),
        (json!({ "time": "1 ms", "steps": "1 s" }), "steps: \"1 s\" is no list"),
    ] {
        let refused = check(wrong.clone()).unwrap_err();
        assert!(refused.starts_with(told), "{wrong}: {refused}");
    }
}

#[test]
fn what_has_been_read_is_checked_for_bounds_alone() {
    let check = |value: Value| check_bounds(&schema::<Whole>(), value.as_object().unwrap());
    assert_eq!(check(json!({ "time": "1 ms", "mood": 3 })), Ok(()));
    let refused = check(json!({ "wheel": { "kind": "square", "edges": 3 } })).unwrap_err();
    assert_eq!(refused.to_string(), "wheel.edges: 3 is less than 4");
}

#[test]
fn what_declares_nothing_takes_nothing() {
    /// A thing without options.
    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Plain {}

    assert_eq!(read(&Options::new()), Ok(Plain {}));
    let options = Options::from_iter([("gain".to_owned(), json!(1))]);
    let refused = read::<Plain>(&options).unwrap_err();
    assert_eq!(refused.to_string(), "gain: is no option; there are none");
}
