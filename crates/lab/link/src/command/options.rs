//! What a person types of a link, and the path that it means.

use crate::link::LinkConfig;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use gameway_units::{Duration, QueueSize, Rate, Ratio};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The option of each key of a path that has one, beside that of the capacity; the nearest table counts.
const KEYS: [(&str, &str); 6] = [
    ("path.base_rtt", "--rtt"),
    ("path.queue.size", "--size"),
    ("path.queue", "--queue"),
    ("path.loss", "--loss"),
    ("path.jitter", "--jitter"),
    ("path.back.capacity", "--up-capacity"),
];
/// Options that say how the capacity is; they exclude each other.
const CAPACITIES: [&str; 3] = ["capacity", "trace", "steps"];
/// Keys whose texts are names of files.
const FILE_KEYS: [&str; 2] = ["trace", "file"];

/// The command, by this name.
pub fn command(name: &'static str) -> Command {
    let text = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help)
    };
    let path = |arg: Arg| arg.value_parser(value_parser!(PathBuf));
    Command::new(name)
        .about(
            "Run a command behind an emulated path, in real time; needs root.\n\nThe command runs in a network namespace of \
             its own. This machine is reachable from there under the address in the environment variable GAMEWAY_OUTSIDE; \
             what this machine sends there passes the path's capacity, queue, loss and delay. The exit code is the command's.",
        )
        .after_help(format!(
            "Example: {name} --capacity \"25 Mb/s\" --rtt \"20 ms\" -- sh -c 'ping -c 5 $GAMEWAY_OUTSIDE'\n\
             Next: --out FOLDER keeps the tables; docs/link.md says what is in them."
        ))
        .version(env!("CARGO_PKG_VERSION"))
        .arg(text("capacity", "RATE", "Towards the command: \"25 Mb/s\"").value_parser(is::<Rate>))
        .arg(text("rtt", "TIME", "Of the empty path: \"20 ms\"").value_parser(is::<Duration>))
        .arg(text("queue", "KIND", "The queue's discipline: drop-tail, codel, fq-codel, cake, pie, dual-pi2, ... [default: drop-tail]"))
        .arg(text("size", "SIZE", "Of the queue: \"2 bdp\", \"64 KiB\", \"100 packets\"").value_parser(is::<QueueSize>))
        .arg(text("loss", "SHARE", "Share of packets: \"1 %\"").value_parser(is::<Ratio>))
        .arg(text("jitter", "TIME", "Standard deviation of the delay").value_parser(is::<Duration>))
        .arg(path(text("trace", "FILE", "A capacity that follows a recording: Mahimahi's format or a table")))
        .arg(text("steps", "STEPS", "A capacity in steps: \"0 s: 20 Mb/s, 40 s: 10 Mb/s\""))
        .arg(text("up-capacity", "RATE", "From the command").value_parser(is::<Rate>))
        .arg(text("set", "KEY=VALUE", "Any other key: --set path.queue.target=\"20 ms\". May be repeated").action(ArgAction::Append))
        .arg(path(text("path", "FILE", "The path of an experiment file")))
        .arg(Arg::new("nat").long("nat").action(ArgAction::SetTrue).help("Let the command reach what this machine reaches"))
        .arg(path(text("out", "FOLDER", "Keep the tables here").short('o')))
        .arg(path(text("pcap", "FILE", "Write the headers of all packets here: pcapng")))
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(1..)
                .required(true)
                .trailing_var_arg(true)
                .value_parser(value_parser!(OsString))
                .help("What runs behind the link"),
        )
}

/// The text, if it is a `T`: files have it as it is written.
fn is<T: FromStr<Err: Display>>(text: &str) -> Result<String, String> {
    text.parse::<T>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn typed<'a>(matches: &'a ArgMatches, id: &str) -> Option<&'a str> {
    matches.get_one::<String>(id).map(String::as_str)
}

