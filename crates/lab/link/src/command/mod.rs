//! `gameway link`: a command behind an emulated path.
//!
//! The command runs in a network namespace of its own, whose only way out is a TUN device; the other end of the path is
//! a TUN device in the namespace of the caller, the outside.

mod behind;
mod caller;
mod document;
mod kernel;
mod kernel_setup;
mod machine;
mod options;
mod owned;
mod setup;
mod summary;

pub use options::listed as options;
pub use owned::{Owned, clean, require, start_of};

use crate::link::{
    Background, DeviceConfig, FlowConfig, LinkConfig, LinkError, LinkRegistry, LinkReport, Relay,
};
use behind::CommandInNamespace;
use caller::Owner;
use clap::ArgMatches;
use gameway_events::{FurtherTables, Observed, ResultTables, RunEvent, Sink};
use gameway_experiment::spec::{PathSpec, RecordSpec};
use gameway_runtime::clock::{self, Clock};
use gameway_runtime::stop::Stop;
use gameway_units::Duration;
use kernel_setup::KernelSetup;
use setup::{DEVICE, Setup};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use summary::{Sums, warnings};

/// Who refuses what a machine has not.
const WHO: &str = "a link needs";
/// The one flow of the tables: all that the command sends and gets.
const FLOW: &str = "traffic";
/// The exit code where a person can mend what is wrong.
const BAD_INPUT: i32 = 2;
/// So long the link goes on after its command has ended, in round-trip times and beside them, at most.
const DRAIN_RTTS: i64 = 3;
const DRAIN: Duration = Duration::from_millis(100);
const MAX_DRAIN: Duration = Duration::from_secs(5);

/// A link and the command behind it, as they were asked for.
#[derive(Debug)]
struct Invocation {
    name: &'static str,
    path: PathSpec,
    /// Program and arguments.
    command: Vec<OsString>,
    /// Where tables go, if any are kept.
    folder: Option<PathBuf>,
    /// A capture of the headers of all packets.
    pcap: Option<PathBuf>,
    /// A socket by which the path is changed.
    control: Option<PathBuf>,
    /// Whether the command reaches what this machine reaches.
    nat: bool,
}

/// The program `gameway-link` by this name with these arguments; gives its exit code, which is the command's.
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
    done(name, &matches).unwrap_or_else(|told| {
        tell(&format!("error: {told}"));
        BAD_INPUT
    })
}

fn done(name: &'static str, matches: &ArgMatches) -> Result<i32, String> {
    let tc = options::is_for_tc(matches)?;
    let wanted = Invocation {
        name,
        path: options::path(matches)?,
        command: matches.get_many("command").into_iter().flatten().cloned().collect(),
        folder: matches.get_one::<PathBuf>("out").cloned(),
        pcap: matches.get_one::<PathBuf>("pcap").cloned(),
        control: matches.get_one::<PathBuf>("control").cloned(),
        nat: matches.get_flag("nat"),
    };
    let stop = Stop::on_signals().map_err(|error| error.to_string())?;
    if tc {
        return wanted.run_on_kernel(&stop).map_err(|error| error.to_string());
    }
    let places: Vec<&Path> =
        wanted.folder.iter().chain(&wanted.pcap).map(PathBuf::as_path).collect();
    let _owner = Owner::of(&places);
    wanted.make_places()?;
    wanted.run(&stop).map_err(|error| error.to_string())
}

impl Invocation {
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
            control: self.control.clone(),
            keep_interval: None,
            pcap: self.pcap.as_ref().map(|file| std::path::absolute(file).unwrap_or(file.clone())),
        }
    }

    /// So long packets that are under way may take to arrive.
    fn drain(&self) -> Duration {
        (self.path.base_rtt * DRAIN_RTTS + DRAIN).min(MAX_DRAIN)
    }

    /// Makes the folder of tables, and looks whether a capture can be written.
    fn make_places(&self) -> Result<(), String> {
        if let Some(folder) = &self.folder {
            let refused =
                |error| format!("--out: \"{}\" cannot be made: {error}", folder.display());
            std::fs::create_dir_all(folder).map_err(refused)?;
        }
        if let Some(file) = &self.pcap {
            let refused =
                |error| format!("--pcap: \"{}\" cannot be written: {error}", file.display());
            std::fs::OpenOptions::new().append(true).create(true).open(file).map_err(refused)?;
        }
        Ok(())
    }

    /// Runs the command behind the path, and tells on standard error what the link did; the command's exit code.
    fn run(&self, stop: &Stop) -> Result<i32, LinkError> {
        let setup = Setup::make(self.nat)?;
        let sums = Arc::new(Mutex::new(Sums::default()));
        let (config, own) = (self.config(setup.device(), &setup.place()), Stop::new());
        let part = start(config, self.folder.clone(), Arc::clone(&sums), own.clone())?;
        self.control.iter().for_each(|socket| caller::give_now(socket));
        let code = self.run_command(&setup.namespace(), setup.ends, stop);
        // What is under way arrives: a server outside hears that its connections are closed.
        clock::sleep(self.drain());
        own.ask();
        let report = part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        drop(setup);
        let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.lines(&report).iter().for_each(|line| tell(line));
        warnings(&report).iter().for_each(|line| tell(&format!("warning: {line}")));
        Ok(code?)
    }

    /// Runs the command behind the kernel's own queues, and tells what these counted; the command's exit code.
    fn run_on_kernel(&self, stop: &Stop) -> Result<i32, LinkError> {
        let setup = KernelSetup::make(&kernel::plan(&self.path)?)?;
        let code = self.run_command(&setup.namespace(), setup.ends, stop)?;
        setup.counted()?.iter().for_each(|line| tell(line));
        Ok(code)
    }

    fn run_command(&self, namespace: &str, ends: setup::Ends, stop: &Stop) -> io::Result<i32> {
        let (environment, words) = (ends.environment(), &self.command[..]);
        behind::run(&CommandInNamespace { namespace, environment, words, name: self.name }, stop)
    }
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
        let relay = relay(&config, folder.as_deref(), sums, &ready)?;
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
    sums: Arc<Mutex<Sums>>,
    ready: &Sender<Vec<String>>,
) -> Result<Relay, LinkError> {
    let further = FurtherTables { lateness: true, ..FurtherTables::default() };
    let tables = folder.map(|folder| ResultTables::of_run(folder, further)).transpose()?;
    let tables = tables.map(|tables| Box::new(Background::new(Box::new(tables))) as Box<dyn Sink>);
    let sum = move |event: &RunEvent| {
        sums.lock().unwrap_or_else(PoisonError::into_inner).add(event);
    };
    let sink = Box::new(Observed::new(sum, tables));
    let relay = Relay::with(config, sink, LinkRegistry::standard())?;
    // Who waits for it is there until it is told.
    let _ = ready.send(clock::be_punctual());
    Ok(relay)
}

#[expect(clippy::print_stderr, reason = "a command tells a person")]
fn tell(line: &str) {
    eprintln!("{line}");
}
