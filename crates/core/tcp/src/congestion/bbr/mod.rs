//! BBR, version 1.
//!
//! Source: Linux `net/ipv4/tcp_bbr.c`; draft-cardwell-iccrg-bbr-congestion-control-00.
//! Model: the path is its largest delivery rate of late and its smallest RTT of late; their product
//! is what may be in flight without a queue. Pace at that rate times a gain that probes above and
//! drains below it; keep about twice the product in flight at most; leave only four segments in
//! flight now and then to see the RTT without a queue. Phases end by the flight that there will be when the
//! pacer lets the next burst leave (`bbr_packets_in_net_at_edt`).
//!
//! ```text
//!   Startup --full pipe--> Drain --flight <= BDP--> ProbeBw <--> ProbeRtt (every 10 s without a new
//!      ^                                                             minimum; also from the others)
//!      +----- ProbeRtt ends before the pipe was full ------------------+
//! ```
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | high gain, drain gain | 2/ln 2 = 2.885 (739/256), 88/256 | `bbr_high_gain`, `bbr_drain_gain` |
//! | cycle of pacing gains | 1.25, 0.75, 6 x 1; a minimum RTT each | `bbr_pacing_gain` |
//! | window gain | 2 | `bbr_cwnd_gain` |
//! | bandwidth window | 10 rounds | `bbr_bw_rtts` |
//! | minimum-RTT window, ProbeRTT | 10 s, 200 ms and a round with 4 segments | `bbr_min_rtt_win_sec` and others |
//! | full pipe | 3 rounds that gain less than 25 % | `bbr_full_bw_thresh`, `bbr_full_bw_cnt` |
//! | pacing margin | -1 % | `bbr_pacing_margin_percent` |
//! | quantization budget | 3 send quanta of 1 ms of pacing, at least 2 segments | `bbr_quantization_budget`, `sk_pacing_shift` |
//!
//! | Deviation | Why |
//! |---|---|
//! | floats and bytes instead of fixed point and packets | no overflow bounds to keep |
//! | echoes of ECN are ignored | version 1 has no response |

mod long_term;

use super::ack_aggregation::AckAggregation;
use super::{AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TimeoutEvent};
use crate::pacer::Burst;
use crate::windowed_max::WindowedMax;
use gameway_units::{Bytes, Duration, Instant, Rate};
use long_term::{LongTermRate, Loss};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const WINDOW_GAIN: f64 = 2.0;
const BANDWIDTH_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const MIN_SEGMENTS: f64 = 4.0;
const FULL_PIPE_GROWTH: f64 = 1.25;
const FULL_PIPE_ROUNDS: u32 = 3;
const PACING_MARGIN: f64 = 0.99;
/// Linux `sk_pacing_shift` 10: a quantum is 1/1024 s of pacing.
const QUANTA_PER_SEC: f64 = 1024.0;
const MAX_QUANTUM: f64 = 127.0;
const SMALL_QUANTUM_BELOW: f64 = 1_200_000.0 / 8.0;
const RTT_BEFORE_ANY_SAMPLE: Duration = Duration::from_millis(1);

/// The state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw { phase: usize, since: Instant },
    ProbeRtt { done: Option<Instant>, round_passed: bool },
}

/// Rounds counted by delivered data.
#[derive(Debug, Clone, Copy, Default)]
struct Rounds {
    count: u64,
    next_delivered: u64,
    starts: bool,
}

/// Detection that Startup has filled the pipe.
#[derive(Debug, Clone, Copy, Default)]
struct FullPipe {
    bandwidth: f64,
    rounds: u32,
    reached: bool,
}

/// State of BBR; amounts in bytes, rates in bytes per second.
#[derive(Debug, Clone)]
pub struct Bbr {
    segment_size: f64,
    cwnd: f64,
    /// Window to return to after recovery or ProbeRTT.
    prior_cwnd: f64,
    pacing_rate: f64,
    seen_rtt: bool,
    mode: Mode,
    rounds: Rounds,
    bandwidth: WindowedMax,
    long_term: LongTermRate,
    aggregation: AckAggregation,
    full_pipe: FullPipe,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    previous_phase: Phase,
    packet_conservation: bool,
    idle_restart: bool,
    random: SplitMix64,
}

