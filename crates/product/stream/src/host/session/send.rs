//! A packet of the session becomes one of RTP.
//!
//! Probes and padding go to a browser as RTP's own padding, on the stream of retransmissions if it has one: on that of
//! frames they would be lost like frames, and Chromium, which keeps frames in an encoded transform but no padding, would
//! lose its place among them. What is sent again is on that stream for each receiver, with the number that it had in front of
//! its payload (RFC 4588 section 4).

use super::Session;
use gameway_control::{PacketKind, SequenceNumber};
use gameway_session::MediaPacket;
use gameway_units::Instant;
use gameway_webrtc::frame_extension::FrameExtension;
use gameway_webrtc::{Extensions, Negotiated, RtpHeader, RtpPacket};

/// Least and greatest playout delay that a browser is told: it shows a frame as soon as it can.
const NO_PLAYOUT_DELAY: Option<(u16, u16)> = Some((0, 0));

/// The stream on which a packet goes, and as what.
struct Place {
    payload_type: u8,
    on_rtx: bool,
    is_padding: bool,
}

impl Place {
    /// `None` if the receiver takes no such packet.
    fn of(packet: &MediaPacket, terms: &Negotiated) -> Option<Self> {
        let own = match packet.kind {
            PacketKind::Media => terms.video,
            PacketKind::Repair => terms.repair,
            PacketKind::Probe | PacketKind::Padding => terms.probe,
            PacketKind::Retransmission => {
                let on_rtx = |payload_type| Self { payload_type, on_rtx: true, is_padding: false };
                return terms.rtx.map(on_rtx);
            }
        };
        let is_padding = own.is_none() || (!terms.is_native() && !packet.is_train());
        let apart = terms.rtx.filter(|_| is_padding);
        let payload_type = apart.or(own).or(terms.video)?;
        Some(Self { payload_type, on_rtx: apart.is_some(), is_padding })
    }
}

impl Session {
    pub(super) fn send(&mut self, now: Instant, packet: &MediaPacket) {
        (self.newest_sent, self.last_sent) = (packet.sequence, now);
        let (timestamp, payload) = match packet.original {
            None => self.outbox.take(packet),
            Some(original) => match self.again(packet, original) {
                Some(found) => found,
                None => return,
            },
        };
        let negotiated = self.peer.negotiated();
        let native = negotiated.is_native();
        if !native && packet.is_train() {
            self.page.on_sent(packet, timestamp);
        }
        let Some(place) = Place::of(packet, negotiated) else { return };
        let carries_media = matches!(packet.kind, PacketKind::Media | PacketKind::Retransmission);
        let header = RtpHeader {
            payload_type: place.payload_type,
            marker: carries_media && packet.index + 1 == packet.media_packets,
            sequence_number: self.reports.number(negotiated, place.on_rtx, packet.sequence),
            timestamp,
            ssrc: if place.on_rtx { negotiated.rtx_ssrc } else { negotiated.video_ssrc },
        };
        let requests = self.requests.as_mut();
        let extensions = Extensions {
            transport_wide: Some(packet.sequence.0 as u16),
            report_on: requests.and_then(|requests| requests.on_packet(now, packet)),
            playout_delay: NO_PLAYOUT_DELAY.filter(|_| packet.key_frame),
            frame: native.then(|| FrameExtension::of(packet)),
        };
        let padding = if place.is_padding { payload.len().clamp(1, 255) as u8 } else { 0 };
        let payload = if place.is_padding { &[][..] } else { &payload };
        // Not sent is lost: the receiver's reports will say so.
        let _ = self.peer.send_rtp(&RtpPacket { header, extensions, payload, padding }, self.ecn);
        if !native
            && !place.on_rtx
            && let Some(report) = self.sender_reports.on_sent(now, header.ssrc, payload.len())
        {
            let _ = report.to_bytes().and_then(|bytes| self.peer.send_rtcp(&bytes));
        }
    }

    /// Time stamp and payload of a packet that repeats another; `None` if that one is no longer kept.
    fn again(&self, packet: &MediaPacket, original: SequenceNumber) -> Option<(u32, Vec<u8>)> {
        let number = self.reports.original_number(self.peer.negotiated(), original)?;
        let (timestamp, payload) = self.outbox.again(packet)?;
        Some((timestamp, [&number.to_be_bytes()[..], payload].concat()))
    }
}
