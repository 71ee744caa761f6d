//! What clients of a control say, and what they are told: a line of JSON each. Any bytes are read.
//!
//! Sans-IO but for files: those of capacities are read here, and the list of changes is written.

use super::{Request, Response};
use crate::document::{self, PathError};
use crate::link::packet::LinkRegistry;
use crate::link::path::LivePath;
use gameway_experiment::build::{capacities, changed_links, check_change};
use gameway_experiment::check::check_path;
use gameway_experiment::spec::{CapacitySpec, PathSpec, TraceSpec};
use gameway_path::Link;
use gameway_units::{Instant, Rate};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The list of changes in a link's folder.
const CHANGES: &str = "changes.jsonl";
/// Keys of a path that a file has not; they stay as they are.
const NOT_IN_FILES: [&str; 2] = ["nominal_rtt", "stalls"];

/// What a client says: one of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    set: Option<Map<String, Value>>,
    tell: Option<Now>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Now {
    Now,
}

/// What a link did so far, and what its own bottleneck is like now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    now_ns: i64,
    capacity_bps: u64,
    queue: QueueStatus,
    waited: WaitStatus,
    flows: Vec<FlowStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct QueueStatus {
    bytes: u64,
    /// How long the packet has waited that came first.
    delay_ns: i64,
}

/// Of the packets that left the queue since somebody asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct WaitStatus {
    packets: u64,
    mean_ns: i64,
    max_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct FlowStatus {
    name: String,
    sent_bytes: u64,
    arrived_bytes: u64,
    dropped_packets: u64,
    lost_packets: u64,
}

impl Status {
    /// Of a path that was brought to `now`.
    pub fn of(path: &mut LivePath, now: Instant) -> Self {
        let (capacity, bytes, waited) = path.bottleneck(now);
        let waits = path.waits();
        let mean_ns = waits.sum_ns.checked_div(i64::try_from(waits.packets).unwrap_or(i64::MAX));
        let flows = path.recorder().flow_totals().map(|(name, totals)| FlowStatus {
            name: name.to_string(),
            sent_bytes: totals.sent_bytes,
            arrived_bytes: totals.arrived_bytes,
            dropped_packets: totals.dropped_packets,
            lost_packets: totals.lost_packets,
        });
        Self {
            now_ns: now.as_nanos(),
            capacity_bps: Rate::as_bps(capacity),
            queue: QueueStatus { bytes: bytes.get(), delay_ns: waited.as_nanos() },
            waited: WaitStatus {
                packets: waits.packets,
                mean_ns: mean_ns.unwrap_or(0),
                max_ns: waits.max_ns,
            },
            flows: flows.collect(),
        }
    }
}

/// The path as it is now, and where its changes are listed.
#[derive(Debug)]
pub struct Requests {
    path: PathSpec,
    registry: Arc<LinkRegistry>,
    changes: Option<PathBuf>,
    /// Once it could be made.
    list: Option<File>,
}

impl Requests {
    /// Of a link with this path, which can name what this registry has, and this folder if it has one.
    #[must_use]
    pub fn new(path: &PathSpec, folder: &Path, registry: Arc<LinkRegistry>) -> Self {
        let has_folder = !folder.as_os_str().is_empty();
        let changes = has_folder.then(|| folder.join(CHANGES));
        let list = changes.as_ref().and_then(|file| File::create(file).ok());
        Self { path: path.clone(), registry, changes, list }
    }

    /// The answer to a line. `ask` has it done by the link; `None` once that has ended.
    pub fn answer(
        &mut self,
        line: &[u8],
        mut ask: impl FnMut(Request) -> Option<Response>,
    ) -> Value {
        let line: Line = match serde_json::from_slice(line) {
            Ok(line) => line,
            Err(error) => return refused(&format!("is no request: {error}")),
        };
        match (line.set, line.tell) {
            (Some(set), None) => self.set(set, ask),
            (None, Some(Now::Now)) => match ask(Request::Status) {
                Some(Response::Status(told)) => json!(told),
                _ => over(),
            },
            _ => {
                refused("a request has one key: \"set\" with a table of keys, or \"tell\": \"now\"")
            }
        }
    }

    fn set(
        &mut self,
        set: Map<String, Value>,
        mut ask: impl FnMut(Request) -> Option<Response>,
    ) -> Value {
        let (path, links) = match self.wanted(&set) {
            Ok(wanted) => wanted,
            Err(error) => return refused(&error.to_string()),
        };
        let now = match ask(Request::Change(Box::new((path.clone(), links)))) {
            Some(Response::Changed(now)) => now,
            Some(Response::Refused(error)) => return refused(&error.to_string()),
            _ => return over(),
        };
        self.path = path;
        let at_ns = now.as_nanos();
        let mut answer = json!({ "at_ns": at_ns, "path": document_of(&self.path) });
        if let Err(error) = self.note(&json!({ "at_ns": at_ns, "set": set })) {
            answer["warning"] = error.into();
        }
        answer
    }

    /// The path after these settings, checked as that of a new link is, and the links that differ.
    fn wanted(&self, set: &Map<String, Value>) -> Result<(PathSpec, Vec<Option<Link>>), PathError> {
        let mut whole = json!({ "path": document_of(&self.path) });
        for (key, value) in set {
            let keys: Vec<&str> = key.split('.').collect();
            document::set(&mut whole, &keys, value.clone())
                .map_err(|why| PathError { field: shown(key), why: why.to_owned() })?;
        }
        let mut document = whole["path"].take();
        without_nulls(&mut document);
        let mut path = document::read(document)?;
        path.nominal_rtt = self.path.nominal_rtt;
        path.stalls.clone_from(&self.path.stalls);
        check_path(self.registry.known(), &path)?;
        check_change(&self.path, &path)?;
        check_files(&path)?;
        let links = changed_links(&self.path, &path)?;
        Ok((path, links))
    }

    /// Adds a change to the list.
    fn note(&mut self, change: &Value) -> Result<(), String> {
        let Some(file) = &self.changes else { return Ok(()) };
        let refused = |why: String| format!("{} cannot be written: {why}", file.display());
        let list = self.list.as_mut().ok_or_else(|| refused("it could not be made".to_owned()))?;
        writeln!(list, "{change}").map_err(|error| refused(error.to_string()))
    }
}

/// The answer to what cannot be done.
pub fn refused(why: &str) -> Value {
    json!({ "error": why })
}

/// Reading what is no plain file might never end.
fn check_files(path: &PathSpec) -> Result<(), PathError> {
    for capacity in capacities(path) {
        if let CapacitySpec::Trace(TraceSpec { trace, .. }) = capacity
            && !trace.is_file()
        {
            let why = format!("\"{}\" names no file", trace.display());
            return Err(PathError { field: "path.capacity.trace".to_owned(), why });
        }
    }
    Ok(())
}

fn over() -> Value {
    refused("the link has ended")
}

/// A key as an error quotes it.
fn shown(key: &str) -> String {
    key.chars().take(60).collect()
}

/// A path as a file would have it.
fn document_of(path: &PathSpec) -> Value {
    let mut document = serde_json::to_value(path).unwrap_or_default();
    if let Value::Object(table) = &mut document {
        NOT_IN_FILES.iter().for_each(|key| drop(table.remove(*key)));
    }
    without_nulls(&mut document);
    document
}

/// Keys whose value is null are those that are not given.
fn without_nulls(value: &mut Value) {
    if let Value::Object(table) = value {
        table.retain(|_, value| !value.is_null());
        table.values_mut().for_each(without_nulls);
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
