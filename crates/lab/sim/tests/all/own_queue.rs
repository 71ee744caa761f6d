//! The example of a queue of one's own runs, and the page about it shows what is in it.

#[path = "../../examples/own_queue.rs"]
mod example;

use crate::support;
use gameway_experiment::RunSpec;

const PAGE: &str = include_str!("../../../../../docs/own-queue.md");
const SOURCE: &str = include_str!("../../examples/own_queue.rs");

#[test]
fn the_example_runs() {
    example::main().unwrap();
}

#[test]
fn an_option_out_of_bounds_is_refused_by_its_declaration() {
    let spec = example::SPEC.replace("50 ms", "2 h");
    let spec: RunSpec = spec.parse().unwrap();
    let refused = gameway_sim::check_with(&spec, &example::registry()).unwrap_err().to_string();
    assert!(refused.contains("path.queue.expire: 2 h is not between 1 ms and 1 h"), "{refused}");
    let unknown = gameway_sim::check(&spec).unwrap_err().to_string();
    assert!(unknown.contains("path.queue.kind: ") && unknown.contains("head-drop"), "{unknown}");
}

#[test]
fn the_page_shows_lines_of_the_example() {
    support::assert_page_shows(PAGE, SOURCE);
}
