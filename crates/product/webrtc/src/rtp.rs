//! RTP packets (RFC 3550 section 5.1) with one-byte header extensions (RFC 8285 section 4.2).

use crate::dependency_descriptor::DependencyDescriptor;
use crate::error::WebrtcError;
use crate::frame_extension::FrameExtension;
use crate::sdp::Negotiated;

/// Bytes of the fixed header.
pub const HEADER: usize = 12;
const ONE_BYTE_PROFILE: u16 = 0xBEDE;
/// Bytes of an extension block before its first element.
const BLOCK_HEADER: usize = 4;
/// A request for a report: a bit that asks for times, and 15 for the number of packets.
const WITH_TIMES: u16 = 0x8000;
const MAX_ON_REQUEST: u16 = 0x7FFF;

/// The header's fields that a sender chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RtpHeader {
    /// What the payload is; 7 bits.
    pub payload_type: u8,
    /// Last packet of a picture.
    pub marker: bool,
    /// Counts packets of the stream.
    pub sequence_number: u16,
    /// On the stream's clock: 90 kHz for video, 48 kHz for audio.
    pub timestamp: u32,
    /// The stream.
    pub ssrc: u32,
}

/// Extensions of a packet; those that were not negotiated are left away when it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extensions {
    /// Transport-wide number.
    pub transport_wide: Option<u16>,
    /// How many packets, up to this one, the receiver is to report on at once; goes with the transport-wide number, where
    /// that allows it.
    pub report_on: Option<u16>,
    /// Least and greatest playout delay, in units of 10 ms, 12 bits each; a receiver keeps the last one.
    pub playout_delay: Option<(u16, u16)>,
    /// Place in the frame.
    pub frame: Option<FrameExtension>,
    /// To which frame it refers; not read.
    pub dependencies: Option<DependencyDescriptor>,
}

/// A packet to send.
#[derive(Debug, Clone, Copy)]
pub struct RtpPacket<'a> {
    /// Its header.
    pub header: RtpHeader,
    /// Its extensions.
    pub extensions: Extensions,
    /// Its payload.
    pub payload: &'a [u8],
    /// How many bytes of padding follow, the count included (RFC 3550 section 5.1); zero for none.
    pub padding: u8,
}

/// A packet that was read: offsets into its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedRtp {
    /// Its header.
    pub header: RtpHeader,
    /// Its extensions.
    pub extensions: Extensions,
    /// Where the payload begins.
    pub payload_start: usize,
    /// Where the payload ends; padding follows.
    pub payload_end: usize,
}

impl RtpPacket<'_> {
    /// Appends the packet to `bytes`.
    ///
    /// # Errors
    /// If the payload type needs more than 7 bits.
    pub fn write(&self, terms: &Negotiated, bytes: &mut Vec<u8>) -> Result<(), WebrtcError> {
        let header = &self.header;
        if header.payload_type > 127 {
            return Err(WebrtcError::Malformed {
                packet: "RTP packet to send",
                problem: "payload type above 127",
            });
        }
        let start = bytes.len();
        let has_padding = self.padding > 0;
        bytes.push(0x80 | u8::from(has_padding) << 5);
        bytes.push(u8::from(header.marker) << 7 | header.payload_type);
        bytes.extend(header.sequence_number.to_be_bytes());
        bytes.extend(header.timestamp.to_be_bytes());
        bytes.extend(header.ssrc.to_be_bytes());
        self.extensions.write(terms, bytes);
        if bytes.len() > start + HEADER {
            bytes[start] |= 0x10;
        }
        bytes.extend_from_slice(self.payload);
        if has_padding {
            bytes.resize(bytes.len() + usize::from(self.padding) - 1, 0);
            bytes.push(self.padding);
        }
        Ok(())
    }
}

impl RtpPacket<'_> {
    /// The packet's bytes as parity is made of them ([`crate::flexfec`]): the transport-wide number is zero. libwebrtc sets it behind the
    /// maker of parity, and takes it for zero in what it receives (`RtpPacket::ZeroMutableExtensions`).
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn for_parity(&self, terms: &Negotiated) -> Result<Vec<u8>, WebrtcError> {
        let mut bytes = Vec::new();
        self.write(terms, &mut bytes)?;
        if terms.transport_wide.is_some() && self.extensions.transport_wide.is_some() {
            // It is the first element: a byte of number and length, then the value.
            let element = HEADER + BLOCK_HEADER;
            let length = usize::from(bytes[element] & 0xF) + 1;
            bytes[element + 1..][..length].fill(0);
        }
        Ok(bytes)
    }
}

