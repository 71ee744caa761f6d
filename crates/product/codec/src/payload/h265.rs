//! The RTP payload format of H.265 (RFC 7798), one stream on one transport, without decoding order numbers.
//!
//! # Model
//! As in [`super::h264`], an access unit is cut into payloads of at most `largest` bytes:
//!
//! - a NAL unit that fits is sent as it is (section 4.4.1);
//! - a larger one is split into fragmentation units (section 4.4.3) of sizes that differ by one byte at most.
//!
//! The other way round, the payloads of one frame in order give the access unit again, with 4-byte start
//! codes. Aggregation packets (section 4.4.2) are taken, too.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | NAL header | 2 B: forbidden bit, 6 bits type, 6 bits layer, 3 bits temporal layer + 1 | ITU-T H.265 section 7.3.1.2 |
//! | aggregation packet | type 48; 2 B size before each NAL unit | RFC 7798 section 4.4.2 |
//! | fragmentation unit | type 49; 3 B header | RFC 7798 section 4.4.3 |
//!
//! | deviation | why |
//! |---|---|
//! | NAL units of type 48 to 63 inside of aggregates and fragments, and PACI packets (type 50), are refused, not ignored | nothing honest sends them here |
//! | the forbidden bit is not forwarded | a damaged NAL unit is a lost one here (section 1.1.4 leaves it open) |

use super::nal::{END, Format, Fragment, MIN_PAYLOAD, START, even_parts, nal_units};

const AGGREGATE: u8 = 48;
const FRAGMENT: u8 = 49;
/// Bytes of a fragment beside the unit's.
pub(crate) const FRAGMENT_HEADER: usize = 3;

/// How payloads are taken apart.
pub(crate) const FORMAT: Format = Format {
    header: 2,
    aggregate: AGGREGATE,
    fragment: FRAGMENT,
    kind,
    // ITU-T H.265 table 7-1: types 0 to 31 are of a picture's slices.
    is_slice: |kind| kind < 32,
    allows,
    open_fragment,
};

/// The NAL unit type that the first byte of a header has.
pub(crate) const fn kind(first: u8) -> u8 {
    first >> 1 & 0x3f
}

/// The first byte of a header with another type.
const fn with_kind(first: u8, kind: u8) -> u8 {
    first & 0x81 | kind << 1
}

/// Cuts an access unit into RTP payloads of at most `largest` bytes; all but the last go without marker.
///
/// # Panics
/// If `largest` is below [`MIN_PAYLOAD`].
#[must_use]
pub fn packetize(annex_b: &[u8], largest: usize) -> Vec<Vec<u8>> {
    assert!(largest >= MIN_PAYLOAD, "payloads of at least {MIN_PAYLOAD} bytes");
    let mut payloads = Vec::with_capacity(annex_b.len() / largest + 4);
    for unit in nal_units(annex_b) {
        match unit {
            [first, second, rest @ ..] if unit.len() > largest => {
                fragment([*first, *second], rest, largest, &mut payloads);
            }
            _ => payloads.push(unit.to_vec()),
        }
    }
    payloads
}

/// Splits a NAL unit into fragments whose sizes differ by one byte at most.
fn fragment(header: [u8; 2], rest: &[u8], largest: usize, payloads: &mut Vec<Vec<u8>>) {
    for (place, part) in even_parts(rest, largest - FRAGMENT_HEADER) {
        let mut payload = Vec::with_capacity(part.len() + FRAGMENT_HEADER);
        payload.extend_from_slice(&[
            with_kind(header[0], FRAGMENT),
            header[1],
            place | kind(header[0]),
        ]);
        payload.extend_from_slice(part);
        payloads.push(payload);
    }
}

/// Whether a unit may be there by its header.
fn allows(unit: &[u8]) -> bool {
    // A temporal layer of zero would end a header in zeros (ITU-T H.265 section 7.4.2.2: it must not be).
    unit[0] & 0x80 == 0 && unit[1] & 7 != 0 && kind(unit[0]) < AGGREGATE
}

/// Header of the unit that is fragmented, place, and what is carried.
fn open_fragment(payload: &[u8]) -> Option<Fragment<'_>> {
    let [first, second, place, data @ ..] = payload else { return None };
    let header = [with_kind(*first, place & 0x3f), *second];
    Some(Fragment { header, starts: place & START != 0, ends: place & END != 0, data })
}

