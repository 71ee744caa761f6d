//! Prague, the scalable congestion control of L4S.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04 section 2.4; L4STeam/linux `tcp_prague.c`
//! (version 0.6), which settles what the draft leaves open. RFC 9331 section 4 for what L4S asks.
//! Model: `alpha` is a moving average of the share of marked bytes. A mark takes `alpha / 2` off the
//! window, once per round; unmarked bytes add one segment per window of data. On short paths rounds
//! last at least a virtual RTT and the addition shrinks with the square of the RTT, so that flows of
//! different RTTs get the same rate. Data is paced at the window per RTT.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | gain of `alpha` | 1/16 per round | draft section 2.4; `PRAGUE_SHIFT_G` 4 |
//! | first `alpha` | 1, kept until the first mark: that halves | `prague_init`, `saw_ce` |
//! | virtual RTT | 25 ms at least | draft section 2.4.4; `prague_rtt_target` |
//! | rounds before the RTT counts as virtual | 500 after slow start | draft section 2.4.4; `DEFAULT_RTT_TRANSITION` |
//! | decrease on loss | 1/2 | `prague_enter_loss` |
//! | pacing | 1 window per RTT, 2 below half the threshold | `prague_update_pacing_rate` |
//! | bursts | 1/4096 s of pacing, 1 segment at least | `prague_burst_shift` 12 |
//! | least window | 2 segments | `MIN_CWND` |
//! | initial window | 10 segments | RFC 6928 |
//!
//! | Deviation | Why |
//! |---|---|
//! | no detection of a classic queue behind ECT(1) | off in Linux too (`prague_ecn_fallback` 0); where CE comes from a classic queue it takes more than its share |
//! | a window that pacing keeps two segments short of being full counts as the limit | without it pacing alone can end all growth; Linux compares after sending a burst |
//! | without accurate ECN it stays itself with data that is not ECN-capable | no mark comes then, and what is left is Reno, to which Linux switches |
//! | a loss soon after a mark takes its full half | as Linux; the draft lets a sender spare the part already taken |
//! | the window never falls below two segments in parts | as Linux's whole window; paths here have no RTT below a millisecond |

use super::{AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TimeoutEvent};
use crate::pacer::Burst;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};

const GAIN: f64 = 1.0 / 16.0;
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
const ROUNDS_OF_TRUE_RTT: u32 = 500;
const LOSS_DECREASE: f64 = 0.5;
const SLOW_START_PACING: f64 = 2.0;
const MIN_WINDOW: f64 = 2.0;
const BURST: Burst = Burst { time: Duration::from_nanos(1_000_000_000 / 4096), min_segments: 1 };
/// An ACK's two segments may be missing while pacing holds the next.
const HELD_BY_PACING: u64 = 2;

/// A round trip, or several until a virtual one is over, over which marks are counted.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// It is over when this is acknowledged.
    end: u64,
    delivered: u64,
    marked: u64,
}

/// State of Prague, in segments.
#[derive(Debug, Clone)]
pub struct Prague {
    segment_size: f64,
    /// The window in parts of segments.
    exact: f64,
    /// The window in force follows by at most a segment per ACK, so that it never stops sending.
    whole: f64,
    threshold: f64,
    alpha: f64,
    /// Whether a mark was ever seen.
    marked: bool,
    round: Round,
    /// Rounds since slow start.
    rounds: u32,
    alpha_updated: Instant,
    /// Marks are of the latest reduction until this is acknowledged.
    reduced_until: u64,
    reduced: Instant,
    rtt: Duration,
    pacing_rate: Option<Rate>,
    before_loss: (f64, f64),
}

impl Prague {
    /// With the initial window of RFC 6928.
    #[must_use]
    pub fn new(segment_size: u32) -> Self {
        let window = INITIAL_WINDOW_SEGMENTS as f64;
        Self {
            segment_size: f64::from(segment_size.max(1)),
            exact: window,
            whole: window,
            threshold: f64::INFINITY,
            alpha: 1.0,
            marked: false,
            round: Round::default(),
            rounds: 0,
            alpha_updated: Instant::ZERO,
            reduced_until: 0,
            reduced: Instant::ZERO,
            rtt: Duration::ZERO,
            pacing_rate: None,
            before_loss: (window, f64::INFINITY),
        }
    }

