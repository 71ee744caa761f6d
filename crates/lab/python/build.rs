//! Copies the experiments into the build folder, from where they go into the wheel, so that
//! `gameway reproduce` works from an installed package too.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let experiments = Path::new("../../../experiments");
    println!("cargo::rerun-if-changed={}", experiments.display());
    let target = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let target = target.join("experiments");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    // A source package without experiments still builds.
    if experiments.is_dir() { copy(experiments, &target) } else { Ok(()) }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &copied)?;
        } else {
            fs::copy(entry.path(), copied)?;
        }
    }
    Ok(())
}
