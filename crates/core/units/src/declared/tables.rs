//! Values and tables, at any depth, checked by what a schema says of each key.

use super::listed::kind;
use super::{
    OptionError, Options, QUANTITY, WORDS, bounds, forms, is_number, several, single, text, types,
    words, written,
};
use crate::{Bytes, Duration, QueueSize, Rate, Ratio, SignedBytes};
use schemars::Schema;
use serde_json::{Map, Value};
use std::str::FromStr;

/// Whether what has been read is within the bounds that its schema declares, with all tables in it.
///
/// # Errors
/// The first that is not, and its bounds. Keys of tables in tables have dots between them.
pub fn check_bounds(schema: &Schema, options: &Options) -> Result<(), OptionError> {
    Look::Bounds.table(schema.as_value(), options)
}

/// Whether what has yet to be read is as its schema declares, with all tables in it: each key known, what is required there,
/// each quantity one, and within its bounds.
///
/// # Errors
/// The first that is not, and what is allowed. Keys of tables in tables have dots between them.
pub fn check_document(schema: &Schema, options: &Options) -> Result<(), OptionError> {
    Look::All.table(schema.as_value(), options)
}

/// How closely a value is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Bounds,
    All,
}

impl Look {
    fn table(self, declared: &Value, table: &Options) -> Result<(), OptionError> {
        let Some(form) = form(declared, table) else {
            return if self == Self::All { Err(no_form(declared, table)) } else { Ok(()) };
        };
        let known = form.get("properties").and_then(Value::as_object);
        let others = form.get("additionalProperties").filter(|one| one.is_object());
        if self == Self::All {
            check_keys(form, known, table)?;
        }
        table.iter().try_for_each(|(key, value)| {
            let declared = known.and_then(|known| known.get(key)).or(others);
            let checked = declared.map_or(Ok(()), |declared| self.value(declared, value));
            checked.map_err(|error| error.inside(key))
        })
    }

    fn value(self, declared: &Value, value: &Value) -> Result<(), OptionError> {
        match value {
            Value::Null => Ok(()),
            Value::Object(table) if forms(declared).next().is_some() => self.table(declared, table),
            Value::Array(list) if types(declared).any(|one| one == "array") => {
                self.list(declared, list)
            }
            one => self.single(declared, one).map_err(|why| OptionError { option: None, why }),
        }
    }

    /// A list whose items are alike, or each of its own sort. One that has a name is called by it.
    fn list(self, declared: &Value, list: &[Value]) -> Result<(), OptionError> {
        let own = declared.get("prefixItems").and_then(Value::as_array);
        let count = own.map_or(list.len(), Vec::len);
        if self == Self::All && list.len() != count {
            let why = format!("has {} values instead of {count}", list.len());
            return Err(OptionError { option: None, why });
        }
        list.iter().enumerate().try_for_each(|(index, item)| {
            let each = declared.get("items");
            let declared = own.and_then(|own| own.get(index)).or(each).unwrap_or(&Value::Null);
            self.value(declared, item).map_err(|error| {
                let name = item.get("name").and_then(Value::as_str);
                error.inside(&name.map_or_else(|| index.to_string(), |name| format!("\"{name}\"")))
            })
        })
    }

    fn single(self, declared: &Value, value: &Value) -> Result<(), String> {
        let shown = written(value);
        let instead = declared.get(WORDS).and_then(Value::as_array).into_iter().flatten();
        let words = words(declared);
        if words.contains(&shown) || instead.into_iter().any(|word| word == value) {
            return Ok(());
        }
        let (min, max) = bounds(declared);
        let quantity = text(single(declared), QUANTITY);
        let is_outside = match value {
            Value::Number(_) if is_number(declared) => number_is_outside(value, min, max),
            Value::String(text) if !quantity.is_empty() => {
                match outside_of_quantity(&quantity, text, min, max) {
                    // What has been read is none of those that are written so.
                    Err(_) if self == Self::Bounds => false,
                    read => read?,
                }
            }
            _ if self == Self::Bounds => false,
            _ => return check_type(declared, value, &words),
        };
        if !is_outside {
            return Ok(());
        }
        Err(match (min.map(written), max.map(written)) {
            (Some(min), Some(max)) => format!("{shown} is not between {min} and {max}"),
            (Some(min), None) => format!("{shown} is less than {min}"),
            (_, max) => format!("{shown} is more than {}", max.unwrap_or_default()),
        })
    }
}

impl OptionError {
    /// The same of an option of a table that is the option `key` of another.
    fn inside(self, key: &str) -> Self {
        let option = match self.option {
            None => key.to_owned(),
            Some(inner) if key.ends_with('"') => format!("{key}: {inner}"),
            Some(inner) if inner.starts_with('"') => format!("{key} {inner}"),
            Some(inner) => format!("{key}.{inner}"),
        };
        Self { option: Some(option), ..self }
    }
}

/// The kind that a form is of.
fn kind_of(form: &Value) -> Option<&Value> {
    form.get("properties")?.get("kind")?.get("const")
}

