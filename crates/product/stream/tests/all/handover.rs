//! Another controller takes over a stream that runs.

use crate::support::{PLAIN, SECOND, at, world};
use gameway_control::Controllers;
use gameway_stream::HostConfig;
use gameway_testbed::arrives;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn config(controller: &str, reports: &str) -> HostConfig {
    let settings = serde_json::json!({ "controller": controller, "reports": reports });
    HostConfig::read(settings.as_object().expect("a table")).expect("settings")
}

#[test]
fn the_stream_follows_each_controller_that_takes_over_and_the_client_reports_as_it_asks() {
    let mut world = world(PLAIN);
    world.run_for(SECOND * 2);
    // Each of those that there are, from one to the next, over a path that would carry all of them.
    let names = ["gcc", "scream", "nada", "copa", "sqp", "salsify", "pudica", "fixed"];
    for (number, name) in names.iter().enumerate() {
        let now = at(2_000 + 3_000 * number as i64);
        let config = config(name, "native");
        let controller = config.build_controller(&Controllers::standard()).expect("a controller");
        world.host.set_controller(now, controller, &config);
        world.run_for(SECOND * 3);
        let sender = world.host.sender().expect("it goes on");
        assert_eq!(sender.controller().name(), *name);
        let shown = world.shown_share(now, now + SECOND * 2);
        assert!(shown > 0.97, "{name}: {shown} shown");
        let target = sender.bitrate();
        assert!(target >= config.min_bitrate && target <= config.max_bitrate, "{name}: {target}");
    }
}

/// Datagrams of the client in a second, of which all but a few are reports.
fn reports(style: &str) -> u64 {
    let mut world = world(PLAIN);
    world.run_for(SECOND);
    let config = config("fixed", style);
    let controller = config.build_controller(&Controllers::standard()).expect("a controller");
    world.host.set_controller(at(1_000), controller, &config);
    world.run_for(SECOND);
    let counter = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&counter);
    world.path.up = Box::new(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        arrives()
    });
    world.run_for(SECOND);
    counter.load(Ordering::Relaxed)
}

#[test]
fn a_client_of_ours_is_told_anew_how_to_report() {
    // Frames come at 60 a second; a report on one is two datagrams.
    let (each, rare) = (reports("per-frame"), reports("100 ms"));
    assert!((60..=130).contains(&each), "{each} datagrams a second, a report for each frame");
    assert!((9..=22).contains(&rare), "{rare} datagrams a second, a report in 100 ms");
}
