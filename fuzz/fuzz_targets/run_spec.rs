//! Run specifications: whatever the JSON, a clear error or a run that conserves packets.
#![no_main]

use gameway_sim::RunSpec;
use gameway_sim::spec::{CapacitySpec, VideoSpec};
use gameway_units::Duration;
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Where the tables of every run go, one after the other.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("gameway-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
    folder
});

/// Files that a specification names are the user's own; here they would be this machine's.
fn reads_files(spec: &RunSpec) -> bool {
    matches!(spec.path.capacity, CapacitySpec::Trace(_))
        || spec.stream.iter().any(|stream| matches!(stream.video, VideoSpec::File { .. }))
}

fuzz_target!(|text: &[u8]| {
    let mut spec: RunSpec = match serde_json::from_slice(text) {
        Ok(spec) => spec,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    if reads_files(&spec) {
        return;
    }
    spec.duration = spec.duration.min(Duration::from_millis(2));
    match gameway_sim::run(&spec, &FOLDER) {
        Ok(total) => {
            let gone = total.forwarded_packets + total.dropped_packets + total.queued_packets;
            assert_eq!(total.arrived_packets, gone);
            let behind = total.lost_packets + total.delivered_packets + total.under_way_packets;
            assert_eq!(total.forwarded_packets, behind);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