fn required(form: &Value) -> impl Iterator<Item = &str> {
    let required = form.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

/// The form that this table is of: by its kind, or by what it has.
fn form<'a>(declared: &'a Value, table: &Options) -> Option<&'a Value> {
    let all: Vec<&Value> = forms(declared).collect();
    let Some(&first) = all.first() else {
        // What declares no key at all is a table without any.
        return several(declared).next().is_none().then_some(declared);
    };
    if let Some(kind) = kind_of(first) {
        let kind = table.get("kind").unwrap_or(kind);
        return all.into_iter().find(|form| kind_of(form) == Some(kind));
    }
    let fits = |form: &Value| match form.get("properties") {
        Some(_) => required(form).all(|key| table.contains_key(key)),
        None => table.values().all(Value::is_object),
    };
    if all.len() == 1 { Some(first) } else { all.into_iter().find(|form| fits(form)) }
}

/// Why a table is of no form.
fn no_form(declared: &Value, table: &Options) -> OptionError {
    let kinds: Vec<&str> = forms(declared).filter_map(kind_of).filter_map(Value::as_str).collect();
    if kinds.is_empty() {
        let keys: Vec<&str> = forms(declared).flat_map(required).collect();
        return OptionError { option: None, why: format!("has none of {}", keys.join(", ")) };
    }
    let given = table.get("kind").map(written).unwrap_or_default();
    let why = format!("unknown kind \"{given}\"; known are {}", kinds.join(", "));
    OptionError { option: Some("kind".to_owned()), why }
}

/// Whether each key is known, and each that is required there.
fn check_keys(
    form: &Value,
    known: Option<&Map<String, Value>>,
    table: &Options,
) -> Result<(), OptionError> {
    let is_open = form.get("additionalProperties").is_some_and(|one| one != false);
    let is_known = |name: &&String| is_open || known.is_some_and(|known| known.contains_key(*name));
    if let Some(name) = table.keys().find(|name| !is_known(name)) {
        let all: Vec<&str> = known.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let known = match all.is_empty() {
            true => "there are none".to_owned(),
            false => format!("known are {}", all.join(", ")),
        };
        let why = format!("is no option; {known}");
        return Err(OptionError { option: Some(name.clone()), why });
    }
    // A table without a kind is of the first.
    let is_missing = |name: &&str| *name != "kind" && !table.contains_key(*name);
    let Some(name) = required(form).find(is_missing) else { return Ok(()) };
    let example = known.and_then(|known| known.get(name)?.get("examples")?.get(0)).map(written);
    let example = example.map(|one| format!("; write for example \"{one}\"")).unwrap_or_default();
    Err(OptionError { option: Some(name.to_owned()), why: format!("is missing{example}") })
}

/// Whether a value that is no quantity is of the right type.
fn check_type(declared: &Value, value: &Value, words: &[String]) -> Result<(), String> {
    let of = match value {
        Value::Bool(_) => "boolean",
        // Of one that may be a number, its bounds have been looked at.
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        _ => "object",
    };
    let all: Vec<&str> = types_of_all(declared).collect();
    let is_right = all.is_empty() || all.contains(&of);
    match (value, words) {
        // A word or something else is read by whoever knows what it means.
        (Value::String(text), [_, ..]) if !is_number(declared) => Err(match words {
            [one, other] => format!("unknown variant `{text}`, expected `{one}` or `{other}`"),
            all => format!("unknown variant `{text}`, expected one of `{}`", all.join("`, `")),
        }),
        _ if is_right || !words.is_empty() => Ok(()),
        (Value::String(text), _) => Err(format!("\"{text}\" is no {}", kind(declared))),
        (other, _) => Err(match example(declared) {
            Some(example) if other.is_number() && !text(single(declared), QUANTITY).is_empty() => {
                format!("{} has no unit; write for example \"{example}\"", written(other))
            }
            _ => format!("{} is no {}", written(other), kind(declared)),
        }),
    }
}

/// How a value of it is written.
fn example(declared: &Value) -> Option<String> {
    single(declared).get("examples")?.get(0).map(written)
}

/// The types that JSON Schema has of an option or of one of its forms.
fn types_of_all(declared: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    Box::new(types(declared).chain(several(declared).flat_map(types_of_all)))
}

fn number_is_outside(value: &Value, min: Option<&Value>, max: Option<&Value>) -> bool {
    let [value, min, max] = [Some(value), min, max].map(|one| one.and_then(Value::as_f64));
    let Some(value) = value else { return false };
    min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max)
}

fn outside_of_quantity(
    quantity: &str,
    value: &str,
    min: Option<&Value>,
    max: Option<&Value>,
) -> Result<bool, String> {
    let bounds = [min, max].map(|bound| bound.and_then(Value::as_str));
    match quantity {
        "duration" => quantity_is_outside::<Duration>(value, bounds),
        "rate" => quantity_is_outside::<Rate>(value, bounds),
        "bytes" => quantity_is_outside::<Bytes>(value, bounds),
        "signed bytes" => quantity_is_outside::<SignedBytes>(value, bounds),
        "share" => quantity_is_outside::<Ratio>(value, bounds),
        "queue size" => read::<QueueSize>(value).map(|_| false),
        _ => Ok(false),
    }
}

fn read<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A bound that is none lets nothing pass, so that the default of its option shows the mistake.
fn quantity_is_outside<T: FromStr<Err: ToString> + PartialOrd>(
    value: &str,
    [min, max]: [Option<&str>; 2],
) -> Result<bool, String> {
    let value: T = read(value)?;
    let breaks = |bound: &str, is_beyond: fn(&T, &T) -> bool| {
        bound.parse::<T>().map_or(true, |bound| is_beyond(&value, &bound))
    };
    Ok(min.is_some_and(|min| breaks(min, |value, min| value < min))
        || max.is_some_and(|max| breaks(max, |value, max| value > max)))
}
