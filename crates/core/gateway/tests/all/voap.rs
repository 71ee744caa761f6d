//! What VoAP reaches in a home (20 Mb/s, 250 packets, a game of 6.3 Mb/s): the paper's properties, and
//! what the paper does not try. Each bound has two sides.

use crate::home::{Download, Home, at};
use gameway_gateway::{Fairness, Gateway, SapLaw, SapLawConfig, Step, Voap, VoapConfig};
use gameway_units::{Duration, Rate};
use std::ops::Range;

/// As published.
const PAPER: fn() -> VoapConfig = VoapConfig::default;

/// With what the queue holds in excess given up at once, and pauses of less than a second forgiven.
fn mended() -> VoapConfig {
    VoapConfig { step: Step::Backlog, memory: Duration::from_secs(1), ..PAPER() }
}

fn voap(config: VoapConfig) -> Option<Box<dyn Gateway>> {
    Some(Box::new(Voap::new(config)))
}

fn download(algorithm: &'static str) -> Download {
    Download { algorithm, start: 1.0, ..Download::default() }
}

#[track_caller]
fn within(value: f64, bounds: Range<f64>) {
    assert!(bounds.contains(&value), "{value} is not in {bounds:?}");
}

/// Runs to the end of the span.
fn run(downloads: Vec<Download>, gateway: Option<Box<dyn Gateway>>, end: f64) -> Home {
    let mut home = Home::new(downloads, gateway);
    home.run_until(end);
    home
}

/// Properties 3 and 4: 13.2 Mb/s of payload are all that the game leaves.
fn delay_and_throughput(algorithm: &'static str, without: Range<f64>) {
    let (from, to) = (60.0, 90.0);
    let bare = run(vec![download(algorithm)], None, to);
    within(bare.wait(0.5, from, to), without);
    within(bare.wait(0.98, from, to), 100.0..135.0);
    for (config, delay) in [(PAPER(), 5.0..20.0), (mended(), 3.0..15.0)] {
        let home = run(vec![download(algorithm)], voap(config), to);
        within(home.wait(0.98, from, to), delay);
        within(home.total(from, to) / bare.total(from, to), 0.99..1.02);
    }
}

#[test]
fn newreno_leaves_the_queue_and_keeps_its_throughput() {
    delay_and_throughput("newreno", 60.0..120.0);
}

#[test]
fn cubic_leaves_the_queue_and_keeps_its_throughput() {
    delay_and_throughput("cubic", 60.0..120.0);
}

#[test]
fn bic_leaves_the_queue_and_keeps_its_throughput() {
    delay_and_throughput("bic", 60.0..120.0);
}

/// The published step empties the queue that slow start leaves (NewReno has no HyStart) by one packet in 200 ms: half a
/// minute. Giving up what waits in excess takes seconds.
#[test]
fn the_published_step_is_slow_and_the_backlog_is_not() {
    let paper = run(vec![download("newreno")], voap(PAPER()), 40.0);
    within(paper.wait(0.5, 10.0, 12.0), 25.0..110.0);
    within(paper.wait(0.98, 35.0, 40.0), 5.0..20.0);
    let mended = run(vec![download("newreno")], voap(mended()), 40.0);
    within(mended.wait(0.98, 5.0, 40.0), 3.0..15.0);
    within(mended.total(5.0, 40.0), 13.1..13.3);
}

/// Property 6.
#[test]
fn three_downloads_get_the_same() {
    for config in [PAPER(), mended()] {
        let start = |number: u32| 1.0 + 15.0 * f64::from(number);
        let downloads = (0..3).map(|n| Download { start: start(n), ..Download::default() });
        let home = run(downloads.collect(), voap(config), 90.0);
        let mean = home.total(60.0, 90.0) / 3.0;
        within(mean, 4.35..4.42);
        (0..3).for_each(|flow| within(home.goodput(flow, 60.0, 90.0) / mean, 0.95..1.05));
        within(home.wait(0.98, 60.0, 90.0), 2.0..20.0);
    }
}

