//! SAP-LAW: the access point knows what there is, and gives each TCP flow its share in advance.
//!
//! Source: Palazzi, Ferretti, Roccetti, Pau, Gerla, "What's in That Magic Box?", IEEE Transactions on
//! Consumer Electronics 52(4), 2006 (quoted from Bujari et al., VoAP, section III; the formula from memory:
//! `maxTCPrate(t) = (C - UDPtraffic(t)) / #TCPflows(t)`).
//! Model: the capacity less what UDP took in the last period, in equal parts to the TCP flows that sent in
//! it; a flow's window is that rate times its RTT, from the first acknowledgment on.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | period of the UDP measurement | 200 ms | ours, as VoAP's |
//!
//! | Deviation | Why |
//! |---|---|
//! | without a given RTT, that of each flow is measured at the gateway | the paper takes RTTs as known; a flow whose RTT is not known yet is left alone |
//! | a flow of the last two periods counts | one with an RTT near the period would come and go |
//! | the window counts payload, the rate bytes on the wire | as published; a window 4 % too large |

use crate::GatewayAlgorithm;
use crate::flows::FlowTable;
use crate::{Direction, Gateway, Limit, Observation, Packet, Passage};
use gameway_path::Protocol;
use gameway_units::declared::{Configuration, OptionError};
use gameway_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SapLawConfig {
    /// of the bottleneck, above zero
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "default" = "must be given"))]
    pub capacity: Rate,
    /// of all flows; without it, each flow's own as the gateway sees it
    #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h", "x-none" = "measured"))]
    pub rtt: Option<Duration>,
    /// how often the rate of UDP and the number of TCP flows are measured
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub period: Duration,
}

impl SapLawConfig {
    /// The defaults at this capacity.
    #[must_use]
    pub const fn new(capacity: Rate) -> Self {
        Self { capacity, rtt: None, period: Duration::from_millis(200) }
    }
}

impl Default for SapLawConfig {
    /// Without a capacity, which [`Configuration::check`] refuses.
    fn default() -> Self {
        Self::new(Rate::ZERO)
    }
}

impl Configuration for SapLawConfig {
    const NAME: &'static str = "sap-law";
    const SUMMARY: &'static str =
        "gives each TCP flow its share of a known capacity as advertised window";
    const SOURCE: &'static str =
        "Palazzi et al., IEEE Transactions on Consumer Electronics 52(4), 2006";

    fn check(&self) -> Result<(), OptionError> {
        if self.capacity == Rate::ZERO {
            let why = "must be given, and be more than 0 b/s".to_owned();
            return Err(OptionError { option: Some("capacity".to_owned()), why });
        }
        Ok(())
    }
}

impl GatewayAlgorithm for SapLawConfig {
    fn build(self) -> Box<dyn Gateway> {
        Box::new(SapLaw::new(self))
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct SapLaw {
    config: SapLawConfig,
    table: FlowTable<()>,
    unlimited: Bytes,
    share: Rate,
    next: Instant,
}

impl SapLaw {
    /// A gateway that has seen nothing yet.
    #[must_use]
    pub fn new(config: SapLawConfig) -> Self {
        Self {
            config,
            table: FlowTable::default(),
            unlimited: Bytes::ZERO,
            share: config.capacity,
            next: Instant::ZERO + config.period,
        }
    }

    fn is_counted(&self, now: Instant, data: &Direction<()>) -> bool {
        let recent = |at| now.saturating_since(at) <= self.config.period * 2;
        data.is_in_queue() && data.last_data().is_some_and(recent)
    }
}

/// The window of a flow at this rate; `None` while its RTT is not known.
fn window(data: &Direction<()>, share: Rate, rtt: Option<Duration>) -> Option<u64> {
    let measured = || Some(data.sender_loop()? + data.receiver_loop()?);
    let rtt = rtt.or_else(measured)?;
    data.is_in_queue().then(|| (share * rtt).get())
}

impl Gateway for SapLaw {
    fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool {
        let in_queue = passage == Passage::Queue;
        if in_queue && packet.header.protocol == Protocol::Udp {
            self.unlimited += packet.size;
        }
        let (share, rtt) = (self.share, self.config.rtt);
        let Some(segment) = &mut packet.segment else { return false };
        self.table.pass(now, in_queue, segment, |data| window(data, share, rtt))
    }

    fn on_departure(&mut self, _now: Instant, _size: Bytes, _queueing_delay: Duration) {}

    fn next_deadline(&self) -> Instant {
        self.next
    }

    fn on_deadline(&mut self, now: Instant, _oldest: Option<Instant>) {
        if now < self.next {
            return;
        }
        let udp = std::mem::take(&mut self.unlimited) / self.config.period;
        let flows = self.table.directions().filter(|(_, data)| self.is_counted(now, data)).count();
        let left = self.config.capacity.as_bps().saturating_sub(udp.as_bps());
        self.share = Rate::from_bps(left / (flows as u64).max(1));
        self.table.forget_idle(now);
        self.next = now.saturating_add(self.config.period);
    }

    fn limits(&self, tell: &mut dyn FnMut(Limit)) {
        self.table.limits(|data| window(data, self.share, self.config.rtt), tell);
    }

    fn observe(&self, log: &mut dyn FnMut(Observation)) {
        log(Observation::new("tcp_share_bps", self.share.as_bps_f64()));
        for (header, data) in self.table.directions() {
            if let Some(window) = window(data, self.share, self.config.rtt) {
                let observed = Observation::new("advertised_window_bytes", window as f64);
                log(observed.with_flow(header));
            }
        }
    }
}

#[cfg(test)]
mod tests;
