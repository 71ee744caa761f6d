//! How long packets must wait at a Wi-Fi access point so that its frames are full.
//!
//! Model: an access point with a queue for each station sends a frame (A-MPDU) with all that waits for the station, and
//! overheads that do not depend on how much that is. Frames are full where a full one waits for each station when its turn
//! comes. Of `n` stations that get data, with frames of at most `B` bytes, while the medium carries `C`, these wait (Little's
//! law) a round, `n B / C`, and none of it costs capacity; two rounds are one frame more for each, while acknowledgements
//! are on their way. `C` is measured as frames are, so that short ones make the round longer and thereby the next ones
//! fuller, up to the longest that a frame may take.
//!
//! Source: Høiland-Jørgensen et al., "Ending the Anomaly", USENIX ATC 2017, section 2.2 (equations 1 to 5: what a frame
//! with a given number of packets carries); IEEE 802.11-2016.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | packets of a frame | 64 | compressed block acknowledgement, 9.3.1.9.3 |
//! | longest frame with its overheads | 6 ms | aPPDUMaxTime is 5.484 ms, Table 21-29; and what a pause, a back-off and acknowledgements of both take |
//! | windows grow below, shrink above | one round, two rounds | a frame that is sent, and one that waits |
//! | weight of a new measurement of `C` | 1/8 | ours: 160 ms of periods of 20 ms |
//! | a station counts for | 200 ms | ours: ten periods; a sender that thinks no longer than that is back in its round |
//! | packets wait | 2 ms | ours: less is the frame on the air |
//!
//! | Deviation | Why |
//! |---|---|
//! | what is no TCP has no part in the wait | its windows cannot be lowered: six downloads over QUIC among twenty took all but 2 % of the medium from those of TCP |
//! | stations that get only what is no TCP do not count | a gateway that lowers windows knows no others; rounds are longer than it thinks, and frames shorter: beside two downloads over QUIC four of TCP keep three quarters of what they have without |

use crate::{Control, Direction, FlowTable};
use core::net::IpAddr;
use gameway_path::Header;
use gameway_units::{Bytes, Duration, Instant};
use std::collections::BTreeSet;

const MAX_PACKETS: f64 = 64.0;
/// Seconds.
const MAX_FRAME: f64 = 6e-3;
const ROUNDS: i64 = 2;
const WEIGHT: f64 = 0.125;
const COUNTS_FOR: Duration = Duration::from_millis(200);
const WAITS: Duration = Duration::from_millis(2);
/// Headers of TCP and IP, which a segment is longer on the wire.
const HEADERS: f64 = 52.0;

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frames {
    /// Bytes per second that the medium carried while packets waited.
    carried: Option<f64>,
    last: Instant,
    /// Whether something that windows can hold left in this period.
    pub(crate) departed: bool,
    waited: Duration,
}

impl Frames {
    /// The longest wait of a period that ends, in which it was so long, if anything left in it.
    pub(crate) fn wait(&mut self, longest: Duration) -> Duration {
        if std::mem::take(&mut self.departed) {
            self.waited = longest;
        }
        self.waited
    }

    /// A period has ended in which `left` bytes were sent; the longest wait was `wait`.
    pub(crate) fn on_period(&mut self, now: Instant, left: Bytes, wait: Duration) {
        let span = now.saturating_since(self.last).as_secs_f64();
        self.last = now;
        if wait >= WAITS && span > 0.0 {
            let rate = left.as_f64() / span;
            let before = self.carried.unwrap_or(rate);
            self.carried = Some(before + WEIGHT * (rate - before));
        }
    }

    /// Between which waits windows stay as they are.
    pub(crate) fn band(&self, now: Instant, table: &FlowTable<Control>) -> (Duration, Duration) {
        let gets = |data: &Direction<Control>| {
            let recent = |at| now.saturating_since(at) < COUNTS_FOR;
            data.is_in_queue() && data.last_data().is_some_and(recent)
        };
        let own = table.directions().filter(|(_, data)| gets(data));
        let (mut stations, mut segment) = (BTreeSet::<IpAddr>::new(), 0);
        for (Header { destination, .. }, data) in own {
            stations.insert(destination.address);
            segment = segment.max(data.segment_size());
        }
        let frame = self.carried.map_or(0.0, |carried| {
            MAX_FRAME.min(MAX_PACKETS * (f64::from(segment) + HEADERS) / carried.max(1.0))
        });
        let round = Duration::from_secs_f64(frame * stations.len() as f64);
        (round, round * ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;
    use core::net::Ipv4Addr;
    use gameway_path::Protocol;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Connections to the hosts with these numbers, with data of full segments at this time.
    fn table(hosts: &[u8], millis: i64) -> FlowTable<Control> {
        let mut table = FlowTable::default();
        for (number, host) in (1..).zip(hosts) {
            let mut header = Header { protocol: Protocol::Tcp, ..Header::numbered(number) };
            header.destination.address = IpAddr::V4(Ipv4Addr::new(192, 168, 0, *host));
            for length in [0, 1448] {
                let mut segment = Segment {
                    sequence: 1,
                    acknowledgment: 1,
                    length,
                    window: u16::MAX,
                    ..Segment::bare_ack(header)
                };
                table.pass(at(millis), true, &mut segment, |_| None);
            }
        }
        table
    }

    /// Periods of 20 ms from `from` to `to`, in each of which `bytes` bytes leave.
    fn play(frames: &mut Frames, from: i64, to: i64, bytes: u64, wait: i64) {
        for end in (from + 20..=to).step_by(20) {
            frames.on_period(at(end), Bytes::new(bytes), Duration::from_millis(wait));
        }
    }

    fn micros((min, max): (Duration, Duration)) -> (i64, i64) {
        (min.as_nanos() / 1000, max.as_nanos() / 1000)
    }

    #[test]
    fn a_round_is_a_full_frame_for_each_station() {
        let mut frames = Frames::default();
        // 40 MB/s: 64 packets of 1500 B take 2.4 ms.
        play(&mut frames, 0, 1000, 800_000, 5);
        let band = |hosts: &[u8]| micros(frames.band(at(1000), &table(hosts, 900)));
        assert_eq!(band(&[]), (0, 0));
        assert_eq!(band(&[1]), (2_400, 4_800));
        assert_eq!(band(&[1, 1, 2]), (4_800, 9_600), "two downloads of one station share frames");
        let silent = micros(frames.band(at(1100), &table(&[1], 900)));
        assert_eq!(silent, (0, 0), "nothing came for 200 ms");
    }

    #[test]
    fn a_frame_takes_no_longer_than_it_may_and_what_does_not_wait_says_nothing() {
        let mut frames = Frames::default();
        assert_eq!(micros(frames.band(at(0), &table(&[1], 0))), (0, 0));
        play(&mut frames, 0, 1000, 40_000, 1);
        assert_eq!(micros(frames.band(at(1000), &table(&[1], 1000))), (0, 0));
        // 2 MB/s: 64 packets would take 48 ms.
        play(&mut frames, 1000, 2000, 40_000, 5);
        assert_eq!(micros(frames.band(at(2000), &table(&[1], 2000))), (6_000, 12_000));
        // A faster medium is known within ten periods, and not at once.
        play(&mut frames, 2000, 2020, 800_000, 5);
        assert_eq!(micros(frames.band(at(2020), &table(&[1], 2020))), (6_000, 12_000));
        play(&mut frames, 2020, 2600, 800_000, 5);
        let (min, _) = micros(frames.band(at(2600), &table(&[1], 2600)));
        assert!((2_400..2_600).contains(&min), "{min}");
    }
}
