//! A packet of the session becomes one of RTP.
//!
//! Probes and padding go to a browser as RTP's own padding, on the stream of retransmissions if it has one: on that of
//! frames they would be lost like frames, and Chromium, which keeps frames in an encoded transform but no padding, would
//! lose its place among them. What is sent again is on that stream for each receiver, with the number that it had in front of
//! its payload (RFC 4588 section 4). Repair packets go to a browser as parity on a third stream, made of what left of their frame.

use super::Session;
use gameway_control::{PacketKind, SequenceNumber};
use gameway_session::MediaPacket;
use gameway_units::Instant;
use gameway_webrtc::dependency_descriptor::DependencyDescriptor;
use gameway_webrtc::feedback::Outgoing;
use gameway_webrtc::frame_extension::FrameExtension;
use gameway_webrtc::{Extensions, Negotiated, RtpHeader, RtpPacket};

/// Least and greatest playout delay that a browser is told: it shows a frame as soon as it can.
const NO_PLAYOUT_DELAY: Option<(u16, u16)> = Some((0, 0));

/// The stream on which a packet goes, and as what.
struct Place {
    payload_type: u8,
    stream: Outgoing,
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
                return terms
                    .rtx
                    .map(|payload_type| Self::on(Outgoing::Retransmissions, payload_type));
            }
        };
        if let Some(parity) = terms.parity.filter(|_| packet.kind == PacketKind::Repair) {
            return Some(Self::on(Outgoing::Parity, parity));
        }
        let is_padding = own.is_none() || (!terms.is_native() && !packet.is_train());
        let apart = terms.rtx.filter(|_| is_padding);
        let payload_type = apart.or(own).or(terms.video)?;
        let stream = if apart.is_some() { Outgoing::Retransmissions } else { Outgoing::Frames };
        Some(Self { is_padding, ..Self::on(stream, payload_type) })
    }

    fn on(stream: Outgoing, payload_type: u8) -> Self {
        Self { payload_type, stream, is_padding: false }
    }

    fn ssrc(&self, terms: &Negotiated) -> u32 {
        match self.stream {
            Outgoing::Frames => terms.video_ssrc,
            Outgoing::Retransmissions => terms.rtx_ssrc,
            Outgoing::Parity => terms.parity_ssrc,
        }
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
        let payload = match place.stream {
            Outgoing::Parity => self.parity.payload(packet, negotiated.video_ssrc),
            _ => Some(payload),
        };
        let Some(payload) = payload else { return };
        let carries_media = matches!(packet.kind, PacketKind::Media | PacketKind::Retransmission);
        let header = RtpHeader {
            payload_type: place.payload_type,
            marker: carries_media && packet.index + 1 == packet.media_packets,
            sequence_number: self.reports.number(negotiated, place.stream, packet.sequence),
            timestamp,
            ssrc: place.ssrc(negotiated),
        };
        let requests = self.requests.as_mut();
        let extensions = Extensions {
            transport_wide: Some(packet.sequence.0 as u16),
            report_on: requests.and_then(|requests| requests.on_packet(now, packet)),
            playout_delay: NO_PLAYOUT_DELAY.filter(|_| packet.key_frame),
            frame: native.then(|| FrameExtension::of(packet)),
            dependencies: carries_media.then(|| DependencyDescriptor::of(packet)),
        };
        let padding = if place.is_padding { payload.len().clamp(1, 255) as u8 } else { 0 };
        let payload = if place.is_padding { &[][..] } else { &payload };
        let rtp = RtpPacket { header, extensions, payload, padding };
        self.keep_for_parity(packet, &rtp);
        // Not sent is lost: the receiver's reports will say so.
        let _ = self.peer.send_rtp(&rtp, self.ecn);
        if !native
            && place.stream == Outgoing::Frames
            && let Some(report) = self.sender_reports.on_sent(now, header.ssrc, payload.len())
        {
            let _ = report.to_bytes().and_then(|bytes| self.peer.send_rtcp(&bytes));
        }
    }

    /// What parity is made of, if the receiver takes it.
    fn keep_for_parity(&mut self, packet: &MediaPacket, rtp: &RtpPacket<'_>) {
        let terms = self.peer.negotiated();
        if terms.parity.is_some()
            && packet.kind == PacketKind::Media
            && let Ok(bytes) = rtp.for_parity(terms)
        {
            self.parity.keep(packet, rtp.header.sequence_number, bytes);
        }
    }

    /// Time stamp and payload of a packet that repeats another; `None` if that one is no longer kept.
    fn again(&self, packet: &MediaPacket, original: SequenceNumber) -> Option<(u32, Vec<u8>)> {
        let number = self.reports.original_number(self.peer.negotiated(), original)?;
        let (timestamp, payload) = self.outbox.again(packet)?;
        Some((timestamp, [&number.to_be_bytes()[..], payload].concat()))
    }
}