impl Extensions {
    fn write(&self, terms: &Negotiated, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend(ONE_BYTE_PROFILE.to_be_bytes());
        bytes.extend([0, 0]);
        if let (Some(id), Some(number)) = (terms.transport_wide, self.transport_wide) {
            let [high, low] = number.to_be_bytes();
            match self.report_on.filter(|_| terms.reports_on_request) {
                None => element(bytes, id, &[high, low]),
                Some(count) => {
                    let [more, count] = (WITH_TIMES | count.min(MAX_ON_REQUEST)).to_be_bytes();
                    element(bytes, id, &[high, low, more, count]);
                }
            }
        }
        if let (Some(id), Some((min, greatest))) = (terms.playout_delay, self.playout_delay) {
            let value = u32::from(min & 0xFFF) << 12 | u32::from(greatest & 0xFFF);
            element(bytes, id, &value.to_be_bytes()[1..]);
        }
        if let (Some(id), Some(frame)) = (terms.frame, self.frame) {
            bytes.push(id << 4 | (frame.size() - 1) as u8);
            frame.write(bytes);
        }
        if let (Some(id), Some(dependencies)) = (terms.dependencies, self.dependencies) {
            let head = bytes.len();
            bytes.push(id << 4);
            dependencies.write(bytes);
            bytes[head] |= (bytes.len() - head - 2) as u8;
        }
        let length = bytes.len() - start - 4;
        if length == 0 {
            bytes.truncate(start);
            return;
        }
        let words = length.div_ceil(4);
        bytes.resize(start + 4 + 4 * words, 0);
        bytes[start + 2..start + 4].copy_from_slice(&(words as u16).to_be_bytes());
    }

    fn take(&mut self, terms: &Negotiated, id: u8, value: &[u8]) {
        let id = Some(id);
        if id == terms.transport_wide {
            let word = |at: usize| Some(u16::from_be_bytes([*value.get(at)?, *value.get(at + 1)?]));
            self.transport_wide = word(0);
            let asked = word(2).filter(|_| terms.reports_on_request);
            self.report_on = asked.map(|request| request & MAX_ON_REQUEST).filter(|it| *it > 0);
        } else if id == terms.playout_delay {
            if let [high, middle, low] = value {
                let both = u32::from_be_bytes([0, *high, *middle, *low]);
                self.playout_delay = Some(((both >> 12) as u16, (both & 0xFFF) as u16));
            }
        } else if id == terms.frame {
            self.frame = FrameExtension::parse(value);
        }
    }
}

fn element(bytes: &mut Vec<u8>, id: u8, value: &[u8]) {
    bytes.push(id << 4 | (value.len() - 1) as u8);
    bytes.extend_from_slice(value);
}

impl ParsedRtp {
    /// Reads a packet; `None` if it is not one.
    #[must_use]
    pub fn parse(bytes: &[u8], terms: &Negotiated) -> Option<Self> {
        let head = bytes.get(..HEADER)?;
        if head[0] >> 6 != 2 {
            return None;
        }
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let header = RtpHeader {
            payload_type: head[1] & 127,
            marker: head[1] & 128 != 0,
            sequence_number: word(0) as u16,
            timestamp: word(4),
            ssrc: word(8),
        };
        let mut payload_start = HEADER + 4 * usize::from(head[0] & 15);
        let mut extensions = Extensions::default();
        if head[0] & 0x10 != 0 {
            let block = bytes.get(payload_start..)?;
            let (profile, length) = (block.get(..2)?, block.get(2..4)?);
            let length = 4 * usize::from(u16::from_be_bytes([length[0], length[1]]));
            let elements = block.get(4..4 + length)?;
            if profile == ONE_BYTE_PROFILE.to_be_bytes() {
                read_elements(elements, |id, value| extensions.take(terms, id, value));
            }
            payload_start += 4 + length;
        }
        let padding = if head[0] & 0x20 == 0 { 0 } else { usize::from(*bytes.last()?).max(1) };
        let payload_end = bytes.len().checked_sub(padding).filter(|end| *end >= payload_start)?;
        Some(Self { header, extensions, payload_start, payload_end })
    }
}

