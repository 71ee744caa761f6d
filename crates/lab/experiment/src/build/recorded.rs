//! Recorded capacity from a file: Mahimahi's format or a table of rates, as it is or compressed by gzip.

use crate::spec::TraceSpec;
use crate::{RunError, read};
use flate2::read::MultiGzDecoder;
use gameway_path::{Columns, Link, ThroughputTable, Trace};
use std::io::Read;
use std::path::Path;

const GZIP: [u8; 2] = [0x1f, 0x8b];
/// What a compressed file may become: a day of opportunities at 10 Gb/s has less.
const MAX_BYTES: u64 = 1 << 30;

/// What a file of recorded capacity holds.
#[derive(Debug, Clone)]
pub enum Recorded {
    /// Mahimahi's format.
    Opportunities(Trace),
    /// Times and rates.
    Rates(ThroughputTable),
}

impl Recorded {
    /// Reads the file of a specification.
    ///
    /// # Errors
    /// If it cannot be read, or is in neither form; the message names the file and the line.
    pub fn read(spec: &TraceSpec) -> Result<Self, RunError> {
        let path = &spec.trace;
        let content = plain(path, read(path)?)?;
        if is_table(spec, &content) {
            let text = String::from_utf8_lossy(&content);
            let table = ThroughputTable::parse(&text, &columns(spec));
            let refused = |source| RunError::Throughput { path: path.clone(), source };
            return table.map(Self::Rates).map_err(refused);
        }
        let trace = Trace::parse(&content);
        trace
            .map(Self::Opportunities)
            .map_err(|source| RunError::Trace { path: path.clone(), source })
    }

    /// The link that it describes.
    #[must_use]
    pub fn link(self) -> Link {
        match self {
            Self::Opportunities(trace) => Link::trace(trace),
            Self::Rates(table) => Link::throughput(table),
        }
    }
}

/// The content of a file that may be compressed.
fn plain(path: &Path, content: Vec<u8>) -> Result<Vec<u8>, RunError> {
    if !content.starts_with(&GZIP) {
        return Ok(content);
    }
    let mut found = Vec::new();
    let refused = |source| RunError::Read { path: path.to_owned(), source };
    MultiGzDecoder::new(&content[..])
        .take(MAX_BYTES + 1)
        .read_to_end(&mut found)
        .map_err(refused)?;
    if found.len() as u64 > MAX_BYTES {
        return Err(refused(std::io::Error::other("is more than 1 GiB when it is not compressed")));
    }
    Ok(found)
}

/// A file is a table if its columns are described, or if its first line has more than one.
fn is_table(spec: &TraceSpec, content: &[u8]) -> bool {
    let named = spec.time.is_some() || spec.rate.is_some();
    if named || spec.time_unit.is_some() || spec.rate_unit.is_some() {
        return true;
    }
    let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.filter(|line| !line.is_empty()).find(|line| !line.starts_with(b"#"));
    first.is_some_and(|line| line.iter().any(|byte| b",;\t ".contains(byte)))
}

fn columns(spec: &TraceSpec) -> Columns {
    let default = Columns::default();
    Columns {
        time: spec.time.clone(),
        rate: spec.rate.clone(),
        time_unit: spec.time_unit.map_or(default.time_unit, |unit| unit.0),
        rate_unit: spec.rate_unit.map_or(default.rate_unit, |unit| unit.0),
    }
}
