//! Options that are declared once, as the fields of a struct: read from a file, checked, listed and described alike.
//!
//! The struct derives serde's traits and schemars' [`JsonSchema`]. A field's type says what it is and in which unit, its
//! documentation what it does, and [`Default`] what it is if a file does not say. Bounds are attributes:
//! `#[schemars(range(min = 0.0, max = 1e3))]` of a number, `#[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]` of a
//! quantity. `"x-none"` is the word for nothing: what an `Option` is if it is `None`. A number may be written as text, a word
//! that is a number without quotation marks, and what is on or off as a truth.
//!
//! An option may be a table, or one of several kinds of tables; a table without `kind` is of the first.
//!
//! What has options and a name is a [`Configuration`]; what can be named in one place is a [`Catalogue`].

mod catalogue;
mod listed;
mod tables;
mod typed;

pub use catalogue::{Catalogue, Configuration, Description, Entry, unknown};
pub use listed::{Declared, list};
pub use tables::{check_bounds, check_document};
pub use typed::as_typed;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Number, Value};
use std::str::FromStr;
use std::{iter, slice};

/// Keyword of a schema that says which quantity a text is.
pub const QUANTITY: &str = "x-quantity";
/// Keyword of a schema: the least value of a quantity, as text with a unit.
pub const MIN: &str = "x-min";
/// Keyword of a schema: the greatest value of a quantity, as text with a unit.
pub const MAX: &str = "x-max";
/// Keyword of a schema: the word for nothing.
pub const NONE: &str = "x-none";
/// Keyword of a schema: what may stand in place of a quantity.
pub const WORDS: &str = "x-words";
/// Keyword of a schema: the only unit in which a quantity is written.
pub const UNIT: &str = "x-unit";

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
    check_document(schema, &options)?;
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

fn properties(schema: &Schema) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn text(declared: &Value, keyword: &str) -> String {
    declared.get(keyword).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What is declared of the single value that an option can be, which may be one of several forms.
fn single(declared: &Value) -> &Value {
    let is_own = [QUANTITY, "minimum", "maximum"].iter().any(|&key| declared.get(key).is_some());
    let found =
        (!is_own).then(|| several(declared).map(single).find(|one| one.get(QUANTITY).is_some()));
    found.flatten().unwrap_or(declared)
}

fn bounds(declared: &Value) -> (Option<&Value>, Option<&Value>) {
    let declared = single(declared);
    let either = |quantity, number| declared.get(quantity).or_else(|| declared.get(number));
    (either(MIN, "minimum"), either(MAX, "maximum"))
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
        Value::Object(table) => {
            let parts = table.iter().filter(|(_, part)| !part.is_null());
            let parts: Vec<_> =
                parts.map(|(key, part)| format!("{key} = {}", quoted(part))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        other => other.to_string(),
    }
}

/// A value of a table, as a file has it.
fn quoted(value: &Value) -> String {
    if value.is_string() { value.to_string() } else { written(value) }
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

/// The tables that an option can be: its own, or each of several; not those of nothing that is known.
fn forms(declared: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    let is_table = declared.get("properties").is_some()
        || declared.get("additionalProperties").is_some_and(Value::is_object);
    match is_table {
        true => Box::new(iter::once(declared)),
        false => Box::new(several(declared).flat_map(forms)),
    }
}

/// The words that an option can be: a list, or one of several schemas.
fn words(declared: &Value) -> Vec<String> {
    let listed = declared.get("enum").and_then(Value::as_array).into_iter().flatten();
    let own = listed.chain(declared.get("const")).filter_map(Value::as_str).map(str::to_owned);
    own.chain(several(declared).flat_map(words)).collect()
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
mod tests;
