//! Running a simulation with Python's global lock released.

use crate::controller::{self, Controller, Failure};
use gameway_events::SummaryRecord;
use gameway_sim::{Registry, RunError, RunSpec};
use gameway_units::Instant;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::fmt::Display;
use std::path::Path;

/// Runs a spec (JSON) in virtual time, writes its tables into a folder, gives the summary as JSON. The first exception of a
/// controller that is a class ends it at once and is raised.
#[pyfunction]
pub fn run(python: Python<'_>, spec_json: &str, out_dir: &str) -> PyResult<String> {
    let spec = parsed(spec_json)?;
    let failure = Failure::default();
    let registry = registry(&failure);
    let done = python.detach(|| {
        let sink = gameway_sim::tables(&spec, Path::new(out_dir))?;
        gameway_sim::run_until(&spec, &registry, sink, || failure.get().is_some())
    });
    done.map(|done| summary(&done).to_string()).map_err(|error| raised(python, &failure, &error))
}

/// The exception that ended a run, with the simulated time as a note; or what else is wrong.
fn raised(python: Python<'_>, failure: &Failure, error: &RunError) -> PyErr {
    let (RunError::Ended { at }, Some(exception)) = (error, failure.get()) else {
        return refused(error);
    };
    let exception = exception.clone_ref(python);
    let note = format!("at {}", *at - Instant::ZERO);
    // Without the note, what happened is told all the same.
    let _ = exception.value(python).call_method1("add_note", (note,));
    exception
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
