//! Running a simulation with Python's global lock released.

use crate::controller::{self, Controller, Failure, Watched};
use gameway_events::SummaryRecord;
use gameway_sim::{Registry, RunSpec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::fmt::Display;
use std::path::Path;

/// Runs a spec (JSON) in virtual time, writes its tables into a folder, gives the summary as JSON.
#[pyfunction]
pub fn run(python: Python<'_>, spec_json: &str, out_dir: &str) -> PyResult<String> {
    let spec = parsed(spec_json)?;
    let failure = Failure::default();
    let registry = registry(&failure);
    let done = python.detach(|| {
        let sink = gameway_sim::tables(&spec, Path::new(out_dir))?;
        let watched = Watched { sink, failure: failure.clone() };
        gameway_sim::run_into(&spec, &registry, Box::new(watched))
    });
    if let Some(error) = failure.get() {
        return Err(error.clone_ref(python));
    }
    done.map(|done| summary(&done).to_string()).map_err(refused)
}

/// What this repository has, and controllers that are classes of Python.
fn registry(failure: &Failure) -> Registry {
    let (standard, failure) = (Registry::standard(), failure.clone());
    let controllers =
        standard.controllers.with_builder(controller::description(), move |options, limits| {
            Ok(Box::new(Controller::from_options(options, limits, failure.clone())?))
        });
    Registry { controllers, ..standard }
}

/// Refuses a spec (JSON) that cannot be run: builds all of it, reads the files it names, runs nothing.
#[pyfunction]
pub fn check_spec(python: Python<'_>, spec_json: &str) -> PyResult<()> {
    let spec = parsed(spec_json)?;
    let registry = registry(&Failure::default());
    python.detach(|| gameway_sim::check_with(&spec, &registry)).map_err(refused)
}

fn parsed(spec_json: &str) -> PyResult<RunSpec> {
    spec_json.parse().map_err(refused)
}

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn summary(summary: &SummaryRecord) -> serde_json::Value {
    json!({
        "duration_ns": summary.duration_ns,
        "seed": summary.seed,
        "arrived_packets": summary.arrived_packets,
        "forwarded_packets": summary.forwarded_packets,
        "dropped_packets": summary.dropped_packets,
        "queued_packets": summary.queued_packets,
        "lost_packets": summary.lost_packets,
        "duplicated_packets": summary.duplicated_packets,
        "delivered_packets": summary.delivered_packets,
        "under_way_packets": summary.under_way_packets,
        "events_processed": summary.events_processed,
    })
}
