//! Host and client of a live stream with Python's global lock released.

use crate::host_config;
use gameway_control::Controllers;
use gameway_events::{Files, ResultTables, Sink, SinkError};
use gameway_experiment::spec::StreamSpec;
use gameway_runtime::clock;
use gameway_runtime::lateness::{BOUND, LatenessSummary};
use gameway_runtime::stop::Stop;
use gameway_stream::client::SoundReport;
use gameway_stream::command::{self, Check, Finding, Names, State};
use gameway_stream::host::page::PageCounts;
use gameway_stream::{BegunSink, ClientConfig, HostConfig, StreamError, client, host};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

fn failed(error: &StreamError) -> PyErr {
    match error {
        StreamError::Config { .. } | StreamError::Setting(_) => {
            PyValueError::new_err(error.to_string())
        }
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What a part is told; and where its tables go, if it is to keep any (`folder`).
fn parsed(config_json: &str) -> PyResult<(Map<String, Value>, Option<PathBuf>)> {
    let mut settings: Map<String, Value> = serde_json::from_str(config_json).map_err(refused)?;
    settings.retain(|_, value| !value.is_null());
    let folder = settings.remove("folder").unwrap_or_default();
    Ok((settings, serde_json::from_value(folder).map_err(refused)?))
}

/// What a host is told: settings of its own, and the stream as an experiment has it.
fn host_config(mut settings: Map<String, Value>) -> PyResult<HostConfig> {
    let stream = settings.remove("stream").unwrap_or_default();
    let stream: StreamSpec = serde_json::from_value(stream).map_err(refused)?;
    let mut config = HostConfig::read(&settings).map_err(|error| failed(&error))?;
    let seed = config.seed;
    host_config::set(&mut config, &stream, seed).map_err(refused)?;
    Ok(config)
}

/// The sink that keeps tables in `folder`, if there is one.
fn sink(
    folder: Option<&Path>,
    tables: impl FnOnce(&Path) -> Result<ResultTables, SinkError>,
) -> BegunSink {
    let opened = folder.map(tables).transpose()?;
    Ok(opened.map(|tables| Box::new(tables) as Box<dyn Sink>))
}

/// The names of the encoders that this build has, the best first, each with its licence.
#[pyfunction]
pub fn encoders() -> Vec<(&'static str, &'static str)> {
    gameway_stream::encoders()
}

/// Whether the screen of an X11 server (":0") shows anything: it is not of one colour.
#[pyfunction]
pub fn screen_shows(python: Python<'_>, display: &str) -> PyResult<bool> {
    python.detach(|| gameway_stream::screen_shows(display).map_err(|error| failed(&error)))
}

/// Whether this build has the codec of sound.
#[pyfunction]
pub fn has_opus() -> bool {
    cfg!(feature = "opus")
}

/// Whether this build captures screens of Wayland.
#[pyfunction]
pub fn has_wayland() -> bool {
    cfg!(feature = "wayland")
}

/// Serves a stream from a configuration (JSON) until its end, Ctrl-C or SIGTERM; `ready` is called once clients can
/// come, with what the machine refused in the way of punctuality, and with the addresses at which the host is reached.
/// Gives what happened as JSON.
#[pyfunction]
pub fn live_host(python: Python<'_>, config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let (settings, folder) = parsed(config_json)?;
    let config = host_config(settings)?;
    let stop = begin()?;
    let report = python.detach(|| {
        let ready = &mut |refusals, addresses: Vec<SocketAddr>| {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            // Who listens may have gone; the stream goes on.
            let _ = Python::attach(|python| ready.call1(python, (refusals, addresses)));
        };
        let files = config.keep_interval.map_or(Files::Whole, |_| Files::Pieces);
        sink(folder.as_deref(), |folder| ResultTables::of_host(folder, files))
            .and_then(|sink| host::run(config, Controllers::standard(), None, sink, &stop, ready))
            .map_err(|error| failed(&error))
    })?;
    let all = json!({
        "sessions": report.sessions,
        "refused_datagrams": report.refused_datagrams,
        "encoder_failures": report.encoder_failures,
        "page": page(report.page),
        "lateness": report.lateness.map(lateness),
        "cpu": cpu(&report.cpu),
    });
    Ok(all.to_string())
}

/// Receives a stream as a configuration (JSON) says until its end, Ctrl-C or SIGTERM; `ready` is called once media
/// may flow, with what the machine refused in the way of punctuality. Gives what happened as JSON.
#[pyfunction]
pub fn live_client(python: Python<'_>, config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let (settings, folder) = parsed(config_json)?;
    let config = ClientConfig::read(&settings).map_err(|error| failed(&error))?;
    let stop = begin()?;
    let report = python.detach(|| {
        let ready = &mut |refusals| tell(&ready, refusals);
        let sink = || sink(folder.as_deref(), ResultTables::of_client);
        client::run(&config, sink, &stop, ready).map_err(|error| failed(&error))
    })?;
    let all = json!({
        "decoded_frames": report.decoded,
        "frames_not_decoded": report.given_up,
        "stamped_frames": report.stamped,
        "sound": sound(&report.sound),
        "refused_datagrams": report.refused_datagrams,
        "closed": report.closed.map(|reason| format!("{reason:?}")),
        "farewell": report.farewell,
        "cpu": cpu(&report.cpu),
    });
    Ok(all.to_string())
}

const NAMES: Names = Names {
    host: "gameway host",
    client: "gameway client",
    play: "gameway play",
    devices: "gameway devices",
    doctor: "gameway doctor",
};

/// The command of a host with these arguments; gives its exit code.
#[pyfunction]
pub fn host_command(python: Python<'_>, words: Vec<OsString>) -> u8 {
    python.detach(|| command::host(NAMES, Controllers::standard(), words))
}

/// The command that plays with these arguments; gives its exit code.
#[pyfunction]
pub fn play_command(python: Python<'_>, words: Vec<OsString>) -> u8 {
    python.detach(|| command::play(NAMES, Controllers::standard(), words))
}

/// The command of a client with these arguments; gives its exit code.
#[pyfunction]
pub fn client_command(python: Python<'_>, words: Vec<OsString>) -> u8 {
    python.detach(|| command::client(NAMES, words))
}

/// The command of a host's devices with these arguments; gives its exit code.
#[pyfunction]
pub fn devices_command(python: Python<'_>, words: Vec<OsString>) -> u8 {
    python.detach(|| command::devices(NAMES, words))
}

/// A check of what works: its name, whether it works (`None` where it is not needed), what was found, how to mend it.
type Told = (String, Option<bool>, String, Option<String>);

/// The command that says what works, with these arguments; `further` is called at its end and gives further checks. Gives its exit
/// code.
#[pyfunction]
pub fn doctor_command(
    python: Python<'_>,
    words: Vec<OsString>,
    further: Py<PyAny>,
) -> PyResult<u8> {
    let mut failure = None;
    let code = python.detach(|| {
        command::doctor(NAMES, words, || {
            let told = Python::attach(|python| further.call0(python)?.extract(python));
            let told: Vec<Told> = told.unwrap_or_else(|error| {
                failure = Some(error);
                Vec::new()
            });
            told.into_iter().map(check).collect()
        })
    });
    failure.map_or(Ok(code), Err)
}

fn check((name, works, found, mend): Told) -> Check {
    let state = works.map_or(State::Unneeded, |works| match works {
        true => State::Works,
        false => State::Lacking,
    });
    Check { name, finding: Finding { state, found, mend } }
}

/// The options of the command "host", "play", "client", "devices" or "doctor", each with its sentence.
#[pyfunction]
pub fn stream_options(command: &str) -> Vec<(String, String)> {
    command::options(command)
}

fn begin() -> PyResult<Stop> {
    let stop = Stop::on_signals()?;
    clock::end_with_parent()?;
    Ok(stop)
}

fn tell(ready: &Py<PyAny>, refusals: Vec<String>) {
    // Who listens may have gone; the stream goes on.
    let _ = Python::attach(|python| ready.call1(python, (refusals,)));
}

fn page(counts: PageCounts) -> Value {
    let PageCounts { received, used, strange, presented, requests, unheeded } = counts;
    json!({
        "received": received,
        "used": used,
        "strange": strange,
        "presented": presented,
        "key_frame_requests": requests,
        "unheeded_requests": unheeded,
    })
}

fn sound(report: &SoundReport) -> Value {
    let SoundReport { counts, undecodable, peak, delay, beeps, offset } = report;
    json!({
        "received": counts.received,
        "played": counts.played,
        "concealed": counts.concealed,
        "repaired": counts.repaired,
        "left_out": counts.left_out,
        "late": counts.late,
        "undecodable": undecodable,
        "peak": peak,
        "delay_p50_ns": delay.map(|(median, _)| median.as_nanos()),
        "delay_p99_ns": delay.map(|(_, late)| late.as_nanos()),
        "beeps": beeps,
        "offset_min_ns": offset.map(|(min, _, _)| min.as_nanos()),
        "offset_p50_ns": offset.map(|(_, median, _)| median.as_nanos()),
        "offset_max_ns": offset.map(|(_, _, max)| max.as_nanos()),
    })
}

fn lateness(summary: LatenessSummary) -> Value {
    let LatenessSummary { packets, mean, median, p99, max } = summary;
    json!({
        "packets": packets,
        "mean_ns": mean.as_nanos(),
        "p50_ns": median.as_nanos(),
        "p99_ns": p99.as_nanos(),
        "max_ns": max.as_nanos(),
        "bound_ns": BOUND.as_nanos(),
    })
}

fn cpu(times: &[gameway_stream::ThreadTime]) -> Value {
    let share = |time: &gameway_stream::ThreadTime| {
        json!({
            "thread": time.thread,
            "cpu_ns": time.cpu.as_nanos(),
            "wall_ns": time.wall.as_nanos(),
        })
    };
    times.iter().map(share).collect()
}
