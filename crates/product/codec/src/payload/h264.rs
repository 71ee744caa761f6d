//! The RTP payload format of H.264 (RFC 6184), packetization mode 1.
//!
//! # Model
//! An access unit is cut into payloads of at most `largest` bytes, as many as its size needs and of even
//! size, so that none is a short straggler:
//!
//! - small NAL units (parameter sets, SEI) go together into a STAP-A (section 5.7.1);
//! - a NAL unit that fits is sent as it is (section 5.6);
//! - a larger one is split into FU-As (section 5.8) of sizes that differ by one byte at most.
//!
//! The other way round, the payloads of one frame in order give the access unit again, with 4-byte start
//! codes. Anything else that the sections allow in mode 1 is taken; what they forbid is refused.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | STAP-A | type 24; 1 B header, 2 B size before each NAL unit | RFC 6184 sections 5.2, 5.7.1 |
//! | FU-A | type 28; 2 B header | RFC 6184 sections 5.2, 5.8 |
//! | least payload | 64 B | smaller ones would be headers mostly |
//!
//! | deviation | why |
//! |---|---|
//! | NAL units of type 0 and 24 to 31 inside STAP-A and FU-A are refused, not ignored | nothing honest sends them |
//! | the forbidden bit is not forwarded | a damaged NAL unit is a lost one here (section 5.3 leaves it open) |

use super::nal::{END, Format, Fragment, MIN_PAYLOAD, START, even_parts, nal_units};

/// Bytes of a fragment beside the unit's.
pub(crate) const FRAGMENT_HEADER: usize = 2;
const STAP_A: u8 = 24;
const FU_A: u8 = 28;
/// NRI bits of a NAL header: how much its loss matters.
const IMPORTANCE: u8 = 0x60;
const KIND: u8 = 0x1f;

/// How payloads are taken apart.
pub(crate) const FORMAT: Format = Format {
    header: 1,
    aggregate: STAP_A,
    fragment: FU_A,
    kind,
    // ITU-T H.264 table 7-1: types 1 to 5 are of a picture's slices.
    is_slice: |kind| matches!(kind, 1..=5),
    allows,
    open_fragment,
};

/// The NAL unit type that the first byte of a header has.
pub(crate) const fn kind(first: u8) -> u8 {
    first & KIND
}

/// Cuts an access unit into RTP payloads of at most `largest` bytes; all but the last go without marker.
///
/// # Panics
/// If `largest` is below [`MIN_PAYLOAD`].
#[must_use]
pub fn packetize(annex_b: &[u8], largest: usize) -> Vec<Vec<u8>> {
    assert!(largest >= MIN_PAYLOAD, "payloads of at least {MIN_PAYLOAD} bytes");
    let units: Vec<&[u8]> = nal_units(annex_b).collect();
    let size: usize = units.iter().map(|unit| unit.len()).sum();
    let mut payloads = Vec::with_capacity(size / largest + units.len() + 1);
    let mut waiting: Vec<&[u8]> = Vec::new();
    for unit in units {
        if unit.len() > largest {
            flush(&mut waiting, &mut payloads);
            fragment(unit, largest, &mut payloads);
            continue;
        }
        let together = 1 + waiting.iter().chain([&unit]).map(|unit| unit.len() + 2).sum::<usize>();
        if together > largest {
            flush(&mut waiting, &mut payloads);
        }
        waiting.push(unit);
    }
    flush(&mut waiting, &mut payloads);
    payloads
}

/// Sends what waits: one NAL unit as it is, several as a STAP-A.
fn flush(waiting: &mut Vec<&[u8]>, payloads: &mut Vec<Vec<u8>>) {
    if let [unit] = waiting[..] {
        payloads.push(unit.to_vec());
    } else if !waiting.is_empty() {
        let importance = waiting.iter().map(|unit| unit[0] & IMPORTANCE).max().unwrap_or(0);
        let mut payload = vec![importance | STAP_A];
        for unit in waiting.iter() {
            payload.extend_from_slice(&(unit.len() as u16).to_be_bytes());
            payload.extend_from_slice(unit);
        }
        payloads.push(payload);
    }
    waiting.clear();
}