/// The path as experiment files have it.
///
/// # Errors
/// What is wrong, with the option.
pub fn path(matches: &ArgMatches) -> Result<Value, String> {
    let mut path = match matches.get_one::<PathBuf>("path") {
        Some(file) => path_of_file(file)?,
        None => Map::new(),
    };
    let given: Vec<&str> = CAPACITIES.into_iter().filter(|id| matches.contains_id(id)).collect();
    if let [first, second, ..] = given[..] {
        return Err(format!("--{first} and --{second}: exclude each other; give one"));
    }
    if let Some(capacity) = typed(matches, "capacity") {
        path.insert("capacity".to_owned(), capacity.into());
    }
    if let Some(trace) = matches.get_one::<PathBuf>("trace") {
        if !trace.is_file() {
            return Err(format!("--trace: \"{}\" names no file", trace.display()));
        }
        path.insert("capacity".to_owned(), json!({ "trace": trace }));
    }
    if let Some(steps) = typed(matches, "steps") {
        path.insert("capacity".to_owned(), json!({ "steps": steps_of(steps)? }));
    }
    path.extend(typed(matches, "rtt").map(|text| ("base_rtt".to_owned(), text.into())));
    let (queue, size) = (typed(matches, "queue"), typed(matches, "size"));
    if queue.is_some() || size.is_some() || !path.contains_key("queue") {
        let mut table =
            Map::from_iter([("kind".to_owned(), kind(queue.unwrap_or("drop-tail")).into())]);
        table.extend(size.map(|size| ("size".to_owned(), size.into())));
        path.insert("queue".to_owned(), table.into());
    }
    let random = |loss: &str| ("loss".to_owned(), json!({ "kind": "random", "probability": loss }));
    path.extend(typed(matches, "loss").map(random));
    let normal = |deviation: &str| {
        ("jitter".to_owned(), json!({ "kind": "normal", "deviation": deviation }))
    };
    path.extend(typed(matches, "jitter").map(normal));
    let back = |rate: &str| ("back".to_owned(), json!({ "capacity": rate }));
    path.extend(typed(matches, "up-capacity").map(back));
    let mut whole = json!({ "path": path });
    for setting in matches.get_many::<String>("set").into_iter().flatten() {
        set(&mut whole, setting)?;
    }
    for (key, option, example) in
        [("capacity", "--capacity", "25 Mb/s"), ("base_rtt", "--rtt", "20 ms")]
    {
        if whole["path"].get(key).is_none() {
            return Err(format!("{option} is missing; give {option} \"{example}\""));
        }
    }
    Ok(whole["path"].take())
}

/// The name of a queue; tc writes some without the hyphen: dualpi2.
fn kind(word: &str) -> &str {
    let plain = |name: &&str| name.replace('-', "") == word;
    LinkConfig::queues().into_iter().find(plain).unwrap_or(word)
}

/// "0 s: 20 Mb/s, 40 s: 10 Mb/s".
fn steps_of(text: &str) -> Result<Vec<[&str; 2]>, String> {
    let wrong = || {
        format!(
            "--steps: {text:?} is no list of steps; write TIME: CAPACITY, for example \"0 s: 20 Mb/s, 40 s: 10 Mb/s\""
        )
    };
    let mut steps = Vec::new();
    for one in text.split(',') {
        let (at, rate) = one.split_once(':').ok_or_else(wrong)?;
        let known = is::<Duration>(at.trim()).and_then(|_| is::<Rate>(rate.trim()));
        known.map_err(|error| format!("--steps: {text:?}: {error}"))?;
        steps.push([at.trim(), rate.trim()]);
    }
    Ok(steps)
}

/// The table `path` of an experiment file, in which files are named from anywhere.
fn path_of_file(file: &Path) -> Result<Map<String, Value>, String> {
    let refused = |why: String| format!("--path: \"{}\" {why}", file.display());
    let text = std::fs::read_to_string(file)
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    let document = toml(&text).map_err(refused)?;
    let Some(Value::Object(path)) = document.get("path") else {
        return Err(refused("has no table [path]".to_owned()));
    };
    let base = file.parent().map(|base| base.canonicalize().unwrap_or_else(|_| base.to_owned()));
    let mut path = Value::Object(path.clone());
    from_anywhere(&mut path, "", &base.unwrap_or_default());
    match path {
        Value::Object(path) => Ok(path),
        _ => Ok(Map::new()),
    }
}

