//! What a build without live streams says of them: it simulates and emulates links.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::ffi::OsString;

fn absent<T>() -> PyResult<T> {
    Err(PyOSError::new_err("this build has no live streams: `make setup` makes one that has"))
}

/// None.
#[pyfunction]
pub fn encoders() -> Vec<(&'static str, &'static str)> {
    Vec::new()
}

/// Refused.
#[pyfunction]
pub fn screen_shows(display: &str) -> PyResult<bool> {
    let _ = display;
    absent()
}

/// No.
#[pyfunction]
pub fn has_opus() -> bool {
    false
}

/// Whether this build captures screens of Wayland.
#[pyfunction]
pub fn has_wayland() -> bool {
    false
}

/// Refused.
#[pyfunction]
pub fn host_command(words: Vec<OsString>) -> PyResult<u8> {
    let _ = words;
    absent()
}

/// Refused.
#[pyfunction]
pub fn play_command(words: Vec<OsString>) -> PyResult<u8> {
    let _ = words;
    absent()
}

/// Refused.
#[pyfunction]
pub fn client_command(words: Vec<OsString>) -> PyResult<u8> {
    let _ = words;
    absent()
}

/// Refused.
#[pyfunction]
pub fn devices_command(words: Vec<OsString>) -> PyResult<u8> {
    let _ = words;
    absent()
}

/// Refused.
#[pyfunction]
pub fn doctor_command(words: Vec<OsString>, further: Py<PyAny>) -> PyResult<u8> {
    let _ = (words, further);
    absent()
}

/// None.
#[pyfunction]
pub fn stream_options(command: &str) -> Vec<(String, String)> {
    let _ = command;
    Vec::new()
}

/// Refused.
#[pyfunction]
pub fn live_host(config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let _ = (config_json, ready);
    absent()
}

/// Refused.
#[pyfunction]
pub fn live_client(config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let _ = (config_json, ready);
    absent()
}

/// Refused.
#[pyfunction]
pub fn live_quic_server(config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let _ = (config_json, ready);
    absent()
}

/// Refused.
#[pyfunction]
pub fn live_quic_client(config_json: &str, ready: Py<PyAny>) -> PyResult<String> {
    let _ = (config_json, ready);
    absent()
}