/// Splits a NAL unit into fragments whose sizes differ by one byte at most.
fn fragment(unit: &[u8], largest: usize, payloads: &mut Vec<Vec<u8>>) {
    let header = unit[0];
    for (place, part) in even_parts(&unit[1..], largest - FRAGMENT_HEADER) {
        let mut payload = Vec::with_capacity(part.len() + FRAGMENT_HEADER);
        payload.extend_from_slice(&[header & IMPORTANCE | FU_A, place | header & KIND]);
        payload.extend_from_slice(part);
        payloads.push(payload);
    }
}

/// Whether a unit may be there by its header.
fn allows(unit: &[u8]) -> bool {
    unit[0] & 0x80 == 0 && (1..STAP_A).contains(&(unit[0] & KIND))
}

/// Header of the unit that is fragmented, place, and what is carried.
fn open_fragment(payload: &[u8]) -> Option<Fragment<'_>> {
    let [indicator, place, data @ ..] = payload else { return None };
    let header = [indicator & IMPORTANCE | place & KIND, 0];
    Some(Fragment { header, starts: place & START != 0, ends: place & END != 0, data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{self, MAX_FRAME, PayloadError, tests::annex_b};
    use gameway_units::VideoCodec;

    fn depacketize<P: AsRef<[u8]>>(
        payloads: impl IntoIterator<Item = P>,
    ) -> Result<Vec<u8>, PayloadError> {
        payload::depacketize(VideoCodec::H264, payloads)
    }

    #[test]
    fn start_codes_of_either_length_part_nal_units() {
        let stream =
            [9, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 0, 0, 1, 0, 0, 1, 0x65, 0, 0, 2, 0, 0];
        let units: Vec<&[u8]> = nal_units(&stream).collect();
        assert_eq!(units, [&[0x67, 1, 2][..], &[0x68], &[0x65, 0, 0, 2]]);
        assert_eq!(nal_units(&[0, 0]).count() + nal_units(&[]).count(), 0);
    }

    #[test]
    fn parameter_sets_share_a_payload() {
        let frame = annex_b(&[vec![0x67; 20], vec![0x68; 5], vec![0x06; 30], vec![0x65; 3000]]);
        let payloads = packetize(&frame, 1200);
        assert_eq!(payloads.len(), 4);
        assert_eq!(payloads[0][..3], [0x78, 0, 20]);
        assert_eq!((payloads[1][0], payloads[1][1], payloads[3][1]), (0x7c, 0x85, 0x45));
    }

    #[test]
    fn hostile_payloads_are_refused() {
        let error = |payloads: &[&[u8]]| depacketize(payloads).unwrap_err();
        assert_eq!(error(&[]), PayloadError::Unfinished);
        assert_eq!(error(&[&[]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x7c]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x7c, 0x85]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x78]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x78, 0, 0]]), PayloadError::Aggregate(0));
        assert_eq!(error(&[&[0x78, 0, 9, 1]]), PayloadError::Aggregate(0));
        assert_eq!(error(&[&[0x78, 0, 1, 0x78]]), PayloadError::Kind { payload: 0, kind: 24 });
        assert_eq!(error(&[&[0xe5, 1]]), PayloadError::Kind { payload: 0, kind: 5 });
        assert_eq!(error(&[&[0x7d, 1]]), PayloadError::Kind { payload: 0, kind: 29 });
        assert_eq!(error(&[&[0x7c, 0x85, 1]]), PayloadError::Unfinished);
        assert_eq!(error(&[&[0x7c, 0xc5, 1]]), PayloadError::Fragment(0));
        assert_eq!(error(&[&[0x7c, 0x05, 1]]), PayloadError::Fragment(0));
        assert_eq!(error(&[&[0x7c, 0x85, 1], &[0x65, 1]]), PayloadError::Fragment(1));
        assert_eq!(error(&[&[0x7c, 0x85, 1], &[0x7c, 0x85, 1]]), PayloadError::Fragment(1));
        assert_eq!(error(&[&[0x7c, 0x85, 1], &[0x7c, 0x41, 1]]), PayloadError::Fragment(1));
        assert_eq!(error(&[&[0x7c, 0x9c, 1]]), PayloadError::Kind { payload: 0, kind: 28 });
        assert_eq!(error(&[&[0x65, 1, 0, 0, 1, 0x67]]), PayloadError::StartCode);
        assert_eq!(error(&[&[0x7c, 0x85, 0, 0], &[0x7c, 0x45, 1, 9]]), PayloadError::StartCode);
        let huge = vec![0x65; MAX_FRAME];
        assert_eq!(depacketize([&huge]), Err(PayloadError::TooLarge));
    }
}