#[cfg(test)]
mod tests {
    use super::super::nal::{MAX_FRAME, PayloadError};
    use super::*;
    use crate::payload::{self, tests::annex_b};
    use gameway_units::VideoCodec;

    /// An aggregation packet of these units.
    fn aggregate(units: &[&[u8]]) -> Vec<u8> {
        let sized =
            units.iter().flat_map(|unit| [&(unit.len() as u16).to_be_bytes()[..], unit].concat());
        [0x60, 1].into_iter().chain(sized).collect()
    }

    fn depacketize<P: AsRef<[u8]>>(
        payloads: impl IntoIterator<Item = P>,
    ) -> Result<Vec<u8>, PayloadError> {
        payload::depacketize(VideoCodec::H265, payloads)
    }

    #[test]
    fn bytes_are_where_the_format_has_them() {
        // A slice of type 1, layer 0, temporal layer 0: cut into two fragments of type 49.
        let unit = [&[0x02, 0x01][..], &[7; 100]].concat();
        let payloads = packetize(&annex_b(&[unit]), 64);
        assert_eq!(payloads.iter().map(Vec::len).collect::<Vec<_>>(), [53, 53]);
        assert_eq!(payloads[0][..4], [0x62, 0x01, 0x81, 7]);
        assert_eq!(payloads[1][..4], [0x62, 0x01, 0x41, 7]);
    }

    #[test]
    fn aggregates_are_taken_apart() {
        let (parameters, slice) = ([0x40, 1, 9], [0x26, 1, 8, 8]);
        let frame = depacketize([aggregate(&[&parameters, &slice])]).unwrap();
        assert_eq!(frame, annex_b(&[parameters.to_vec(), slice.to_vec()]));
    }

    #[test]
    fn hostile_payloads_are_refused() {
        let error = |payloads: &[&[u8]]| depacketize(payloads).unwrap_err();
        assert_eq!(error(&[]), PayloadError::Unfinished);
        assert_eq!(error(&[&[]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x02]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x62, 1]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x62, 1, 0x81]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x60, 1]]), PayloadError::Short(0));
        assert_eq!(error(&[&[0x60, 1, 0, 0]]), PayloadError::Aggregate(0));
        assert_eq!(error(&[&[0x60, 1, 0, 9, 1]]), PayloadError::Aggregate(0));
        assert_eq!(error(&[&[0x60, 1, 0, 1, 2]]), PayloadError::Short(0));
        assert_eq!(
            error(&[&aggregate(&[&[0x60, 1]])]),
            PayloadError::Kind { payload: 0, kind: 48 }
        );
        assert_eq!(error(&[&[0x82, 1]]), PayloadError::Kind { payload: 0, kind: 1 });
        assert_eq!(error(&[&[0x02, 0]]), PayloadError::Kind { payload: 0, kind: 1 });
        assert_eq!(error(&[&[0x64, 1, 1]]), PayloadError::Kind { payload: 0, kind: 50 });
        assert_eq!(error(&[&[0x62, 1, 0xb1, 1]]), PayloadError::Kind { payload: 0, kind: 49 });
        assert_eq!(error(&[&[0x62, 1, 0x81, 1]]), PayloadError::Unfinished);
        assert_eq!(error(&[&[0x62, 1, 0xc1, 1]]), PayloadError::Fragment(0));
        assert_eq!(error(&[&[0x62, 1, 0x01, 1]]), PayloadError::Fragment(0));
        let start: &[u8] = &[0x62, 1, 0x81, 1];
        assert_eq!(error(&[start, &[0x02, 1, 1]]), PayloadError::Fragment(1));
        assert_eq!(error(&[start, start]), PayloadError::Fragment(1));
        assert_eq!(error(&[start, &[0x62, 1, 0x53, 1]]), PayloadError::Fragment(1));
        assert_eq!(error(&[&[0x02, 1, 0, 0, 1, 0x40]]), PayloadError::StartCode);
        let huge = vec![2; MAX_FRAME];
        assert_eq!(depacketize([&huge]), Err(PayloadError::TooLarge));
    }
}
