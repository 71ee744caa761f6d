//! VoAP, Vegas over Access Point: the gateway's own queueing delay steers the windows that downloads get.
//!
//! Source: Bujari, Massaro, Palazzi, "Vegas over Access Point: Making Room for Thin Client Game Systems in a
//! Wireless Home", section IV, algorithms 1 to 4.
//! Model: in each period the longest wait in the gateway's queue is measured, of packets that leave and of
//! the oldest that is still there. Below alpha every active flow's window grows by a segment, above beta it
//! shrinks by one, between them it stays. Then the windows are shared: each moves halfway to the mean, but a
//! flow that does not use its share keeps what it uses and 10 %, and the rest goes to those that could use
//! more. A flow comes under control when beta is first exceeded and it is not in slow start.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | alpha, beta, period T | 5 ms, 15 ms, 200 ms | section IV, properties 3 and 4 |
//! | step | one segment, the flow's largest | section IV, "per unit basis" |
//! | oversize of a limited share | 10 % | algorithm 4, lines 10 and 15 |
//! | growth in slow start | more than a quarter in a period | ours; BBR's test of a full pipe (Cardwell et al., 2016) |
//! | least window | 2 segments | ours: [`Direction`] |
//!
//! Readings of what the paper leaves open:
//!
//! | Place | Reading |
//! |---|---|
//! | cwnd(i) | the gateway cannot read it: estimated from what the flow had in flight ([`Direction`]) |
//! | delay equal to alpha or beta | the flows "are not acted upon", as between them |
//! | algorithm 1, line 8: an inactive flow is made inactive | nothing: it is not under control |
//! | line 15: awnd = cwnd between alpha and beta, "not acted upon" | the window comes down to what the flow used, it never goes up |
//! | line 23: VoAPactive without index | of the flow |
//! | lines 17 and 27 add inactive flows' windows; line 6 does not | the mean is over flows under control, in sum and number: else a flow that is left alone draws the others' windows to its own |
//! | algorithm 3 or 4 | 4 contains 3; 3 alone with `redistribution = "off"` |
//! | line 5 of algorithm 4: cwnd above the share; the text: above its advertised window | either: a flow that uses its window to the last segment could use more |
//! | cwin + 10 % | of the estimate, and at least two segments: 10 % of a small window is none, and what one delayed acknowledgment lets go would look like a use of the last segment |
//! | a flow that was active and is not any more | `leftover = "handed-on"`: once more a flow with cwnd 0, so that the others get its share (property 7); "lost": as printed, its window leaves the sum with it |
//! | active | sent data in the last period, or in the last two RTTs where that is longer: the paper wants T to be long enough for that |
//! | slow start | by "the increment rate of the TCP": the estimate grew by more than a quarter over the last period |
//!
//! Options beyond the paper, all off by default:
//!
//! | Option | What it does | Why |
//! |---|---|---|
//! | `step = "backlog"` | above beta the windows give up together what waits in excess: bytes that left in the period over its length, times delay less beta; then they wait two of the longest RTTs as they are with that queue. Below alpha, they grow together by no more than fits below beta | a segment in 200 ms is 26 s for 130 segments too many; and a segment for each of 20 flows is 17 ms of queue |
//! | `step = "fill"` | windows change by what fits or is in excess, at once (module `fill`) | a segment in 200 ms is 69 s for the window of 200 Mb/s and 20 ms |
//! | `newcomers = "admitted"` | a flow comes under control with its first data if the link was full in the last 10 s; a share that is limited by its flow is twice its use; and slow start is no reason to leave a flow alone | slow start is over in less than a period, with a full queue |
//! | `memory` | the estimate is the largest of so long, not of one period | BBR lets its window down to 4 segments for 200 ms every 10 s (draft-ietf-ccwg-bbr, ProbeRTT): as printed it loses its share, and needs seconds to get it back |
//! | `fairness = "rates"` | the share is a rate: windows are compared divided by their flows' RTTs | equal windows are unequal rates |

use crate::GatewayAlgorithm;
use crate::flows::FlowTable;
use crate::{Direction, Gateway, Limit, Observation, Packet, Passage};
use gameway_units::declared::{Configuration, OptionError, on_off};
use gameway_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod control;
mod fill;
mod full;
#[cfg(test)]
mod tests;
mod trial;

