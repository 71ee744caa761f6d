//! TOML to JSON with the position of each value, so that an error names its line.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Number, Value as Json};
use std::collections::BTreeMap;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value};

/// 1-based line and column of each value, by its dotted path ("stream.0.controller.1").
type Positions = BTreeMap<String, (usize, usize)>;

/// The document as JSON, and where each value stands.
#[pyfunction]
pub fn parse_toml(text: &str) -> PyResult<(String, Positions)> {
    let document = Document::parse(text).map_err(|error| {
        let (line, column) = position(text, error.span().unwrap_or_default().start);
        PyValueError::new_err(format!("line {line}, column {column}: {}", error.message().trim()))
    })?;
    let mut reader = Reader { text, positions: Positions::new() };
    let json = reader.table("", document.as_table())?;
    Ok((json.to_string(), reader.positions))
}

/// Line and column (in characters) of a byte offset.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

struct Reader<'a> {
    text: &'a str,
    positions: Positions,
}

impl Reader<'_> {
    fn table(&mut self, path: &str, table: &dyn TableLike) -> PyResult<Json> {
        let mut object = Map::new();
        for (name, item) in table.iter() {
            let path = join(path, name);
            // A table made by dotted keys has no place of its own: its key has.
            let span = item.span().or_else(|| table.key(name).and_then(|key| key.span()));
            self.remember(&path, span);
            object.insert(name.to_owned(), self.item(&path, item)?);
        }
        Ok(Json::Object(object))
    }

    fn item(&mut self, path: &str, item: &Item) -> PyResult<Json> {
        match item {
            Item::None => Ok(Json::Null),
            Item::Value(value) => self.value(path, value),
            Item::Table(table) => self.table(path, table),
            Item::ArrayOfTables(tables) => {
                let read = tables.iter().enumerate().map(|(index, table)| {
                    let path = join(path, &index.to_string());
                    self.remember(&path, table.span());
                    self.table(&path, table)
                });
                read.collect::<PyResult<_>>().map(Json::Array)
            }
        }
    }

    fn value(&mut self, path: &str, value: &Value) -> PyResult<Json> {
        match value {
            Value::String(text) => Ok(Json::String(text.value().clone())),
            Value::Integer(number) => Ok(Json::Number((*number.value()).into())),
            Value::Float(number) => self.float(value, *number.value()),
            Value::Boolean(flag) => Ok(Json::Bool(*flag.value())),
            Value::Datetime(date) => Ok(Json::String(date.value().to_string())),
            Value::InlineTable(table) => self.table(path, table),
            Value::Array(array) => {
                let read = array.iter().enumerate().map(|(index, value)| {
                    let path = join(path, &index.to_string());
                    self.remember(&path, value.span());
                    self.value(&path, value)
                });
                read.collect::<PyResult<_>>().map(Json::Array)
            }
        }
    }

    fn float(&self, value: &Value, number: f64) -> PyResult<Json> {
        Number::from_f64(number).map(Json::Number).ok_or_else(|| {
            let (line, column) = position(self.text, value.span().unwrap_or_default().start);
            PyValueError::new_err(format!("line {line}, column {column}: not a finite number"))
        })
    }

    fn remember(&mut self, path: &str, span: Option<Range<usize>>) {
        if let Some(span) = span {
            self.positions.insert(path.to_owned(), position(self.text, span.start));
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
