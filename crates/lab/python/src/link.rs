//! The live link with Python's global lock released.

use crate::simulator::summary;
use gameway_link::command;
use gameway_link::link::{LinkConfig, LinkRegistry, LinkReport, Relay};
use gameway_runtime::clock;
use gameway_runtime::lateness::{BOUND, LatenessSummary};
use gameway_runtime::stop::Stop;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Display;

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn failed(error: impl Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

fn parsed(config_json: &str) -> PyResult<LinkConfig> {
    let config: LinkConfig = serde_json::from_str(config_json).map_err(refused)?;
    config.check(&LinkRegistry::standard()).map_err(refused)?;
    Ok(config)
}

/// Refuses a link's configuration (JSON) that cannot be done; reads no file and touches no device.
#[pyfunction]
pub fn check_link(config_json: &str) -> PyResult<()> {
    parsed(config_json).map(drop)
}

/// Runs a link from a configuration (JSON) until its end, Ctrl-C or SIGTERM; `ready` is called once it is attached,
/// with what the machine refused in the way of punctuality. Gives what happened as JSON.
#[pyfunction]
pub fn live_link(python: Python<'_>, config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let config = parsed(config_json)?;
    let stop = Stop::on_signals().map_err(failed)?;
    clock::end_with_parent().map_err(failed)?;
    python.detach(|| {
        let relay = Relay::new(&config).map_err(failed)?;
        let refusals = clock::be_punctual();
        Python::attach(|python| ready.call1(python, (refusals,)))?;
        relay.run(&stop).map(|report| as_json(&report)).map_err(failed)
    })
}

/// The command of a link with these arguments; gives its exit code.
#[pyfunction]
pub fn link_command(python: Python<'_>, words: Vec<OsString>) -> i32 {
    python.detach(|| command::link("gameway link", words))
}

/// Its options, each with its sentence.
#[pyfunction]
pub fn link_options() -> Vec<(String, String)> {
    command::options()
}

fn as_json(report: &LinkReport) -> String {
    let LatenessSummary { packets, mean, median, p99, max } = report.lateness;
    let mut all = match summary(&report.summary) {
        Value::Object(all) => all,
        _ => Map::new(),
    };
    for (name, count) in report.counts.named() {
        all.insert(name.to_owned(), count.into());
    }
    let lateness = json!({
        "packets": packets,
        "mean_ns": mean.as_nanos(),
        "p50_ns": median.as_nanos(),
        "p99_ns": p99.as_nanos(),
        "max_ns": max.as_nanos(),
        "bound_ns": BOUND.as_nanos(),
    });
    all.insert("lateness".to_owned(), lateness);
    Value::Object(all).to_string()
}
