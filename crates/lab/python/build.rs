//! Copies the experiments into the build folder, from where they go into the wheel, so that
//! `gameway reproduce` works from an installed package too. Tests and compiled Python stay behind.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const LEFT_OUT: [&str; 2] = ["tests", "__pycache__"];

fn main() -> io::Result<()> {
    let experiments = Path::new("../../../experiments");
    let target = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let target = target.join("experiments");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    // A source package without experiments still builds.
    if experiments.is_dir() {
        // The folder, so that a file that is new is copied, too. Bytecode that Python writes there costs another copy.
        println!("cargo::rerun-if-changed={}", experiments.display());
        copy(experiments, &target)
    } else {
        println!("cargo::rerun-if-changed=build.rs");
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = to.join(entry.file_name());
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), copied)?;
        } else if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            copy(&entry.path(), &copied)?;
        }
    }
    Ok(())
}
