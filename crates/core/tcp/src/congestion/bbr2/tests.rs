//! What version 2 does otherwise than version 3, and the response to marks.
//!
//! Source: Linux google/bbr v2alpha `net/ipv4/tcp_bbr2.c`, and v3 `tcp_bbr.c` where it says so.

use super::super::bbr3::tests::Feed;
use super::super::bbr3::{EcnParameters, EcnResponse};
use crate::congestion::{AckEvent, CongestionControl};
use crate::delivery_rate::RateSample;
use gameway_units::{Bytes, Duration, Rate};

const RTT: Duration = Duration::from_millis(20);
const RATE: f64 = 5e6;
const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_nanos(5_000_001);

fn version_2() -> super::Bbr3 {
    super::Bbr3::version_2(1000, 7)
}

fn pacing(feed: &Feed) -> f64 {
    feed.bbr.pacing_rate().map_or(0.0, Rate::as_bps_f64) / 8.0
}

fn gain(feed: &Feed) -> f64 {
    pacing(feed) / 0.99 / RATE
}

#[test]
fn the_gains_are_those_of_version_2() {
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.01;
    let feed = Feed::draining(version_2(), RTT);
    assert!(near(gain(&feed), 0.3466), "Drain {}", gain(&feed));
    let mut feed = Feed::probing(version_2());
    assert!(near(gain(&feed), 1.25), "Up {}", gain(&feed));
    // Below 1.25 BDP in flight it goes on; a plateau does not end it.
    let flight = |bytes: f64| {
        move |event: &mut AckEvent, _: &mut RateSample| {
            event.prior_in_flight = Bytes::from_f64(bytes);
        }
    };
    (0..6).for_each(|_| feed.round_with(RATE, flight(100_000.0)));
    assert!(near(gain(&feed), 1.25), "Up {}", gain(&feed));
    feed.round_with(RATE, flight(128_000.0));
    assert!(near(gain(&feed), 0.75), "Down {}", gain(&feed));
    feed.round_with(RATE, flight(100_000.0));
    assert!(near(gain(&feed), 1.0), "Cruise {}", gain(&feed));
}

fn response(parameters: EcnParameters, rtt: Duration) -> EcnResponse {
    let mut response = EcnResponse::new(parameters);
    response.on_ack(1, 1000);
    response.on_round(1000, Some(rtt));
    response
}

const VERSION_2: EcnParameters = EcnParameters { bounds_bandwidth: true, reprobe_gain: 0.0 };
const VERSION_3: EcnParameters = EcnParameters { bounds_bandwidth: false, reprobe_gain: 0.5 };

#[test]
fn marks_matter_up_to_five_milliseconds() {
    assert!(response(VERSION_2, SHORT).is_used());
    assert!(!response(VERSION_2, LONG).is_used());
    let mut unmarked = EcnResponse::new(VERSION_2);
    unmarked.on_round(1000, Some(SHORT));
    assert!(!unmarked.is_used());
}

/// The average starts at one and moves a sixteenth of the way each round; the cut is a third of it.
#[test]
fn the_cut_follows_the_average_of_the_marked_share() {
    let mut response = response(VERSION_2, SHORT);
    let mut alpha = 1.0 + (0.001 - 1.0) / 16.0;
    for round in 2..200u64 {
        response.on_ack(250, round * 1000);
        response.on_round(round * 1000, Some(SHORT));
        alpha += (0.25 - alpha) / 16.0;
        let cut = response.cut_of_round().unwrap_or_default();
        assert!((cut - (1.0 - alpha / 3.0)).abs() < 1e-9, "round {round}: {cut}");
    }
    assert!((alpha - 0.25).abs() < 1e-4);
    response.end_round();
    assert_eq!(response.cut_of_round(), None);
}

#[test]
fn half_of_the_flight_marked_is_too_much() {
    let mut response = response(VERSION_2, SHORT);
    // Marks before the flight's start at 2000 do not count.
    response.on_ack(500, 2000);
    response.on_ack(499, 3000);
    assert!(!response.is_too_high(2000, 1000.0));
    response.on_ack(1, 3000);
    assert!(response.is_too_high(2000, 1000.0));
    assert!(!response.is_too_high(3000, 1.0));
}

#[test]
fn version_2_bounds_its_rate_until_a_higher_one_is_safe() {
    let mut two = response(VERSION_2, SHORT);
    let cut = two.cut_of_round().unwrap_or_default();
    two.on_too_high(RATE);
    assert!((two.bandwidth_bound() / (RATE * cut) - 1.0).abs() < 1e-9);
    two.on_too_high(RATE);
    assert!((two.bandwidth_bound() / (RATE * cut * cut) - 1.0).abs() < 1e-9);
    two.on_safe_sample(true, RATE / 2.0);
    two.on_too_high(RATE);
    let unchanged = (RATE * cut * cut).max(RATE / 2.0);
    assert!(
        (two.bandwidth_bound() / unchanged - 1.0).abs() < 1e-9,
        "a probe that had good samples"
    );
    let mut three = response(VERSION_3, SHORT);
    three.on_too_high(RATE);
    assert!(three.bandwidth_bound().is_infinite());
}

#[test]
fn version_3_probes_again_when_marks_but_no_losses_came() {
    let mut response = response(VERSION_3, SHORT);
    assert_eq!(response.reprobe_rounds(100.0), None);
    response.on_ack(10, 2000);
    assert!(!response.is_too_high(1000, 1000.0));
    // Half of 100 segments: 2^5 is the largest power within.
    assert_eq!(response.reprobe_rounds(100.0), Some(5));
    assert_eq!(response.reprobe_rounds(f64::INFINITY), Some(30));
    response.start_cycle();
    assert_eq!(response.reprobe_rounds(100.0), None);
}

fn marked(share: f64) -> impl Fn(&mut AckEvent, &mut RateSample) {
    move |event, _| {
        event.newly_marked = Bytes::from_f64(event.newly_delivered.as_f64() * share);
        event.in_flight = Bytes::MAX;
    }
}

/// Two rounds with half of all marked end Startup; on a longer path, or with fewer, they do not.
#[test]
fn startup_ends_with_marks_on_short_paths() {
    let ends = |rtt: Duration, share: f64| {
        let mut feed = Feed::new(version_2(), rtt);
        let mut rate = 1e6;
        for _ in 0..3 {
            feed.round_with(rate, |event, sample| {
                marked(share)(event, sample);
                event.rtt = Some(rtt);
            });
            rate *= 2.0;
        }
        feed.bbr.ssthresh() < Bytes::MAX
    };
    assert!(ends(SHORT, 0.5));
    assert!(!ends(SHORT, 0.49));
    assert!(!ends(LONG, 1.0));
}

/// The short-term bounds: of version 2 both, of version 3 only the flight.
#[test]
fn marks_while_cruising_slow_it_down() {
    let slowed = |bbr: super::Bbr3| {
        let mut feed = Feed::cruising(bbr, SHORT);
        let before = (feed.bbr.cwnd().as_f64(), pacing(&feed));
        for _ in 0..2 {
            feed.round_with(RATE, |event, _| {
                event.newly_marked = Bytes::new(event.newly_delivered.get() / 4);
                event.rtt = Some(SHORT);
                event.prior_in_flight = Bytes::MAX;
            });
        }
        (feed.bbr.cwnd().as_f64() / before.0, pacing(&feed) / before.1)
    };
    let (window, rate) = slowed(version_2());
    assert!((0.4..0.9).contains(&window) && (0.4..0.95).contains(&rate), "{window} {rate}");
}