pub use control::Control;
use control::{Band, Part};
use fill::Fill;

/// By how much windows change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// One segment of each flow.
    Segment,
    /// Above beta what waits in excess; below alpha one segment of each flow, as far as that fits.
    Backlog,
    /// Above beta what waits in excess; below alpha all that fits.
    Fill,
}

/// What is shared equally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Windows.
    Windows,
    /// Windows over RTTs.
    Rates,
}

/// When a flow comes under control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Newcomers {
    /// When beta is exceeded and it is not in slow start.
    LeftAlone,
    /// With its first data, while the link is known to be full now and then.
    Admitted,
}

/// What becomes of the share of a flow that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Leftover {
    /// It goes to the others.
    HandedOn,
    /// Nobody gets it; the others grow into it.
    Lost,
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VoapConfig {
    /// windows grow while the longest wait of a period is below this time
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub alpha: Duration,
    /// windows shrink while it is above this time, which is not below alpha
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub beta: Duration,
    /// how often windows change
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub period: Duration,
    /// a flow counts with the largest window it used in so long, a period at the least
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub memory: Duration,
    /// "segment" (the paper's), "backlog": what waits in excess, at once, or "fill": that, and what fits, at once
    pub step: Step,
    /// "windows" (the paper's) or "rates": what is equal between flows
    pub fairness: Fairness,
    /// "on" (algorithm 4) or "off" (algorithm 3): whether unused shares go to others
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub redistribution: bool,
    /// "left-alone" (the paper's): flows in slow start; "admitted": each gets what is free with its first data
    pub newcomers: Newcomers,
    /// "handed-on" or "lost" (as printed): the share of a flow that ends
    pub leftover: Leftover,
}

impl Configuration for VoapConfig {
    const NAME: &'static str = "voap";
    const SUMMARY: &'static str =
        "lowers the advertised windows of TCP flows while packets wait too long at the gateway";
    const SOURCE: &'static str = "Bujari, Massaro, Palazzi: Vegas over Access Point, section IV";

    fn check(&self) -> Result<(), OptionError> {
        if self.beta < self.alpha {
            let why = format!("{} is below alpha, which is {}", self.beta, self.alpha);
            return Err(OptionError { option: Some("beta".to_owned()), why });
        }
        Ok(())
    }
}

impl GatewayAlgorithm for VoapConfig {
    fn build(self) -> Box<dyn Gateway> {
        Box::new(Voap::new(self))
    }
}