    /// The moving average of the share of marks.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    fn in_slow_start(&self) -> bool {
        self.exact < self.threshold
    }

    /// Whether short RTTs count as the virtual one.
    fn is_rtt_independent(&self) -> bool {
        !self.in_slow_start() && self.rounds >= ROUNDS_OF_TRUE_RTT
    }

    fn virtual_rtt_since(&self, then: Instant, now: Instant) -> bool {
        !self.is_rtt_independent() || now.saturating_since(then) >= VIRTUAL_RTT
    }

    fn reduce_on_mark(&mut self, ack: &AckEvent) {
        self.marked = true;
        let answered = ack.acknowledged < self.reduced_until;
        let open = ack.phase == Phase::Open;
        if answered || !open || !self.virtual_rtt_since(self.reduced, ack.now) {
            return;
        }
        self.exact = (self.exact * (1.0 - self.alpha / 2.0)).max(MIN_WINDOW);
        self.threshold = self.exact;
        (self.reduced_until, self.reduced) = (ack.next_sequence, ack.now);
    }

    fn grow(&mut self, ack: &AckEvent, unmarked: f64) {
        let full = ack.prior_in_flight.as_f64() + HELD_BY_PACING as f64 * self.segment_size
            >= self.whole * self.segment_size;
        let limited = ack.cwnd_limited || full;
        let progress = ack.newly_acknowledged > Bytes::ZERO;
        if ack.phase == Phase::Recovery || !limited || !progress {
            return;
        }
        let segments = unmarked / self.segment_size;
        if self.in_slow_start() {
            self.exact = (self.exact + segments).min(self.threshold.max(self.exact));
            self.whole = self.exact;
        } else {
            self.exact += self.increase_per_window() * segments / self.whole.max(1.0);
        }
    }

    /// Segments that a window of unmarked data adds.
    fn increase_per_window(&self) -> f64 {
        if !self.is_rtt_independent() || self.rtt >= VIRTUAL_RTT || self.rtt <= Duration::ZERO {
            return 1.0;
        }
        let ratio = self.rtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64();
        ratio * ratio
    }

    fn update_alpha(&mut self, ack: &AckEvent) {
        let over = ack.acknowledged >= self.round.end;
        if !over || !self.virtual_rtt_since(self.alpha_updated, ack.now) {
            return;
        }
        if self.marked && self.round.delivered > 0 {
            let share = (self.round.marked as f64 / self.round.delivered as f64).min(1.0);
            self.alpha += (share - self.alpha) * GAIN;
            self.alpha_updated = ack.now;
        }
        self.round = Round { end: ack.next_sequence, delivered: 0, marked: 0 };
        self.rounds = self.rounds.saturating_add(u32::from(!self.in_slow_start()));
    }

    fn follow(&mut self) {
        let target = self.exact.ceil();
        if self.in_slow_start() {
            self.whole = target;
        } else if self.whole > target {
            self.whole = (self.whole - 1.0).max(target).max(MIN_WINDOW);
        } else {
            self.whole = (self.whole + 1.0).min(target);
        }
    }

    fn update_pacing(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.smoothed_rtt.filter(|rtt| *rtt > Duration::ZERO) else { return };
        self.rtt = rtt;
        let faster = self.whole < self.threshold / 2.0;
        let gain = if faster { SLOW_START_PACING } else { 1.0 };
        let window = self.exact.max(1.0) * self.segment_size * 8.0;
        self.pacing_rate = Some(Rate::from_bps_f64(gain * window / rtt.as_secs_f64()));
    }

    fn reduce_on_loss(&mut self) {
        self.before_loss = (self.exact, self.threshold);
        self.exact = (self.exact * LOSS_DECREASE).max(MIN_WINDOW);
        self.threshold = self.exact;
    }
}

without_options! {
    PragueConfig, "prague",
    "Prague: answers the share of marked packets; for L4S queues, with ECT(1)",
    "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c",
    needs_accurate_ecn: true,
    |segment_size, _seed| Box::new(Prague::new(segment_size))
}

