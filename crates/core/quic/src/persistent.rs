//! Persistent congestion.
//!
//! Source: RFC 9002 sections 7.6.1 and 7.6.2.
//! Model: where all that was sent over three probe time-outs is lost, and nothing between has arrived, the path
//! carries hardly anything. Only packets count that were sent after the first RTT was known.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | kPersistentCongestionThreshold | 3 | RFC 9002 section 7.6.1 |

use crate::sent::{Fate, SentPacket};
use gameway_units::{Duration, Instant};

/// In probe time-outs without back-off.
pub(crate) const THRESHOLD: i64 = 3;

/// What has already been answered, and since when there are RTTs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PersistentCongestion {
    first_sample: Option<Instant>,
    /// Packets below were part of an earlier one.
    answered: u64,
}

impl PersistentCongestion {
    pub(crate) fn on_sample(&mut self, now: Instant) {
        self.first_sample.get_or_insert(now);
    }

    /// Whether what is lost now makes it so: `packets` are all that are known, in order, and a newly lost one has at
    /// least the number `newly`.
    pub(crate) fn is_reached<'a>(
        &mut self,
        packets: impl Iterator<Item = &'a SentPacket>,
        newly: u64,
        span: Duration,
    ) -> bool {
        let Some(first_sample) = self.first_sample else { return false };
        let (mut begin, mut reached) = (None::<Instant>, None);
        for packet in packets {
            match packet.fate {
                Fate::Lost if packet.sent > first_sample && packet.number >= self.answered => {
                    let begin = *begin.get_or_insert(packet.sent);
                    let spans = packet.sent.saturating_since(begin) > span;
                    if spans && packet.number >= newly {
                        reached = Some(packet.number);
                    }
                }
                Fate::Lost => {}
                Fate::Outstanding | Fate::Acknowledged => begin = None,
            }
        }
        self.answered = reached.map_or(self.answered, |number| number + 1);
        reached.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::StreamFrame;
    use gameway_tcp::shared::Snapshot;

    /// Packets of one a second with these fates: `-` lost, `+` arrived, `?` outstanding.
    fn packets(fates: &str) -> Vec<SentPacket> {
        let one = |(number, fate)| SentPacket {
            number: number as u64,
            sent: Instant::from_nanos(1_000_000_000 * number as i64),
            size: 1000,
            frame: StreamFrame::default(),
            snapshot: Snapshot::default(),
            sent_bytes: 0,
            is_ecn_capable: false,
            fate: match fate {
                '-' => Fate::Lost,
                '+' => Fate::Acknowledged,
                _ => Fate::Outstanding,
            },
        };
        fates.chars().enumerate().map(one).collect()
    }

    fn is_reached(fates: &str, newly: u64, seconds: i64) -> bool {
        let mut congestion = PersistentCongestion::default();
        congestion.on_sample(Instant::ZERO);
        congestion.is_reached(packets(fates).iter(), newly, Duration::from_secs(seconds))
    }

    /// The example of section 7.6.3: sent at 1 s, 2 s ... 8 s, a time-out of 2 s, all but the first and the last lost.
    #[test]
    fn losses_in_a_row_that_span_more_than_three_time_outs() {
        assert!(is_reached("++-------+", 2, 5));
        assert!(!is_reached("++-------+", 2, 6), "2 s to 8 s are 6 s, not more");
        assert!(!is_reached("++---+---+", 2, 5), "one between has arrived");
        assert!(!is_reached("++---?---+", 2, 5), "or may yet");
        assert!(!is_reached("++-------+-", 9, 5), "what is newly lost belongs to it");
        assert!(!is_reached("+?", 0, 0));
        assert!(is_reached("+---+", 1, 1));
        assert!(
            !is_reached("---+", 0, 1),
            "what left with the first RTT does not count: 1 s to 2 s are 1 s"
        );
    }

    #[test]
    fn it_is_answered_once_and_needs_an_rtt() {
        let mut congestion = PersistentCongestion::default();
        let (lost, span) = (packets("+-------+"), Duration::from_secs(3));
        assert!(!congestion.is_reached(lost.iter(), 1, span), "no RTT yet");
        congestion.on_sample(Instant::ZERO);
        congestion.on_sample(Instant::from_nanos(9_000_000_000));
        assert!(congestion.is_reached(lost.iter(), 1, span));
        assert!(!congestion.is_reached(lost.iter(), 1, span));
        assert!(!congestion.is_reached(packets("+----------+").iter(), 8, span), "only 8 to 10");
        assert!(congestion.is_reached(packets("+------------+").iter(), 8, span));
        // 12 was the last of that: 13 to 16 are 3 s, with it they were 4.
        assert!(!congestion.is_reached(packets("+----------------+").iter(), 13, span));
        assert!(congestion.is_reached(packets("+-----------------+").iter(), 13, span));
    }
}
