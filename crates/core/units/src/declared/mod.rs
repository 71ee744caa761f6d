//! Options that are declared once, as the fields of a struct: read from a file, checked, listed and described alike.
//!
//! The struct derives serde's traits and schemars' [`JsonSchema`]. A field's type says what it is and in which unit, its
//! documentation what it does, and [`Default`] what it is if a file does not say. Bounds are attributes:
//! `#[schemars(range(min = 0.0, max = 1e3))]` of a number, `#[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]` of a
//! quantity. `"x-none"` is the word for nothing: what an `Option` is if it is `None`. A number may be written as text, a word
//! that is a number without quotation marks, and what is on or off as a truth.
//!
//! What has options and a name is a [`Configuration`]; what can be named in one place is a [`Catalogue`].

mod catalogue;
mod typed;

pub use catalogue::{Catalogue, Configuration, Description, Entry, unknown};
pub use typed::as_typed;

use crate::{Bytes, Duration, Rate, Ratio, SignedBytes};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Number, Value};
use std::{slice, str::FromStr};

/// Keyword of a schema that says which quantity a text is.
pub const QUANTITY: &str = "x-quantity";
/// Keyword of a schema: the least value of a quantity, as text with a unit.
pub const MIN: &str = "x-min";
/// Keyword of a schema: the greatest value of a quantity, as text with a unit.
pub const MAX: &str = "x-max";
/// Keyword of a schema: the word for nothing.
pub const NONE: &str = "x-none";

/// Options as a file has them.
pub type Options = Map<String, Value>;

/// Why options cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", option.as_ref().map_or_else(String::new, |option| format!("{option}: ")))]
pub struct OptionError {
    /// Which one; `None` where it is none in particular.
    pub option: Option<String>,
    /// What is wrong with it, and what is allowed.
    pub why: String,
}

/// An option, for lists and pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Declared {
    /// Its name in files.
    pub name: String,
    /// The value if a file does not say, as it would be written.
    pub default: String,
    /// What it does.
    pub summary: String,
    /// What it is: "duration", "rate", "number", "on or off", or the words that it can be.
    pub kind: String,
    /// The least value.
    pub min: Option<String>,
    /// The greatest value.
    pub max: Option<String>,
}

/// The schema of options, with nothing referred to.
#[must_use]
pub fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// Options of this type.
///
/// # Errors
/// The first option that is unknown, of the wrong type or out of bounds, and what is allowed.
pub fn read<T: DeserializeOwned + JsonSchema>(options: &Options) -> Result<T, OptionError> {
    read_as(&schema::<T>(), options)
}

/// [`read`] by a schema that may know more options, which are for somebody else.
///
/// # Errors
/// As of [`read`].
pub fn read_as<T: DeserializeOwned>(schema: &Schema, options: &Options) -> Result<T, OptionError> {
    let options = normal(schema, options);
    check(schema, &options)?;
    let parse = |options: Options| serde_json::from_value::<T>(Value::Object(options));
    parse(options.clone()).map_err(|error| {
        // Which one it is shows when each is read alone.
        let alone = |(name, value): (&String, &Value)| {
            let why = parse(Options::from_iter([(name.clone(), value.clone())])).err()?.to_string();
            Some(OptionError { option: Some(name.clone()), why })
        };
        let found = options.iter().find_map(alone);
        found.unwrap_or_else(|| OptionError { option: None, why: error.to_string() })
    })
}

/// Options as their types have them, whichever way they are written.
fn normal(schema: &Schema, options: &Options) -> Options {
    let known = properties(schema);
    let of = |(name, value): (&String, &Value)| {
        let declared = known.and_then(|known| known.get(name));
        (name.clone(), declared.map_or_else(|| value.clone(), |one| normal_value(one, value)))
    };
    options.iter().map(of).collect()
}

fn normal_value(declared: &Value, value: &Value) -> Value {
    if !(value.is_string() || value.is_number() || value.is_boolean()) {
        return value.clone();
    }
    let written = written(value);
    // A default that is a quantity is read as one.
    if written == text(declared, NONE) && written.starts_with(char::is_alphabetic) {
        return Value::Null;
    }
    let switched = match written.as_str() {
        "true" => "on",
        "false" => "off",
        other => other,
    };
    if words(declared).iter().any(|word| word == switched) {
        return switched.into();
    }
    let number = written.parse::<Number>().ok().filter(|_| is_number(declared));
    number.map_or_else(|| value.clone(), Value::Number)
}