impl CongestionControl for Prague {
    fn name(&self) -> &'static str {
        "prague"
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let delivered = ack.newly_delivered.get();
        let marked = ack.newly_marked.get();
        self.round.delivered += delivered;
        self.round.marked += marked;
        if marked > 0 {
            self.reduce_on_mark(ack);
        }
        self.grow(ack, delivered.saturating_sub(marked) as f64);
        self.update_alpha(ack);
        self.follow();
        self.update_pacing(ack);
    }

    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {
        self.reduce_on_loss();
        self.whole = self.exact.ceil();
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if timeout.first {
            self.reduce_on_loss();
        }
        (self.exact, self.whole) = (1.0, 1.0);
    }

    fn on_spurious_loss(&mut self, _now: Instant) {
        self.exact = self.exact.max(self.before_loss.0);
        self.threshold = self.threshold.max(self.before_loss.1);
        self.whole = self.exact.ceil();
    }

    fn on_transmit_start(&mut self, _now: Instant, idle: Option<Duration>) {
        if idle.is_some() {
            self.exact = self.exact.min(INITIAL_WINDOW_SEGMENTS as f64);
            self.whole = self.exact.ceil();
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.whole * self.segment_size)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::from_f64(self.threshold * self.segment_size)
    }

    fn burst(&self) -> Burst {
        BURST
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn codepoint(&self) -> Ecn {
        Ecn::Ect1
    }

    fn answers_marks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::quiet_events;

    const SIZE: u32 = 1000;
    const WINDOW: u64 = 100;

    const fn bytes(segments: u64) -> u64 {
        segments * SIZE as u64
    }

    /// An ACK at `millis` of everything up to segment `acknowledged`, when a window more is out.
    fn ack(millis: i64, acknowledged: u64, delivered: u64, marked: u64) -> AckEvent {
        AckEvent {
            now: Instant::from_nanos(millis * 1_000_000),
            acknowledged: bytes(acknowledged),
            next_sequence: bytes(acknowledged + WINDOW),
            newly_marked: Bytes::new(bytes(marked)),
            prior_in_flight: Bytes::new(bytes(WINDOW)),
            in_flight: Bytes::new(bytes(WINDOW)),
            smoothed_rtt: Some(Duration::from_millis(10)),
            ..quiet_events::ack(Bytes::new(bytes(delivered)))
        }
    }

    /// In congestion avoidance with the window `WINDOW`, after `rounds` rounds.
    fn settled(rounds: u32) -> Prague {
        let window = WINDOW as f64;
        Prague {
            exact: window,
            whole: window,
            threshold: window,
            marked: true,
            rounds,
            rtt: Duration::from_millis(10),
            ..Prague::new(SIZE)
        }
    }

    #[test]
    fn alpha_moves_a_sixteenth_per_round_and_waits_for_the_first_mark() {
        let mut fresh = Prague::new(SIZE);
        (1..9).for_each(|round| fresh.on_ack(&ack(10 * round, WINDOW * round as u64, 10, 0)));
        assert!((fresh.alpha() - 1.0).abs() < 1e-12);
        let mut prague = settled(0);
        for round in 1..=20u32 {
            prague.on_ack(&ack(10 * i64::from(round), WINDOW * u64::from(round), 100, 25));
            let expected = 0.25 + 0.75 * libm::pow(15.0 / 16.0, f64::from(round));
            assert!((prague.alpha() - expected).abs() < 1e-12, "round {round}: {}", prague.alpha());
        }
    }

    #[test]
    fn a_short_rtt_updates_alpha_once_per_25_ms() {
        let mut prague = settled(ROUNDS_OF_TRUE_RTT);
        let mut changes = 0;
        for round in 1..=30 {
            let before = prague.alpha();
            prague.on_ack(&ack(10 * round, WINDOW * round as u64, 100, 0));
            changes += u32::from(prague.alpha() < before);
        }
        // 30 rounds of 10 ms: each third, the first of them 25 ms after time zero.
        assert_eq!(changes, 10);
    }

    #[test]
    fn marks_take_half_of_alpha_once_per_round_and_the_window_follows_by_a_segment_per_ack() {
        let mut prague = Prague { alpha: 0.1, ..settled(0) };
        prague.on_ack(&ack(10, WINDOW, 1, 1));
        assert!((prague.exact - 95.0).abs() < 1e-9, "{}", prague.exact);
        assert_eq!(prague.cwnd(), Bytes::new(99_000));
        (1..=99).for_each(|n| prague.on_ack(&ack(10, WINDOW + n, 1, 1)));
        assert!((prague.exact - 95.0).abs() < 1e-9, "the same round: {}", prague.exact);
        assert_eq!(prague.cwnd(), Bytes::new(95_000));
        let alpha = prague.alpha();
        prague.on_ack(&ack(20, 2 * WINDOW, 1, 1));
        assert!((prague.exact - 95.0 * (1.0 - alpha / 2.0)).abs() < 1e-9, "{}", prague.exact);
    }

    #[test]
    fn a_window_of_unmarked_data_adds_a_segment_or_the_square_of_the_rtt_over_25_ms() {
        const LATER: u32 = ROUNDS_OF_TRUE_RTT;
        for (rounds, rtt, marked, expected) in
            [(0, 10, 0, 1.0), (0, 10, 50, 0.5), (LATER, 10, 0, 0.16), (LATER, 50, 0, 1.0)]
        {
            let rtt = Duration::from_millis(rtt);
            let mut prague = Prague { alpha: 0.0, rtt, ..settled(rounds) };
            prague.on_ack(&ack(100, WINDOW - 1, 100, marked));
            assert!((prague.exact - 100.0 - expected).abs() < 1e-9, "{}", prague.exact);
        }
        let mut idle = settled(0);
        let unused = AckEvent {
            cwnd_limited: false,
            prior_in_flight: Bytes::new(97_000),
            ..ack(100, WINDOW - 1, 100, 0)
        };
        idle.on_ack(&unused);
        assert!((idle.exact - 100.0).abs() < 1e-9, "an unused window does not grow");
    }

    #[test]
    fn losses_halve_time_outs_start_over_and_both_can_be_taken_back() {
        let mut prague = settled(0);
        prague.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!((prague.cwnd(), prague.ssthresh()), (Bytes::new(50_000), Bytes::new(50_000)));
        prague.on_spurious_loss(Instant::ZERO);
        assert_eq!(prague.cwnd(), Bytes::new(100_000));
        let timeout = quiet_events::timeout(true);
        prague.on_timeout(&timeout);
        assert_eq!((prague.cwnd(), prague.ssthresh()), (Bytes::new(1000), Bytes::new(50_000)));
        prague.on_spurious_loss(Instant::ZERO);
        assert_eq!(prague.cwnd(), Bytes::new(100_000));
    }

    #[test]
    fn pacing_is_a_window_per_rtt_and_two_in_early_slow_start() {
        let mut prague = settled(0);
        prague.on_ack(&ack(10, 1, 1, 0));
        let rate = |prague: &Prague| prague.pacing_rate().unwrap_or_default().as_mbps_f64();
        assert!((rate(&prague) / 80.0 - 1.0).abs() < 0.001, "{}", rate(&prague));
        let mut fresh = Prague::new(SIZE);
        fresh.on_ack(&ack(10, 1, 1, 0));
        assert!((rate(&fresh) / (2.0 * 11.0 * 0.8) - 1.0).abs() < 0.001, "{}", rate(&fresh));
    }

    /// Draft section 2.4.4: beyond 500 rounds of congestion avoidance short round trips count as 25 ms, also between two
    /// answers to marks; before, and in slow start, they are what they are.
    #[test]
    fn after_500_rounds_marks_are_answered_every_25_ms() {
        for (rounds, answers) in [(0, 6), (ROUNDS_OF_TRUE_RTT - 1, 2), (ROUNDS_OF_TRUE_RTT, 2)] {
            let mut prague = Prague { alpha: 0.1, ..settled(rounds) };
            let mut answered = 0;
            for round in 1..=6 {
                let before = prague.exact;
                prague.on_ack(&ack(100 + 10 * round, WINDOW * round as u64, 1, 1));
                answered += u32::from(prague.exact < before);
            }
            assert_eq!(answered, answers, "after {rounds} rounds");
        }
        let mut slow_start = Prague { threshold: f64::INFINITY, ..settled(ROUNDS_OF_TRUE_RTT) };
        slow_start.on_ack(&ack(10, WINDOW, 1, 0));
        assert_eq!(slow_start.rounds, ROUNDS_OF_TRUE_RTT, "a round of slow start is not counted");
        slow_start.on_ack(&ack(11, WINDOW + 1, 1, 1));
        assert_eq!(slow_start.reduced_until, bytes(2 * WINDOW + 1), "at once");
    }

    #[test]
    fn alpha_is_of_whole_rounds_with_data() {
        let mut prague = settled(0);
        prague.round.end = bytes(WINDOW);
        prague.on_ack(&ack(5, 40, 40, 40));
        assert!((prague.alpha() - 1.0).abs() < 1e-12, "the round is not over");
        prague.on_ack(&ack(10, WINDOW, 60, 10));
        assert!((prague.alpha() - (15.0 + 0.5) / 16.0).abs() < 1e-12, "{}", prague.alpha());
        let alpha = prague.alpha();
        prague.on_ack(&ack(20, 2 * WINDOW, 0, 0));
        assert!((prague.alpha() - alpha).abs() < 1e-12, "nothing says how many are marked");
        // A counter of marked bytes may be ahead of what is acknowledged.
        prague.on_ack(&ack(30, 3 * WINDOW, 10, 30));
        assert!((prague.alpha() - (15.0 * alpha + 1.0) / 16.0).abs() < 1e-12);
    }

    #[test]
    fn slow_start_adds_what_is_not_marked_and_ends_at_the_threshold() {
        let mut prague = Prague { threshold: 25.0, ..Prague::new(SIZE) };
        prague.on_ack(&ack(10, 1, 6, 0));
        assert_eq!(prague.cwnd(), Bytes::new(16_000));
        prague.on_ack(&ack(11, 2, 60, 0));
        assert_eq!(prague.cwnd(), Bytes::new(25_000));
        // 5 of 25 segments are a fifth of a window: a fifth of a segment, in force as a whole one.
        prague.on_ack(&ack(12, 3, 5, 0));
        assert!((prague.exact - 25.2).abs() < 1e-9, "{}", prague.exact);
        assert_eq!(prague.cwnd(), Bytes::new(26_000));
    }

    #[test]
    fn a_window_grows_by_what_moves_forward_where_it_is_full_and_nothing_is_repaired() {
        let grown = |event: AckEvent| {
            let mut prague = settled(0);
            prague.on_ack(&event);
            prague.exact - WINDOW as f64
        };
        let full = ack(100, WINDOW - 1, 100, 0);
        assert!(grown(AckEvent { phase: Phase::Recovery, ..full }).abs() < 1e-9);
        assert!(grown(AckEvent { newly_acknowledged: Bytes::ZERO, ..full }).abs() < 1e-9);
        assert!((grown(AckEvent { phase: Phase::Loss, ..full }) - 1.0).abs() < 1e-9);
        // Pacing may hold two segments; the sender knows more.
        let short = AckEvent { cwnd_limited: false, prior_in_flight: Bytes::new(98_000), ..full };
        assert!((grown(short) - 1.0).abs() < 1e-9);
        let told = AckEvent { cwnd_limited: true, prior_in_flight: Bytes::ZERO, ..full };
        assert!((grown(told) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn marks_of_a_recovery_are_not_answered_and_two_segments_remain() {
        let mut repairing = settled(0);
        let marked = ack(10, WINDOW, 1, 1);
        repairing.on_ack(&AckEvent { phase: Phase::Recovery, ..marked });
        assert!((repairing.exact - 100.0).abs() < 1e-9, "{}", repairing.exact);
        let small = || Prague { exact: 3.0, whole: 3.0, threshold: 3.0, ..settled(0) };
        let mut marked_small = small();
        marked_small.on_ack(&marked);
        let mut lossy = small();
        lossy.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        for prague in [marked_small, lossy] {
            assert_eq!((prague.cwnd(), prague.ssthresh()), (Bytes::new(2000), Bytes::new(2000)));
        }
    }

    /// RFC 5681 sections 3.1 and 4.1.
    #[test]
    fn the_threshold_falls_once_and_after_an_idle_time_the_window_is_the_first() {
        let mut prague = settled(0);
        prague.on_timeout(&quiet_events::timeout(false));
        assert_eq!((prague.cwnd(), prague.ssthresh()), (Bytes::new(1000), Bytes::new(100_000)));
        let mut paused = settled(0);
        for (idle, expected) in [(None, 100_000), (Some(Duration::from_secs(1)), 10_000)] {
            paused.on_transmit_start(Instant::ZERO, idle);
            assert_eq!(paused.cwnd(), Bytes::new(expected));
        }
        prague.on_transmit_start(Instant::ZERO, Some(Duration::from_secs(1)));
        assert_eq!(prague.cwnd(), Bytes::new(1000), "a smaller one stays");
    }
}
