//! The path of a link as a person gives it: in a file, changed by settings.

use crate::document::{self, from_anywhere};
use serde_json::{Map, Value};
use std::path::Path;

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
    let value = match toml(&format!("value = {text}")) {
        Ok(mut found) => found["value"].take(),
        Err(_) => text.trim().into(),
    };
    document::set(whole, &keys, value).map_err(wrong)
}
