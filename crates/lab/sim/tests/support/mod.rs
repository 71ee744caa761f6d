//! Runs a specification and keeps what it tells.
#![allow(dead_code, reason = "every program of tests uses a part")]

use gameway_events::{RunEvent, SummaryRecord};
use gameway_sim::{Registry, RunError, RunSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

/// A folder of its own, removed with the value.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("run-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A finished run.
pub struct Run {
    pub summary: SummaryRecord,
    pub events: Vec<RunEvent>,
}

/// Runs what must be a right specification; every run must conserve packets.
#[track_caller]
pub fn run(spec: &Value) -> Run {
    let run = told(spec).unwrap_or_else(|error| panic!("{error}\n{spec:#}"));
    run.assert_conserved();
    run
}

/// Runs a specification that may be refused.
pub fn try_run(spec: &Value) -> Result<SummaryRecord, String> {
    told(spec).map(|run| run.summary)
}

fn told(spec: &Value) -> Result<Run, String> {
    let (sink, events) = channel();
    let summary = gameway_sim::run_into(&parse(spec)?, &Registry::standard(), Box::new(sink));
    let summary = summary.map_err(|error: RunError| error.to_string())?;
    Ok(Run { summary, events: events.try_iter().collect() })
}

/// Runs a specification and leaves its tables in a folder.
#[cfg(feature = "parquet")]
pub fn write(spec: &Value, folder: &Path) -> Result<SummaryRecord, String> {
    gameway_sim::run(&parse(spec)?, folder).map_err(|error: RunError| error.to_string())
}

fn parse(spec: &Value) -> Result<RunSpec, String> {
    spec.clone().try_into().map_err(|error: serde_json::Error| error.to_string())
}

impl Run {
    /// The events that are rows of this table.
    pub fn table(&self, name: &str) -> Table {
        let mut table = Table::default();
        for event in self.events.iter().filter(|event| event.table() == name) {
            table.push(event);
        }
        table
    }

    fn assert_conserved(&self) {
        let all = &self.summary;
        let after_queue = all.forwarded_packets + all.dropped_packets + all.queued_packets;
        assert_eq!(all.arrived_packets, after_queue, "{all:?}");
        let after_link = all.lost_packets + all.delivered_packets + all.under_way_packets;
        assert_eq!(all.forwarded_packets + all.duplicated_packets, after_link, "{all:?}");
    }

    /// Wire bytes of a flow that reached the client in bins that start in `from..to`, as Mb/s.
    pub fn received_mbps(&self, flow: &str, from: f64, to: f64) -> f64 {
        let bins = self.table("bins").only("flow", flow).between("bin_start_ns", from, to);
        bins.sum("received_bytes") * 8.0 / (to - from) / 1e6
    }

    /// Share of the link's capacity that was used in bins that start in `from..to`.
    pub fn utilization(&self, from: f64, to: f64) -> f64 {
        let link = self.table("link").only("link", "path").between("bin_start_ns", from, to);
        link.sum("transmitted_bytes") / link.sum("capacity_bytes")
    }

    /// Round-trip times in ms of pings sent in `from..to`.
    pub fn rtts(&self, from: f64, to: f64) -> Vec<f64> {
        let pings = self.table("pings").between("sent_ns", from, to);
        pings.present("rtt_ns").into_iter().map(|nanos| nanos / 1e6).collect()
    }

    /// Mean queueing delay in ms of a flow's packets in windows that start in `from..to`.
    pub fn mean_wait(&self, flow: &str, from: f64, to: f64) -> f64 {
        let delays = self.table("queue_delay").only("flow", flow);
        let delays = delays.between("window_start_ns", from, to);
        delays.sum("sum_ns") / delays.sum("packets") / 1e6
    }

    /// Values of one variable of a controller's state in `from..to`.
    pub fn variable(&self, flow: &str, variable: &str, from: f64, to: f64) -> Vec<f64> {
        let rows = self.table("controller").only("stream", flow).only("variable", variable);
        rows.between("time_ns", from, to).present("value")
    }

    /// Of the frames captured between two times in seconds, the share that was whole at most so many milliseconds later than
    /// the tenth which took least time from its last packet's departure.
    pub fn in_time(&self, from: f64, to: f64, deadline_ms: f64) -> f64 {
        let frames = self.table("frames").between("captured_ns", from, to);
        let (sent, whole) = (frames.column("last_sent_ns"), frames.column("complete_ns"));
        let pairs = sent.iter().zip(whole);
        let delays = pairs.filter_map(|(sent, at)| Some(((*at)? - (*sent)?) / 1e6));
        let mut delays: Vec<f64> = delays.collect();
        delays.sort_by(f64::total_cmp);
        let usual = delays[delays.len() / 10];
        let in_time = delays.iter().filter(|delay| **delay <= usual + deadline_ms).count();
        in_time as f64 / frames.rows as f64
    }

    /// How often something happened to a flow.
    pub fn count(&self, flow: &str, event: &str) -> usize {
        self.table("events").only("flow", flow).only("event", event).rows
    }
}

/// Events of one kind as a table: its numbers (nanoseconds of any run fit a double exactly) and its names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub rows: usize,
    pub numbers: BTreeMap<String, Vec<Option<f64>>>,
    pub names: BTreeMap<String, Vec<String>>,
}

