//! Compound RTCP packets (RFC 3550 section 6.1), walked through without trust, and the requests for a key frame
//! (RFC 4585 section 6.3.1, RFC 5104 section 4.3.1).

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

/// One packet of a compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtcpPacket<'a> {
    /// Its type.
    pub packet_type: u8,
    /// Count or format: the five bits of the first byte.
    pub format: u8,
    /// All its bytes, header included, padding not.
    pub bytes: &'a [u8],
}

/// The packets of a compound, up to the first that is none.
pub fn packets(mut compound: &[u8]) -> impl Iterator<Item = RtcpPacket<'_>> {
    std::iter::from_fn(move || {
        let head = compound.get(..4).filter(|head| head[0] >> 6 == 2)?;
        let length = 4 * (usize::from(u16::from_be_bytes([head[2], head[3]])) + 1);
        let (whole, rest) = compound.split_at_checked(length)?;
        let padding = if head[0] & 0x20 == 0 { 0 } else { usize::from(whole[length - 1]) };
        let bytes = whole.get(..length.checked_sub(padding)?).filter(|bytes| bytes.len() >= 4)?;
        compound = rest;
        Some(RtcpPacket { packet_type: bytes[1], format: bytes[0] & 31, bytes })
    })
}

/// Whether a packet asks for a key frame of stream `ssrc`.
#[must_use]
pub fn asks_for_key_frame(packet: &RtcpPacket<'_>, ssrc: u32) -> bool {
    let word = |at: usize| packet.bytes.get(at..at + 4) == Some(&ssrc.to_be_bytes());
    match (packet.packet_type, packet.format) {
        (PAYLOAD_FEEDBACK, PLI) => word(8),
        // Entries of 8 bytes after both stream numbers.
        (PAYLOAD_FEEDBACK, FIR) => (12..packet.bytes.len()).step_by(8).any(word),
        _ => false,
    }
}

/// A picture loss indication: the receiver's request for a key frame.
#[must_use]
pub fn picture_loss_indication(sender_ssrc: u32, ssrc: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&[0x80 | PLI, PAYLOAD_FEEDBACK, 0, 2]);
    bytes[4..8].copy_from_slice(&sender_ssrc.to_be_bytes());
    bytes[8..].copy_from_slice(&ssrc.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn lengths_and_padding_that_lead_outside_end_the_walk() {
        let mut compound = picture_loss_indication(1, 2).to_vec();
        compound[3] = 3;
        assert_eq!(packets(&compound).count(), 0);
        compound[3] = 2;
        compound[0] |= 0x20;
        compound[11] = 4;
        assert_eq!(packets(&compound).next().unwrap().bytes.len(), 8);
        compound[11] = 12;
        assert_eq!(packets(&compound).count(), 0, "nothing is left");
        compound[11] = 13;
        assert_eq!(packets(&compound).count(), 0);
    }
}