/// Whether each option is known, and within its bounds if it is a number or a quantity.
fn check(schema: &Schema, options: &Options) -> Result<(), OptionError> {
    let known = properties(schema);
    let is_known = |name: &&String| known.is_some_and(|known| known.contains_key(*name));
    if let Some(name) = options.keys().find(|name| !is_known(name)) {
        let all: Vec<&str> = known.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let known = match all.is_empty() {
            true => "there are none".to_owned(),
            false => format!("known are {}", all.join(", ")),
        };
        let why = format!("is no option; {known}");
        return Err(OptionError { option: Some(name.clone()), why });
    }
    check_bounds(schema, options)
}

/// Whether each option is within the bounds that the schema declares.
///
/// # Errors
/// The first that is not, and its bounds.
pub fn check_bounds(schema: &Schema, options: &Options) -> Result<(), OptionError> {
    let Some(known) = properties(schema) else { return Ok(()) };
    for (name, declared) in known {
        let Some(value) = options.get(name) else { continue };
        let (min, max) = bounds(declared);
        if is_outside(declared, value, min.as_ref(), max.as_ref()) {
            let shown = |bound: Option<Value>| bound.as_ref().map_or_else(String::new, written);
            let why = match (shown(min), shown(max)) {
                (min, max) if max.is_empty() => format!("{} is less than {min}", written(value)),
                (min, max) if min.is_empty() => format!("{} is more than {max}", written(value)),
                (min, max) => format!("{} is not between {min} and {max}", written(value)),
            };
            return Err(OptionError { option: Some(name.clone()), why });
        }
    }
    Ok(())
}

/// The options of a schema by name.
#[must_use]
pub fn list(schema: &Schema) -> Vec<Declared> {
    let options = properties(schema).into_iter().flatten();
    options
        .map(|(name, declared)| {
            let (min, max) = bounds(declared);
            Declared {
                name: name.clone(),
                default: default(declared),
                summary: text(declared, "description").replace('\n', " "),
                kind: kind(declared),
                min: min.as_ref().map(written),
                max: max.as_ref().map(written),
            }
        })
        .collect()
}

fn properties(schema: &Schema) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn text(declared: &Value, keyword: &str) -> String {
    declared.get(keyword).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn bounds(declared: &Value) -> (Option<Value>, Option<Value>) {
    let either =
        |quantity, number| declared.get(quantity).or_else(|| declared.get(number)).cloned();
    (either(MIN, "minimum"), either(MAX, "maximum"))
}

fn default(declared: &Value) -> String {
    match declared.get("default") {
        None | Some(Value::Null) => match text(declared, NONE) {
            word if word.is_empty() => "none".to_owned(),
            word => word,
        },
        Some(value) => written(value),
    }
}

/// A value as a file has it, without quotation marks.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // A whole number is written without its point.
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn kind(declared: &Value) -> String {
    let words = words(declared);
    match text(declared, QUANTITY) {
        _ if !words.is_empty() && is_number(declared) => {
            format!("{}, or a number", words.join(", "))
        }
        _ if !words.is_empty() => words.join(", "),
        quantity if quantity.is_empty() => types(declared).next().unwrap_or("table").to_owned(),
        quantity => quantity,
    }
}

/// The types that JSON Schema has of an option.
fn types(declared: &Value) -> impl Iterator<Item = &str> {
    let types = declared.get("type").into_iter();
    types
        .flat_map(|one| one.as_array().map_or(slice::from_ref(one), Vec::as_slice))
        .filter_map(Value::as_str)
}

/// Whether it may be a number.
fn is_number(declared: &Value) -> bool {
    types(declared).any(|one| one == "number" || one == "integer")
        || several(declared).any(is_number)
}

/// The schemas of which an option fits one.
fn several(declared: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|one| declared.get(one)?.as_array()).flatten()
}

/// The words that an option can be: a list, or one of several schemas.
fn words(declared: &Value) -> Vec<String> {
    let listed = declared.get("enum").and_then(Value::as_array).into_iter().flatten();
    let own = listed.chain(declared.get("const")).filter_map(Value::as_str).map(str::to_owned);
    own.chain(several(declared).flat_map(words)).collect()
}

fn is_outside(declared: &Value, value: &Value, min: Option<&Value>, max: Option<&Value>) -> bool {
    if let Some(number) = value.as_f64() {
        let bound = |value: Option<&Value>| value.and_then(Value::as_f64);
        return bound(min).is_some_and(|min| number < min)
            || bound(max).is_some_and(|max| number > max);
    }
    let (Some(value), quantity) = (value.as_str(), text(declared, QUANTITY)) else { return false };
    let (min, max) = (min.and_then(Value::as_str), max.and_then(Value::as_str));
    match quantity.as_str() {
        "duration" => quantity_is_outside::<Duration>(value, min, max),
        "rate" => quantity_is_outside::<Rate>(value, min, max),
        "bytes" => quantity_is_outside::<Bytes>(value, min, max),
        "signed bytes" => quantity_is_outside::<SignedBytes>(value, min, max),
        "share" => quantity_is_outside::<Ratio>(value, min, max),
        _ => false,
    }
}