/// Columns of names of which a row may have none.
const OPTIONAL_NAMES: [&str; 1] = ["drop_reason"];

impl Table {
    fn push(&mut self, event: &RunEvent) {
        let Ok(Value::Object(mut event)) = serde_json::to_value(event) else {
            panic!("{event:?} is an object")
        };
        let Some(Value::Object(row)) = event.remove("row") else { panic!("{event:?} has a row") };
        for (column, value) in row {
            match value {
                Value::String(name) => self.names.entry(column).or_default().push(name),
                Value::Null if OPTIONAL_NAMES.contains(&column.as_str()) => {
                    self.names.entry(column).or_default().push(String::new());
                }
                Value::Bool(set) => self.push_number(column, Some(f64::from(set))),
                number => self.push_number(column, number.as_f64()),
            }
        }
        self.rows += 1;
    }

    fn push_number(&mut self, column: String, value: Option<f64>) {
        self.numbers.entry(column).or_default().push(value);
    }

    fn keep(&self, wanted: impl Fn(usize) -> bool) -> Self {
        let rows: Vec<usize> = (0..self.rows).filter(|&row| wanted(row)).collect();
        let numbers = self.numbers.iter();
        let names = self.names.iter();
        Self {
            rows: rows.len(),
            numbers: numbers
                .map(|(name, all)| (name.clone(), rows.iter().map(|&row| all[row]).collect()))
                .collect(),
            names: names
                .map(|(name, all)| {
                    (name.clone(), rows.iter().map(|&row| all[row].clone()).collect())
                })
                .collect(),
        }
    }

    /// Rows in which the column has this name.
    pub fn only(&self, column: &str, name: &str) -> Self {
        self.keep(|row| self.names[column][row] == name)
    }

    /// Rows in which the column's time is in `from..to`, seconds.
    pub fn between(&self, column: &str, from: f64, to: f64) -> Self {
        self.keep(|row| {
            self.numbers[column][row].is_some_and(|at| at >= from * 1e9 && at < to * 1e9)
        })
    }

    /// A column; one without rows if there are none.
    pub fn column(&self, name: &str) -> &[Option<f64>] {
        match self.numbers.get(name) {
            Some(values) => values,
            None if self.rows == 0 => &[],
            None => panic!("no column {name}"),
        }
    }

    /// The values of a column that are not null.
    pub fn present(&self, name: &str) -> Vec<f64> {
        self.column(name).iter().flatten().copied().collect()
    }

    pub fn sum(&self, name: &str) -> f64 {
        self.present(name).iter().sum()
    }
}

pub fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "a mean of nothing");
    values.iter().sum::<f64>() / values.len() as f64
}

pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64)
        .sqrt()
}

pub fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The value below which a share of all values lies.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// A path of 25 Mb/s, 16 ms and 2 BDP with nothing on it, for so many seconds.
pub fn empty_path(seconds: u32) -> Value {
    json!({
        "seed": 1,
        "duration": format!("{seconds} s"),
        "path": {
            "capacity": "25 Mb/s",
            "base_rtt": "16 ms",
            "queue": { "kind": "drop-tail", "size": "2 bdp" },
        },
        "stream": [],
        "competitor": [],
    })
}

/// `spec` with the value at a JSON pointer replaced or added.
pub fn with(mut spec: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match spec.pointer_mut(parent).unwrap() {
        Value::Object(object) => {
            object.insert(key.to_owned(), value);
        }
        Value::Array(array) => array.push(value),
        other => panic!("{pointer}: {other} has no parts"),
    }
    spec
}

/// `spec` with so many percent of the packets lost, one by one or in bursts of this mean length.
pub fn with_loss(spec: Value, percent: f64, burst_length: f64) -> Value {
    let probability = format!("{percent} %");
    let loss = match burst_length > 1.0 {
        true => {
            json!({ "kind": "bursty", "probability": probability, "burst_length": burst_length })
        }
        false => json!({ "kind": "random", "probability": probability }),
    };
    with(spec, "/path/loss", loss)
}

/// `spec` with a game stream called "game"; `more` overrides its fields.
pub fn with_stream(spec: Value, controller: Value, more: Value) -> Value {
    let mut stream = json!({ "name": "game", "controller": controller, "video": "steady" });
    stream.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    with(spec, "/stream/-", stream)
}

/// `spec` with a download called "download"; `more` overrides its fields.
pub fn with_tcp(spec: Value, congestion_control: &str, more: Value) -> Value {
    let mut tcp =
        json!({ "name": "download", "kind": "tcp", "congestion_control": congestion_control });
    tcp.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    with(spec, "/competitor/-", tcp)
}

/// `spec` with a ping.
pub fn with_ping(spec: Value, interval: &str) -> Value {
    with(spec, "/ping", json!({ "interval": interval }))
}

/// A controller that sends at a constant rate.
pub fn fixed(bitrate: &str) -> Value {
    json!({ "kind": "fixed", "bitrate": bitrate })
}

/// The blocks of Rust in a page have three lines or more, each of which stands in the source.
pub fn assert_page_shows(page: &str, source: &str) {
    let blocks = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut lines = 0;
    for line in blocks.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()) {
        assert!(source.contains(line), "{line}");
        lines += 1;
    }
    assert!(lines >= 3);
}
