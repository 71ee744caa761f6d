//! Whether the congestion window is what limits the flow.
//!
//! Source: RFC 7661 section 4.1; Linux `tcp_cwnd_validate` and `tcp_is_cwnd_limited`.
//! Model: per window of data, remember whether sending ever stopped at the window, and else how much
//! was outstanding at most. In slow start half a window in use is enough, since the window doubles
//! each round; in congestion avoidance the window must have been reached.

/// The strongest sign of use within the present window of data.
#[derive(Debug, Clone, Copy, Default)]
pub struct WindowUsage {
    reached: bool,
    max_outstanding: u64,
    until: u64,
}

impl WindowUsage {
    /// Sending has stopped for now; `reached` tells whether the window stopped it.
    pub fn update(&mut self, reached: bool, outstanding: u64, acknowledged: u64, next: u64) {
        let new_window = acknowledged >= self.until;
        let larger = !self.reached && outstanding > self.max_outstanding;
        if new_window || reached || larger {
            *self = Self { reached, max_outstanding: outstanding, until: next };
        }
    }

    /// Whether the window was the limit of late, and so may grow.
    #[must_use]
    pub fn is_limited(&self, cwnd: u64, slow_start: bool) -> bool {
        self.reached || (slow_start && cwnd < self.max_outstanding.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_for_a_window_of_data() {
        let mut usage = WindowUsage::default();
        usage.update(true, 10, 0, 10);
        assert!(usage.is_limited(10, false));
        usage.update(false, 3, 5, 12);
        assert!(usage.is_limited(10, false), "still the same window of data");
        usage.update(false, 20, 6, 12);
        assert!(
            usage.is_limited(1000, false),
            "that it was reached says more than how much is out"
        );
        usage.update(false, 3, 10, 13);
        assert!(!usage.is_limited(10, false));
        assert!(!usage.is_limited(10, true));
        assert!(usage.is_limited(5, true), "3 of 5 is more than half");
        assert!(!usage.is_limited(6, true), "half is not");
        // The most of a window of data: more counts at once, less when the next one begins.
        usage.update(false, 5, 11, 15);
        assert!(usage.is_limited(9, true));
        usage.update(false, 2, 14, 16);
        assert!(usage.is_limited(9, true));
        usage.update(false, 2, 15, 17);
        assert!(!usage.is_limited(9, true) && usage.is_limited(3, true));
        usage.update(true, 2, 16, 18);
        assert!(usage.is_limited(9, false));
    }
}
