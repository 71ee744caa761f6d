//! Grouping of packets into send bursts, and how much later each group arrives than the one before.
//!
//! Source: libwebrtc `inter_arrival_delta` (m128); draft-ietf-rmcat-gcc-02 section 5.2.
//!
//! Packets sent within 5 ms of a group's first belong to it, and so do packets that arrive in one burst
//! (within 5 ms of the packet before, closer together than they were sent, up to 100 ms in all): what a
//! Wi-Fi link or a pause of the receiver bunched together says nothing about queues.

use gameway_units::{Duration, Instant, ReceiverInstant};

const GROUP_LENGTH: Duration = Duration::from_millis(5);
const BURST_GAP: Duration = Duration::from_millis(5);
const MAX_BURST: Duration = Duration::from_millis(100);
/// The receiver's clock has jumped if groups move by more than this against ours.
const CLOCK_JUMP: Duration = Duration::from_secs(3);
const REORDERED_GROUPS_BEFORE_RESET: u32 = 3;

#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrival: ReceiverInstant,
    last_arrival: ReceiverInstant,
    reported: Instant,
}

/// How a group compares with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupDelta {
    pub(super) sent: Duration,
    pub(super) arrived: Duration,
    /// When the newer group's last packet arrived.
    pub(super) arrival: ReceiverInstant,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct InterArrival {
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl InterArrival {
    /// Takes the next packet in order of arrival; gives the deltas if it begins a new group.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        sent: Instant,
        arrival: ReceiverInstant,
    ) -> Option<GroupDelta> {
        let fresh = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrival,
            last_arrival: arrival,
            reported: now,
        };
        let Some(mut current) = self.current else {
            self.current = Some(fresh);
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if belongs(&current, sent, arrival) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = arrival;
            current.reported = now;
            self.current = Some(current);
            return None;
        }
        let delta = self.close(&current);
        if delta.is_none() && self.previous.is_some() {
            return None; // reordered, or reset
        }
        self.previous = Some(current);
        self.current = Some(fresh);
        delta
    }

    fn close(&mut self, current: &Group) -> Option<GroupDelta> {
        let previous = self.previous?;
        let arrived = current.last_arrival.saturating_since(previous.last_arrival);
        let ours = current.reported.saturating_since(previous.reported);
        if arrived.saturating_sub(ours) >= CLOCK_JUMP {
            *self = Self::default();
            return None;
        }
        if arrived.is_negative() {
            self.reordered += 1;
            if self.reordered >= REORDERED_GROUPS_BEFORE_RESET {
                *self = Self::default();
            }
            return None;
        }
        self.reordered = 0;
        let sent = current.last_sent.saturating_since(previous.last_sent);
        Some(GroupDelta { sent, arrived, arrival: current.last_arrival })
    }
}

fn belongs(group: &Group, sent: Instant, arrival: ReceiverInstant) -> bool {
    let sent_gap = sent.saturating_since(group.last_sent);
    let arrival_gap = arrival.saturating_since(group.last_arrival);
    let in_burst = sent_gap == Duration::ZERO
        || (arrival_gap < sent_gap
            && arrival_gap <= BURST_GAP
            && arrival.saturating_since(group.first_arrival) < MAX_BURST);
    in_burst || sent.saturating_since(group.first_sent) <= GROUP_LENGTH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(inter: &mut InterArrival, sent: i64, arrival: i64) -> Option<(i64, i64)> {
        let sent = Instant::ZERO + Duration::from_millis(sent);
        let at = ReceiverInstant::ZERO + Duration::from_millis(arrival);
        let delta = inter.on_packet(sent, sent, at)?;
        Some((delta.sent.as_nanos() / 1_000_000, delta.arrived.as_nanos() / 1_000_000))
    }

    #[test]
    fn groups_of_five_milliseconds() {
        let mut inter = InterArrival::default();
        assert_eq!(feed(&mut inter, 0, 100), None);
        assert_eq!(feed(&mut inter, 5, 106), None); // same group
        assert_eq!(feed(&mut inter, 16, 118), None); // first group is the reference
        assert_eq!(feed(&mut inter, 20, 124), None);
        assert_eq!(feed(&mut inter, 33, 140), Some((15, 18))); // 20 - 5 sent, 124 - 106 arrived
    }

    #[test]
    fn a_burst_of_arrivals_is_one_group() {
        let mut inter = InterArrival::default();
        for (sent, arrival) in [(0, 100), (10, 140), (20, 141), (30, 142)] {
            assert_eq!(feed(&mut inter, sent, arrival), None);
        }
        // The group of 10, 20 and 30 ms against that of 0 ms.
        assert_eq!(feed(&mut inter, 60, 172), Some((30, 42)));
    }

    #[test]
    fn reordered_groups_reset_it() {
        let mut inter = InterArrival::default();
        feed(&mut inter, 0, 1_000);
        feed(&mut inter, 20, 500);
        for k in 2..6 {
            assert_eq!(feed(&mut inter, k * 20, 500 + k), None);
        }
    }
}
