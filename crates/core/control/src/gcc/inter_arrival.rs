//! Grouping of packets into send bursts, and how much later each group arrives than the one before.
//!
//! Source: libwebrtc `inter_arrival_delta` (m128); draft-ietf-rmcat-gcc-02 section 5.2.
//!
//! Packets sent within 5 ms of a group's first belong to it, and so do packets that arrive in one burst
//! (within 5 ms of the packet before, closer together than they were sent, up to 100 ms in all): what a
//! Wi-Fi link or a pause of the receiver bunched together says nothing about queues.
//!
//! libwebrtc also takes packets of one sending time for one group, whatever came before them, and its times are in whole milliseconds
//! (`TransportFeedbackAdapter::ProcessSentPacket`, m128 to the main branch of 2025). That is the option `sending_clock`. It is off by
//! default: with exact times only a simulation lets packets leave in one instant, a whole frame of them. Where it is on, packets of one
//! instant are taken to leave one after the other, as a browser's do.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | from packet to packet of one instant | 45 us | of 14 packets of a frame of Chromium 156 the last leaves 0.6 ms after the first (median) |

use gameway_units::{Duration, Instant, ReceiverInstant};

const GROUP_LENGTH: Duration = Duration::from_millis(5);
const BURST_GAP: Duration = Duration::from_millis(5);
const MAX_BURST: Duration = Duration::from_millis(100);
/// The receiver's clock has jumped if groups move by more than this against ours.
const CLOCK_JUMP: Duration = Duration::from_secs(3);
const REORDERED_GROUPS_BEFORE_RESET: u32 = 3;
const FROM_SEND_TO_SEND: Duration = Duration::from_micros(45);

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
    /// The steps of the clock by which sending times are read; zero: they are exact.
    sending_clock: Duration,
    /// The instant of the packet before, and how many of it came before that.
    instant: Option<(Instant, u32)>,
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl InterArrival {
    /// With sending times by a clock of these steps, or exact ones.
    pub(super) fn new(sending_clock: Duration) -> Self {
        Self { sending_clock, ..Self::default() }
    }

    /// When a packet left, by the clock.
    fn read(&mut self, sent: Instant) -> Instant {
        if self.sending_clock == Duration::ZERO {
            return sent;
        }
        let before = match self.instant {
            Some((instant, before)) if instant == sent => before.saturating_add(1),
            _ => 0,
        };
        self.instant = Some((sent, before));
        let left = sent.saturating_add(FROM_SEND_TO_SEND * i64::from(before));
        let step = self.sending_clock.as_nanos();
        Instant::from_nanos(left.as_nanos().div_euclid(step) * step)
    }

    /// Takes the next packet in order of arrival; gives the deltas if it begins a new group.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        sent: Instant,
        arrival: ReceiverInstant,
    ) -> Option<GroupDelta> {
        let sent = self.read(sent);
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
        let is_of_its_reading = self.sending_clock > Duration::ZERO && sent == current.last_sent;
        if is_of_its_reading || belongs(&current, sent, arrival) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = arrival;
            current.reported = now;
            self.current = Some(current);
            return None;
        }
        let is_first = self.previous.is_none();
        let delta = self.close(&current);
        if delta.is_none() && !is_first {
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
            *self = Self::new(self.sending_clock);
            return None;
        }
        if arrived.is_negative() {
            self.reordered += 1;
            if self.reordered >= REORDERED_GROUPS_BEFORE_RESET {
                *self = Self::new(self.sending_clock);
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
    let in_burst = arrival_gap < sent_gap
        && arrival_gap <= BURST_GAP
        && arrival.saturating_since(group.first_arrival) < MAX_BURST;
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
    fn an_even_stream_is_cut_into_groups_by_when_it_was_sent() {
        let mut inter = InterArrival::default();
        for sent in [0, 4, 8, 12] {
            assert_eq!(feed(&mut inter, sent, 100 + sent), None);
        }
        assert_eq!(feed(&mut inter, 16, 116), Some((8, 8)));
        // Closer together than they were sent, but more than 5 ms apart, is no burst.
        let mut inter = InterArrival::default();
        feed(&mut inter, 0, 100);
        feed(&mut inter, 40, 120);
        assert_eq!(feed(&mut inter, 80, 140), Some((40, 20)));
    }

    #[test]
    fn frames_that_leave_at_one_instant_are_groups_where_the_link_is_full() {
        let mut inter = InterArrival::default();
        let mut groups = 0;
        for packet in 0..120 {
            // Twelve packets of a frame each 33 ms, which arrive 3 ms apart.
            let (sent, arrival) = (33 * (packet / 12), 100 + 3 * packet);
            groups += i32::from(feed(&mut inter, sent, arrival).is_some());
        }
        assert_eq!(groups, 8);
    }

    /// Of the same frames: the first packet of one arrives soon after the last of the one before, and belongs to its burst. Those of
    /// the same millisecond follow it.
    #[test]
    fn with_a_clock_of_milliseconds_packets_of_one_reading_are_one_group() {
        let mut inter = InterArrival::new(Duration::from_millis(1));
        let groups = (0..120)
            .filter(|packet| feed(&mut inter, 33 * (packet / 12), 100 + 3 * packet).is_some());
        assert_eq!(groups.count(), 2);
    }

    #[test]
    fn packets_of_one_instant_leave_one_after_the_other() {
        let mut inter = InterArrival::new(Duration::from_millis(1));
        let sent = Instant::ZERO + Duration::from_micros(2_300);
        let readings: Vec<i64> = (0..30).map(|_| inter.read(sent).as_nanos() / 1_000_000).collect();
        // 2.3 ms and 15 times 45 us are 2.975 ms.
        assert_eq!(readings.iter().filter(|&&reading| reading == 2).count(), 16);
        assert_eq!(readings.iter().filter(|&&reading| reading == 3).count(), 14);
        assert_eq!(inter.read(sent + Duration::from_micros(1)).as_nanos(), 2_000_000);
        let mut exact = InterArrival::default();
        assert_eq!((0..3).map(|_| exact.read(sent)).collect::<Vec<_>>(), [sent; 3]);
    }

    #[test]
    fn a_burst_is_shorter_than_a_tenth_of_a_second() {
        let mut inter = InterArrival::default();
        feed(&mut inter, 0, 0);
        for packet in 0..20 {
            assert_eq!(feed(&mut inter, 50 + 10 * packet, 100 + 5 * packet), None);
        }
        assert_eq!(feed(&mut inter, 250, 200), Some((240, 195)));
    }

    #[test]
    fn packets_of_a_group_before_are_left_out_and_those_of_its_first_moment_are_not() {
        let mut inter = InterArrival::default();
        for (sent, arrival) in [(0, 100), (16, 118), (16, 119), (10, 125)] {
            assert_eq!(feed(&mut inter, sent, arrival), None);
        }
        assert_eq!(feed(&mut inter, 33, 140), Some((16, 19)));
    }

    /// As in libwebrtc (`kReorderedResetThreshold`): what follows is measured from a group that comes after the reset.
    #[test]
    fn the_third_reordered_group_in_a_row_begins_anew() {
        let mut inter = InterArrival::default();
        feed(&mut inter, 0, 100);
        feed(&mut inter, 20, 120);
        feed(&mut inter, 30, 90); // a burst whose end lies before the first group
        for sent in [60, 80, 100, 120, 140] {
            assert_eq!(feed(&mut inter, sent, 140 + sent), None, "{sent}");
        }
        assert_eq!(feed(&mut inter, 160, 300), Some((20, 20)));
    }

    #[test]
    fn a_receivers_clock_that_jumps_by_three_seconds_begins_anew() {
        for (jump, delta) in [(2_999, Some((20, 3_019))), (3_000, None)] {
            let mut inter = InterArrival::default();
            feed(&mut inter, 0, 100);
            feed(&mut inter, 20, 120 + jump);
            assert_eq!(feed(&mut inter, 40, 140 + jump), delta);
        }
    }
}
