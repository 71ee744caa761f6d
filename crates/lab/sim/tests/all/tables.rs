//! The result tables hold what a sink hears, and say where they are when they cannot be written.

use crate::support::{
    Folder, empty_path, fixed, run, with, with_ping, with_stream, with_tcp, write,
};
use gameway_events::{RunEvent, Sink, SinkError};
use gameway_experiment::RunSpec;
use gameway_sim::Registry;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;

/// A run that has a row in every table.
fn everything() -> Value {
    let spec = with_stream(empty_path(12), fixed("8 Mb/s"), json!({ "video": "doom" }));
    let spec = with_tcp(with_ping(spec, "100 ms"), "cubic", json!({ "start": "1 s" }));
    let video = json!({ "name": "video", "kind": "dash", "congestion_control": "cubic" });
    with(with(spec, "/competitor/-", video), "/record", json!({ "packets": true }))
}

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn cell<'a>(row: &'a Row, column: &str) -> &'a Field {
    row.get_column_iter().find(|(name, _)| *name == column).unwrap().1
}

/// What is in a column of text; empty where there is nothing.
fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    match cell(row, column) {
        Field::Str(text) => text,
        Field::Null => "",
        other => panic!("{column} has {other:?}"),
    }
}

#[test]
fn tables_have_a_row_for_each_event_in_the_order_of_events() {
    let folder = Folder::new();
    let summary = write(&everything(), &folder.0).unwrap();
    let heard = run(&everything());
    assert_eq!(heard.summary, summary);
    let files = std::fs::read_dir(&folder.0).unwrap();
    let mut tables = 0;
    for path in files.map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (rows, expected) = (rows(&path), heard.table(name));
        assert!(!rows.is_empty(), "{name} is empty");
        assert_eq!(rows.len(), expected.rows, "{name}");
        for (column, values) in &expected.names {
            let found = rows.iter().map(|row| text(row, column));
            assert!(found.eq(values.iter()), "{name}.{column}");
        }
        for (column, values) in &expected.numbers {
            let absent = values.iter().filter(|value| value.is_none()).count();
            let found = rows.iter().filter(|row| matches!(cell(row, column), Field::Null)).count();
            assert_eq!(found, absent, "{name}.{column}");
        }
        tables += 1;
    }
    assert_eq!(tables, 10);
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let missing = Folder::new().0.join("missing");
    let message = write(&everything(), &missing).err();
    assert!(message.is_some_and(|message| message.contains("missing/frames.parquet")));
}

/// A sink whose disk is full after so many events.
#[derive(Debug)]
struct Full {
    room: usize,
    heard: std::sync::mpsc::Sender<RunEvent>,
}

impl Sink for Full {
    fn take(&mut self, event: RunEvent) {
        if self.room > 0 {
            self.room -= 1;
            self.heard.take(event);
        }
    }

    fn has_failed(&self) -> bool {
        self.room == 0
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        Err(SinkError::new("frames.parquet: no space left"))
    }
}

#[test]
fn a_run_ends_soon_after_its_sink_has_failed_and_says_why() {
    let spec = RunSpec::try_from(with_ping(empty_path(100_000), "100 ms")).unwrap();
    let (heard, events) = std::sync::mpsc::channel();
    let error =
        gameway_sim::run_into(&spec, &Registry::standard(), Box::new(Full { room: 50, heard }))
            .unwrap_err();
    assert!(error.to_string().contains("frames.parquet: "), "{error}");
    assert_eq!(events.try_iter().count(), 50);
}
