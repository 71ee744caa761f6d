//! Compound RTCP packets (RFC 3550 section 6.1), walked through without trust, and the requests for a key frame
//! (RFC 4585 section 6.3.1, RFC 5104 section 4.3.1).
//!
//! What stands in a packet is read and written by rtc-rtcp. The walk is ours: that of rtc-rtcp refuses a whole compound
//! for one packet that it cannot read, and takes padding for content.

use crate::error::WebrtcError;
use rtc_rtcp::payload_feedbacks::full_intra_request::FullIntraRequest;
use rtc_rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
use rtc_shared::marshal::{Marshal, Unmarshal};
use std::borrow::Cow;

/// Transport layer feedback.
pub const TRANSPORT_FEEDBACK: u8 = 205;
/// Payload-specific feedback.
pub const PAYLOAD_FEEDBACK: u8 = 206;
/// Defined by an application.
pub const APPLICATION: u8 = 204;
/// Picture loss indication.
const PLI: u8 = 1;
/// Full intra request.
const FIR: u8 = 4;
/// The longest packet, as long as a datagram: rtc-rtcp computes some lengths in 16 bits, and would overflow beyond.
const MAX_LENGTH: usize = 65_532;
const PADDING: u8 = 0x20;

/// One packet of a compound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtcpPacket<'a> {
    /// Its type.
    pub packet_type: u8,
    /// Count or format: the five bits of the first byte.
    pub format: u8,
    bytes: Cow<'a, [u8]>,
}

impl RtcpPacket<'_> {
    /// All its bytes, header included; padding only up to the next word.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What stands in it, as one of rtc-rtcp's packets.
    ///
    /// # Errors
    /// If it is another packet, or shorter than its own counts.
    pub fn read<T: Unmarshal>(&self) -> Result<T, WebrtcError> {
        T::unmarshal(&mut &*self.bytes).map_err(|problem| WebrtcError::layer("RTCP", problem))
    }
}

/// Appends one of rtc-rtcp's packets to `bytes`.
pub(crate) fn write(packet: &impl Marshal, bytes: &mut Vec<u8>) -> Result<(), WebrtcError> {
    let packet = packet.marshal().map_err(|problem| WebrtcError::layer("RTCP", problem))?;
    bytes.extend_from_slice(&packet);
    Ok(())
}

/// The packets of a compound, up to the first that is none.
pub fn packets(mut compound: &[u8]) -> impl Iterator<Item = RtcpPacket<'_>> {
    std::iter::from_fn(move || {
        let head = compound.get(..4).filter(|head| head[0] >> 6 == 2)?;
        let length = 4 * (usize::from(u16::from_be_bytes([head[2], head[3]])) + 1);
        let (whole, rest) = compound.split_at_checked(length).filter(|_| length <= MAX_LENGTH)?;
        let bytes = without_padding(whole)?;
        compound = rest;
        Some(RtcpPacket { packet_type: bytes[1], format: bytes[0] & 31, bytes })
    })
}

/// A packet without whole words of padding, and with a header that says so: rtc-rtcp would take them for content.
/// The padding of one to three bytes that libwebrtc gives transport-wide feedback stays.
fn without_padding(whole: &[u8]) -> Option<Cow<'_, [u8]>> {
    let padding = if whole[0] & PADDING == 0 { 0 } else { usize::from(*whole.last()?) };
    let content = whole.len().checked_sub(padding).filter(|content| *content >= 4)?;
    let length = content.next_multiple_of(4);
    if length == whole.len() {
        return Some(Cow::Borrowed(whole));
    }
    let mut bytes = whole[..length].to_vec();
    bytes[0] &= !PADDING;
    bytes[2..4].copy_from_slice(&((length / 4 - 1) as u16).to_be_bytes());
    Some(Cow::Owned(bytes))
}

/// Whether a packet asks for a key frame of stream `ssrc`.
#[must_use]
pub fn asks_for_key_frame(packet: &RtcpPacket<'_>, ssrc: u32) -> bool {
    match (packet.packet_type, packet.format) {
        (PAYLOAD_FEEDBACK, PLI) => {
            packet.read::<PictureLossIndication>().is_ok_and(|request| request.media_ssrc == ssrc)
        }
        (PAYLOAD_FEEDBACK, FIR) => packet
            .read::<FullIntraRequest>()
            .is_ok_and(|requests| requests.fir.iter().any(|request| request.ssrc == ssrc)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture_loss_indication(sender_ssrc: u32, media_ssrc: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&PictureLossIndication { sender_ssrc, media_ssrc }, &mut bytes).unwrap();
        bytes
    }

    /// A full intra request for stream 0x01020304.
    const FULL_INTRA: [u8; 20] = [0x84, 206, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 1, 2, 3, 4, 7, 0, 0, 0];

    #[test]
    fn requests_are_found_in_a_compound() {
        let mut compound = vec![0x80, 201, 0, 1, 0, 0, 0, 9];
        compound.extend(picture_loss_indication(9, 0x0A0B_0C0D));
        compound.extend(FULL_INTRA);
        let asked = |ssrc| packets(&compound).filter(|it| asks_for_key_frame(it, ssrc)).count();
        assert_eq!(packets(&compound).count(), 3);
        assert_eq!([asked(0x0A0B_0C0D), asked(0x0102_0304), asked(9)], [1, 1, 0]);
    }

    #[test]
    fn a_packet_that_cannot_be_read_does_not_hide_those_after_it() {
        // A description of a source that ends in its item, and a type that nobody has defined.
        let mut compound = vec![0x81, 202, 0, 1, 0, 0, 0, 9, 0x80, 250, 0, 0];
        compound.extend(FULL_INTRA);
        assert!(packets(&compound).any(|packet| asks_for_key_frame(&packet, 0x0102_0304)));
    }

    #[test]
    fn lengths_and_padding_that_lead_outside_end_the_walk() {
        let mut compound = picture_loss_indication(1, 2);
        compound[3] = 3;
        assert_eq!(packets(&compound).count(), 0);
        compound[3] = 2;
        compound[0] |= 0x20;
        compound[11] = 4;
        assert_eq!(packets(&compound).next().unwrap().bytes(), [0x81, 206, 0, 1, 0, 0, 0, 1]);
        compound[11] = 3;
        assert_eq!(packets(&compound).next().unwrap().bytes(), compound, "less than a word");
        compound[11] = 12;
        assert_eq!(packets(&compound).count(), 0, "nothing is left");
        compound[11] = 13;
        assert_eq!(packets(&compound).count(), 0);
    }
}
