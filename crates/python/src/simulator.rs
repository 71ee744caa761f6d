//! Running a simulation with Python's global lock released.

use gameway_events::SummaryRecord;
use gameway_sim::RunSpec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::path::Path;

/// Runs a spec (JSON) in virtual time, writes its tables into a folder, gives the summary as JSON.
#[pyfunction]
pub fn run(python: Python<'_>, spec_json: &str, out_dir: &str) -> PyResult<String> {
    let refuse = |text: String| PyValueError::new_err(text);
    let spec: RunSpec =
        serde_json::from_str(spec_json).map_err(|error| refuse(error.to_string()))?;
    let summary = python
        .detach(|| gameway_sim::run(&spec, Path::new(out_dir)))
        .map_err(|error| refuse(error.to_string()))?;
    Ok(as_json(&summary))
}

fn as_json(summary: &SummaryRecord) -> String {
    json!({
        "duration_ns": summary.duration_ns,
        "seed": summary.seed,
        "arrived_packets": summary.arrived_packets,
        "forwarded_packets": summary.forwarded_packets,
        "dropped_packets": summary.dropped_packets,
        "queued_packets": summary.queued_packets,
        "lost_packets": summary.lost_packets,
        "delivered_packets": summary.delivered_packets,
        "under_way_packets": summary.under_way_packets,
        "events_processed": summary.events_processed,
    })
    .to_string()
}
