//! Host and client of a live stream with Python's global lock released.

use gameway_link::clock;
use gameway_link::lateness::{BOUND, LatenessSummary};
use gameway_link::stop::Stop;
use gameway_stream::client::SoundReport;
use gameway_stream::host::page::PageCounts;
use gameway_stream::{ClientConfig, HostConfig, StreamError, client, host};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn failed(error: &StreamError) -> PyErr {
    match error {
        StreamError::Config { .. } | StreamError::Spec(_) => {
            PyValueError::new_err(error.to_string())
        }
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn parsed<T: DeserializeOwned>(config_json: &str) -> PyResult<T> {
    serde_json::from_str(config_json).map_err(|error| PyValueError::new_err(error.to_string()))
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

/// Serves a stream from a configuration (JSON) until its end, Ctrl-C or SIGTERM; `ready` is called once clients can
/// come, with what the machine refused in the way of punctuality, and with the addresses at which the host is reached.
/// Gives what happened as JSON.
#[pyfunction]
pub fn live_host(python: Python<'_>, config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let config: HostConfig = parsed(config_json)?;
    let stop = begin()?;
    let report = python.detach(|| {
        host::run(config, &stop, &mut |refusals, addresses| {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            // Who listens may have gone; the stream goes on.
            let _ = Python::attach(|python| ready.call1(python, (refusals, addresses)));
        })
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
    let config: ClientConfig = parsed(config_json)?;
    let stop = begin()?;
    let report = python.detach(|| {
        client::run(&config, &stop, &mut |refusals| tell(&ready, refusals))
            .map_err(|error| failed(&error))
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
    let PageCounts { received, used, strange, presented, requests } = counts;
    json!({
        "received": received,
        "used": used,
        "strange": strange,
        "presented": presented,
        "key_frame_requests": requests,
    })
}

fn sound(report: &SoundReport) -> Value {
    let SoundReport { counts, undecodable, peak, delay, beeps, offset } = report;
    json!({
        "received": counts.received,
        "played": counts.played,
        "concealed": counts.concealed,
        "left_out": counts.left_out,
        "late": counts.late,
        "undecodable": undecodable,
        "peak": peak,
        "delay_p50_ns": delay.map(|(median, _)| median.as_nanos()),
        "delay_p99_ns": delay.map(|(_, late)| late.as_nanos()),
        "beeps": beeps,
        "offset_min_ns": offset.map(|(least, _, _)| least.as_nanos()),
        "offset_p50_ns": offset.map(|(_, median, _)| median.as_nanos()),
        "offset_max_ns": offset.map(|(_, _, most)| most.as_nanos()),
    })
}

fn lateness(summary: LatenessSummary) -> Value {
    let LatenessSummary { packets, mean, median, p99, most } = summary;
    json!({
        "packets": packets,
        "mean_ns": mean.as_nanos(),
        "p50_ns": median.as_nanos(),
        "p99_ns": p99.as_nanos(),
        "max_ns": most.as_nanos(),
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
