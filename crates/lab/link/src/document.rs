//! The path of a link as experiment files write it: changed by settings, brought into one form, read.

use gameway_experiment::spec::PathSpec;
use gameway_experiment::{RunError, check};
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// Keys whose texts are names of files.
const FILE_KEYS: [&str; 2] = ["trace", "file"];
/// Keys whose values are lists, whatever they say.
const LISTS: [&str; 3] = ["steps", "hop", "change"];
/// A key has no more parts than this.
const MAX_DEPTH: usize = 16;

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// The key; empty where it is none in particular.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub why: String,
}

impl PathError {
    fn new(field: &str, why: String) -> Self {
        Self { field: field.to_owned(), why }
    }
}

impl From<RunError> for PathError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Spec { field, why } => Self { field, why },
            RunError::Steps(error) => Self::new("path.capacity", error.to_string()),
            other => Self::new("", other.to_string()),
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, why } = self;
        if field.is_empty() {
            formatter.write_str(why)
        } else {
            write!(formatter, "{field}: {why}")
        }
    }
}

/// The names of files in it from anywhere, that are from `base`.
pub fn from_anywhere(value: &mut Value, key: &str, base: &Path) {
    match value {
        Value::Object(table) => {
            table.iter_mut().for_each(|(key, value)| from_anywhere(value, key, base));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| from_anywhere(value, key, base)),
        Value::String(text) if FILE_KEYS.contains(&key) => {
            let home = text.strip_prefix("~/").zip(std::env::var_os("HOME"));
            let place = home
                .map_or_else(|| base.join(&*text), |(rest, home)| PathBuf::from(home).join(rest));
            if place.is_file() {
                *text = std::path::absolute(&place).unwrap_or(place).display().to_string();
            }
        }
        _ => {}
    }
}

/// Sets a key in parts, of which the first must be "path"; what is wrong with it, if it cannot be.
pub fn set(whole: &mut Value, keys: &[&str], mut value: Value) -> Result<(), &'static str> {
    let (last, way) = keys.split_last().ok_or("is no setting")?;
    if way.first() != Some(&"path") {
        return Err("is no key of a path");
    }
    if keys.len() > MAX_DEPTH {
        return Err("has too many parts");
    }
    from_anywhere(&mut value, last, Path::new("."));
    let mut place = whole;
    for key in way {
        place = within(place, key).ok_or("leads through what is no table")?;
    }
    *within(place, last).ok_or("leads through what is no table")? = value;
    Ok(())
}

/// What a key means in a table, which is made; in a list, an index or the name of an item.
fn within<'a>(place: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match place {
        Value::Null => {
            *place = json!({});
            Some(&mut place[key])
        }
        Value::Object(table) => Some(table.entry(key).or_insert(Value::Null)),
        Value::Array(list) => {
            let index = key.parse().ok().filter(|index| *index < list.len());
            let named =
                || list.iter().position(|item| item.get("name").is_some_and(|name| name == key));
            let index = index.or_else(named)?;
            list.get_mut(index)
        }
        _ => None,
    }
}

/// The path of a run that a document means.
///
/// # Errors
/// The first key that cannot be so.
pub fn read(mut path: Value) -> Result<PathSpec, PathError> {
    one_value_each(&mut path, "path")?;
    if let Value::Object(table) = &mut path {
        // It spreads repeats, and a link has none.
        table.remove("base_rtt_spread");
        check::check_path_document(table)?;
    }
    path.try_into().map_err(|error: serde_json::Error| PathError::new("path", error.to_string()))
}

/// Takes the value out of lists of one, which are axes of an experiment.
fn one_value_each(value: &mut Value, field: &str) -> Result<(), PathError> {
    let key = field.rsplit('.').next().unwrap_or_default();
    match value {
        Value::Array(list) if !LISTS.contains(&key) && !field.contains(".class.") => {
            if list.len() != 1 {
                let why = format!("has {} values, and a link has one path; give one", list.len());
                return Err(PathError::new(field, why));
            }
            *value = list.remove(0);
            one_value_each(value, field)
        }
        Value::Array(list) if matches!(key, "hop" | "change") => {
            list.iter_mut().try_for_each(|table| one_value_each(table, field))
        }
        Value::Object(table) => table
            .iter_mut()
            .try_for_each(|(key, value)| one_value_each(value, &format!("{field}.{key}"))),
        _ => Ok(()),
    }
}