/// Property 7: of two downloads one ends, with a FIN or without a word; within two seconds the other has all.
#[test]
fn what_a_download_leaves_is_taken_up() {
    let end = |stop, vanish| {
        let second = Download { start: 5.0, stop, vanish, ..Download::default() };
        run(vec![download("cubic"), second], voap(PAPER()), 60.0)
    };
    for home in [end(Some(50.0), None), end(None, Some(50.0))] {
        within(home.goodput(0, 48.0, 50.0), 6.0..7.2);
        within(home.goodput(0, 51.0, 52.0), 12.9..13.3);
        within(home.wait(0.98, 52.0, 60.0), 2.0..20.0);
    }
}

/// The same with the window of the flow that has ended lost, as algorithm 4 is printed: 94 periods for it.
#[test]
fn as_printed_the_window_of_a_flow_that_ended_is_lost() {
    let config = VoapConfig { leftover: gameway_gateway::Leftover::Lost, ..PAPER() };
    let second = Download { start: 5.0, stop: Some(50.0), ..Download::default() };
    let home = run(vec![download("cubic"), second], voap(config), 60.0);
    within(home.goodput(0, 51.0, 52.0), 6.8..9.0);
}

#[test]
fn what_a_slow_server_does_not_use_is_taken_up() {
    for config in [PAPER(), mended()] {
        let rate_limit = Some(Rate::from_mbps(1));
        let second = Download { start: 40.0, rate_limit, ..Download::default() };
        let home = run(vec![download("cubic"), second], voap(config), 60.0);
        within(home.goodput(1, 42.0, 60.0), 0.97..1.03);
        within(home.goodput(0, 42.0, 44.0), 11.8..12.5);
        within(home.goodput(0, 44.0, 60.0), 12.0..12.4);
    }
}

/// Twenty downloads have five segments each. One segment more or less for each of them is 17 ms of queue:
/// as published the queue runs dry between two steps, and a tenth is lost (11.9 Mb/s; 11.7 with the kernel's TCP);
/// bounded by what fits, nearly all is used. With other times between their starts they may step in turn, and lose nothing.
#[test]
fn twenty_downloads() {
    let twenty = |config| {
        let start = |number: u32| 1.0 + 0.29 * f64::from(number);
        let downloads = (0..20).map(|n| Download { start: start(n), ..Download::default() });
        run(downloads.collect(), voap(config), 60.0)
    };
    let paper = twenty(PAPER());
    within(paper.total(30.0, 60.0), 11.5..12.5);
    within(paper.wait(0.98, 30.0, 60.0), 10.0..25.0);
    let mended = twenty(mended());
    within(mended.total(30.0, 60.0), 12.9..13.3);
    within(mended.wait(0.98, 30.0, 60.0), 10.0..27.0);
    for home in [paper, mended] {
        let mean = home.total(30.0, 60.0) / 20.0;
        (0..20).for_each(|flow| within(home.goodput(flow, 30.0, 60.0) / mean, 0.9..1.1));
    }
}

#[test]
fn one_download_at_any_distance() {
    for (millis, converged) in [(10, 30.0), (40, 60.0), (200, 70.0)] {
        let rtt = Duration::from_millis(millis);
        let home = run(vec![Download { rtt, ..download("cubic") }], voap(PAPER()), 90.0);
        within(home.wait(0.98, converged, 90.0), 3.0..20.0);
        within(home.total(converged, 90.0), 13.0..13.3);
    }
}

/// Equal windows are unequal rates: the nearest takes 15 times what the farthest gets. Equal rates are an
/// option, but for the nearest, whose share is a window of fewer than three segments: it gets 0.80 to 0.84 of the mean
/// with the kernel's TCP, the others 0.98 to 1.12 (`tools/compare-tcp/distances.py`).
#[test]
fn downloads_at_different_distances() {
    let rtts = [10, 40, 80, 200];
    let four = |config| {
        let near = |rtt| Download { rtt: Duration::from_millis(rtt), ..download("cubic") };
        run(rtts.map(near).into(), voap(config), 90.0)
    };
    let windows = four(PAPER());
    within(windows.goodput(0, 50.0, 90.0) / windows.goodput(3, 50.0, 90.0), 10.0..20.0);
    let rates = four(VoapConfig { fairness: Fairness::Rates, ..mended() });
    let mean = rates.total(50.0, 90.0) / 4.0;
    (1..4).for_each(|flow| within(rates.goodput(flow, 50.0, 90.0) / mean, 0.95..1.2));
    within(rates.goodput(0, 50.0, 90.0) / mean, 0.75..0.9);
    for home in [windows, rates] {
        within(home.total(50.0, 90.0), 12.9..13.3);
        within(home.wait(0.98, 50.0, 90.0), 2.0..20.0);
    }
}

