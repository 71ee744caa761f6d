//! Runs that leave their result tables in a folder.

use super::{Registry, run_built, simulated};
use gameway_events::{FurtherTables, ResultTables, Sink, SummaryRecord};
use gameway_experiment::RunError;
use gameway_experiment::spec::{CompetitorSpec, RunSpec};
use std::path::Path;

/// Runs `spec` and writes its tables into `folder`, which must exist. Gives the summary row.
///
/// # Errors
/// If the specification is wrong, a file it names cannot be read, or a table cannot be written.
pub fn run(spec: &RunSpec, folder: &Path) -> Result<SummaryRecord, RunError> {
    run_with(spec, folder, &Registry::standard())
}

/// [`run`] with controllers, queues, gateways and congestion controls of one's own.
///
/// # Errors
/// As of [`run`].
pub fn run_with(
    spec: &RunSpec,
    folder: &Path,
    registry: &Registry,
) -> Result<SummaryRecord, RunError> {
    let built = simulated(spec, registry)?;
    run_built(spec, registry, built, tables(spec, folder)?, &|| false)
}

/// The tables of a run of `spec` in `folder`, which must exist.
///
/// # Errors
/// If they cannot be created.
pub fn tables(spec: &RunSpec, folder: &Path) -> Result<Box<dyn Sink>, RunError> {
    let segments = spec.competitor.iter().any(|flow| matches!(flow, CompetitorSpec::Dash(_)));
    let further =
        FurtherTables { packets: spec.record.packets, segments, ..FurtherTables::default() };
    Ok(Box::new(ResultTables::of_run(folder, further)?))
}
