//! Texts with units to integers and back.

use gameway_experiment::spec::Mss;
use gameway_tcp::ReceiveWindow;
use gameway_units::{Bytes, Duration, QueueSize, Rate, Ratio, UnitError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::str::FromStr;

fn parse<T: FromStr<Err = UnitError>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error: UnitError| PyValueError::new_err(error.to_string()))
}

/// "25 Mb/s" in bit/s.
#[pyfunction]
pub fn parse_rate(text: &str) -> PyResult<u64> {
    parse::<Rate>(text).map(Rate::as_bps)
}

/// "16 ms" in nanoseconds.
#[pyfunction]
pub fn parse_duration(text: &str) -> PyResult<i64> {
    parse::<Duration>(text).map(Duration::as_nanos)
}

/// "64 KiB" in bytes.
#[pyfunction]
pub fn parse_bytes(text: &str) -> PyResult<u64> {
    parse::<Bytes>(text).map(Bytes::get)
}

/// "2 %" in parts per million.
#[pyfunction]
pub fn parse_ratio(text: &str) -> PyResult<u64> {
    parse::<Ratio>(text).map(Ratio::as_ppm)
}

/// "2.0 BDP" as "2 bdp".
#[pyfunction]
pub fn check_queue_size(text: &str) -> PyResult<String> {
    parse::<QueueSize>(text).map(|size| size.to_string())
}

/// bit/s as "25 Mb/s".
#[pyfunction]
pub fn format_rate(bits_per_sec: u64) -> String {
    Rate::from_bps(bits_per_sec).to_string()
}

/// Nanoseconds as "16 ms".
#[pyfunction]
pub fn format_duration(nanos: i64) -> String {
    Duration::from_nanos(nanos).to_string()
}

/// Bytes as "64 kB".
#[pyfunction]
pub fn format_bytes(amount: u64) -> String {
    Bytes::new(amount).to_string()
}

/// What SO_RCVBUF has to be for a receive window of that size and an MSS of that: the kernel doubles it.
#[pyfunction]
pub fn receive_buffer(window: &str, mss: &str) -> PyResult<u64> {
    let segment_size = Mss(parse(mss)?).segment_size();
    Ok(ReceiveWindow::memory(parse(window)?, segment_size).get().div_ceil(2))
}

/// The size of a queue in bytes at a capacity and base RTT; None where it counts packets.
#[pyfunction]
pub fn queue_bytes(size: &str, capacity: &str, base_rtt: &str) -> PyResult<Option<u64>> {
    let size: QueueSize = parse(size)?;
    Ok(size.in_bytes(parse(capacity)?, parse(base_rtt)?).map(Bytes::get))
}
