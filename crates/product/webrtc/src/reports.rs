//! Sender and receiver reports (RFC 3550 sections 6.4.1 and 6.4.2), as far as round trips need them.
//!
//! ```text
//! |V=2|P|    RC   |   PT = 200    |          length               |
//! |                         SSRC of sender                        |
//! |              NTP timestamp, 64 bits (32.32)                   |
//! |                         RTP timestamp                         |
//! |                     sender's packet count                     |
//! |                      sender's octet count                     |
//! | report blocks of 24 bytes: SSRC ... last SR | delay since last SR |
//! ```
//!
//! A receiver report (type 201) has the blocks after its SSRC. A block names the sender report that came last by the
//! middle 32 bits of its NTP timestamp, and for how long it was held, both in 1/65536 s: so the sender knows the round
//! trip without that time. The NTP timestamp is that of the stream's own clock, which section 4 allows to who has no
//! wallclock.

use crate::rtcp::RtcpPacket;
use gameway_units::{Duration, Instant};

/// Sender report.
pub const SENDER_REPORT: u8 = 200;
/// Receiver report.
pub const RECEIVER_REPORT: u8 = 201;
const HEAD: usize = 8;
const SENDER_INFO: usize = 20;
const BLOCK: usize = 24;
const LAST_REPORT: usize = 16;
const HELD: usize = 20;
const NANOS: i128 = 1_000_000_000;

/// What a sender says of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderReport {
    /// The stream.
    pub ssrc: u32,
    /// When it is sent.
    pub sent: Instant,
    /// The same on the stream's own time.
    pub timestamp: u32,
    /// RTP packets sent so far.
    pub packets: u32,
    /// Bytes of payload in them.
    pub bytes: u32,
}

impl SenderReport {
    /// The packet, without report blocks.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEAD + SENDER_INFO] {
        let mut bytes = [0; HEAD + SENDER_INFO];
        bytes[..4].copy_from_slice(&[0x80, SENDER_REPORT, 0, 6]);
        bytes[4..8].copy_from_slice(&self.ssrc.to_be_bytes());
        bytes[8..16].copy_from_slice(&ntp(self.sent).to_be_bytes());
        bytes[16..20].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.packets.to_be_bytes());
        bytes[24..].copy_from_slice(&self.bytes.to_be_bytes());
        bytes
    }
}

/// The round trip that a packet tells which arrived at `now`: of the last sender report on stream `ssrc` that came to
/// its sender, without the time for which that was held. `None` if it has no report on that stream, or none has come.
#[must_use]
pub fn round_trip(packet: &RtcpPacket<'_>, ssrc: u32, now: Instant) -> Option<Duration> {
    let blocks = match packet.packet_type {
        SENDER_REPORT => HEAD + SENDER_INFO,
        RECEIVER_REPORT => HEAD,
        _ => return None,
    };
    let blocks = packet.bytes.get(blocks..)?.chunks_exact(BLOCK).take(usize::from(packet.format));
    let mut told = blocks.filter(|block| word(block, 0) == ssrc && word(block, LAST_REPORT) != 0);
    let block = told.next()?;
    let since = compact(now).wrapping_sub(word(block, LAST_REPORT));
    // Less than nothing is the grain of both clocks.
    let taken = since.wrapping_sub(word(block, HELD)).cast_signed().max(0);
    Some(Duration::from_nanos(((i128::from(taken) * NANOS) >> 16) as i64))
}

fn word(block: &[u8], at: usize) -> u32 {
    block[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Seconds since the stream's clock began, 32 bits and as many of their fraction.
fn ntp(time: Instant) -> u64 {
    ((i128::from(time.as_nanos()) << 32) / NANOS) as u64
}

/// The middle of it.
fn compact(time: Instant) -> u32 {
    (ntp(time) >> 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::packets;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A receiver report on `ssrc` which heard of `heard` and held that for so many 1/65536 s.
    fn receiver_report(ssrc: u32, heard: u32, held: u32) -> Vec<u8> {
        let mut bytes = vec![0x81, RECEIVER_REPORT, 0, 7, 0, 0, 0, 9];
        bytes.extend(ssrc.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend(heard.to_be_bytes());
        bytes.extend(held.to_be_bytes());
        bytes
    }

    fn told(compound: &[u8], now: Instant) -> Option<Duration> {
        packets(compound).find_map(|packet| round_trip(&packet, 7, now))
    }

    fn sent(millis: i64) -> u32 {
        let report = SenderReport { ssrc: 7, sent: at(millis), timestamp: 0, packets: 1, bytes: 2 };
        let bytes = report.to_bytes();
        assert_eq!(packets(&bytes).count(), 1);
        assert_eq!(told(&bytes, at(millis)), None, "it has no report block");
        // As a receiver does: the middle of the NTP timestamp.
        u32::from_be_bytes([bytes[10], bytes[11], bytes[12], bytes[13]])
    }

    #[test]
    fn the_time_for_which_it_was_held_does_not_count() {
        let report = receiver_report(7, sent(90_000), 65_536 / 4);
        let round_trip = told(&report, at(90_300)).unwrap().as_millis_f64();
        assert!((round_trip - 50.0).abs() < 0.05, "{round_trip}");
    }

    #[test]
    fn a_clock_that_wraps_does_no_harm() {
        // 65536 s are the whole of the middle.
        let report = receiver_report(7, sent(65_535_990), 0);
        let round_trip = told(&report, at(65_536_050)).unwrap().as_millis_f64();
        assert!((round_trip - 60.0).abs() < 0.05, "{round_trip}");
    }

    #[test]
    fn other_streams_first_reports_and_short_packets_tell_nothing() {
        let heard = sent(90_000);
        assert_eq!(told(&receiver_report(8, heard, 0), at(90_050)), None);
        assert_eq!(told(&receiver_report(7, 0, 0), at(90_050)), None);
        let mut short = receiver_report(7, heard, 0);
        short[3] = 6;
        assert_eq!(told(&short[..28], at(90_050)), None);
        // It was held for longer than there was time.
        assert_eq!(told(&receiver_report(7, heard, 70_000), at(90_050)), Some(Duration::ZERO));
    }
}
