//! The path of a link as experiment files write it: read from a file, changed by settings, brought into one form.

use gameway_experiment::spec::PathSpec;
use gameway_experiment::{RunError, check};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Keys whose texts are names of files.
const FILE_KEYS: [&str; 2] = ["trace", "file"];
/// Keys whose values are lists, whatever they say.
const LISTS: [&str; 2] = ["steps", "hop"];
/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slip {
    /// The key; empty where it is none in particular.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub why: String,
}

impl Slip {
    fn new(field: &str, why: String) -> Self {
        Self { field: field.to_owned(), why }
    }
}

impl From<RunError> for Slip {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Spec { field, why } => Self { field, why },
            RunError::Steps(error) => Self::new("path.capacity", error.to_string()),
            other => Self::new("", other.to_string()),
        }
    }
}

/// The table `path` of an experiment file, in which files are named from anywhere.
pub fn of_file(file: &Path) -> Result<Map<String, Value>, String> {
    let refused = |why: String| format!("--path: \"{}\" {why}", file.display());
    let place = if file.is_dir() { file.join("experiment.toml") } else { file.to_owned() };
    let text = std::fs::read_to_string(&place)
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    let document = toml(&text).map_err(|error| refused(format!("is no TOML: {error}")))?;
    let mut path = document.get("path").cloned().unwrap_or_default();
    if let Value::Array(list) = &mut path
        && list.len() == 1
    {
        path = list.remove(0);
    }
    let base = place.parent().map(|base| base.canonicalize().unwrap_or_else(|_| base.to_owned()));
    from_anywhere(&mut path, "", &base.unwrap_or_default());
    match path {
        Value::Object(path) => Ok(path),
        Value::Array(_) => Err(refused("has several paths, and a link has one".to_owned())),
        _ => Err(refused("has no table [path]".to_owned())),
    }
}

fn from_anywhere(value: &mut Value, key: &str, base: &Path) {
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

fn toml(text: &str) -> Result<Value, String> {
    toml_edit::de::from_str(text).map_err(|error: toml_edit::de::Error| error.to_string())
}

/// Sets a key: `path.queue.target=20 ms`. A text needs no quotation marks.
pub fn set(whole: &mut Value, setting: &str) -> Result<(), String> {
    let wrong = |why: &str| {
        format!("--set {setting}: {why}; write KEY=VALUE, for example path.queue.target=\"20 ms\"")
    };
    let (keys, text) = setting.split_once('=').ok_or_else(|| wrong("is no setting"))?;
    let keys: Vec<&str> = keys.split('.').map(str::trim).collect();
    let (last, way) = keys.split_last().ok_or_else(|| wrong("is no setting"))?;
    if way.first() != Some(&"path") {
        return Err(wrong("is no key of a path"));
    }
    let mut value = match toml(&format!("value = {text}")) {
        Ok(mut found) => found["value"].take(),
        Err(_) => text.trim().into(),
    };
    from_anywhere(&mut value, last, Path::new("."));
    let mut place = whole;
    for key in way {
        place = within(place, key).ok_or_else(|| wrong("leads through what is no table"))?;
    }
    *within(place, last).ok_or_else(|| wrong("leads through what is no table"))? = value;
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
pub fn read(mut path: Value) -> Result<PathSpec, Slip> {
    one_value_each(&mut path, "path")?;
    if let Value::Object(table) = &mut path {
        // It spreads repeats, and a link has none.
        table.remove("base_rtt_spread");
        check::check_path_document(table)?;
    }
    path.try_into().map_err(|error: serde_json::Error| Slip::new("path", error.to_string()))
}

/// Takes the value out of lists of one, which are axes of an experiment.
fn one_value_each(value: &mut Value, field: &str) -> Result<(), Slip> {
    let key = field.rsplit('.').next().unwrap_or_default();
    match value {
        Value::Array(list) if !LISTS.contains(&key) && !field.contains(".class.") => {
            if list.len() != 1 {
                let why = format!("has {} values, and a link has one path; give one", list.len());
                return Err(Slip::new(field, why));
            }
            *value = list.remove(0);
            one_value_each(value, field)
        }
        Value::Array(list) if key == "hop" => {
            list.iter_mut().try_for_each(|hop| one_value_each(hop, field))
        }
        Value::Object(table) => table
            .iter_mut()
            .try_for_each(|(key, value)| one_value_each(value, &format!("{field}.{key}"))),
        _ => Ok(()),
    }
}