impl Bbr {
    /// With the initial window of RFC 6928; `seed` draws where the gain cycle begins.
    #[must_use]
    pub fn new(segment_size: u32, seed: u64) -> Self {
        let segment_size = f64::from(segment_size.max(1));
        let cwnd = INITIAL_WINDOW_SEGMENTS as f64 * segment_size;
        let mut bbr = Self {
            segment_size,
            cwnd,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            seen_rtt: false,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            long_term: LongTermRate::default(),
            aggregation: AckAggregation::default(),
            full_pipe: FullPipe::default(),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            previous_phase: Phase::Open,
            packet_conservation: false,
            idle_restart: false,
            random: SplitMix64::seed_from_u64(seed),
        };
        bbr.start_pacing(RTT_BEFORE_ANY_SAMPLE);
        bbr
    }

    /// The initial window per RTT, times the high gain.
    fn start_pacing(&mut self, rtt: Duration) {
        let rate = self.cwnd / rtt.as_secs_f64().max(1e-9);
        self.pacing_rate = rate * HIGH_GAIN * PACING_MARGIN;
    }

    /// The estimate in use: the long-term rate if a policer was found.
    fn estimate(&self) -> f64 {
        self.long_term.rate_in_use().unwrap_or_else(|| self.bandwidth.get())
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw { .. } if self.long_term.rate_in_use().is_some() => (1.0, WINDOW_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], WINDOW_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.min_rtt {
            None => INITIAL_WINDOW_SEGMENTS as f64 * self.segment_size,
            Some(rtt) => bandwidth * rtt.as_secs_f64() * gain,
        }
    }

    /// Segments that leave at once.
    fn quantum(&self) -> f64 {
        let segments = (self.pacing_rate / QUANTA_PER_SEC / self.segment_size).floor();
        segments.clamp(f64::from(self.burst().min_segments), MAX_QUANTUM)
    }

    /// Room for what hosts batch: three quanta, whole pairs, two more segments while probing up.
    fn with_quantization(&self, window: f64) -> f64 {
        let segments = (window / self.segment_size).ceil() + 3.0 * self.quantum();
        let pairs = (segments / 2.0).ceil() * 2.0;
        let probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        (pairs + if probing { 2.0 } else { 0.0 }) * self.segment_size
    }

    fn target_flight(&self, gain: f64) -> f64 {
        self.with_quantization(self.bdp(self.bandwidth.get(), gain))
    }

    /// What will be in flight when the pacer lets the next burst leave; while probing up, with it.
    fn flight_at_departure(&self, ack: &AckEvent, flight: Bytes) -> f64 {
        let meanwhile = self.estimate() * ack.until_departure.as_secs_f64() / self.segment_size;
        let leaving = if self.gains().0 > 1.0 { self.quantum() } else { 0.0 };
        (flight.as_f64() + (leaving - meanwhile.floor()) * self.segment_size).max(0.0)
    }

    fn update_bandwidth(&mut self, ack: &AckEvent) {
        self.rounds.starts = false;
        let Some(rate) = ack.rate else { return };
        if rate.prior_delivered.get() >= self.rounds.next_delivered {
            self.rounds.next_delivered = ack.total_delivered.get();
            self.rounds.count += 1;
            self.rounds.starts = true;
            self.packet_conservation = false;
        }
        let restart_cycle = self.long_term.on_sample(&Loss {
            now: ack.now,
            newly_lost: ack.newly_lost.get(),
            total_lost: ack.total_lost.get(),
            total_delivered: ack.total_delivered.get(),
            app_limited: rate.app_limited,
            round_starts: self.rounds.starts,
            probing: matches!(self.mode, Mode::ProbeBw { .. }),
        });
        if restart_cycle {
            self.enter_probe_bw(ack.now);
        }
        let sample = rate.delivered.as_f64() / rate.interval.as_secs_f64();
        if !rate.app_limited || sample >= self.bandwidth.get() {
            self.bandwidth.update(self.rounds.count, sample);
        }
    }

