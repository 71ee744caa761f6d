//! A controller of one's own in a simulation. It is in a module of its own: a host streams with the same one
//! (`own_host.rs` of `gameway-stream`).

mod mine;

use gameway_sim::{Registry, RunSpec};
use mine::MineOptions;

/// One run with that controller.
pub const SPEC: &str = r#"{
    "seed": 1,
    "duration": "20 s",
    "path": { "capacity": "15 Mb/s", "base_rtt": "16 ms",
              "queue": { "kind": "drop-tail", "size": "7 bdp" } },
    "stream": [{ "name": "game", "controller": { "kind": "mine", "gain": "100 kb/s" }, "video": "doom" }]
}"#;

/// What this repository has, and the controller.
pub fn registry() -> Registry {
    Registry::standard().with_controller::<MineOptions>()
}

/// Runs it.
///
/// # Errors
/// If it cannot be run, or the controller did not use the path.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec: RunSpec = SPEC.parse()?;
    let folder = std::env::temp_dir().join(format!("own-controller-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let summary = gameway_sim::run_with(&spec, &folder, &registry())?;
    std::fs::remove_dir_all(&folder)?;
    println!("{} of {} packets dropped", summary.dropped_packets, summary.arrived_packets);
    // 15 Mb/s carry 30 000 packets of 1248 B in 20 s.
    if !(18_000..31_000).contains(&summary.forwarded_packets) {
        return Err("it finds the capacity, and sends no more".into());
    }
    Ok(())
}
