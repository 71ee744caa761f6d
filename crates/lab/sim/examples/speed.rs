//! How fast the simulator is, and that its memory does not grow with simulated time.
//!
//! `cargo run --release -p gameway-sim --example speed` runs a game stream of 12.5 Mb/s (constant
//! target, recorded frames) beside one Cubic download through 25 Mb/s, 16 ms and 2 BDP, tables written,
//! for 54, 540 and 5400 s of simulated time (several runs each), and prints bottleneck packets per second of processor time
//! of this process (user and system; not the time on the wall, which others share).
//!
//! `speed SECONDS` runs once and for so long, for a profiler; `speed SECONDS QUEUE` with another queue
//! discipline: `speed 540 cake`; `speed SECONDS QUEUE FLOWS` with so many Cubic downloads and nothing else through
//! 1 Gb/s: `speed 20 drop-tail 1000`.

mod memory;

use gameway_events::SummaryRecord;
use gameway_sim::RunSpec;
use std::path::Path;

/// Simulated seconds, and how many runs share a line.
const REPEATS: [(u32, u32); 3] = [(54, 30), (540, 5), (5400, 1)];

/// What is measured.
struct Scenario {
    queue: String,
    /// So many downloads alone, instead of the game and one.
    downloads: Option<u32>,
}

/// The discipline at its defaults; HTB has none, and gets a class for each of the two flows.
fn queue_spec(kind: &str) -> serde_json::Value {
    let size = if kind == "drop-tail" { "2 bdp" } else { "10000 packets" };
    let mut queue = serde_json::json!({ "kind": kind, "size": size });
    if kind == "htb" {
        queue["size"] = "2 bdp".into();
        queue["rate"] = "25 Mb/s".into();
        queue["default"] = "rest".into();
        queue["class"] = serde_json::json!({
            "game": { "rate": "15 Mb/s", "ceil": "25 Mb/s", "priority": 0, "match": { "protocol": "udp" } },
            "rest": { "rate": "10 Mb/s", "ceil": "25 Mb/s", "priority": 1 },
        });
    }
    queue
}

/// A download of this name.
fn download(name: &str) -> serde_json::Value {
    serde_json::json!({ "name": name, "kind": "tcp", "congestion_control": "cubic" })
}

fn spec(scenario: &Scenario, seconds: u32) -> Result<RunSpec, serde_json::Error> {
    let queue = queue_spec(&scenario.queue);
    let mut spec = serde_json::json!({
        "seed": 1,
        "duration": format!("{seconds} s"),
        "path": { "capacity": "25 Mb/s", "base_rtt": "16 ms", "queue": queue },
    });
    if let Some(flows) = scenario.downloads {
        spec["path"]["capacity"] = "1 Gb/s".into();
        spec["competitor"] =
            (0..flows).map(|number| download(&format!("download {number}"))).collect();
    } else {
        spec["stream"] = serde_json::json!([{
            "name": "game",
            "controller": { "kind": "fixed", "bitrate": "12.5 Mb/s" },
            "video": "doom",
        }]);
        spec["competitor"] = serde_json::json!([download("download")]);
    }
    spec.try_into()
}

/// Processor time of this process in seconds: user and system, from `/proc/self/stat` in ticks of 10 ms
/// (USER_HZ is 100 on every Linux that Rust supports).
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in brackets may contain spaces; utime and stime are fields 14 and 15, counting from one.
    let after_name = stat.rsplit_once(')')?.1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: f64 = fields.get(11..13)?.iter().filter_map(|text| text.parse::<f64>().ok()).sum();
    Some(ticks / 100.0)
}

/// Runs once: processor time and totals.
fn measure(
    scenario: &Scenario,
    seconds: u32,
    folder: &Path,
) -> Result<(f64, SummaryRecord), Box<dyn std::error::Error>> {
    let spec = spec(scenario, seconds)?;
    let unknown = "processor time is known on Linux only";
    let before = processor_seconds().ok_or(unknown)?;
    let summary = gameway_sim::run(&spec, folder)?;
    let spent = processor_seconds().ok_or(unknown)? - before;
    Ok((spent, summary))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("gameway-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut arguments = std::env::args().skip(1);
    let once = arguments.next().map(|text| text.parse::<u32>()).transpose()?;
    let queue = arguments.next().unwrap_or_else(|| "drop-tail".to_owned());
    let downloads = arguments.next().map(|text| text.parse::<u32>()).transpose()?;
    let scenario = Scenario { queue, downloads };
    let repeats = once.map_or(REPEATS.to_vec(), |seconds| vec![(seconds, 1)]);
    // What is read once, such as the recording, is not part of a run.
    measure(&scenario, 1, &folder)?;
    println!(
        "simulated s  runs   packets   events/packet   CPU s   million packets/CPU s   peak MB"
    );
    for (seconds, runs) in repeats {
        let (mut spent, mut packets, mut events) = (0.0, 0, 0);
        for _ in 0..runs {
            let (time, summary) = measure(&scenario, seconds, &folder)?;
            spent += time;
            packets += summary.arrived_packets;
            events += summary.events_processed;
        }
        println!(
            "{seconds:>11} {runs:>5} {packets:>9} {:>15.2} {spent:>7.2} {:>23.2} {:>9.1}",
            events as f64 / packets as f64,
            packets as f64 / spent / 1e6,
            memory::megabytes("VmHWM").unwrap_or(f64::NAN),
        );
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