/// BBR goes down to four segments for 200 ms each ten seconds; as published this looks like no need for
/// more. With a memory of a second it does not.
#[test]
fn bbr_needs_a_memory() {
    let paper = run(vec![download("bbr")], voap(PAPER()), 100.0);
    within(paper.total(40.0, 100.0), 3.0..10.0);
    let mended = run(vec![download("bbr")], voap(mended()), 100.0);
    within(mended.total(40.0, 100.0), 12.6..13.1);
    within(mended.wait(0.98, 40.0, 100.0), 3.0..20.0);
    let bare = run(vec![download("bbr")], None, 100.0);
    within(bare.wait(0.98, 40.0, 100.0), 60.0..120.0);
}

fn scaled(shift: u32) -> Download {
    let receive_buffer = (65_535u64 << shift).min(1 << 29);
    Download { receive_buffer, ..download("cubic") }
}

/// Windows of any unit, from the handshake on or seen in the middle of the flow. Without a shift the
/// receiver's own window is smaller than what would queue. A shift that must be found first costs cuts that
/// are too deep: half a minute until all is used again.
#[test]
fn windows_of_any_unit() {
    let own = run(vec![scaled(0)], None, 60.0);
    for attached in [0.0, 12.0] {
        for shift in [0, 3, 7, 14] {
            let mut home = Home::new(vec![scaled(shift)], voap(mended()));
            home.path().attached = at(attached);
            home.run_until(60.0);
            let max = if shift == 0 { own.total(45.0, 60.0) } else { 13.2 };
            within(home.total(45.0, 60.0) / max, 0.99..1.01);
            within(home.wait(0.98, 45.0, 60.0), -0.1..15.0);
        }
    }
}

/// Nothing tells how far away the sender is: the flow is left alone, and not broken.
#[test]
fn a_flow_in_its_middle_without_timestamps_is_left_alone() {
    let mut home = Home::new(vec![scaled(7)], voap(PAPER()));
    (home.path().attached, home.path().timestamps) = (at(12.0), false);
    home.run_until(60.0);
    within(home.wait(0.98, 40.0, 60.0), 100.0..135.0);
    within(home.total(40.0, 60.0), 13.0..13.3);
    let mut home = Home::new(vec![scaled(7)], voap(PAPER()));
    home.path().timestamps = false;
    home.run_until(60.0);
    within(home.wait(0.98, 40.0, 60.0), 3.0..20.0);
}

/// It knows the capacity: no queue from the start.
#[test]
fn sap_law_knows_in_advance() {
    let gateway = SapLaw::new(SapLawConfig::new(Rate::from_mbps(20)));
    let home = run(vec![download("cubic")], Some(Box::new(gateway)), 40.0);
    within(home.wait(0.98, 3.0, 40.0), 1.0..12.0);
    within(home.total(10.0, 40.0), 13.1..13.3);
    // Where it is told of twice what there is, or of half, it is wrong by that.
    for (told, delay, total) in [(40, 100.0..135.0, 13.0..13.3), (13, -0.1..5.0, 5.5..7.5)] {
        let gateway = SapLaw::new(SapLawConfig::new(Rate::from_mbps(told)));
        let home = run(vec![download("cubic")], Some(Box::new(gateway)), 60.0);
        within(home.wait(0.98, 40.0, 60.0), delay);
        within(home.total(40.0, 60.0), total);
    }
}

#[test]
fn the_same_twice() {
    let again = || run(vec![download("bbr")], voap(mended()), 15.0);
    assert_eq!(again().waits(), again().waits());
}
