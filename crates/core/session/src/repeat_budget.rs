//! How much may be sent again, and what frames give up for that.
//!
//! | | ours | libwebrtc |
//! |---|---|---|
//! | may be sent again | 1/4 of the target, saved up for 1 s | the target, saved up for 500 ms: `RtpTransportControllerSend` (`kRetransmitWindowSizeMs`) |
//! | a frame gives up | 1/8 of what is owed, at most 1/4 of its bytes | the share of repetitions in what left in the last second, at most half: `FecControllerDefault::UpdateFecRates` (`kProtectionOverheadRateThreshold`), `RtpSenderEgress` (window of the rates) |
//!
//! So with ours losses never make a stream send more than its target for long, and frames change little from one to the next. In
//! libwebrtc's way the frames follow within a second.

use gameway_units::{Bytes, Duration, Instant, Rate, Repair};
use std::collections::VecDeque;

const SHARE: u64 = 4;
const OWED_PART: u64 = 8;
const SAVED_FOR: Duration = Duration::from_secs(1);
const LIBWEBRTC_SAVED_FOR: Duration = Duration::from_millis(500);
const LIBWEBRTC_WINDOW: Duration = Duration::from_secs(1);

/// A packet that left in the last second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recent {
    at: Instant,
    size: Bytes,
    again: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) enum RepeatBudget {
    /// Bytes that were sent again and are to be taken off frames.
    Owed(Bytes),
    /// What left in the last second, oldest first.
    Window(VecDeque<Recent>),
}

impl Default for RepeatBudget {
    fn default() -> Self {
        Self::Owed(Bytes::ZERO)
    }
}

impl RepeatBudget {
    /// As this repair has it.
    pub(crate) fn of(repair: Repair) -> Self {
        match repair {
            Repair::Libwebrtc => Self::Window(VecDeque::new()),
            _ => Self::default(),
        }
    }

    /// A packet left.
    pub(crate) fn on_sent(&mut self, at: Instant, size: Bytes, again: bool) {
        match self {
            Self::Owed(owed) if again => *owed = owed.saturating_add(size),
            Self::Owed(_) => {}
            Self::Window(recent) => {
                recent.push_back(Recent { at, size, again });
                forget(recent, at);
            }
        }
    }

    /// The bytes that the next frame gives up, whose size is `frame`.
    pub(crate) fn take(&mut self, now: Instant, frame: Bytes) -> Bytes {
        match self {
            Self::Owed(owed) => {
                let part = Bytes::new(owed.get().div_ceil(OWED_PART));
                let part = part.min(Bytes::new(frame.get() / SHARE));
                *owed -= part;
                part
            }
            Self::Window(recent) => {
                forget(recent, now);
                let all: u64 = recent.iter().map(|one| one.size.get()).sum();
                let again = recent.iter().filter(|one| one.again).map(|one| one.size.get());
                let share = again.sum::<u64>() as f64 / all.max(1) as f64;
                Bytes::from_f64(frame.as_f64() * share.min(0.5))
            }
        }
    }

    /// What may be sent again in this time.
    pub(crate) fn gained(&self, target: Rate, since: Duration) -> Bytes {
        match self {
            Self::Owed(_) => Bytes::new((target * since.min(SAVED_FOR)).get() / SHARE),
            Self::Window(_) => target * since.min(LIBWEBRTC_SAVED_FOR),
        }
    }

    /// The most that is saved up.
    pub(crate) fn max(&self, target: Rate) -> Bytes {
        self.gained(target, SAVED_FOR)
    }
}

fn forget(recent: &mut VecDeque<Recent>, now: Instant) {
    while recent.front().is_some_and(|one| now.saturating_since(one.at) > LIBWEBRTC_WINDOW) {
        recent.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    const FRAME: Bytes = Bytes::new(10_000);

    #[test]
    fn in_libwebrtcs_way_frames_give_up_the_share_of_the_last_second() {
        let mut budget = RepeatBudget::of(Repair::Libwebrtc);
        for milli in 0..10 {
            budget.on_sent(at(100 * milli), Bytes::new(900), false);
        }
        budget.on_sent(at(900), Bytes::new(1_000), true);
        // 1000 of 10000 bytes, as often as frames are made.
        assert_eq!(budget.take(at(950), FRAME), Bytes::new(1_000));
        assert_eq!(budget.take(at(983), FRAME), Bytes::new(1_000));
        // The first packet is too old.
        assert_eq!(budget.take(at(1_001), FRAME), Bytes::new(1_098));
        assert_eq!(budget.take(at(1_901), FRAME), Bytes::ZERO);
    }

    #[test]
    fn in_libwebrtcs_way_half_of_a_frame_is_kept() {
        let mut budget = RepeatBudget::of(Repair::Libwebrtc);
        budget.on_sent(at(0), Bytes::new(1_000), true);
        assert_eq!(budget.take(at(10), FRAME), Bytes::new(5_000));
    }

    #[test]
    fn libwebrtc_sends_again_four_times_as_much_as_ours() {
        let target = Rate::from_mbps(8);
        let of = |repair| RepeatBudget::of(repair).gained(target, Duration::from_millis(100));
        assert_eq!(
            (of(Repair::Nack), of(Repair::Libwebrtc)),
            (Bytes::new(25_000), Bytes::new(100_000))
        );
        let max = |repair| RepeatBudget::of(repair).max(target);
        assert_eq!(max(Repair::Nack), Bytes::new(250_000));
        assert_eq!(max(Repair::Libwebrtc), Bytes::new(500_000));
    }
}
