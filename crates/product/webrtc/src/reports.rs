//! Sender and receiver reports (RFC 3550 sections 6.4.1 and 6.4.2), as far as round trips need them.
//!
//! A report block names the sender report that came last by the middle 32 bits of its NTP timestamp, and for how long it
//! was held, both in 1/65536 s: so the sender knows the round trip without that time. The NTP timestamp is that of the
//! stream's own clock, which section 4 allows to who has no wallclock. rtc-rtcp reads and writes the packets.
//!
//! Who only receives sends no sender reports, so it knows no round trip by them. It may say its time in an extended report
//! (RFC 3611 section 4.4), which is answered at once (section 4.5). libwebrtc asks a second time for a lost packet after a
//! round trip, which it takes to be 100 ms as long as it knows none.

use crate::error::WebrtcError;
use crate::rtcp::{self, RtcpPacket};
use gameway_units::{Duration, Instant};
use rtc_rtcp::extended_report::{
    DLRRReport, DLRRReportBlock, ExtendedReport, ReceiverReferenceTimeReportBlock,
};
use rtc_rtcp::{receiver_report, sender_report};

/// Sender report.
pub const SENDER_REPORT: u8 = 200;
/// Receiver report.
pub const RECEIVER_REPORT: u8 = 201;
/// Extended report.
pub const EXTENDED_REPORT: u8 = 207;
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
    ///
    /// # Errors
    /// Never: a report without blocks has always room.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WebrtcError> {
        let report = sender_report::SenderReport {
            ssrc: self.ssrc,
            ntp_time: ntp(self.sent),
            rtp_time: self.timestamp,
            packet_count: self.packets,
            octet_count: self.bytes,
            ..Default::default()
        };
        let mut bytes = Vec::new();
        rtcp::write(&report, &mut bytes)?;
        Ok(bytes)
    }
}

/// The round trip that a packet tells which arrived at `now`: of the last sender report on stream `ssrc` that came to
/// its sender, without the time for which that was held. `None` if it has no report on that stream, or none has come.
#[must_use]
pub fn round_trip(packet: &RtcpPacket<'_>, ssrc: u32, now: Instant) -> Option<Duration> {
    let blocks = match packet.packet_type {
        SENDER_REPORT => packet.read::<sender_report::SenderReport>().ok()?.reports,
        RECEIVER_REPORT => packet.read::<receiver_report::ReceiverReport>().ok()?.reports,
        _ => return None,
    };
    let block = blocks.iter().find(|block| block.ssrc == ssrc && block.last_sender_report != 0)?;
    let since = compact(now).wrapping_sub(block.last_sender_report);
    // Less than nothing is the grain of both clocks.
    let taken = since.wrapping_sub(block.delay).cast_signed().max(0);
    Some(Duration::from_nanos(((i128::from(taken) * NANOS) >> 16) as i64))
}

/// A time that a receiver says, and who says it (RFC 3611 section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceTime {
    /// The receiver.
    pub ssrc: u32,
    /// The middle 32 bits of its NTP timestamp.
    pub compact: u32,
}

impl ReferenceTime {
    /// What an extended report says; `None` if it is another packet, or says no time.
    #[must_use]
    pub fn of(packet: &RtcpPacket<'_>) -> Option<Self> {
        if packet.packet_type != EXTENDED_REPORT {
            return None;
        }
        let report: ExtendedReport = packet.read().ok()?;
        let told = report
            .reports
            .iter()
            .find_map(|block| block.as_any().downcast_ref::<ReceiverReferenceTimeReportBlock>())?;
        Some(Self { ssrc: report.sender_ssrc, compact: (told.ntp_timestamp >> 16) as u32 })
    }

    /// The answer of the sender of stream `ssrc`, that leaves `held` after the time came (RFC 3611 section 4.5).
    ///
    /// # Errors
    /// Never: one block has always room.
    pub fn answer(&self, ssrc: u32, held: Duration) -> Result<Vec<u8>, WebrtcError> {
        let dlrr = compact(Instant::ZERO.saturating_add(held.max(Duration::ZERO)));
        let report = DLRRReport { ssrc: self.ssrc, last_rr: self.compact, dlrr };
        let block = DLRRReportBlock { reports: vec![report] };
        let packet = ExtendedReport { sender_ssrc: ssrc, reports: vec![Box::new(block)] };
        let mut bytes = Vec::new();
        rtcp::write(&packet, &mut bytes)?;
        Ok(bytes)
    }
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
        let bytes = report.to_bytes().unwrap();
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

    /// An extended report of receiver 9 with a block that is skipped and its time, by RFC 3611 sections 2, 4.4 and 4.6.
    const REFERENCE_TIME: [u8; 28] = [
        0x80, 207, 0, 6, 0, 0, 0, 9, // header, receiver
        200, 0, 0, 1, 1, 2, 3, 4, // a kind of block that nobody has defined
        4, 0, 0, 2, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
    ];

    #[test]
    fn a_receivers_time_is_answered_with_how_long_it_was_held() {
        let told = packets(&REFERENCE_TIME).find_map(|packet| ReferenceTime::of(&packet)).unwrap();
        assert_eq!(told, ReferenceTime { ssrc: 9, compact: 0x3344_5566 });
        let answer = told.answer(7, Duration::from_millis(250)).unwrap();
        let expected = [
            0x80, 207, 0, 5, 0, 0, 0, 7, // header, sender
            5, 0, 0, 3, 0, 0, 0, 9, 0x33, 0x44, 0x55, 0x66, 0, 0, 0x40, 0,
        ];
        assert_eq!(answer, expected);
    }

    #[test]
    fn reports_that_say_no_time_are_not_answered() {
        let of = |bytes: &[u8]| packets(bytes).find_map(|packet| ReferenceTime::of(&packet));
        assert_eq!(of(&receiver_report(7, 1, 0)), None);
        let answer = ReferenceTime { ssrc: 9, compact: 1 }.answer(7, Duration::ZERO).unwrap();
        assert_eq!(of(&answer), None, "an answer is none");
        let mut lies = REFERENCE_TIME;
        lies[19] = 3;
        assert_eq!(of(&lies), None, "longer than the packet");
    }
}