/// RFC 8285 section 4.2: zero is padding, 15 ends the block; a length beyond the block ends it, too.
fn read_elements(mut block: &[u8], mut take: impl FnMut(u8, &[u8])) {
    while let [first, rest @ ..] = block {
        if *first == 0 {
            block = rest;
            continue;
        }
        let (id, length) = (first >> 4, usize::from(first & 15) + 1);
        let Some((value, after)) = rest.split_at_checked(length) else { return };
        if id == 15 {
            return;
        }
        take(id, value);
        block = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_control::PacketKind;

    fn terms() -> Negotiated {
        Negotiated {
            transport_wide: Some(3),
            reports_on_request: true,
            playout_delay: Some(5),
            frame: Some(1),
            ..Negotiated::default()
        }
    }

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        let frame = FrameExtension {
            frame: 0x0102_0304,
            index: 5,
            media_packets: 6,
            train_packets: 7,
            kind: PacketKind::Repair,
            key_frame: true,
            refers_back: 1,
            last_probe: false,
            sequence_high: 9,
            again: None,
        };
        let header = RtpHeader {
            payload_type: 96,
            marker: true,
            sequence_number: 0xFFFE,
            timestamp: 0x8765_4321,
            ssrc: 0xDEAD_BEEF,
        };
        let all = Extensions {
            transport_wide: Some(0xABCD),
            report_on: Some(0x1234),
            playout_delay: Some((0, 0xFFF)),
            frame: Some(frame),
            dependencies: None,
        };
        for extensions in [Extensions::default(), all] {
            for padding in [0, 1, 255] {
                let packet = RtpPacket { header, extensions, payload: b"payload", padding };
                let mut bytes = Vec::new();
                packet.write(&terms(), &mut bytes).unwrap();
                let read = ParsedRtp::parse(&bytes, &terms()).unwrap();
                assert_eq!((read.header, read.extensions), (header, extensions));
                assert_eq!(&bytes[read.payload_start..read.payload_end], b"payload");
            }
        }
    }

    /// A number with two more bytes asks for a report only where both ends agreed on that.
    #[test]
    fn a_request_counts_where_it_was_agreed_on() {
        let extensions =
            Extensions { transport_wide: Some(1), report_on: Some(2), ..Extensions::default() };
        let packet =
            RtpPacket { header: RtpHeader::default(), extensions, payload: &[], padding: 0 };
        let mut bytes = Vec::new();
        packet.write(&terms(), &mut bytes).unwrap();
        let plain = Negotiated { reports_on_request: false, ..terms() };
        for (terms, read) in [(terms(), Some(2)), (plain, None)] {
            assert_eq!(ParsedRtp::parse(&bytes, &terms).unwrap().extensions.report_on, read);
        }
    }

    /// Parity is made of packets without what a sender fills in last.
    #[test]
    fn for_parity_the_transport_wide_number_is_zero_and_nothing_else_changes() {
        let extensions = |number, report_on| Extensions {
            transport_wide: Some(number),
            report_on,
            playout_delay: Some((1, 2)),
            frame: None,
            dependencies: None,
        };
        let packet = |extensions| RtpPacket {
            header: RtpHeader::default(),
            extensions,
            payload: &[7, 8],
            padding: 0,
        };
        let written = |one: RtpPacket<'_>| {
            let mut bytes = Vec::new();
            one.write(&terms(), &mut bytes).unwrap();
            bytes
        };
        let zero = packet(extensions(0, None)).for_parity(&terms()).unwrap();
        assert_eq!(packet(extensions(0xABCD, None)).for_parity(&terms()).unwrap(), zero);
        assert_eq!(zero, written(packet(extensions(0, None))));
        // With a request the element has four bytes, all of them zero.
        let asking = packet(extensions(0xABCD, Some(3)));
        let changed: Vec<usize> =
            (written(asking).iter().zip(asking.for_parity(&terms()).unwrap()))
                .enumerate()
                .filter(|(_, (one, other))| **one != *other)
                .map(|(place, _)| place)
                .collect();
        assert_eq!(changed, [17, 18, 19, 20]);
    }

    #[test]
    fn bytes_beside_the_payload_are_as_stated() {
        let browser = Negotiated { frame: None, playout_delay: None, ..terms() };
        let native = Negotiated { frame: Some(1), ..Negotiated::default() };
        let frame = FrameExtension::parse(&[0; 11]);
        let referring = Negotiated { dependencies: Some(2), ..browser.clone() };
        let reported = Negotiated { transport_wide: None, ..referring.clone() };
        let dependencies = DependencyDescriptor {
            frame: 1,
            first: true,
            last: false,
            key_frame: false,
            refers_back: 1,
        };
        let all = [(browser, 64), (referring, 68), (reported, 64), (native, 72)];
        for (terms, stated) in all {
            let extensions = Extensions {
                transport_wide: Some(1),
                frame,
                dependencies: Some(dependencies),
                ..Extensions::default()
            };
            let header = RtpHeader::default();
            let mut bytes = Vec::new();
            let packet = RtpPacket { header, extensions, payload: &[], padding: 0 };
            packet.write(&terms, &mut bytes).unwrap();
            assert_eq!(20 + 8 + bytes.len() + 16, stated);
            assert_eq!(terms.overhead(16), stated);
        }
    }

    #[test]
    fn lengths_that_lead_outside_are_refused() {
        let mut bytes = vec![0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xBE, 0xDE, 0, 2, 0, 0, 0, 0];
        assert_eq!(ParsedRtp::parse(&bytes, &terms()), None, "extension beyond the packet");
        bytes.extend([0, 0, 0, 0]);
        assert!(ParsedRtp::parse(&bytes, &terms()).is_some());
        bytes[0] |= 0x20;
        *bytes.last_mut().unwrap() = 9;
        assert_eq!(ParsedRtp::parse(&bytes, &terms()), None, "padding into the header");
    }
}
