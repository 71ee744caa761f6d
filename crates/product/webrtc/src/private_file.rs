//! Files that are for their owner alone: changed under a lock, and replaced at once.

use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes the file's folder, if it is not there, and keeps all others who lock the file waiting until what it gives is dropped.
pub(crate) fn lock(file: &Path) -> io::Result<File> {
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let lock = writable(&file.with_extension("lock"))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}

/// Puts a new file in its place; who reads meanwhile has all of the old one or all of the new one.
pub(crate) fn put(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut written = writable(&new)?;
    written.set_len(0)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    std::fs::rename(new, file)
}

fn writable(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}
