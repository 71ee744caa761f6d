//! Runs one specification (JSON) and leaves its tables in a folder.
//!
//! `cargo run --release -p gameway-sim --example run -- SPEC.json FOLDER`

use gameway_sim::RunSpec;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [spec, folder] = arguments.as_slice() else {
        return Err("usage: run SPEC.json FOLDER".into());
    };
    let spec: RunSpec = std::fs::read_to_string(spec)?.parse()?;
    std::fs::create_dir_all(folder)?;
    let summary = gameway_sim::run(&spec, Path::new(folder))?;
    println!("{summary:#?}");
    Ok(())
}
