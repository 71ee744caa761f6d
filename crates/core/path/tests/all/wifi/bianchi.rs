//! Saturation throughput against the fixed point of Bianchi (IEEE JSAC 18(3), 2000).
//!
//! A station transmits in a slot with probability tau and collides with p = 1 - (1 - tau)^(n-1). Stage i of
//! its back-off takes (W_i + 1) / 2 slots on average, of which a busy one counts as one, so that
//! tau = sum p^i / sum p^i (W_i + 1) / 2 over the stages: for ever at the last one in the paper (equation
//! 7), up to the retry limit in Wu et al., INFOCOM 2002. Throughput is equation 13.

use super::{Saturated, saturate};
use gameway_path::{Countdown, DataRate, Timing, WifiConfig};
use gameway_units::Bytes;

const SIZE: u64 = 1500;

/// Probability that a station transmits in a slot.
fn tau(config: &WifiConfig, collision: f64) -> f64 {
    let (mut probability, mut slots, mut sum) = (1.0, 0.0, 0.0);
    let mut window = config.cw_min;
    for _ in 0..config.attempts {
        sum += probability;
        slots += probability * (f64::from(window) + 2.0) / 2.0;
        probability *= collision;
        window = (2 * window + 1).min(config.cw_max);
    }
    sum / slots
}

/// The fixed point (tau, p) for so many stations, by bisection: p of tau rises, tau of p falls.
fn fixed_point(config: &WifiConfig, stations: i32) -> (f64, f64) {
    let collision = |tau: f64| 1.0 - (0..stations - 1).fold(1.0, |free, _| free * (1.0 - tau));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if collision(tau(config, middle)) > middle { low = middle } else { high = middle }
    }
    (tau(config, low), low)
}

/// Equation 13, in Mb/s, and p.
fn model(config: &WifiConfig, stations: i32) -> (f64, f64) {
    let (tau, p) = fixed_point(config, stations);
    let timing = Timing::new(*config);
    let psdu = timing.alone(Bytes::new(SIZE));
    let idle = (0..stations).fold(1.0, |free, _| free * (1.0 - tau));
    let success = f64::from(stations) * tau * idle / (1.0 - tau);
    let collision = 1.0 - idle - success;
    let slot = config.slot.as_secs_f64();
    let success_time = (timing.exchange(psdu, 1) + timing.ifs()).as_secs_f64();
    let collision_time = (timing.exposed(psdu) + timing.eifs()).as_secs_f64();
    let mean = idle * slot + success * success_time + collision * collision_time;
    (success * SIZE as f64 * 8.0 / mean / 1e6, p)
}

fn measured(config: WifiConfig, stations: usize) -> Saturated {
    saturate(config, stations, SIZE, 40_000, 7)
}

/// The paper's assumptions: a busy slot counts, and a packet is never given up.
fn as_bianchi(cw_min: u32, cw_max: u32) -> WifiConfig {
    let config = WifiConfig::new(DataRate::Ofdm(54)).unwrap();
    WifiConfig { cw_min, cw_max, countdown: Countdown::Counted, attempts: 300, ..config }
}

/// Measured over modelled throughput, less one.
fn error(config: WifiConfig, reference: &WifiConfig, stations: usize) -> f64 {
    measured(config, stations).mbps(SIZE) / model(reference, stations as i32).0 - 1.0
}

#[test]
fn the_fixed_point_is_that_of_the_paper() {
    // Equation 7, in closed form, at the p that was found.
    for (window, stages) in [(16.0, 6), (32.0, 3), (32.0, 5), (128.0, 3)] {
        let power = f64::from(1u32 << stages);
        let config = as_bianchi(window as u32 - 1, (window * power) as u32 - 1);
        for stations in [2, 5, 10, 50] {
            let (tau, p) = fixed_point(&config, stations);
            let doubled = (0..stages).fold(1.0, |product, _| product * 2.0 * p);
            let sum = (1.0 - 2.0 * p) * (window + 1.0) + p * window * (1.0 - doubled);
            let expected = 2.0 * (1.0 - 2.0 * p) / sum;
            assert!((tau / expected - 1.0).abs() < 1e-6, "{window} {stages} {stations}");
        }
    }
}

#[test]
fn under_bianchis_assumptions_the_medium_gives_bianchis_throughput() {
    for (cw_min, cw_max) in [(15, 1023), (31, 255), (31, 1023), (127, 1023)] {
        let config = as_bianchi(cw_min, cw_max);
        for stations in [1, 2, 3, 5, 10, 20, 50] {
            let off = error(config, &config, stations);
            assert!(off.abs() < 0.01, "cw {cw_min}..{cw_max}, {stations} stations: {off}");
        }
    }
}

#[test]
fn with_rts_too() {
    for stations in [2, 10, 50] {
        let config = WifiConfig { rts_above: Some(Bytes::ZERO), ..as_bianchi(15, 1023) };
        let off = error(config, &config, stations);
        assert!(off.abs() < 0.01, "{stations} stations: {off}");
    }
}

#[test]
fn what_the_standard_does_otherwise_changes_little() {
    let standard = WifiConfig::new(DataRate::Ofdm(54)).unwrap();
    for stations in [1, 2, 3, 5, 10, 20, 50] {
        // Against the model with the retry limit. What remains is the slot behind a busy one, which in DCF
        // only those may use who have just sent: fewer collisions among many, more idle slots among few.
        let off = error(standard, &standard, stations);
        assert!(off.abs() < 0.025, "{stations} stations: {off}");
        if (2..=5).contains(&stations) {
            assert!(off < -0.005, "{stations} stations: {off}");
        }
    }
    // The retry limit alone: with 50 stations 4 % of all packets are given up, each after the time of seven.
    let endless = model(&as_bianchi(15, 1023), 50).0;
    let limited = WifiConfig { countdown: Countdown::Counted, ..standard };
    let lost = 1.0 - measured(limited, 50).mbps(SIZE) / endless;
    assert!((0.03..0.07).contains(&lost), "{lost}");
}

#[test]
fn a_window_that_does_not_double_is_seen() {
    // The twin: the least window for ever.
    let stuck = as_bianchi(15, 15);
    let off = error(stuck, &as_bianchi(15, 1023), 20);
    assert!(off < -0.1, "{off}");
}
