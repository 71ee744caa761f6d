//! Bounds of declared options: each kind of quantity, at its bounds and one step beyond.

use gameway_units::declared::{
    Catalogue, Configuration, Description, Options, check_bounds, check_document, list, read,
    schema,
};
use gameway_units::{Bytes, Duration, QueueSize, Rate, Ratio, SignedBytes};
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

/// An option of each sort that is more than a quantity.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Mixed {
    name: String,
    #[serde(default)]
    is_first: bool,
    #[serde(default)]
    speed: Speed,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(default)]
    size: Option<QueueSize>,
    #[serde(default = "buffer")]
    #[schemars(extend("x-unit" = "B"))]
    buffer: Bytes,
    #[serde(default = "buffer")]
    #[schemars(extend("x-words" = ["all"]))]
    socket: Bytes,
}

const fn buffer() -> Bytes {
    Bytes::new(64_000)
}

/// As it is, or as it changes.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Speed {
    Constant(Rate),
    Varying(Varying),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Varying {
    file: String,
    factor: Option<f64>,
}

impl Default for Speed {
    fn default() -> Self {
        Self::Varying(Varying { file: "a.csv".into(), factor: None })
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Limits {
    least: Option<u32>,
}

impl Configuration for Mixed {
    const NAME: &'static str = "mixed";
    const SUMMARY: &'static str = "of all sorts";
    const SOURCE: &'static str = "";
}

#[test]
fn an_option_is_listed_as_it_would_be_written() {
    let listed = Description::of::<Mixed>().options();
    let of = |name: &str| {
        let one = listed.iter().find(|one| one.name == name).expect("declared");
        (one.default.clone(), one.kind.clone())
    };
    for (name, default, kind) in [
        ("name", "required", "text"),
        ("is_first", "false", "boolean"),
        ("speed", "{ file = \"a.csv\" }", "rate or table"),
        ("limits", "none", "table"),
        ("parts", "none", "list"),
        ("buffer", "64000 B", "bytes"),
        ("socket", "64 kB", "all or bytes"),
    ] {
        assert_eq!(of(name), (default.to_owned(), kind.to_owned()), "{name}");
    }
}

#[test]
fn a_value_of_another_sort_is_refused_before_it_is_read_and_may_be_bounded_after() {
    let declared = schema::<Mixed>();
    let with = |option: &str, value: &Value| {
        Options::from_iter([("name".to_owned(), json!("x")), (option.to_owned(), value.clone())])
    };
    for (option, value) in [
        ("is_first", json!(true)),
        ("speed", json!("5 Mb/s")),
        ("speed", json!({ "file": "b.csv", "factor": 2 })),
        ("limits", json!({})),
        ("parts", json!(["a"])),
        ("size", json!("2 bdp")),
        ("socket", json!("all")),
    ] {
        assert_eq!(check_document(&declared, &with(option, &value)), Ok(()), "{option}: {value}");
    }
    for (option, value, told) in [
        ("is_first", json!("x"), "is_first: \"x\" is no boolean"),
        ("name", json!(["x"]), "name: [\"x\"] is no text"),
        ("speed", json!("5 ms"), "speed: \"5 ms\" has \"ms\" as unit"),
        ("limits", json!(3), "limits: 3 is no table"),
        ("limits", json!([3]), "limits: [3] is no table"),
        ("parts", json!(true), "parts: true is no list"),
        ("size", json!("2 m"), "size: \"2 m\" has \"m\" as unit"),
        ("socket", json!("none"), "socket: \"none\" has no number"),
    ] {
        let options = with(option, &value);
        let refused = check_document(&declared, &options).map_err(|error| error.to_string());
        assert!(refused.clone().is_err_and(|why| why.starts_with(told)), "{option}: {refused:?}");
        // What has been read may stand for something else by now.
        assert_eq!(check_bounds(&declared, &options), Ok(()), "{option}");
    }
    let large = refused("at_most", &json!(9_007_199_254_740_993_u64));
    assert_eq!(large.as_deref(), Some("at_most: 9007199254740993 is more than 2"));
}

#[test]
fn a_catalogue_keeps_its_names_with_other_functions() {
    let lengths = Catalogue::default().with(Description::of::<Mixed>(), 5).map(|length| length + 1);
    assert_eq!(lengths.names().collect::<Vec<_>>(), ["mixed"]);
    assert_eq!(lengths.get("thing", "mixed").map(|one| one.functions), Ok(6));
}
