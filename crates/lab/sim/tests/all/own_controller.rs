//! The example of a controller of one's own runs, and the page about it shows what is in it.

#[path = "../../examples/own_controller/main.rs"]
mod example;

use crate::support;
use gameway_experiment::RunSpec;

const PAGE: &str = include_str!("../../../../../docs/own-controller.md");
const SOURCES: [&str; 2] = [
    include_str!("../../examples/own_controller/mine.rs"),
    include_str!("../../../../product/stream/examples/own_host.rs"),
];

#[test]
fn the_example_runs() {
    example::main().unwrap();
}

#[test]
fn an_option_out_of_bounds_is_refused_by_its_declaration() {
    let spec = example::SPEC.replace("100 kb/s", "100 Mb/s");
    let spec: RunSpec = spec.parse().unwrap();
    let refused = gameway_sim::check_with(&spec, &example::registry()).unwrap_err().to_string();
    let told = "controller \"mine\": gain: 100 Mb/s is not between 1 kb/s and 10 Mb/s";
    assert!(refused.contains("stream \"game\"") && refused.contains(told), "{refused}");
    let unknown = gameway_sim::check(&spec).unwrap_err().to_string();
    assert!(unknown.contains("unknown controller \"mine\"; known are copa, fixed"), "{unknown}");
}

#[test]
fn the_page_shows_lines_of_the_example() {
    support::assert_page_shows(PAGE, &SOURCES.concat());
}
