//! A bandwidth probe: packets at a rate of its own, taken from what waits and filled up with padding.

use super::{CLUSTER_TIMEOUT, Pacer, PacerOutput};
use crate::{ProbeCluster, Target};
use gameway_units::{Bytes, Instant, Rate};

/// A bandwidth probe under way, or (without a start) waiting for a media packet.
pub(super) struct ClusterRun {
    pub(super) cluster: ProbeCluster,
    pub(super) asked: Instant,
    pub(super) started: Option<Instant>,
    pub(super) sent_bytes: Bytes,
    pub(super) sent_packets: u32,
}

impl<T> Pacer<T> {
    /// Begins a probe that is asked for, once.
    pub(super) fn take_cluster(&mut self, now: Instant, target: &Target) {
        let Some(cluster) = target.requests.probe_cluster else { return };
        if self.last_cluster.is_some_and(|last| cluster.id <= last) || cluster.rate == Rate::ZERO {
            return;
        }
        self.last_cluster = Some(cluster.id);
        self.cluster = Some(ClusterRun {
            cluster,
            asked: now,
            started: (!self.queue.is_empty()).then_some(now),
            sent_bytes: Bytes::ZERO,
            sent_packets: 0,
        });
    }

    pub(super) fn send_for_cluster(
        &mut self,
        now: Instant,
        due: Instant,
    ) -> Option<PacerOutput<T>> {
        let padding = self.padding_packet;
        let size = self.queue.front().map_or(padding, |head| head.size);
        let run = self.cluster.as_mut()?;
        let id = run.cluster.id;
        run.sent_bytes = run.sent_bytes.saturating_add(size);
        run.sent_packets = run.sent_packets.saturating_add(1);
        let enough =
            run.sent_bytes >= run.cluster.min_bytes && run.sent_packets >= run.cluster.min_packets;
        if enough {
            self.cluster = None;
        }
        if self.queue.is_empty() {
            self.charge_bucket(now, due, padding, now);
            return Some(PacerOutput::Padding { size: padding, due, probe_cluster: id });
        }
        self.send_media(now, due, Some(id))
    }

    pub(super) fn start_cluster(&mut self, now: Instant) {
        if let Some(run) = &mut self.cluster {
            run.started = run.started.or(Some(now));
        }
    }

    pub(super) fn drop_stale_cluster(&mut self, now: Instant) {
        if self
            .cluster
            .as_ref()
            .is_some_and(|run| now.saturating_since(run.asked) > CLUSTER_TIMEOUT)
        {
            self.cluster = None;
        }
    }
}
