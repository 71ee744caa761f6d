//! Options of a command that are settings of a configuration.

use super::Refusal;
use crate::StreamError;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use gameway_units::declared::{self, Declared, Options};
use schemars::JsonSchema;
use serde_json::Value;

/// A setting and the option that sets it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name in the configuration.
    pub key: &'static str,
    /// Its option, without hyphens in front.
    pub option: &'static str,
}

/// Settings whose options have their names.
macro_rules! settings {
    ($($key:literal => $option:literal),+ $(,)?) => {
        &[$(Setting { key: $key, option: $option }),+]
    };
}
pub(super) use settings;

/// The command with the options of these settings of `T`.
pub fn with<T: JsonSchema>(command: Command, settings: &[Setting]) -> Command {
    let known = declared::list(&declared::schema::<T>());
    settings.iter().fold(command, |command, setting| {
        let declared = known.iter().find(|declared| declared.name == setting.key);
        match declared {
            Some(declared) if declared.kind == "boolean" => {
                let (on, off) = switch(setting, declared);
                command.arg(on).arg(off)
            }
            Some(declared) => command.arg(value(setting, declared)),
            None => command,
        }
    })
}

fn help(declared: &Declared, default: &str) -> String {
    let bounds = match (&declared.min, &declared.max) {
        (Some(min), Some(max)) => format!(", {min} to {max}"),
        (Some(min), None) => format!(", {min} or more"),
        (None, Some(max)) => format!(", {max} at most"),
        (None, None) => String::new(),
    };
    format!("{} [default: {default}{bounds}]", declared.summary)
}

fn value(setting: &Setting, declared: &Declared) -> Arg {
    let (kind, key) = (declared.kind.as_str(), setting.key);
    let arg = Arg::new(key).long(setting.option).help(help(declared, &declared.default));
    match kind {
        "integer" => arg.value_name("NUMBER").value_parser(value_parser!(i64)),
        "duration" => arg.value_name("TIME"),
        "rate" => arg.value_name("RATE"),
        "share" => arg.value_name("SHARE"),
        words if words.contains(", ") => {
            let words: Vec<String> = words.split(", ").map(str::to_owned).collect();
            arg.value_name("WORD").value_parser(PossibleValuesParser::new(words))
        }
        _ => arg.value_name(key.to_uppercase()),
    }
}

/// `--audio` and `--no-audio`: the last one counts.
fn switch(setting: &Setting, declared: &Declared) -> (Arg, Arg) {
    let off = format!("no-{}", setting.option);
    let default = if declared.default == "true" { setting.option } else { &off };
    let text = help(declared, default);
    let no = Arg::new(off.clone()).long(off.clone()).action(ArgAction::SetTrue);
    let yes = Arg::new(setting.key).long(setting.option).action(ArgAction::SetTrue);
    (yes.help(text).overrides_with(off), no.help("The opposite").overrides_with(setting.key))
}

/// What was given of these settings, by their names.
pub fn given(matches: &ArgMatches, settings: &[Setting]) -> Options {
    settings
        .iter()
        .filter_map(|setting| Some((setting.key.to_owned(), typed(matches, setting)?)))
        .collect()
}

fn typed(matches: &ArgMatches, Setting { key, option }: &Setting) -> Option<Value> {
    let is_given = |id: &str| {
        let known = matches.try_contains_id(id).is_ok();
        known && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let off = format!("no-{option}");
    if is_given(&off) {
        return Some(false.into());
    }
    if !is_given(key) {
        return None;
    }
    let number = matches.try_get_one::<i64>(key).ok().flatten().map(|number| (*number).into());
    let text = || Some(Value::from(matches.try_get_one::<String>(key).ok()??.as_str()));
    number.or_else(text).or(Some(true.into()))
}

/// An error of a setting in the words of its option.
pub fn as_typed(error: StreamError, settings: &[Setting]) -> Refusal {
    let (key, why) = match error {
        StreamError::Config { field, why } => (field.to_owned(), why),
        StreamError::Setting(error) => match error.option {
            Some(key) => (key, error.why),
            None => return Refusal::new(error.why),
        },
        other => return Refusal::new(other.to_string()),
    };
    let options: Vec<_> = settings.iter().map(|one| (one.key, one.option)).collect();
    Refusal::new(declared::as_typed(&key, &why, &options))
}

/// Each of these settings has its option in the command, which is sound in itself.
#[cfg(test)]
pub fn assert_options(command: Command, settings: &[Setting]) {
    command.clone().debug_assert();
    let options: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
    for setting in settings {
        assert!(options.contains(&setting.option), "{}", setting.option);
    }
}
