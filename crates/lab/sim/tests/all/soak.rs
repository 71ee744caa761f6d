//! The small form of the long session of `examples/soak.rs`, in a process of its own: its memory is measured.

#[allow(dead_code, reason = "its main is not called")]
#[path = "../../examples/soak.rs"]
mod example;

use std::process::{Command, Output};

const KEEPS: &str = "GAMEWAY_SOAK_KEEPS";
const MINUTES: u32 = 10;

#[test]
#[ignore = "called by the tests below"]
fn alone() {
    let keeps = std::env::var(KEEPS).is_ok_and(|text| text == "1");
    let parts = example::play("pudica", MINUTES, keeps).expect("a run");
    assert_eq!(example::changes(&parts), Vec::<String>::new());
}

fn alone_that(keeps: bool) -> Output {
    let own = std::env::current_exe().expect("this program");
    let words = ["soak::alone", "--exact", "--ignored", "--test-threads=1"];
    let value = if keeps { "1" } else { "0" };
    Command::new(own).args(words).env(KEEPS, value).output().expect("this program again")
}

#[test]
fn a_session_holds_no_more_memory_at_its_end_and_its_delay_does_not_creep() {
    let run = alone_that(false);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}

#[test]
fn what_keeps_all_events_is_found() {
    let run = alone_that(true);
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success(), "{said}");
    assert!(said.contains("memory, MB"), "{said}");
}
