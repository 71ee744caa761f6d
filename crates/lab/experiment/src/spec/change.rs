//! What of a path changes while packets are in it.

use super::path::{self, ChanceSpec, LossSpec, ReorderSpec};
use super::{
    BackSpec, CapacitySpec, ClassifierSpec, GatewaySpec, JitterSpec, PathSpec, QueueSpec, queue,
};
use gameway_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of a path that take the place of those before them, each as a whole, from a time on. Hops stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSpec {
    /// when, after the change before it
    #[schemars(extend("x-min" = "1 ns", "x-max" = "8784 h", "examples" = ["20 s"]))]
    pub at: Duration,
    /// as that of the path, but for a Wi-Fi medium; the times of steps and traces begin at the change
    #[schemars(extend("x-none" = "as before"))]
    pub capacity: Option<CapacitySpec>,
    /// round-trip time of the empty path; queues that are sized in BDP follow it
    #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h", "x-none" = "as before"))]
    pub base_rtt: Option<Duration>,
    /// its part towards the client, at most base_rtt
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h", "x-none" = "as before"))]
    pub forward_delay: Option<Duration>,
    /// discipline and size of the queue, which takes in what waits
    #[serde(default, deserialize_with = "queue::changed")]
    #[schemars(extend("x-none" = "as before"))]
    pub queue: Option<QueueSpec>,
    /// whether a gateway in front of this queue tells games from other flows
    #[schemars(extend("x-none" = "as before"))]
    pub classifier: Option<ClassifierSpec>,
    /// variation of the delay towards the client
    #[serde(default, deserialize_with = "path::jitter")]
    pub jitter: Option<JitterSpec>,
    /// loss behind the bottlenecks
    #[serde(default, deserialize_with = "path::loss")]
    pub loss: Option<LossSpec>,
    /// packets that come twice, of those that are not lost
    pub duplicate: Option<ChanceSpec>,
    /// packets that change their place, likewise
    pub reorder: Option<ReorderSpec>,
    /// the way back, whose bottleneck stays where it was
    pub back: Option<BackSpec>,
    /// what the home gateway at this bottleneck does
    #[schemars(extend("x-none" = "as before"))]
    pub gateway: Option<GatewaySpec>,
}

impl ChangeSpec {
    /// Whether a bottleneck has another capacity then.
    #[must_use]
    pub fn of_capacity(&self) -> bool {
        self.capacity.is_some() || self.back.as_ref().is_some_and(|back| back.capacity.is_some())
    }
}

impl PathSpec {
    /// The paths that this one becomes, each with the time from which on it is so; none of them changes again.
    #[must_use]
    pub fn becomes(&self) -> Vec<(Duration, Self)> {
        let mut path = Self { change: Vec::new(), ..self.clone() };
        let mut becomes = Vec::with_capacity(self.change.len());
        for change in &self.change {
            path = path.with(change);
            becomes.push((change.at, path.clone()));
        }
        becomes
    }

    fn with(self, change: &ChangeSpec) -> Self {
        let ChangeSpec {
            at: _,
            capacity,
            base_rtt,
            forward_delay,
            queue,
            classifier,
            jitter,
            loss,
            duplicate,
            reorder,
            back,
            gateway,
        } = change.clone();
        Self {
            capacity: capacity.unwrap_or(self.capacity),
            // What a path was drawn around says nothing of another distance.
            nominal_rtt: if base_rtt.is_some() { None } else { self.nominal_rtt },
            base_rtt: base_rtt.unwrap_or(self.base_rtt),
            forward_delay: forward_delay.or(self.forward_delay),
            queue: queue.unwrap_or(self.queue),
            classifier: classifier.unwrap_or(self.classifier),
            jitter: jitter.or(self.jitter),
            loss: loss.or(self.loss),
            duplicate: duplicate.or(self.duplicate),
            reorder: reorder.or(self.reorder),
            back: back.or(self.back),
            gateway: gateway.or(self.gateway),
            ..self
        }
    }
}