impl Default for VoapConfig {
    fn default() -> Self {
        Self {
            alpha: Duration::from_millis(5),
            beta: Duration::from_millis(15),
            period: Duration::from_millis(200),
            memory: Duration::ZERO,
            step: Step::Segment,
            fairness: Fairness::Windows,
            redistribution: true,
            newcomers: Newcomers::LeftAlone,
            leftover: Leftover::HandedOn,
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Voap {
    config: VoapConfig,
    table: FlowTable<Control>,
    /// The longest wait of this period, and of the last.
    longest: Duration,
    measured: Duration,
    /// The part of it that the gateway does not see itself, but reads off the connections.
    in_front: Duration,
    /// What left the queue in this period.
    left: Bytes,
    period_start: Instant,
    next: Instant,
    /// With [`Step::Backlog`] and [`Step::Fill`]: until then, what was cut still waits.
    settling_until: Instant,
    fill: Fill,
    /// What windows grow by comes as a burst: it is to be short.
    grows_gently: bool,
    /// The home sends, so that acknowledgments may wait on the way out.
    waits_out: bool,
}

impl Voap {
    /// A gateway that has seen nothing yet.
    #[must_use]
    pub fn new(config: VoapConfig) -> Self {
        Self {
            config,
            table: FlowTable::default(),
            longest: Duration::ZERO,
            measured: Duration::ZERO,
            in_front: Duration::ZERO,
            left: Bytes::ZERO,
            period_start: Instant::ZERO,
            next: Instant::ZERO + config.period,
            settling_until: Instant::ZERO,
            fill: Fill::default(),
            grows_gently: false,
            waits_out: false,
        }
    }

    /// The same, where the queue that it is told of stands between it and the senders.
    #[must_use]
    pub fn behind_the_queue(self) -> Self {
        Self { table: self.table.behind_the_queue(), ..self }
    }

    /// The same, where bursts are to be short (module `fill`).
    pub(crate) fn gently(self) -> Self {
        Self { grows_gently: true, ..self }
    }

    /// Nothing is under control any more, for a driver that saw nothing and wrote no windows for a while: flows have grown
    /// beyond theirs. What is known of shifts and loops stays.
    pub fn start_over(&mut self) {
        for data in self.table.directions_mut() {
            data.state = Control::default();
            data.start_over();
        }
        self.fill.start_over();
        (self.longest, self.left) = (Duration::ZERO, Bytes::ZERO);
    }

    /// Algorithm 2: the longest wait of this period, of packets that left and of the oldest that is still there.
    pub(crate) fn longest_wait(&self, now: Instant, oldest: Option<Instant>) -> Duration {
        let waiting = oldest.map_or(Duration::ZERO, |oldest| now.saturating_since(oldest));
        self.longest.max(waiting)
    }

    /// The period has ended in which packets waited so long at the longest, `in_front` of it where the gateway only reads it
    /// off the connections.
    pub(crate) fn end_period(&mut self, now: Instant, longest: Duration, in_front: Duration) {
        (self.measured, self.in_front) = (longest, in_front);
        let VoapConfig { alpha, beta, period, .. } = self.config;
        for data in self.table.directions_mut() {
            Control::observe(data, now, &self.config, self.waits_out);
        }
        let (waited, span) = (longest >= alpha, now.saturating_since(self.period_start));
        self.fill.full.on_period(now, self.left, span, waited);
        self.step(now, Band::of(longest, alpha, beta));
        self.share(now);
        self.fill.given = self.active().map(|data| Control::rate(data, beta)).sum();
        self.table.forget_idle(now);
        (self.longest, self.left) = (Duration::ZERO, Bytes::ZERO);
        self.period_start = now;
        self.next = now.saturating_add(period);
    }

    /// Whether acknowledgments may wait on the way out, so that loops are longer than their paths.
    pub(crate) fn set_waits_out(&mut self, waits_out: bool) {
        self.waits_out = waits_out;
    }

    /// What left the queue in this period.
    pub(crate) fn left(&self) -> Bytes {
        self.left
    }

    /// From now on windows grow below `alpha` and shrink above `beta`.
    pub(crate) fn set_band(&mut self, alpha: Duration, beta: Duration) {
        (self.config.alpha, self.config.beta) = (alpha, beta);
    }

    /// Between which waits windows stay.
    #[cfg(test)]
    pub(crate) fn band(&self) -> (Duration, Duration) {
        (self.config.alpha, self.config.beta)
    }

    /// Whether a cut has shown since the last call that what is measured in front of the gateway is no queue.
    pub(crate) fn take_refuted(&mut self) -> bool {
        std::mem::take(&mut self.fill.refuted)
    }

    /// The longest wait of the last period.
    #[must_use]
    pub fn measured(&self) -> Duration {
        self.measured
    }

    /// The flows that it knows.
    #[must_use]
    pub fn flows(&self) -> &FlowTable<Control> {
        &self.table
    }

    /// Those under control.
    fn active(&mut self) -> impl Iterator<Item = &mut Direction<Control>> {
        self.controlled().filter(|data| data.state.is_active())
    }

    fn controlled(&mut self) -> impl Iterator<Item = &mut Direction<Control>> {
        self.table.directions_mut().filter(|data| data.state.part() != Part::None)
    }

    /// Algorithm 1.
    fn step(&mut self, now: Instant, band: Band) {
        if band == Band::Above {
            let newcomers = self.config.newcomers;
            self.controlled().for_each(|data| data.state.take_control(newcomers));
        }
        if self.config.step == Step::Fill {
            return self.fill(now);
        }
        let settled = self.period_start >= self.settling_until;
        let room = self.room(now);
        let (mut count, mut total) = (0.0, 0.0);
        for data in self.active() {
            count += 1.0;
            total += data.state.window();
        }
        let by_backlog = self.config.step == Step::Backlog;
        for data in self.active() {
            let segment = f64::from(data.segment_size());
            let change = match band {
                Band::Within => 0.0,
                Band::Below if by_backlog => segment.min(room / count),
                Band::Below => segment,
                Band::Above if by_backlog && !settled => 0.0,
                Band::Above if by_backlog => room * data.state.window() / total,
                Band::Above => -segment,
            };
            data.state.change(band, change, segment);
        }
        if by_backlog && settled && band == Band::Above && count > 0.0 {
            let round = self.round();
            self.settling_until = now.saturating_add(round).saturating_add(round);
        }
    }

    /// The longest RTT of the flows that are seen, with the queue.
    fn round(&mut self) -> Duration {
        let rtts = self.controlled().filter_map(|data| Control::rtt(data));
        rtts.max().unwrap_or_default().saturating_add(self.measured)
    }

    /// Bytes that may wait more until the delay is beta; below zero what waits in excess.
    fn room(&self, now: Instant) -> f64 {
        self.came(now) * (self.config.beta - self.measured).as_secs_f64()
    }

    /// Bytes per second that left in this period.
    fn came(&self, now: Instant) -> f64 {
        let span = now.saturating_since(self.period_start).as_secs_f64();
        self.left.as_f64() / span.max(1e-9)
    }

    /// Algorithms 3 and 4.
    fn share(&mut self, now: Instant) {
        let config = self.config;
        let weight = |data: &Direction<Control>| Control::weight(data, config.fairness);
        let (mut count, mut total) = (0.0, 0.0);
        for data in self.active() {
            count += 1.0;
            total += data.state.window() / weight(data);
        }
        let split = total / f64::max(count, 1.0);
        // Gently, windows grow by little: what a flow does not use yet is not to be taken off what there is for all.
        let carried = self.fill.full.rate(now).filter(|_| self.grows_gently);
        let mut free = carried.map_or(0.0, |rate| rate - total);
        let (mut leftover, mut needy) = (0.0, 0.0);
        for data in self.active() {
            let (weight, margin) = (weight(data), Control::margin(data));
            let before = data.state.window() / weight;
            let max = if free > 0.0 { split.max(before + free) } else { split };
            let spare = data.state.share((split * weight, max * weight), margin, &config);
            free -= (data.state.window() / weight - before).max(0.0);
            leftover += spare / weight;
            needy += f64::from(u8::from(data.state.is_in_need()));
        }
        if leftover > 0.0 && needy > 0.0 {
            let each = split + leftover / needy;
            for data in self.controlled().filter(|data| data.state.is_in_need()) {
                let weight = weight(data);
                data.state.receive(each * weight);
            }
        }
    }
}

impl Gateway for Voap {
    fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool {
        let Some(segment) = &mut packet.segment else { return false };
        let admits = self.config.newcomers == Newcomers::Admitted;
        let Self { table, fill, config, .. } = self;
        table.pass(now, passage == Passage::Queue, segment, |data| {
            if admits && Control::is_new(data) {
                fill.admit(now, data, config.beta);
            }
            data.state.wanted()
        })
    }

    fn on_departure(&mut self, _now: Instant, size: Bytes, queueing_delay: Duration) {
        self.left = self.left.saturating_add(size);
        self.longest = self.longest.max(queueing_delay);
    }

    fn next_deadline(&self) -> Instant {
        self.next
    }

    fn on_deadline(&mut self, now: Instant, oldest: Option<Instant>) {
        if now < self.next {
            return;
        }
        let longest = self.longest_wait(now, oldest);
        self.end_period(now, longest, longest);
    }

    fn limits(&self, tell: &mut dyn FnMut(Limit)) {
        self.table.limits(|data| data.state.wanted(), tell);
    }

    fn observe(&self, log: &mut dyn FnMut(Observation)) {
        log(Observation::new("queue_delay_max_ms", self.measured.as_millis_f64()));
        for (header, data) in self.table.directions().filter(|(_, data)| data.is_in_queue()) {
            let mut tell =
                |variable, value| log(Observation::new(variable, value).with_flow(header));
            tell("voap_active", f64::from(u8::from(data.state.is_active())));
            if let Some(window) = data.state.wanted() {
                tell("advertised_window_bytes", window as f64);
            }
            if let Some(estimate) = data.state.estimate() {
                tell("estimated_cwnd_bytes", estimate);
            }
        }
    }
}
