//! A long session: memory stays flat, and neither delay nor bitrate creeps while the client's clock drifts away.
//!
//! `cargo run --release -p gameway-sim --example soak` plays eight simulated hours with each controller through 25 Mb/s, 20 ms, 2 BDP and
//! one lost packet in a thousand, beside a video by TCP (Cubic) and web pages; the client's clock is 100 ppm fast, 2.9 s after eight
//! hours. `soak MINUTES CONTROLLER` plays shorter, and with one. Each run is looked at in eighths. It fails if the last one differs
//! from the second by more than the bounds; the first has the start.
//!
//! | bound | value | reason |
//! |---|---|---|
//! | memory | 5 % and 2 MB | pages that the allocator keeps; all frames of an eighth would have 5 MB and more |
//! | mean delay of frames, mean target | 25 % | losses fall differently; a clock that is followed wrongly is off by 100 % within minutes |
//! | frames made | 0.1 % | 60 a second, but for those that SCReAM leaves out |
//! | frames shown | 5 % | as delay |
//!
//! `soak MINUTES CONTROLLER keep` keeps all that is told, and must fail.

#[path = "memory/mod.rs"]
mod memory;

use gameway_control::Controllers;
use gameway_events::{FrameRecord, RunEvent, Sink, SinkError};
use gameway_sim::{Registry, RunSpec, run_into};
use std::cell::RefCell;
use std::rc::Rc;

const HOURS: u32 = 8;
const PARTS: usize = 8;

/// What was seen of one eighth of a run.
#[derive(Debug, Clone, Default)]
pub struct Part {
    made: u64,
    shown: u64,
    /// Sums over frames, of those shown and of those made.
    delay_ms: f64,
    target_mbps: f64,
    /// In use at its end.
    megabytes: f64,
}

impl Part {
    fn add(&mut self, frame: &FrameRecord) {
        self.made += 1;
        self.target_mbps += frame.target_bps as f64 / 1e6;
        if let Some(shown) = frame.shown_ns {
            self.shown += 1;
            self.delay_ms += (shown - frame.captured_ns) as f64 / 1e6;
        }
    }

    fn mean_delay_ms(&self) -> f64 {
        self.delay_ms / self.shown as f64
    }

    fn mean_target_mbps(&self) -> f64 {
        self.target_mbps / self.made as f64
    }
}

/// Looks at frames and memory, and keeps nothing unless it is told to.
#[derive(Debug)]
struct Look {
    part_ns: i64,
    parts: Rc<RefCell<[Part; PARTS]>>,
    kept: Option<Vec<RunEvent>>,
}

impl Sink for Look {
    fn take(&mut self, event: RunEvent) {
        if let RunEvent::Frame(frame) = &event {
            let at = (frame.captured_ns / self.part_ns).clamp(0, PARTS as i64 - 1) as usize;
            let part = &mut self.parts.borrow_mut()[at];
            part.add(frame);
            // Each look reads a file: once in ten seconds is enough.
            if frame.frame % 600 == 0 {
                part.megabytes = memory::megabytes("VmRSS").unwrap_or(f64::NAN);
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.push(event);
        }
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }
}

fn spec(controller: &str, minutes: u32) -> Result<RunSpec, serde_json::Error> {
    serde_json::json!({
        "seed": 1,
        "duration": format!("{minutes} min"),
        "path": {
            "capacity": "25 Mb/s",
            "base_rtt": "20 ms",
            "loss": { "probability": "0.1 %" },
            "queue": { "kind": "drop-tail", "size": "2 bdp" },
        },
        "stream": [{
            "name": "game",
            "controller": controller,
            "max_bitrate": "30 Mb/s",
            "repair": "adaptive",
            "clock_drift": "100 ppm",
        }],
        "competitor": [
            {
                "name": "video",
                "kind": "tcp",
                "congestion_control": "cubic",
                "on_off": { "segment": "5 s", "bitrate": "5 Mb/s" },
            },
            { "name": "pages", "kind": "short-tcp" },
        ],
    })
    .try_into()
}

/// Plays for so long with this controller, and keeps all events if that is wanted.
///
/// # Errors
/// If there is no such controller.
pub fn play(
    controller: &str,
    minutes: u32,
    keeps: bool,
) -> Result<[Part; PARTS], Box<dyn std::error::Error>> {
    let parts = Rc::<RefCell<[Part; PARTS]>>::default();
    let part_ns = i64::from(minutes) * 60_000_000_000 / PARTS as i64;
    let kept = keeps.then(Vec::new);
    let look = Look { part_ns, parts: Rc::clone(&parts), kept };
    run_into(&spec(controller, minutes)?, &Registry::standard(), Box::new(look))?;
    Ok(parts.take())
}

/// What of the last eighth is not as in the second.
#[must_use]
pub fn changes(parts: &[Part; PARTS]) -> Vec<String> {
    let (before, after) = (&parts[1], &parts[PARTS - 1]);
    let bounded = |name: &str, before: f64, after: f64, share: f64, more: f64| {
        let is_fine = (after - before).abs() <= before * share + more;
        (!is_fine).then(|| format!("{name}: {before:.2} before, {after:.2} at the end"))
    };
    let count = |count: u64| count as f64;
    [
        bounded("memory, MB", before.megabytes, after.megabytes, 0.05, 2.0),
        bounded("delay, ms", before.mean_delay_ms(), after.mean_delay_ms(), 0.25, 0.0),
        bounded("target, Mb/s", before.mean_target_mbps(), after.mean_target_mbps(), 0.25, 0.0),
        bounded("frames made", count(before.made), count(after.made), 0.001, 1.0),
        bounded("frames shown", count(before.shown), count(after.shown), 0.05, 0.0),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let minutes = arguments.next().map_or(Ok(HOURS * 60), |text| text.parse::<u32>())?;
    let named = arguments.next();
    let keeps = arguments.next().is_some_and(|word| word == "keep");
    let known = Controllers::standard();
    let all = known.descriptions().map(|one| one.name.to_owned());
    let controllers = named.map_or_else(|| all.collect(), |name| vec![name]);
    println!("controller  eighth  frames   shown  delay, ms  target, Mb/s  memory, MB");
    let mut found = Vec::new();
    for controller in controllers {
        let parts = play(&controller, minutes, keeps)?;
        for (number, part) in parts.iter().enumerate() {
            println!(
                "{controller:<10} {:>7} {:>7} {:>7} {:>10.2} {:>13.2} {:>11.1}",
                number + 1,
                part.made,
                part.shown,
                part.mean_delay_ms(),
                part.mean_target_mbps(),
                part.megabytes,
            );
        }
        found.extend(changes(&parts).into_iter().map(|change| format!("{controller}: {change}")));
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("; ").into()) }
}
