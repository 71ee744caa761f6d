//! A status as figures for a monitor, in the text of
//! [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/): for a collector of Prometheus that reads files, so that a
//! router has no further port that listens.

use crate::own_queue::OwnQueueStatus;
use crate::status::Status;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

/// Of games, or of all others.
type Label = [(&'static str, &'static str); 1];

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
        ("games_out", "Packets to the provider that counted as a game's", status.games_out),
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
    add_waits(&mut registry, status);
    if let Some(queue) = &status.own_queue {
        add_queue(&mut registry, queue);
    }
    let mut text = String::new();
    // A string takes all that is written to it.
    let _ = encode(&mut text, &registry);
    text
}

/// What packets waited in front of the home, if somebody can tell.
fn add_waits(registry: &mut Registry, status: &Status) {
    if let Some(wait) = status.wait_ms {
        let help = "How long packets waited in front of the home in the last period";
        registry.register_with_unit("wait", help, Unit::Seconds, gauge(wait / 1e3));
    }
    if let Some(wait) = status.wait_behind_ms {
        let help = "How long a packet waits in the kernel's queues at the home's interface";
        registry.register_with_unit("wait_behind", help, Unit::Seconds, gauge(wait / 1e3));
    }
    if let Some(minute) = status.wait_minute {
        for (name, help, millis) in [
            (
                "wait_median",
                "The same, of the last minute: half waited no longer",
                minute.median_ms,
            ),
            ("wait_p99", "The same: 99 % waited no longer", minute.p99_ms),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, gauge(millis / 1e3));
        }
    }
}

/// The gateway's own queue: its rate, and of games and others what waits and what was counted.
fn add_queue(registry: &mut Registry, queue: &OwnQueueStatus) {
    let rate = "What the home gets at most, with Ethernet headers";
    registry.register("own_queue_bits_per_second", rate, gauge(queue.rate_bps as f64));
    let backlog = Family::<Label, Gauge<f64, AtomicU64>>::default();
    let counted = [(); 3].map(|()| Family::<Label, Counter<u64>>::default());
    for (name, class) in [("game", &queue.game), ("others", &queue.others)] {
        let label = [("class", name)];
        backlog.get_or_create(&label).set(class.backlog_bytes as f64);
        for (family, count) in counted.iter().zip([class.sent_packets, class.drops, class.marks]) {
            family.get_or_create(&label).inc_by(count);
        }
    }
    let [sent, dropped, marked] = counted;
    registry.register("own_queue_backlog_bytes", "Bytes that wait there", backlog);
    registry.register("own_queue_packets", "Packets that went on from there to the home", sent);
    registry.register("own_queue_dropped", "Packets that were dropped there", dropped);
    registry.register("own_queue_marked", "Packets that got an ECN mark there", marked);
}

fn gauge(value: f64) -> Gauge<f64, AtomicU64> {
    let gauge = Gauge::default();
    gauge.set(value);
    gauge
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_queue::Class;
    use crate::status::tests::status;

    #[test]
    fn the_own_queue_is_told_by_class_where_there_is_one() {
        let without = figures(&status());
        assert!(!without.contains("own_queue") && without.ends_with("# EOF\n"));
        assert!(without.contains("gameway_gateway_wait_behind_seconds 0.0004"), "{without}");
        let others = Class { sent_packets: 7, backlog_bytes: 1500, drops: 2, ..Class::default() };
        let own_queue = OwnQueueStatus {
            kind: "HTB".to_owned(),
            why: String::new(),
            rate_bps: 19_500_000,
            renewals: 0,
            recent_waits_us: Vec::new(),
            game: Class::default(),
            others,
        };
        let with = figures(&Status { own_queue: Some(own_queue), ..status() });
        for line in [
            "own_queue_bits_per_second 19500000.0",
            "own_queue_backlog_bytes{class=\"others\"} 1500.0",
            "own_queue_backlog_bytes{class=\"game\"} 0.0",
            "own_queue_packets_total{class=\"others\"} 7",
            "own_queue_dropped_total{class=\"others\"} 2",
            "own_queue_marked_total{class=\"others\"} 0",
        ] {
            let line = format!("gameway_gateway_{line}\n");
            assert!(with.contains(&line), "{line}{with}");
        }
    }
}
