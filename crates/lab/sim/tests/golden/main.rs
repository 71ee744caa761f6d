//! Runs as readable tables: what a change does to results is seen in the diff of a review.
//!
//! Each table has a row for all that a catalogue has, so that what is new there needs a row, too.
//! `UPDATE_GOLDEN=1 cargo test -p gameway-sim --test golden` writes the tables anew.

mod controllers;
mod gateways;
mod matrix;
mod queues;
mod quic;
mod repair;
#[path = "../support/mod.rs"]
mod support;
mod tcp;

use std::fmt::Write;
use std::path::Path;

/// Lines that differ, as a diff shows them.
fn difference(expected: &str, found: &str) -> String {
    let mut text = String::new();
    let longest = expected.lines().count().max(found.lines().count());
    for index in 0..longest {
        let (old, new) = (expected.lines().nth(index), found.lines().nth(index));
        if old != new {
            let lines = [("-", old), ("+", new)];
            lines.into_iter().filter_map(|(sign, line)| Some((sign, line?))).for_each(
                |(sign, line)| {
                    writeln!(text, "{sign} {line}").unwrap();
                },
            );
        }
    }
    text
}

#[track_caller]
fn assert_as_committed(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == found,
        "tests/golden/{name} differs (UPDATE_GOLDEN=1 writes it anew):\n{}",
        difference(&expected, found)
    );
}

#[test]
fn the_matrix_is_as_committed() {
    assert_as_committed("matrix.txt", &matrix::table());
}

#[test]
fn controllers_are_as_committed() {
    assert_as_committed("controllers.txt", &controllers::table());
}

#[test]
fn queues_are_as_committed() {
    assert_as_committed("queues.txt", &queues::table());
}

#[test]
fn repair_is_as_committed() {
    assert_as_committed("repair.txt", &repair::table());
}

#[test]
fn congestion_controls_are_as_committed() {
    assert_as_committed("tcp.txt", &tcp::table());
}

#[test]
fn downloads_over_quic_are_as_committed() {
    assert_as_committed("quic.txt", &quic::table());
}

#[test]
fn gateways_are_as_committed() {
    assert_as_committed("gateways.txt", &gateways::table());
}
