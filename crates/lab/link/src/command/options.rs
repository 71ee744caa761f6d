//! What a person types of a link, and the path that it means.

use super::document;
use super::kernel;
use crate::document::{PathError, read};
use crate::link::{LinkConfig, LinkRegistry};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use gameway_experiment::build;
use gameway_experiment::check::check_path;
use gameway_experiment::spec::PathSpec;
use gameway_units::declared::as_typed;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::PathBuf;

/// The option of each key of a path that has one, beside that of the capacity.
const KEYS: [(&str, &str); 6] = [
    ("path.base_rtt", "rtt"),
    ("path.queue.size", "size"),
    ("path.queue", "queue"),
    ("path.loss", "loss"),
    ("path.jitter", "jitter"),
    ("path.back.capacity", "up-capacity"),
];
/// Options that say how the capacity is; they exclude each other.
const CAPACITIES: [&str; 3] = ["capacity", "trace", "steps"];
/// The kernel's own queues.
const TC: &str = "tc";
/// What these have not.
const NOT_FOR_TC: [&str; 4] = ["nat", "out", "pcap", "control"];

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
        .arg(text("capacity", "RATE", "Towards the command: \"25 Mb/s\""))
        .arg(text("rtt", "TIME", "Of the empty path: \"20 ms\""))
        .arg(text("queue", "KIND", "The queue's discipline: drop-tail, codel, fq-codel, cake, pie, dual-pi2, ... [default: drop-tail]"))
        .arg(text("size", "SIZE", "Of the queue: \"2 bdp\", \"64 KiB\", \"100 packets\""))
        .arg(text("loss", "SHARE", "Share of packets: \"1 %\""))
        .arg(text("jitter", "TIME", "Standard deviation of the delay"))
        .arg(path(text("trace", "FILE", "A capacity that follows a recording: Mahimahi's format or a table")))
        .arg(text("steps", "STEPS", "A capacity in steps: \"0 s: 20 Mb/s, 40 s: 10 Mb/s\""))
        .arg(text("up-capacity", "RATE", "From the command"))
        .arg(text("set", "KEY=VALUE", "Any other key: --set path.queue.target=\"20 ms\". May be repeated").action(ArgAction::Append))
        .arg(path(text("path", "FILE", "The path of an experiment file")))
        .arg(Arg::new("nat").long("nat").action(ArgAction::SetTrue).help("Let the command reach what this machine reaches"))
        .arg(text("backend", "BACKEND", "Our path in user space, or the kernel's queues by tc").value_parser(["user", TC]).default_value("user"))
        .arg(path(text("out", "FOLDER", "Keep the tables here").short('o')))
        .arg(path(text("pcap", "FILE", "Write the headers of all packets here: pcapng")))
        .arg(path(text("control", "FILE", "A socket to be made here, by which the path is changed while it runs")))
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

/// The options, each with its sentence: for the completion of shells.
#[must_use]
pub fn listed() -> Vec<(String, String)> {
    let command = command("gameway-link");
    let told = command.get_arguments().filter_map(|arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some((format!("--{}", arg.get_long()?), help))
    });
    told.chain([("--help".to_owned(), "Print help".to_owned())]).collect()
}

fn typed<'a>(matches: &'a ArgMatches, id: &str) -> Option<&'a str> {
    matches.get_one::<String>(id).map(String::as_str)
}

/// Whether the kernel's own queues are wanted.
///
/// # Errors
/// If what they have not is wanted, too.
pub fn is_for_tc(matches: &ArgMatches) -> Result<bool, String> {
    if typed(matches, "backend") != Some(TC) {
        return Ok(false);
    }
    let is_given = |id: &str| match id {
        "nat" => matches.get_flag(id),
        place => matches.contains_id(place),
    };
    match NOT_FOR_TC.into_iter().find(|id| is_given(id)) {
        Some(id) => Err(format!("--{id}: is not for --backend tc; leave it out")),
        None => Ok(true),
    }
}

