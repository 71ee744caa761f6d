//! What can be named in an experiment file, and checks of files and options that it names.

use gameway_control::{CATALOGUE, RateLimits};
use gameway_path::Trace;
use gameway_units::{Duration, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

/// Every controller, queue and competitor as JSON.
#[pyfunction]
pub fn catalogue() -> String {
    let controllers: Vec<Json> = CATALOGUE
        .iter()
        .map(|spec| {
            let option = |option: &gameway_control::OptionSpec| {
                json!({"name": option.name, "default": option.default, "summary": option.summary})
            };
            let options: Vec<Json> = spec.options.iter().map(option).collect();
            json!({
                "name": spec.name, "summary": spec.summary, "source": spec.source, "options": options
            })
        })
        .collect();
    json!({"controllers": controllers, "queues": queues(), "competitors": competitors()})
        .to_string()
}

fn queues() -> Json {
    json!([{
        "name": "drop-tail",
        "summary": "first in, first out; a packet that finds no room is dropped",
        "source": "the default of most routers",
        "options": [{
            "name": "size",
            "default": "2 bdp",
            "summary": "\"2 bdp\", \"64 KiB\", \"100 packets\" or \"300 ms\"",
        }],
    }])
}

fn competitors() -> Json {
    json!([
        {
            "name": "bbr",
            "summary": "TCP download with BBR version 1: a model of bandwidth and RTT",
            "source": "Cardwell et al. 2016; Linux tcp_bbr",
            "options": [],
        },
        {
            "name": "cubic",
            "summary": "TCP download with CUBIC, the default of Linux and Windows",
            "source": "RFC 9438",
            "options": [],
        },
        {
            "name": "newreno",
            "summary": "TCP download with NewReno: one segment more per RTT, half on loss",
            "source": "RFC 5681, RFC 6582",
            "options": [],
        },
    ])
}

/// Refuses options that a controller does not take; the frame rate and bitrates do not matter here.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands over owned lists")]
pub fn check_controller(kind: &str, options: Vec<(String, String)>) -> PyResult<()> {
    let limits = RateLimits {
        min: Rate::from_mbps(2),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(5),
        frame_interval: Duration::from_nanos(16_666_667),
    };
    match gameway_control::build(kind, &options, limits) {
        Ok(_) => Ok(()),
        Err(error) => Err(PyValueError::new_err(error.to_string())),
    }
}

/// Reads a trace file and says how long it is and what it carries, as JSON.
#[pyfunction]
pub fn check_trace(path: &str) -> PyResult<String> {
    let text = std::fs::read(path)?;
    let trace = Trace::parse(&text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let described = json!({
        "duration_ns": trace.period().as_nanos(),
        "opportunities": trace.opportunities(),
        "mean_bps": trace.mean_capacity().as_bps(),
    });
    Ok(described.to_string())
}
