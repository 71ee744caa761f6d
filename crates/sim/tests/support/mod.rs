//! Runs a specification and reads its result tables back.
#![allow(dead_code, reason = "every test file uses a part")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use gameway_events::SummaryRecord;
use gameway_sim::{RunError, RunSpec};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder for one run's tables, removed with the value.
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

    /// The bytes of every file by name.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        entries.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A finished run.
pub struct Run {
    pub folder: Folder,
    pub summary: SummaryRecord,
}

/// Runs what must be a right specification; every run must conserve packets.
#[track_caller]
pub fn run(spec: &Value) -> Run {
    let folder = Folder::new();
    let summary = try_run(spec, &folder.0).unwrap_or_else(|error| panic!("{error}\n{spec:#}"));
    let run = Run { folder, summary };
    run.assert_conserved();
    run
}

pub fn try_run(spec: &Value, folder: &Path) -> Result<SummaryRecord, String> {
    let spec: RunSpec = serde_json::from_value(spec.clone()).map_err(|error| error.to_string())?;
    gameway_sim::run(&spec, folder).map_err(|error: RunError| error.to_string())
}

impl Run {
    pub fn table(&self, name: &str) -> Table {
        Table::read(&self.folder.0.join(name).with_extension("parquet"))
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

    /// Values of one variable of a controller's state in `from..to`.
    pub fn variable(&self, flow: &str, variable: &str, from: f64, to: f64) -> Vec<f64> {
        let rows = self.table("controller").only("stream", flow).only("variable", variable);
        rows.between("time_ns", from, to).present("value")
    }

    /// How often something happened to a flow.
    pub fn count(&self, flow: &str, event: &str) -> usize {
        self.table("events").only("flow", flow).only("event", event).rows
    }
}

/// A result table: its numbers (nanoseconds of any run fit a double exactly) and its names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub rows: usize,
    pub numbers: BTreeMap<String, Vec<Option<f64>>>,
    pub names: BTreeMap<String, Vec<String>>,
}

fn numbers(array: &ArrayRef) -> Vec<Option<f64>> {
    match array.data_type() {
        DataType::Int64 => {
            array.as_primitive::<Int64Type>().iter().map(|v| v.map(|v| v as f64)).collect()
        }
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().iter().map(|v| v.map(|v| v as f64)).collect()
        }
        DataType::UInt32 => {
            array.as_primitive::<UInt32Type>().iter().map(|v| v.map(f64::from)).collect()
        }
        DataType::UInt16 => {
            array.as_primitive::<UInt16Type>().iter().map(|v| v.map(f64::from)).collect()
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().collect(),
        DataType::Boolean => array.as_boolean().iter().map(|v| v.map(f64::from)).collect(),
        other => panic!("no test knows columns of {other}"),
    }
}

fn names(array: &ArrayRef) -> Vec<String> {
    array.as_string::<i32>().iter().map(|name| name.unwrap().to_owned()).collect()
}

impl Table {
    pub fn read(path: &Path) -> Self {
        let file = std::fs::File::open(path).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let mut table = Self::default();
        for field in builder.schema().fields() {
            let name = field.name().clone();
            if field.data_type() == &DataType::Utf8 {
                table.names.insert(name, Vec::new());
            } else {
                table.numbers.insert(name, Vec::new());
            }
        }
        for batch in builder.build().unwrap() {
            let batch = batch.unwrap();
            table.rows += batch.num_rows();
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                let name = field.name().clone();
                if field.data_type() == &DataType::Utf8 {
                    table.names.entry(name).or_default().extend(names(array));
                } else {
                    table.numbers.entry(name).or_default().extend(numbers(array));
                }
            }
        }
        table
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

    pub fn column(&self, name: &str) -> &[Option<f64>] {
        &self.numbers[name]
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

pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub fn most(values: &[f64]) -> f64 {
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
