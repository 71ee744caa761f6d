//! The congestion window: slow start, then steps of v/(delta cwnd) packets towards the rate wanted.
//!
//! Source: Arun and Balakrishnan, Copa, NSDI 2018, section 2.1; deviations are in the table of the algorithm.

use gameway_units::{Duration, Instant};

/// Windows are floats of packets of this size on the wire.
pub(super) const PACKET_BYTES: f64 = 1_248.0;
pub(super) const INITIAL_PACKETS: f64 = 10.0;
const TURNS_BEFORE_DOUBLING: u32 = 4;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Window {
    packets: f64,
    slow_start: bool,
    velocity: f64,
    upwards: bool,
    /// For how many judgements the direction has held.
    held: u32,
    /// When the direction was last judged, and the window then.
    judged: Option<(Instant, f64)>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            packets: INITIAL_PACKETS,
            slow_start: true,
            velocity: 1.0,
            upwards: true,
            held: 0,
            judged: None,
        }
    }

    pub(super) fn packets(&self) -> f64 {
        self.packets
    }

    pub(super) fn velocity(&self) -> f64 {
        self.velocity
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.slow_start
    }

    /// Starts anew from what [`Self::clamp`] will allow.
    pub(super) fn restart(&mut self) {
        *self = Self { packets: 0.0, ..Self::new() };
    }

    /// Shrinks at once, as a change of direction.
    pub(super) fn reduce(&mut self, factor: f64) {
        (self.packets, self.slow_start) = (self.packets * factor, false);
        self.turn(false);
    }

    pub(super) fn clamp(&mut self, min: f64, max: f64) {
        self.packets = self.packets.min(max).max(min);
    }

    /// Something worth `share` of a full packet was acknowledged while the rate was below or above the
    /// one wanted.
    pub(super) fn on_acknowledged(
        &mut self,
        at: Instant,
        share: f64,
        below: bool,
        delta: f64,
        smoothed: Duration,
    ) {
        if self.slow_start && below {
            self.packets += share;
            return;
        }
        self.slow_start = false;
        self.judge(at, smoothed);
        if below != self.upwards && self.velocity > 1.0 {
            self.turn(below); // what was won for the other direction must not speed up this one
        }
        // At most a doubling or a halving in a round trip.
        let step = (self.velocity / (delta * self.packets)).min(if below { 1.0 } else { 0.5 });
        self.packets += if below { step * share } else { -step * share };
    }

    fn judge(&mut self, at: Instant, smoothed: Duration) {
        let Some((last, before)) = self.judged else {
            self.judged = Some((at, self.packets));
            return;
        };
        if at.saturating_since(last) < smoothed {
            return;
        }
        let upwards = self.packets > before;
        self.judged = Some((at, self.packets));
        if upwards != self.upwards {
            self.turn(upwards);
            return;
        }
        self.held = self.held.saturating_add(1);
        if self.held >= TURNS_BEFORE_DOUBLING {
            self.velocity = (self.velocity * 2.0).min(1e6);
        }
    }

    fn turn(&mut self, upwards: bool) {
        self.upwards = upwards;
        self.held = 0;
        self.velocity = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    /// Acknowledges a window's worth of packets over one round trip, `trips` times.
    fn acknowledge(window: &mut Window, trips: i64, from: i64, below: bool, delta: f64) {
        for trip in from..from + trips {
            for _ in 0..window.packets().round() as i64 {
                window.on_acknowledged(Instant::ZERO + RTT * trip, 1.0, below, delta, RTT);
            }
        }
    }

    #[test]
    fn slow_start_doubles_and_ends_at_the_first_rate_above_the_one_wanted() {
        let mut window = Window::new();
        acknowledge(&mut window, 3, 0, true, 0.1);
        assert!((window.packets() - 80.0).abs() < 1e-9 && window.in_slow_start());
        acknowledge(&mut window, 1, 3, false, 0.1);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn a_round_trip_moves_it_by_velocity_over_delta_packets() {
        let mut window = Window { packets: 100.0, slow_start: false, ..Window::new() };
        acknowledge(&mut window, 1, 0, true, 0.5);
        assert!((window.packets() - 102.0).abs() < 0.05, "{}", window.packets());
        // Judged at the start of each round trip: four times upwards, then doubled.
        acknowledge(&mut window, 2, 1, true, 0.5);
        assert!((window.packets() - 106.0).abs() < 0.2, "{}", window.packets());
        acknowledge(&mut window, 1, 3, true, 0.5);
        assert!((window.velocity() - 1.0).abs() < 1e-9);
        acknowledge(&mut window, 2, 4, true, 0.5);
        assert!((window.velocity() - 4.0).abs() < 1e-9);
        assert!((window.packets() - 120.0).abs() < 0.8, "{}", window.packets());
        acknowledge(&mut window, 1, 6, false, 0.5);
        assert!((window.velocity() - 1.0).abs() < 1e-9);
        assert!((window.packets() - 118.0).abs() < 1.0, "{}", window.packets());
    }

    #[test]
    fn whatever_the_velocity_it_at_most_doubles_in_a_round_trip() {
        let mut window = Window { slow_start: false, velocity: 1e5, ..Window::new() };
        acknowledge(&mut window, 1, 0, true, 0.1);
        assert!((window.packets() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn a_restart_is_slow_start_from_what_is_allowed_and_a_reduction_ends_it() {
        let mut window = Window { velocity: 8.0, packets: 50.0, ..Window::new() };
        window.reduce(0.7);
        assert!((window.packets() - 35.0).abs() < 1e-9 && (window.velocity() - 1.0).abs() < 1e-9);
        assert!(!window.in_slow_start());
        window.restart();
        assert!(window.in_slow_start());
        window.clamp(4.0, 100.0);
        assert!((window.packets() - 4.0).abs() < 1e-9);
        window.clamp(1.0, 3.0);
        assert!((window.packets() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn half_a_packet_counts_half() {
        let mut window = Window { packets: 100.0, slow_start: false, ..Window::new() };
        window.on_acknowledged(Instant::ZERO, 0.5, true, 0.5, RTT);
        assert!((window.packets() - 100.01).abs() < 1e-9); // half of 1 / (0.5 x 100)
        window.packets = 100.0;
        window.on_acknowledged(Instant::ZERO, 0.5, false, 0.5, RTT);
        assert!((window.packets() - 99.99).abs() < 1e-9);
    }
}
