//! A status as figures for a monitor, in the text of
//! [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/): for a collector of Prometheus that reads files, so that a
//! router has no further port that listens.

use crate::status::Status;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

/// The figures; what nobody can tell now is left out.
#[must_use]
pub fn figures(status: &Status) -> String {
    let mut registry = Registry::with_prefix("gameway_gateway");
    for (name, help, count) in [
        ("segments", "TCP segments that passed", status.segments),
        ("windows_lowered", "Windows that were lowered", status.lowered),
        ("lost_records", "Segments of which the program was not told", status.lost_records),
        ("fragments", "Fragments of IP, left alone", status.fragments),
        ("others", "Packets that are neither TCP nor UDP or were not understood", status.others),
        ("datagrams", "Datagrams of UDP that passed", status.datagrams),
        ("lost_datagrams", "Datagrams of which the program was not told", status.lost_datagrams),
        ("game_packets", "Packets to the home that counted as a game's", status.game_packets),
    ] {
        let counter = Counter::<u64>::default();
        counter.inc_by(count);
        registry.register(name, help, counter);
    }
    let limited = "TCP connections whose windows are lowered";
    registry.register("limited_connections", limited, gauge(status.limited as f64));
    let games = "Flows that are games";
    let found = status.games.found.len() + status.games.more;
    registry.register("games", games, gauge(found as f64));
    let rate = |bps: u64| gauge(bps as f64);
    let to = "TCP and UDP to the home in the last second, on the wire";
    registry.register("to_home_bits_per_second", to, rate(status.to_home_bps));
    let from = "TCP and UDP from the home in the last second, on the wire";
    registry.register("from_home_bits_per_second", from, rate(status.from_home_bps));
    let running = "Since the start";
    registry.register_with_unit("running", running, Unit::Seconds, gauge(status.time_s));
    if let Some(wait) = status.wait_ms {
        let help = "How long packets waited in front of the home in the last period";
        registry.register_with_unit("wait", help, Unit::Seconds, gauge(wait / 1e3));
    }
    if let Some(minute) = status.wait_minute {
        let help = "The same, of the last minute: half waited no longer";
        registry.register_with_unit(
            "wait_median",
            help,
            Unit::Seconds,
            gauge(minute.median_ms / 1e3),
        );
        let help = "The same: 99 % waited no longer";
        registry.register_with_unit("wait_p99", help, Unit::Seconds, gauge(minute.p99_ms / 1e3));
    }
    let mut text = String::new();
    // A string takes all that is written to it.
    let _ = encode(&mut text, &registry);
    text
}

fn gauge(value: f64) -> Gauge<f64, AtomicU64> {
    let gauge = Gauge::default();
    gauge.set(value);
    gauge
}
