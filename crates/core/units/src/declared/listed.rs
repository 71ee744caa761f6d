//! Options by name, for lists and pages.

use super::{
    NONE, QUANTITY, UNIT, WORDS, bounds, forms, is_number, properties, single, text, types, words,
    written,
};
use crate::Bytes;
use schemars::Schema;
use serde::Serialize;
use serde_json::Value;

/// An option, for lists and pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Declared {
    /// Its name in files.
    pub name: String,
    /// The value if a file does not say, as it would be written; "required" if it must.
    pub default: String,
    /// What it does.
    pub summary: String,
    /// What it is: "duration", "rate", "number", "text", "table", or the words that it can be.
    pub kind: String,
    /// The least value.
    pub min: Option<String>,
    /// The greatest value.
    pub max: Option<String>,
}

/// The options of a schema by name.
#[must_use]
pub fn list(schema: &Schema) -> Vec<Declared> {
    let required = schema.get("required").and_then(Value::as_array);
    let of = |(name, declared): (&String, &Value)| {
        let (min, max) = bounds(declared);
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        Declared {
            name: name.clone(),
            default: default(declared, if is_required { "required" } else { "none" }),
            summary: text(declared, "description").replace('\n', " "),
            kind: kind(declared),
            min: min.map(written),
            max: max.map(written),
        }
    };
    properties(schema).into_iter().flatten().map(of).collect()
}

fn default(declared: &Value, otherwise: &str) -> String {
    // A table of which nothing is set is as good as none.
    let is_set = |value: &&Value| match value {
        Value::Null => false,
        Value::Object(parts) => parts.values().any(|part| !part.is_null()),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    match (declared.get("default").filter(is_set).map(written), text(declared, NONE)) {
        (Some(value), _) if text(declared, UNIT) == "B" => match value.parse::<Bytes>() {
            Ok(bytes) => format!("{} B", bytes.get()),
            Err(_) => value,
        },
        (Some(value), _) => value,
        (None, word) if word.is_empty() => otherwise.to_owned(),
        (None, word) => word,
    }
}

/// What an option is.
pub(super) fn kind(declared: &Value) -> String {
    let mut listed = words(declared);
    let instead = declared.get(WORDS).and_then(Value::as_array).into_iter().flatten();
    let instead: Vec<&str> = instead.filter_map(Value::as_str).collect();
    let quantity = text(single(declared), QUANTITY);
    if is_number(declared) && !listed.is_empty() {
        return format!("{}, or a number", listed.join(", "));
    }
    if !quantity.is_empty() && listed.is_empty() {
        let table = forms(declared).next().map(|_| "table");
        return [instead, vec![&quantity], table.into_iter().collect()].concat().join(" or ");
    }
    if listed.is_empty() {
        let types: Vec<&str> = types(declared).filter(|&one| one != "null").collect();
        listed.push(match types[..] {
            ["string", "object"] => "name or table".to_owned(),
            ["string", "integer"] => "text or integer".to_owned(),
            [] | ["object", ..] => "table".to_owned(),
            ["string", ..] => "text".to_owned(),
            ["array", ..] => "list".to_owned(),
            [other, ..] => other.to_owned(),
        });
    }
    listed.join(", ")
}
