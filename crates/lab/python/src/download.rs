//! Server and client of a download over QUIC with Python's global lock released.

use gameway_download::{DownloadConfig, DownloadError, Report};
use gameway_runtime::clock;
use gameway_runtime::stop::Stop;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

type End = fn(&DownloadConfig, &Stop, &mut dyn FnMut()) -> Result<Report, DownloadError>;

fn told(error: &DownloadError) -> PyErr {
    match error {
        DownloadError::Config { .. } => PyValueError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Serves a download from a configuration (JSON) until its end, Ctrl-C or SIGTERM; `ready` is called once its client can
/// come, with nothing refused. Gives what happened as JSON.
#[pyfunction]
pub fn live_quic_server(
    python: Python<'_>,
    config_json: &str,
    ready: Py<PyAny>,
) -> PyResult<String> {
    carry_out(python, config_json, &ready, gameway_download::server)
}

/// Opens the connection of a download, and otherwise as the server.
#[pyfunction]
pub fn live_quic_client(
    python: Python<'_>,
    config_json: &str,
    ready: Py<PyAny>,
) -> PyResult<String> {
    carry_out(python, config_json, &ready, gameway_download::client)
}

fn carry_out(
    python: Python<'_>,
    config_json: &str,
    ready: &Py<PyAny>,
    end: End,
) -> PyResult<String> {
    let refused = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let config: DownloadConfig = serde_json::from_str(config_json).map_err(refused)?;
    let stop = Stop::on_signals()?;
    clock::end_with_parent()?;
    let report = python.detach(|| {
        let ready = &mut || {
            // Who listens may have gone; the download goes on.
            let _ = Python::attach(|python| ready.call1(python, (Vec::<String>::new(),)));
        };
        end(&config, &stop, ready).map_err(|error| told(&error))
    })?;
    serde_json::to_string(&report).map_err(refused)
}
