//! What a link did, in a few lines.

use crate::link::LinkReport;
use gameway_events::{BinRecord, QueueDelayRecord, RunEvent};
use gameway_runtime::lateness::BOUND;
use std::collections::BTreeMap;

/// Sums of what a link told.
#[derive(Debug, Default)]
pub struct Sums {
    sent: u64,
    received: u64,
    feedback: u64,
    marked: u64,
    /// Packets by the bounds of the bucket of their queueing delay.
    delays: BTreeMap<(i64, i64), u64>,
    delay_ns: i64,
}

impl Sums {
    /// Adds what an event tells.
    pub fn add(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Bin(BinRecord {
                sent_bytes,
                received_bytes,
                feedback_bytes,
                marked_packets,
                ..
            }) => {
                self.sent += sent_bytes;
                self.received += received_bytes;
                self.feedback += feedback_bytes;
                self.marked += u64::from(*marked_packets);
            }
            RunEvent::QueueDelay(QueueDelayRecord {
                delay_low_ns,
                delay_high_ns,
                packets,
                sum_ns,
                ..
            }) => {
                *self.delays.entry((*delay_low_ns, *delay_high_ns)).or_default() += packets;
                self.delay_ns += sum_ns;
            }
            _ => {}
        }
    }
}

impl Sums {
    /// What a link did.
    pub fn lines(&self, report: &LinkReport) -> Vec<String> {
        let all = &report.summary;
        let seconds = all.duration_ns as f64 / 1e9;
        let rate = |bytes: u64| bytes as f64 * 8.0 / seconds.max(1e-9) / 1e6;
        let mut lines = vec![
            format!(
                "{seconds:.1} s: {} packets came, {} arrived, {} dropped by queues, {} lost, {} marked",
                all.arrived_packets,
                all.delivered_packets,
                all.dropped_packets,
                all.lost_packets,
                self.marked
            ),
            format!(
                "down {:.2} Mb/s received of {:.2} sent, up {:.2} Mb/s sent",
                rate(self.received),
                rate(self.sent),
                rate(self.feedback)
            ),
        ];
        let packets: u64 = self.delays.values().sum();
        if packets > 0 {
            let mean = self.delay_ns as f64 / packets as f64 / 1e6;
            let (p95, p99) = (self.quantile(0.95) / 1e6, self.quantile(0.99) / 1e6);
            lines.push(format!("queueing delay, ms: mean {mean:.2}, p95 {p95:.2}, p99 {p99:.2}"));
        }
        let [median, p99, max] = [report.lateness.median, report.lateness.p99, report.lateness.max]
            .map(|late| late.as_millis_f64() * 1e3);
        lines.push(format!("lateness, us: median {median:.0}, p99 {p99:.0}, max {max:.0}"));
        lines
    }

    /// A quantile of the queueing delays, evenly spread within a bucket, ns.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = share * self.delays.values().sum::<u64>() as f64;
        let mut before = 0.0;
        for ((low, high), packets) in &self.delays {
            let inside = *packets as f64;
            if before + inside >= wanted {
                // The last bucket has no end.
                let end = if *low > 0 { (*high).min(2 * low) } else { *high };
                return *low as f64 + (end - low) as f64 * (wanted - before) / inside;
            }
            before += inside;
        }
        0.0
    }
}

/// What puts a link's figures in doubt.
pub fn warnings(report: &LinkReport) -> Vec<String> {
    let counts = report.counts;
    let counted = [
        (counts.dropped_by_kernel, "packets were dropped by the kernel in front of the link"),
        (counts.refused_by_kernel, "packets were refused by the kernel behind the link"),
        (counts.malformed, "packets were no whole IP packets (an MTU above 2048?)"),
        (counts.not_captured, "packets are not in the capture: the disk was too slow"),
        (counts.no_room, "times there was no memory for a packet"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let mut told: Vec<String> = counted.map(|(count, what)| format!("{count} {what}")).collect();
    let late = report.lateness.p99;
    if late > BOUND {
        told.push(format!(
            "the 99th percentile of lateness, {:.2} ms, exceeds {:.0} ms: this machine is too busy for these figures",
            late.as_millis_f64(),
            BOUND.as_millis_f64()
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_within_their_buckets_over_all_windows() {
        let mut sums = Sums::default();
        for _ in 0..3 {
            for (delay_low_ns, delay_high_ns, packets) in [(0, 10, 50), (10, 20, 49), (20, 40, 1)] {
                let record = QueueDelayRecord {
                    delay_low_ns,
                    delay_high_ns,
                    packets,
                    ..QueueDelayRecord::default()
                };
                sums.add(&RunEvent::QueueDelay(record));
            }
        }
        for (share, expected) in [(0.5, 10.0), (0.745, 15.0), (1.0, 40.0)] {
            let found = sums.quantile(share);
            assert!((found - expected).abs() < 1e-9, "{share}: {found}");
        }
        let mut last = Sums::default();
        last.delays.insert((80_000_000_000, i64::MAX), 10);
        assert!((80e9..=160e9).contains(&last.quantile(0.99)));
    }
}
