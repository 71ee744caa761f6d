//! The example of a congestion control of one's own runs and is HighSpeed TCP, and the page about it shows what is in it.

#[path = "../../examples/own_tcp.rs"]
mod example;

use crate::support;
use gameway_experiment::RunSpec;

use example::{HighSpeedConfig, SPEC, registry};

const PAGE: &str = include_str!("../../../../../docs/own-tcp.md");
const SOURCE: &str = include_str!("../../examples/own_tcp.rs");

/// RFC 3649 appendix B: the window from which a(w) has that many whole segments, and b(w) there.
const TABLE: [(f64, f64, f64); 16] = [
    (118.0, 2.0, 0.44),
    (221.0, 3.0, 0.41),
    (347.0, 4.0, 0.38),
    (495.0, 5.0, 0.37),
    (663.0, 6.0, 0.35),
    (851.0, 7.0, 0.34),
    (1058.0, 8.0, 0.33),
    (1284.0, 9.0, 0.32),
    (1529.0, 10.0, 0.31),
    (1793.0, 11.0, 0.30),
    (2076.0, 12.0, 0.29),
    (2378.0, 13.0, 0.28),
    (75_401.0, 69.0, 0.10),
    (79_517.0, 70.0, 0.10),
    (84_035.0, 71.0, 0.10),
    (94_717.0, 73.0, 0.09),
];

#[test]
fn the_example_runs() {
    example::main().unwrap();
}

#[test]
fn it_grows_and_shrinks_as_in_the_table_of_the_rfc() {
    let config = HighSpeedConfig::default();
    for (window, increase, decrease) in TABLE {
        // The table cuts a(w) and rounds b(w).
        let (a, b) = (config.increase(window), config.decrease(window));
        assert!((increase..increase + 1.0).contains(&a), "a({window}) = {a}");
        assert!((b - decrease).abs() <= 0.005, "b({window}) = {b}");
        assert!(config.increase(window - 1.0) < a, "a({window}) grows");
    }
    // As Reno up to Low_Window.
    let (a, b) = (config.increase(38.0), config.decrease(38.0));
    assert!((a - 1.0).abs() < 1e-9 && (b - 0.5).abs() < 1e-9, "{a} {b}");
}

#[test]
fn an_option_out_of_bounds_is_refused_by_its_declaration() {
    let refused = |spec: &str| {
        let spec: RunSpec = spec.parse().unwrap();
        gameway_sim::check_with(&spec, &registry()).unwrap_err().to_string()
    };
    let far = refused(&SPEC.replace("0.2", "0.6"));
    let told = "competitor \"download\": congestion_control.high_decrease: 0.6 is not between 0.01 and 0.5";
    assert!(far.contains(told), "{far}");
    let other = refused(&SPEC.replace("high_decrease", "decrease"));
    assert!(other.contains("known are high_decrease, high_window, low_window"), "{other}");

    let unknown = gameway_sim::check(&SPEC.parse().unwrap()).unwrap_err().to_string();
    assert!(
        unknown.contains("unknown congestion control \"highspeed\"; known are bbr, bbr2"),
        "{unknown}"
    );
}

#[test]
fn the_page_shows_lines_of_the_example() {
    support::assert_page_shows(PAGE, SOURCE);
}