    fn update_aggregation(&mut self, ack: &AckEvent) {
        if ack.rate.is_some() && ack.newly_delivered > Bytes::ZERO {
            let (rate, cwnd) = (self.estimate(), self.cwnd);
            let (starts, delivered) = (self.rounds.starts, ack.newly_delivered.as_f64());
            self.aggregation.on_ack(ack.now, starts, delivered, rate, cwnd, self.segment_size);
        }
    }

    fn update_cycle(&mut self, ack: &AckEvent) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let full_length = ack.now - since > self.min_rtt.unwrap_or(Duration::MAX);
        let flight = self.flight_at_departure(ack, ack.prior_in_flight);
        let (gain, _) = self.gains();
        let next = if gain > 1.0 {
            let lost = ack.newly_lost > Bytes::ZERO;
            full_length && (lost || flight >= self.target_flight(gain))
        } else if gain < 1.0 {
            full_length || flight <= self.target_flight(1.0)
        } else {
            full_length
        };
        if next {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: ack.now };
        }
    }

    /// Any phase but the draining one, at random: flows must not probe in step.
    fn enter_probe_bw(&mut self, now: Instant) {
        let draw = (((self.random.next_u64() >> 32) * 7) >> 32) as usize;
        let phase = (CYCLE.len() - draw) % CYCLE.len();
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    fn check_full_pipe(&mut self, ack: &AckEvent) {
        let app_limited = ack.rate.is_some_and(|rate| rate.app_limited);
        if self.full_pipe.reached || !self.rounds.starts || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_pipe.bandwidth * FULL_PIPE_GROWTH {
            self.full_pipe.bandwidth = bandwidth;
            self.full_pipe.rounds = 0;
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.reached = self.full_pipe.rounds >= FULL_PIPE_ROUNDS;
    }

    fn check_drain(&mut self, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
        }
        let flight = self.flight_at_departure(ack, ack.in_flight);
        if self.mode == Mode::Drain && flight <= self.target_flight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let expired = ack.now - self.min_rtt_at > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt {
            let lower = self.min_rtt.is_none_or(|minimum| rtt < minimum);
            if lower || (expired && !ack.ack_delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = ack.now;
            }
        }
        let probing = matches!(self.mode, Mode::ProbeRtt { .. });
        if expired && !self.idle_restart && !probing {
            self.mode = Mode::ProbeRtt { done: None, round_passed: false };
            self.save_cwnd();
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.continue_probe_rtt(ack);
        }
        if ack.newly_delivered > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    fn continue_probe_rtt(&mut self, ack: &AckEvent) {
        let Mode::ProbeRtt { done, round_passed } = &mut self.mode else { return };
        match done {
            None if ack.in_flight.as_f64() <= MIN_SEGMENTS * self.segment_size => {
                *done = Some(ack.now.saturating_add(PROBE_RTT_TIME));
                *round_passed = false;
                self.rounds.next_delivered = ack.total_delivered.get();
            }
            None => {}
            Some(_) => {
                *round_passed |= self.rounds.starts;
                if *round_passed {
                    self.leave_probe_rtt_when_due(ack.now);
                }
            }
        }
    }

    fn leave_probe_rtt_when_due(&mut self, now: Instant) {
        let Mode::ProbeRtt { done: Some(done), .. } = self.mode else { return };
        if now <= done {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        let undisturbed = self.previous_phase == Phase::Open;
        let probing = matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd =
            if undisturbed && !probing { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn set_pacing_rate(&mut self, ack: &AckEvent, gain: f64) {
        if let Some(rtt) = ack.smoothed_rtt.filter(|_| !self.seen_rtt) {
            self.seen_rtt = true;
            self.start_pacing(rtt);
        }
        let rate = self.estimate() * gain * PACING_MARGIN;
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, ack: &AckEvent, gain: f64) {
        let acked = ack.newly_delivered.as_f64();
        if acked > 0.0 && !self.follow_recovery(ack, acked) {
            let bonus =
                if self.full_pipe.reached { self.aggregation.bonus(self.estimate()) } else { 0.0 };
            let target = self.with_quantization(self.bdp(self.estimate(), gain) + bonus);
            let initial = INITIAL_WINDOW_SEGMENTS as f64 * self.segment_size;
            if self.full_pipe.reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || ack.total_delivered.as_f64() < initial {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_SEGMENTS * self.segment_size);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(MIN_SEGMENTS * self.segment_size);
        }
    }

    /// Gives up what was lost; conserves packets in the first round of a recovery and restores the
    /// window after it. Whether the window is thereby settled.
    fn follow_recovery(&mut self, ack: &AckEvent, acked: f64) -> bool {
        let lost = ack.newly_lost.as_f64();
        if lost > 0.0 {
            self.cwnd = (self.cwnd - lost).max(self.segment_size);
        }
        let flight = ack.in_flight.as_f64();
        let before = std::mem::replace(&mut self.previous_phase, ack.phase);
        if ack.phase == Phase::Recovery && before != Phase::Recovery {
            self.packet_conservation = true;
            self.rounds.next_delivered = ack.total_delivered.get();
            // An ACK of part of a segment must not leave less than one, as Linux's whole packets cannot.
            self.cwnd = (flight + acked).max(self.segment_size);
        } else if before != Phase::Open && ack.phase == Phase::Open {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(flight + acked);
        }
        self.packet_conservation
    }
}

without_options! {
    BbrConfig, "bbr",
    "BBR version 1: follows a model of bottleneck bandwidth and RTT",
    "Cardwell et al. 2016; Linux tcp_bbr.c",
    needs_accurate_ecn: false,
    |segment_size, seed| Box::new(Bbr::new(segment_size, seed))
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.min_rtt = rtt;
        self.min_rtt_at = now;
        self.aggregation.restart(now);
        if let Some(rtt) = rtt {
            self.seen_rtt = true;
            self.start_pacing(rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.update_bandwidth(ack);
        self.update_aggregation(ack);
        self.update_cycle(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        let (pacing_gain, window_gain) = self.gains();
        self.set_pacing_rate(ack, pacing_gain);
        self.set_cwnd(ack, window_gain);
    }

    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {
        self.save_cwnd();
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.save_cwnd();
        self.previous_phase = Phase::Loss;
        self.full_pipe.bandwidth = 0.0;
        self.rounds.starts = true;
        let probing = matches!(self.mode, Mode::ProbeBw { .. });
        let restart_cycle = self.long_term.on_sample(&Loss {
            now: timeout.now,
            newly_lost: timeout.newly_lost.get().max(1),
            total_lost: timeout.total_lost.get(),
            total_delivered: timeout.total_delivered.get(),
            app_limited: false,
            round_starts: true,
            probing,
        });
        if restart_cycle {
            self.enter_probe_bw(timeout.now);
        }
        self.cwnd = self.segment_size;
    }

    fn on_spurious_loss(&mut self, _now: Instant) {
        self.full_pipe.bandwidth = 0.0;
        self.full_pipe.rounds = 0;
        self.long_term = LongTermRate::default();
    }

    fn on_transmit_start(&mut self, now: Instant, _idle: Option<Duration>) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw { .. } => self.pacing_rate = self.estimate() * PACING_MARGIN,
            Mode::ProbeRtt { .. } => self.leave_probe_rtt_when_due(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }

    /// `bbr_min_tso_segs`.
    fn burst(&self) -> Burst {
        let slow = self.pacing_rate < SMALL_QUANTUM_BELOW;
        Burst { min_segments: if slow { 1 } else { 2 }, ..Burst::LINUX }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps_f64(self.pacing_rate * 8.0))
    }

    fn regulates_recovery(&self) -> bool {
        true
    }

    fn samples_are_app_limited(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }
}

#[cfg(test)]
mod tests;
