//! Downloads by each congestion control.

use crate::common::{CAPACITY, Flow, behind, seconds};
use gameway_tcp::CongestionControls;

/// The share of the link that is payload, of the last 20 of 30 s.
fn goodput(algorithm: &str, queue: f64, loss: f64) -> f64 {
    let mut net = behind(Flow::bulk(algorithm), queue);
    net.path.loss = loss;
    net.run_until(seconds(10));
    let before = net.receiver.received();
    net.run_until(seconds(30));
    let received = net.receiver.received().saturating_sub(before);
    received.as_f64() * 8.0 / 20.0 / CAPACITY.as_bps_f64()
}

/// 1419 of 1480 bytes are payload.
const MAX_SHARE: f64 = 1419.0 / 1480.0;

#[test]
fn alone_each_fills_the_link() {
    for algorithm in CongestionControls::standard().descriptions().map(|one| one.name) {
        let share = goodput(algorithm, 2.0, 0.0);
        assert!((0.9 * MAX_SHARE..=1.001 * MAX_SHARE).contains(&share), "{algorithm}: {share}");
    }
}

/// One packet in a hundred: BBR hardly notices, CUBIC follows the law of loss.
#[test]
fn random_loss_stops_cubic_and_not_bbr() {
    let (cubic, bbr) = (goodput("cubic", 2.0, 0.01), goodput("bbr", 2.0, 0.01));
    // Reno with beta 0.7 (RFC 9438 section 4.3): 1.2 / sqrt(0.01) segments in 40 ms, 12 of 69.
    assert!((0.12..0.30).contains(&cubic), "{cubic}");
    assert!((0.85 * MAX_SHARE..MAX_SHARE).contains(&bbr), "{bbr}");
}

#[test]
fn a_quarter_of_a_bdp_is_enough_for_most_of_the_link() {
    for algorithm in ["cubic", "bbr"] {
        let share = goodput(algorithm, 0.25, 0.0);
        assert!((0.75..MAX_SHARE).contains(&share), "{algorithm}: {share}");
    }
}
