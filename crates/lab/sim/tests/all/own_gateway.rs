//! The example of a gateway of one's own does what it says, and the page about it shows its lines and its figures.

#[path = "../../examples/own_gateway.rs"]
mod example;

use crate::support;
use gameway_experiment::RunSpec;

use example::{GATEWAY, Measured, SPEC, measured, registry, table};

const PAGE: &str = include_str!("../../../../../docs/own-gateway.md");
const SOURCE: &str = include_str!("../../examples/own_gateway.rs");

#[test]
fn a_download_has_its_share_and_nothing_waits() {
    for share in [0.3, 0.6] {
        let gateway = GATEWAY.replace("0.6", &share.to_string());
        let Measured { wait_ms, download_mbps } = measured(&gateway).unwrap();
        // A window counts payload, of which a packet of 1500 B has 1448; and whole segments.
        let (min, max) = (share * 25.0, share * 25.0 * 1500.0 / 1448.0);
        assert!((0.97 * min..1.01 * max).contains(&download_mbps), "{share}: {download_mbps} Mb/s");
        // The train of a frame waits for itself, and for a window of the download.
        assert!((0.05..1.5).contains(&wait_ms), "{share}: {wait_ms} ms");
    }
    // Twice the BDP is 80 ms: CUBIC fills it, and halts at each loss.
    let Measured { wait_ms, download_mbps } = measured(r#""none""#).unwrap();
    assert!((40.0..80.0).contains(&wait_ms), "{wait_ms} ms without");
    assert!((16.0..17.2).contains(&download_mbps), "{download_mbps} Mb/s without");
}

#[test]
fn an_option_out_of_bounds_is_refused_by_its_declaration() {
    let refused = |spec: &str| {
        let spec: RunSpec = spec.parse().unwrap();
        gameway_sim::check_with(&spec, &registry()).unwrap_err().to_string()
    };
    let share = refused(&SPEC.replace("0.6", "1.5"));
    assert!(share.contains("path.gateway.share: 1.5 is not between 0.01 and 1"), "{share}");
    let without = refused(&SPEC.replace(GATEWAY, r#""capped""#));
    assert!(without.contains("path.gateway.capacity: must be given"), "{without}");

    let unknown = gameway_sim::check(&SPEC.parse().unwrap()).unwrap_err().to_string();
    let told = "path.gateway.kind: unknown gateway \"capped\"; known are none, both, sap-law";
    assert!(unknown.contains(told), "{unknown}");
}

#[test]
fn the_page_shows_lines_of_the_example_and_what_it_measures() {
    support::assert_page_shows(PAGE, SOURCE);
    for row in table().unwrap() {
        assert!(PAGE.contains(&row), "{row}");
    }
}
