//! `gameway link`: a command behind an emulated path.
//!
//! The command runs in a network namespace of its own, whose only way out is a TUN device; the other end of the path is
//! a TUN device in the namespace of the caller, the outside.

mod behind;
mod options;
mod setup;
mod told;

use crate::link::{DeviceConfig, FlowConfig, LinkConfig, LinkError, LinkReport, Relay};
use clap::ArgMatches;
use gameway_events::{FurtherTables, ResultTables, Sink};
use gameway_experiment::spec::{PathSpec, RecordSpec};
use gameway_runtime::clock::{self, Clock};
use gameway_runtime::stop::Stop;
use gameway_units::Duration;
use setup::{DEVICE, Setup};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use told::{Summing, Sums, warnings};

/// The one flow of the tables: all that the command sends and gets.
const FLOW: &str = "traffic";
/// The exit code where a person can mend what is wrong.
const BAD_INPUT: i32 = 2;
/// So long the link goes on after its command has ended, in round-trip times and beside them, at most.
const DRAIN_RTTS: i64 = 3;
const DRAIN: Duration = Duration::from_millis(100);
const MAX_DRAIN: Duration = Duration::from_secs(5);

/// A link and the command behind it.
#[derive(Debug)]
pub struct Behind {
    /// The path.
    pub path: PathSpec,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Where tables go, if any are kept; it must exist.
    pub folder: Option<PathBuf>,
    /// A capture of the headers of all packets.
    pub pcap: Option<PathBuf>,
    /// Whether the command reaches what this machine reaches.
    pub nat: bool,
}

/// The program `gameway-link` with these arguments; gives its exit code, which is the command's.
pub fn link(name: &'static str, words: impl IntoIterator<Item = OsString>) -> i32 {
    let words = std::iter::once(OsString::from(name)).chain(words);
    let matches = match options::command(name).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            let code = if error.use_stderr() { BAD_INPUT } else { 0 };
            // Nobody reads a message that cannot be written.
            let _ = error.print();
            return code;
        }
    };
    let done = behind(&matches).and_then(|behind| {
        let stop = Stop::on_signals().map_err(|error| error.to_string())?;
        run(&behind, name, &stop).map_err(|error| error.to_string())
    });
    done.unwrap_or_else(|told| {
        tell(&format!("error: {told}"));
        BAD_INPUT
    })
}

/// What was typed, checked.
fn behind(matches: &ArgMatches) -> Result<Behind, String> {
    let path = options::path(matches)?;
    let path: PathSpec = serde_json::from_value(path).map_err(|error| error.to_string())?;
    let folder = matches.get_one::<PathBuf>("out").cloned();
    let pcap = matches.get_one::<PathBuf>("pcap").cloned();
    let command: Vec<OsString> =
        matches.get_many("command").into_iter().flatten().cloned().collect();
    let behind = Behind { path, command, folder, pcap, nat: matches.get_flag("nat") };
    let checked = behind.config("gw0", Path::new("")).check();
    checked.map_err(|error| options::as_typed(&error.to_string(), matches))?;
    if let Some(folder) = &behind.folder {
        let refused =
            |error: io::Error| format!("--out: \"{}\" cannot be made: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(refused)?;
    }
    if let Some(file) = &behind.pcap {
        let refused =
            |error: io::Error| format!("--pcap: \"{}\" cannot be written: {error}", file.display());
        std::fs::OpenOptions::new().append(true).create(true).open(file).map_err(refused)?;
    }
    Ok(behind)
}

impl Behind {
    fn config(&self, device: &str, namespace: &Path) -> LinkConfig {
        let flow = FlowConfig {
            name: FLOW.to_owned(),
            address: None,
            upwards: false,
            base_rtt: None,
            via: None,
        };
        let at = |namespace: Option<&Path>, device: &str| DeviceConfig {
            namespace: namespace.map(Path::to_owned),
            device: device.to_owned(),
        };
        LinkConfig {
            epoch_ns: None,
            // Another one each time, as the seed of a run that nobody repeats.
            seed: Clock::monotonic_ns().unsigned_abs(),
            duration: None,
            path: self.path.clone(),
            record: RecordSpec::default(),
            flows: vec![flow],
            server: at(None, device),
            client: at(Some(namespace), DEVICE),
            folder: self.folder.clone().unwrap_or_default(),
            pcap: self.pcap.as_ref().map(|file| std::path::absolute(file).unwrap_or(file.clone())),
        }
    }

    /// So long packets that are under way may take to arrive.
    fn drain(&self) -> Duration {
        (self.path.base_rtt * DRAIN_RTTS + DRAIN).min(MAX_DRAIN)
    }
}

/// Runs a command behind a link, and tells on standard error what the link did; the command's exit code.
///
/// # Errors
/// If namespaces or devices cannot be had, or a table cannot be written.
pub fn run(behind: &Behind, name: &str, stop: &Stop) -> Result<i32, LinkError> {
    let setup = Setup::make(behind.nat)?;
    let sums = Arc::new(Mutex::new(Sums::default()));
    let (config, own) = (behind.config(&setup.device, &setup.place()), Stop::new());
    let folder = behind.folder.clone();
    let part = start(config, folder, Arc::clone(&sums), own.clone())?;
    let code = behind::run(&setup, &behind.command, name, stop);
    // What is under way arrives: a server outside hears that its connections are closed.
    clock::sleep(behind.drain());
    own.ask();
    let report = part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    drop(setup);
    let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
    sums.lines(&report).iter().chain(&warnings(&report)).for_each(|line| tell(line));
    Ok(code?)
}

type Part = JoinHandle<Result<LinkReport, LinkError>>;

/// Starts a link in a thread of its own, and waits until it carries packets.
#[expect(clippy::disallowed_methods, reason = "a driver owns its threads")]
fn start(
    config: LinkConfig,
    folder: Option<PathBuf>,
    sums: Arc<Mutex<Sums>>,
    stop: Stop,
) -> Result<Part, LinkError> {
    let (ready, waiting) = channel();
    let work = move || {
        let relay = relay(&config, folder.as_deref(), &sums, &ready)?;
        relay.run(&stop)
    };
    let part = std::thread::Builder::new().name("link".to_owned()).spawn(work)?;
    match waiting.recv() {
        Ok(refusals) => {
            refusals.iter().for_each(|refusal| tell(&format!("note: {refusal}")));
            Ok(part)
        }
        // It has ended before it was ready, and says why.
        Err(_) => match part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Err(error) => Err(error),
            Ok(_) => Err(io::Error::other("the link did not start").into()),
        },
    }
}

fn relay(
    config: &LinkConfig,
    folder: Option<&Path>,
    sums: &Arc<Mutex<Sums>>,
    ready: &Sender<Vec<String>>,
) -> Result<Relay, LinkError> {
    let further = FurtherTables { lateness: true, ..FurtherTables::default() };
    let tables = folder.map(|folder| ResultTables::of_run(folder, further)).transpose()?;
    let tables = tables.map(|tables| Box::new(tables) as Box<dyn Sink>);
    let relay = Relay::with_sink(config, Box::new(Summing::new(sums, tables)))?;
    // Who waits for it is there until it is told.
    let _ = ready.send(clock::be_punctual());
    Ok(relay)
}

#[expect(clippy::print_stderr, reason = "a command tells a person")]
fn tell(line: &str) {
    eprintln!("{line}");
}
