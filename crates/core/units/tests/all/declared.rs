//! Bounds of declared options: each kind of quantity, at its bounds and one step beyond.

use gameway_units::declared::{Options, list, read, schema};
use gameway_units::{Bytes, Duration, Rate, Ratio, SignedBytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Bounded {
    #[schemars(extend("x-min" = "1 ms", "x-max" = "2 ms"))]
    duration: Duration,
    #[schemars(extend("x-min" = "1 Mb/s", "x-max" = "2 Mb/s"))]
    rate: Rate,
    #[schemars(extend("x-min" = "1 kB", "x-max" = "2 kB"))]
    bytes: Bytes,
    #[schemars(extend("x-min" = "-64 B", "x-max" = "256 B"))]
    signed: SignedBytes,
    #[schemars(extend("x-min" = "10 %", "x-max" = "20 %"))]
    share: Ratio,
    #[schemars(range(min = 1.0, max = 2.0))]
    number: f64,
    #[schemars(range(min = 1))]
    count: u32,
    #[schemars(range(max = 2.0))]
    at_most: f64,
    /// Whether it has a default.
    word: Option<String>,
}

fn refused(option: &str, value: &Value) -> Option<String> {
    let options = Options::from_iter([(option.to_owned(), value.clone())]);
    read::<Bounded>(&options).err().map(|error| error.to_string())
}

#[test]
fn a_bound_is_allowed_and_one_step_beyond_is_not() {
    for (option, allowed, beyond) in [
        ("duration", ["1 ms", "2 ms"], ["999 us", "2001 us"]),
        ("rate", ["1 Mb/s", "2 Mb/s"], ["999999 b/s", "2000001 b/s"]),
        ("bytes", ["1 kB", "2 kB"], ["999 B", "2001 B"]),
        ("signed", ["-64 B", "256 B"], ["-65 B", "257 B"]),
        ("share", ["10 %", "20 %"], ["9.9999 %", "20.0001 %"]),
    ] {
        for value in allowed {
            assert_eq!(refused(option, &json!(value)), None, "{option}");
        }
        for value in beyond {
            let why = refused(option, &json!(value)).unwrap_or_default();
            assert!(why.starts_with(&format!("{option}: {value} is not between")), "{why}");
        }
    }
    for (value, is_allowed) in [(1.0, true), (2.0, true), (0.999, false), (2.001, false)] {
        assert_eq!(refused("number", &json!(value)).is_none(), is_allowed, "{value}");
    }
}

#[test]
fn a_bound_on_one_side_is_named_alone() {
    assert_eq!(refused("count", &json!(0)).as_deref(), Some("count: 0 is less than 1"));
    assert_eq!(refused("at_most", &json!(2.5)).as_deref(), Some("at_most: 2.5 is more than 2"));
}

#[test]
fn what_has_no_default_and_no_word_for_it_says_none() {
    let listed = list(&schema::<Bounded>());
    let of = |name: &str| listed.iter().find(|one| one.name == name).cloned().expect("declared");
    assert_eq!((of("word").default.as_str(), of("word").kind.as_str()), ("none", "text"));
    assert_eq!((of("count").default.as_str(), of("count").kind.as_str()), ("0", "integer"));
    assert_eq!(of("rate").kind, "rate");
}