fn from_anywhere(value: &mut Value, key: &str, base: &Path) {
    match value {
        Value::Object(table) => {
            table.iter_mut().for_each(|(key, value)| from_anywhere(value, key, base))
        }
        Value::Array(list) => list.iter_mut().for_each(|value| from_anywhere(value, key, base)),
        Value::String(text) if FILE_KEYS.contains(&key) && base.join(&*text).is_file() => {
            *text = base.join(&*text).display().to_string();
        }
        _ => {}
    }
}

fn toml(text: &str) -> Result<Value, String> {
    toml_edit::de::from_str(text).map_err(|error: toml_edit::de::Error| error.to_string())
}

/// Sets a key: `path.queue.target=20 ms`. A text needs no quotation marks.
fn set(whole: &mut Value, setting: &str) -> Result<(), String> {
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
        let table = place.as_object_mut().ok_or_else(|| wrong("leads through what is no table"))?;
        place = table.entry(*key).or_insert_with(|| json!({}));
    }
    let table = place.as_object_mut().ok_or_else(|| wrong("leads through what is no table"))?;
    table.insert((*last).to_owned(), value);
    Ok(())
}

/// An error of a path's key in the words of the options that were typed.
pub fn as_typed(error: &str, matches: &ArgMatches) -> String {
    let capacity = CAPACITIES.into_iter().find(|id| matches.contains_id(id)).unwrap_or("capacity");
    let error = error.replace("path.capacity", &format!("--{capacity}"));
    let found = KEYS.into_iter().find(|(key, option)| {
        let id = option.trim_start_matches('-');
        error.starts_with(key) && matches.contains_id(id)
    });
    match found {
        Some((key, option)) => {
            let rest = error[key.len()..].split_once(": ").map_or("", |(_, rest)| rest);
            format!("{option}: {rest}")
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Value, String> {
        let words = ["gameway-link"].iter().chain(words).chain(&["--", "true"]);
        let matches = command("gameway-link").try_get_matches_from(words);
        path(&matches.map_err(|error| error.to_string())?)
    }

    #[test]
    fn options_give_the_path_of_an_experiment_file() {
        command("gameway-link").debug_assert();
        let folder = std::env::temp_dir().join(format!("gameway-link-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        std::fs::write(folder.join("mine.trace"), "1\n2\n").unwrap();
        let file = folder.join("mine.toml");
        let text = "[path]\ncapacity = { trace = \"mine.trace\" }\nbase_rtt = \"20 ms\"\n\
            queue = { kind = \"dual-pi2\", size = \"2 bdp\", target = \"20 ms\" }\nback = { capacity = \"5 Mb/s\" }\n";
        std::fs::write(&file, text).unwrap();
        let trace = folder.join("mine.trace").display().to_string();
        let typed = read(&[
            "--trace",
            &trace,
            "--rtt",
            "20 ms",
            "--queue",
            "dualpi2",
            "--size",
            "2 bdp",
            "--set",
            "path.queue.target=20 ms",
            "--up-capacity=5 Mb/s",
        ]);
        let expected = json!({
            "capacity": { "trace": trace }, "base_rtt": "20 ms", "back": { "capacity": "5 Mb/s" },
            "queue": { "kind": "dual-pi2", "size": "2 bdp", "target": "20 ms" },
        });
        assert_eq!(typed, Ok(expected.clone()));
        assert_eq!(read(&["--path", &file.display().to_string()]), Ok(expected));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_slip_is_told_as_it_was_typed() {
        for (words, told) in [
            (&["--rtt", "20 ms"][..], "--capacity is missing; give --capacity \"25 Mb/s\""),
            (&["--capacity", "1 Mb/s"], "--rtt is missing; give --rtt"),
            (
                &["--capacity=1 Mb/s", "--steps=0 s: 1 Mb/s"],
                "--capacity and --steps: exclude each other",
            ),
            (
                &["--steps", "2 Mb/s"],
                "--steps: \"2 Mb/s\" is no list of steps; write TIME: CAPACITY",
            ),
            (&["--trace", "no.trace"], "--trace: \"no.trace\" names no file"),
            (&["--path", "/none.toml"], "--path: \"/none.toml\" cannot be read"),
            (&["--set", "path.loss"], "--set path.loss: is no setting"),
            (&["--set", "stream=1"], "--set stream=1: is no key of a path"),
            (&["--capcity=1"], "error: unexpected argument '--capcity' found"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.starts_with(told), "{words:?}: {error}");
        }
    }
}