/// The path, checked; errors name the option or the setting.
///
/// # Errors
/// What is wrong, and what is allowed.
pub fn path(matches: &ArgMatches) -> Result<PathSpec, String> {
    let of_options = json!({ "path": of_options(matches)? });
    let settings: Vec<&String> = matches.get_many("set").into_iter().flatten().collect();
    let with = |count: usize| {
        let mut whole = of_options.clone();
        settings[..count].iter().try_for_each(|setting| document::set(&mut whole, setting))?;
        Ok::<_, String>(whole["path"].take())
    };
    let whole = with(settings.len())?;
    for (key, option, example) in
        [("capacity", "capacity", "25 Mb/s"), ("base_rtt", "rtt", "20 ms")]
    {
        if whole.get(key).is_none() {
            return Err(format!("--{option} is missing; give --{option} \"{example}\""));
        }
    }
    let tc = is_for_tc(matches)?;
    checked(whole, tc).map_err(|error| {
        // It is of the first setting from which on it is there.
        let is_there = |count: &usize| {
            with(*count).is_ok_and(|path| checked(path, tc).as_ref() == Err(&error))
        };
        match (0..settings.len()).find(is_there) {
            None if !settings.is_empty() => {
                format!("--set {}: {}", settings[settings.len() - 1], error)
            }
            Some(count) if count > 0 => format!("--set {}: {}", settings[count - 1], error),
            _ => in_options(&error, matches),
        }
    })
}

/// An error in the words of the options that were typed, or of the file that was.
fn in_options(error: &PathError, matches: &ArgMatches) -> String {
    let capacity = CAPACITIES.into_iter().find(|id| matches.contains_id(id));
    let options: Vec<(&str, &str)> = KEYS
        .into_iter()
        .filter(|(_, id)| matches.contains_id(id))
        .chain(capacity.map(|id| ("path.capacity", id)))
        .collect();
    let told = if error.field.is_empty() {
        error.why.clone()
    } else {
        as_typed(&error.field, &error.why, &options)
    };
    match matches.get_one::<PathBuf>("path") {
        Some(file) if !told.starts_with("--") => format!("--path: \"{}\": {told}", file.display()),
        _ => told,
    }
}

/// The path that a document means, if a link can have it, by tc or by itself.
fn checked(path: Value, tc: bool) -> Result<PathSpec, PathError> {
    let path = read(path)?;
    check_path(LinkRegistry::standard().known(), &path)?;
    // Recordings are read, and steps checked.
    build::links(&path)?;
    if tc {
        kernel::plan(&path)?;
    }
    Ok(path)
}

/// The path as options and the file of a path describe it.
fn of_options(matches: &ArgMatches) -> Result<Map<String, Value>, String> {
    let mut path = match matches.get_one::<PathBuf>("path") {
        Some(file) => document::of_file(file)?,
        None => Map::new(),
    };
    path.extend(capacity(matches)?.map(|capacity| ("capacity".to_owned(), capacity)));
    let (queue, size) = (typed(matches, "queue"), typed(matches, "size"));
    if queue.is_some() || size.is_some() {
        let mut table = json!({ "kind": kind(queue.unwrap_or("drop-tail")) });
        if let Some(size) = size {
            table["size"] = size.into();
        }
        path.insert("queue".to_owned(), table);
    }
    for (id, key, inner) in [
        ("rtt", "base_rtt", None),
        ("loss", "loss", Some("probability")),
        ("jitter", "jitter", Some("deviation")),
        ("up-capacity", "back", Some("capacity")),
    ] {
        if let Some(text) = typed(matches, id) {
            let value = inner.map_or_else(|| text.into(), |inner| json!({ inner: text }));
            path.insert(key.to_owned(), value);
        }
    }
    Ok(path)
}

fn capacity(matches: &ArgMatches) -> Result<Option<Value>, String> {
    let given: Vec<&str> = CAPACITIES.into_iter().filter(|id| matches.contains_id(id)).collect();
    if let [first, second, ..] = given[..] {
        return Err(format!("--{first} and --{second}: exclude each other; give one"));
    }
    if let Some(steps) = typed(matches, "steps") {
        return Ok(Some(json!({ "steps": steps_of(steps)? })));
    }
    let Some(trace) = matches.get_one::<PathBuf>("trace") else {
        return Ok(typed(matches, "capacity").map(Value::from));
    };
    if !trace.is_file() {
        return Err(format!("--trace: \"{}\" names no file", trace.display()));
    }
    Ok(Some(json!({ "trace": trace })))
}