/// What is no quantity is not outside: it is refused where it is read. A bound that is none lets nothing pass, so that the
/// default of its option shows the mistake.
fn quantity_is_outside<T: FromStr + PartialOrd>(
    value: &str,
    min: Option<&str>,
    max: Option<&str>,
) -> bool {
    let Ok(value) = value.parse::<T>() else { return false };
    let breaks = |bound: &str, is_beyond: fn(&T, &T) -> bool| {
        bound.parse::<T>().map_or(true, |bound| is_beyond(&value, &bound))
    };
    min.is_some_and(|min| breaks(min, |value, min| value < min))
        || max.is_some_and(|max| breaks(max, |value, max| value > max))
}

/// Something that is written as text, for fields whose type reads and writes itself so: `#[serde(with = "as_text")]`.
pub mod as_text {
    use super::{Deserialize, FromStr};
    use serde::de::Error;
    use serde::{Deserializer, Serializer};
    use std::borrow::Cow;
    use std::fmt::Display;

    /// Writes it.
    ///
    /// # Errors
    /// As the serializer's.
    pub fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    /// Reads it.
    ///
    /// # Errors
    /// If the text is none of this type.
    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Something that is on or off, for fields that are `bool`: `#[serde(with = "on_off")]`.
pub mod on_off {
    use super::{Deserialize, JsonSchema, Serialize};
    use serde::{Deserializer, Serializer};

    /// How it is written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[expect(missing_docs, reason = "they say it themselves")]
    pub enum Switch {
        On,
        Off,
    }

    /// Writes "on" or "off".
    ///
    /// # Errors
    /// As the serializer's.
    pub fn serialize<S: Serializer>(is_on: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        if *is_on { Switch::On } else { Switch::Off }.serialize(serializer)
    }

    /// Reads "on" or "off".
    ///
    /// # Errors
    /// If it is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        Ok(Switch::deserialize(deserializer)? == Switch::On)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let thing =
            Thing { gain: 2.0, ecn: false, pace: Pace::Multiplier(2.0), ..Thing::default() };
        for given in [
            json!({ "gain": 2, "ecn": "off", "pace": 2, "above": "never" }),
            json!({ "gain": "2", "ecn": false, "pace": "2", "above": null }),
            json!({ "gain": "2.0", "ecn": "false", "pace": 2.0 }),
        ] {
            assert_eq!(read_thing(given.clone()).as_ref(), Ok(&thing), "{given}");
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
            (json!({ "gain": "much" }), "gain: invalid type: string \"much\", expected f64"),
            (json!({ "pace": 0.5 }), "pace: 0.5 is less than 1"),
            (json!({ "pace": "slow" }), "pace: is neither native nor burst nor a number"),
            (json!({ "above": "always" }), "above: \"always\" has no number"),
            (json!({ "ecn": "yes" }), "ecn: unknown variant `yes`, expected `on` or `off`"),
            (json!({ "aim": 1 }), "aim: is no option; known are above, ecn, gain, pace, target"),
        ] {
            let refused = read_thing(given.clone()).unwrap_err();
            assert!(refused.contains(told), "{given}: {refused}");
        }
    }

    #[test]
    fn a_list_has_defaults_sentences_and_bounds() {
        let listed = list(&schema::<Thing>());
        let of = |name: &str| listed.iter().find(|one| one.name == name).unwrap().clone();
        let target = of("target");
        assert_eq!((target.default.as_str(), target.kind.as_str()), ("15 ms", "duration"));
        assert_eq!(target.summary, "The wait that is aimed at.");
        assert_eq!((target.min.as_deref(), target.max.as_deref()), (Some("1 ms"), Some("1 h")));
        assert_eq!(
            (of("above").default.as_str(), of("above").kind.as_str()),
            ("never", "duration")
        );
        assert_eq!((of("ecn").default.as_str(), of("ecn").kind.as_str()), ("on", "on, off"));
        assert_eq!(of("pace").kind, "native, burst, or a number");
        assert_eq!((of("gain").default.as_str(), of("gain").max.as_deref()), ("0.5", Some("1000")));
    }
}
