//! The network namespaces of a live run: as those of a link, with Python's global lock released.

use crate::link::failed;
use gameway_link::command::{Owned, clean, require, start_of};
use pyo3::prelude::*;
use std::path::PathBuf;

const WHO: &str = "live runs need";
const PARTS: &[&str] = &["server", "router", "client"];

/// Namespaces of this process, until they are removed or nobody has them any more.
#[pyclass]
#[derive(Debug)]
pub struct Namespaces(Option<Owned>);

impl Namespaces {
    fn owned(&self) -> PyResult<&Owned> {
        self.0.as_ref().ok_or_else(|| failed("the namespaces are removed"))
    }
}

#[pymethods]
impl Namespaces {
    #[new]
    #[pyo3(signature = (folder = None))]
    fn new(python: Python<'_>, folder: Option<PathBuf>) -> PyResult<Self> {
        let made = python.detach(|| Owned::make(WHO, PARTS, folder.as_deref()));
        // Ctrl-C ends the program that is called, too: that is no refusal of the machine.
        python.check_signals()?;
        made.map(|owned| Self(Some(owned))).map_err(failed)
    }

    /// The name of the namespace of a part: server, router or client.
    fn name(&self, part: &str) -> PyResult<String> {
        Ok(self.owned()?.space(part))
    }

    /// A name that nobody else has, for a device outside or a table of NAT: both are removed with the namespaces.
    #[getter]
    fn device(&self) -> PyResult<String> {
        Ok(self.owned()?.device.clone())
    }

    /// Makes the TUN device of a part, with these addresses, and sends everything through it.
    fn connect(
        &self,
        python: Python<'_>,
        part: &str,
        device: &str,
        addresses: Vec<String>,
    ) -> PyResult<()> {
        let owned = self.owned()?;
        let done = python.detach(|| owned.connect(part, device, &addresses));
        python.check_signals()?;
        done.map_err(failed)
    }

    /// Removes them, with what runs in them.
    fn remove(&mut self, python: Python<'_>) {
        let owned = self.0.take();
        python.detach(|| drop(owned));
    }
}

/// Refuses, with what to do, where namespaces cannot be made.
#[pyfunction]
pub fn require_namespaces() -> PyResult<()> {
    require(WHO).map_err(failed)
}

/// Removes what killed links and live runs have left.
#[pyfunction]
pub fn clean_namespaces(python: Python<'_>) -> PyResult<()> {
    python.detach(clean).map_err(failed)
}

/// The tick at which a process started, which the names of its namespaces hold; none of a process that has ended.
#[pyfunction]
pub fn start_of_process(process: u32) -> Option<u64> {
    start_of(process)
}