/// The name of a queue; tc writes some without the hyphen: dualpi2.
fn kind(word: &str) -> &str {
    let plain = |name: &&str| name.replace('-', "") == word;
    LinkConfig::queues().into_iter().find(plain).unwrap_or(word)
}

/// "0 s: 20 Mb/s, 40 s: 10 Mb/s".
fn steps_of<'a>(text: &'a str) -> Result<Vec<[&'a str; 2]>, String> {
    let wrong = || {
        format!(
            "--steps: {text:?} is no list of steps; write TIME: CAPACITY, for example \"0 s: 20 Mb/s, 40 s: 10 Mb/s\""
        )
    };
    let step = |one: &'a str| one.split_once(':').map(|(at, rate)| [at.trim(), rate.trim()]);
    text.split(',').map(|one| step(one).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<PathSpec, String> {
        let words = ["gameway-link"].iter().chain(words).chain(&["--", "true"]);
        let matches = command("gameway-link").try_get_matches_from(words);
        path(&matches.map_err(|error| error.to_string())?)
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gameway-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    #[test]
    fn options_give_the_path_of_an_experiment_file() {
        command("gameway-link").debug_assert();
        let folder = folder("options");
        std::fs::write(folder.join("mine.trace"), "1\n2\n").unwrap();
        let file = folder.join("mine.toml");
        let text = "[path]\ncapacity = { trace = [\"mine.trace\"] }\nbase_rtt = \"20 ms\"\nbase_rtt_spread = \"10 %\"\n\
            queue = { kind = \"dual-pi2\", size = \"2 bdp\", target = [\"20 ms\"] }\ngateway = \"none\"\n\
            loss = { probability = \"1 %\" }\njitter = { deviation = \"2 ms\" }\nback = { capacity = \"5 Mb/s\" }\n";
        std::fs::write(&file, text).unwrap();
        let trace = folder.join("mine.trace").display().to_string();
        let mut expected = json!({
            "capacity": { "trace": trace }, "base_rtt": "20 ms", "back": { "capacity": "5 Mb/s" },
            "queue": { "kind": "dual-pi2", "size": "2 bdp", "target": "20 ms" },
            "loss": { "kind": "random", "probability": "1 %" },
            "jitter": { "kind": "normal", "deviation": "2 ms" },
        });
        let of = |path: &Value| PathSpec::try_from(path.clone()).unwrap();
        let options = [
            ["--trace", &trace],
            ["--rtt", "20 ms"],
            ["--queue", "dualpi2"],
            ["--size", "2 bdp"],
            ["--set", "path.queue.target=20 ms"],
            ["--up-capacity", "5 Mb/s"],
            ["--loss", "1 %"],
            ["--jitter", "2 ms"],
        ];
        assert_eq!(read(&options.concat()), Ok(of(&expected)));
        expected["gateway"] = json!({ "kind": "none" });
        assert_eq!(read(&["--path", &file.display().to_string()]), Ok(of(&expected)));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_not_given_has_the_defaults_of_experiment_files() {
        let folder = folder("defaults");
        let file = folder.join("experiment.toml");
        let text = "[path]\ncapacity = \"25 Mb/s\"\nbase_rtt = \"20 ms\"\n\
            back = { capacity = \"5 Mb/s\", queue = \"drop-tail\", loss = { probability = \"1 %\" } }\n\
            [[path.hop]]\nname = \"access\"\ncapacity = \"50 Mb/s\"\n";
        std::fs::write(&file, text).unwrap();
        let tail = |size: &str| json!({ "kind": "drop-tail", "size": size });
        let expected = json!({
            "capacity": "25 Mb/s", "base_rtt": "20 ms", "queue": tail("2 bdp"),
            "hop": [{ "name": "access", "capacity": "40 Mb/s", "queue": tail("2 bdp") }],
            "back": {
                "capacity": "5 Mb/s", "queue": tail("300 ms"),
                "loss": { "kind": "random", "probability": "1 %" },
            },
        });
        // A folder is that of its experiment, and an item of a list has a name.
        let words =
            ["--path", &folder.display().to_string(), "--set=path.hop.access.capacity=40 Mb/s"];
        assert_eq!(read(&words), Ok(PathSpec::try_from(expected).unwrap()));
        let several = "[path]\ncapacity = [\"25 Mb/s\", \"5 Mb/s\"]\nbase_rtt = \"20 ms\"\n";
        std::fs::write(&file, several).unwrap();
        let words = ["--path", &file.display().to_string()];
        let told = format!(
            "--path: \"{}\": path.capacity: has 2 values, and a link has one path; give one",
            file.display()
        );
        assert_eq!(read(&words), Err(told));
        assert!(read(&[&words[..], &["--set", "path.capacity=5 Mb/s"]].concat()).is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_slip_is_told_as_it_was_typed() {
        let path = ["--capacity", "25 Mb/s", "--rtt", "20 ms"];
        let back = ["--set", "path.back.capacity={ wifi = \"802.11g\" }"];
        for (words, told) in [
            (&["--rtt", "20 ms"][..], "--capacity is missing; give --capacity \"25 Mb/s\""),
            (&["--capacity", "1 Mb/s"], "--rtt is missing; give --rtt \"20 ms\""),
            (
                &["--capacity", "fast", "--rtt", "20 ms"],
                "--capacity: \"fast\" has no number in front",
            ),
            (&["--capacity", "1 Mb/s", "--rtt", "20"], "--rtt: \"20\" has nothing as unit"),
            (
                &[&path[..], &["--queue", "dualpi3"]].concat(),
                "--queue: unknown queue \"dualpi3\"; known are",
            ),
            (
                &[&path[..], &["--size", "large"]].concat(),
                "--size: \"large\" has no number in front",
            ),
            (
                &[&path[..], &["--loss", "200 %"]].concat(),
                "--loss: 200 % is not between 0 % and 100 %",
            ),
            (&[&path[..], &["--jitter", "x"]].concat(), "--jitter: \"x\" has no number"),
            (
                &[&path[..], &["--up-capacity", "5"]].concat(),
                "--up-capacity: \"5\" has nothing as unit",
            ),
            (
                &[&path[..], &["--set", "path.queue.depth=2"]].concat(),
                "--set path.queue.depth=2: path.queue.depth: is no option; known are",
            ),
            (
                &[&path[..], &["--set", "path.los=2", "--set", "path.loss.probability=1 %"]]
                    .concat(),
                "--set path.los=2: path.los: is no option; known are back, base_rtt, capacity",
            ),
            (
                &[&path[..], &["--set", "path.loss={ probability = \"x\" }"]].concat(),
                "--set path.loss={ probability = \"x\" }: path.loss.probability: \"x\" has no number",
            ),
            (
                &[&path[..], &["--set", "path.hop=[{ name = \"a\" }]"]].concat(),
                "--set path.hop=[{ name = \"a\" }]: path.hop \"a\": capacity: is missing",
            ),
            (
                &[&path[..], &back].concat(),
                "--set path.back.capacity={ wifi = \"802.11g\" }: path.back.capacity: only path.capacity",
            ),
            (
                &[&path[..], &["--backend", "tc", "--jitter", "3ms"]].concat(),
                "--jitter: is not for --backend tc",
            ),
            (
                &[&path[..], &["--backend", "tc", "--nat"]].concat(),
                "--nat: is not for --backend tc",
            ),
            (
                &["--capacity=1 Mb/s", "--steps=0 s: 1 Mb/s"],
                "--capacity and --steps: exclude each other",
            ),
            (
                &["--steps", "2 Mb/s"],
                "--steps: \"2 Mb/s\" is no list of steps; write TIME: CAPACITY",
            ),
            (&["--steps", "0 s: x", "--rtt", "20 ms"], "--steps: \"x\" has no number"),
            (&["--steps", "1 s: 2 Mb/s", "--rtt", "20 ms"], "--steps: "),
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
