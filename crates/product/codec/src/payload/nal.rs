//! What the payload formats of H.264 and H.265 have alike: NAL units, fragments of even size, errors, and what tells the
//! formats apart when payloads are put together.

use thiserror::Error;

/// Least bytes that a payload must be allowed to have.
pub const MIN_PAYLOAD: usize = 64;
/// Largest access unit that is put together from payloads.
pub const MAX_FRAME: usize = 8 << 20;

/// Flag of the fragment that begins a NAL unit.
pub(crate) const START: u8 = 0x80;
/// Flag of the fragment that ends a NAL unit.
pub(crate) const END: u8 = 0x40;

/// What tells the formats apart on the way back.
pub(crate) struct Format {
    /// Bytes of a NAL unit's header, and of an aggregation packet's.
    pub header: usize,
    /// NAL unit type of aggregation packets; those below are NAL units themselves.
    pub aggregate: u8,
    /// NAL unit type of fragments.
    pub fragment: u8,
    /// NAL unit type by a header's first byte.
    pub kind: fn(u8) -> u8,
    /// Whether NAL units of a type carry parts of the picture.
    pub is_slice: fn(u8) -> bool,
    /// Whether a NAL unit, which has its whole header, may be there.
    pub allows: fn(&[u8]) -> bool,
    /// What a fragment says; `None` if it is shorter than its headers.
    pub open_fragment: fn(&[u8]) -> Option<Fragment<'_>>,
}

/// A fragment of a NAL unit.
pub(crate) struct Fragment<'a> {
    /// Header of the unit, in as many bytes as the format has.
    pub header: [u8; 2],
    pub starts: bool,
    pub ends: bool,
    pub data: &'a [u8],
}

/// Why payloads are not those of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PayloadError {
    /// Nothing in it.
    #[error("payload {0} is empty or shorter than its headers")]
    Short(usize),
    /// A type that the payload format does not know, or a damaged NAL unit.
    #[error("payload {payload} has type {kind}, which the payload format does not allow there")]
    Kind {
        /// Place of the payload in its frame.
        payload: usize,
        /// NAL unit type.
        kind: u8,
    },
    /// A size inside an aggregate that is zero or beyond its end.
    #[error("payload {0} has a NAL unit whose size is zero or beyond the payload's end")]
    Aggregate(usize),
    /// Fragments that do not begin, continue and end.
    #[error("payload {0} is a fragment out of order")]
    Fragment(usize),
    /// The frame ends in the middle of a NAL unit, or has no payload.
    #[error("the frame ends in the middle of a NAL unit")]
    Unfinished,
    /// A start code inside a NAL unit.
    #[error("a NAL unit of the frame has a start code inside")]
    StartCode,
    /// More than [`MAX_FRAME`].
    #[error("the frame is larger than {MAX_FRAME} bytes")]
    TooLarge,
}

/// The NAL units of an Annex B byte stream, without start codes and trailing zeros.
pub fn nal_units(annex_b: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = after_start_code(annex_b);
    std::iter::from_fn(move || {
        loop {
            let unit = rest?;
            let end = find_start_code(unit);
            rest = end.map(|at| &unit[at + 3..]);
            let unit = &unit[..end.unwrap_or(unit.len())];
            let zeros = unit.iter().rev().take_while(|byte| **byte == 0).count();
            let unit = &unit[..unit.len() - zeros];
            if !unit.is_empty() {
                return Some(unit);
            }
        }
    })
}

fn after_start_code(bytes: &[u8]) -> Option<&[u8]> {
    find_start_code(bytes).map(|at| &bytes[at + 3..])
}

/// Place of the next 00 00 01.
fn find_start_code(bytes: &[u8]) -> Option<usize> {
    let mut at = 2;
    // The third byte decides how far the next start code can be.
    while let Some(third) = bytes.get(at) {
        match *third {
            0 => at += 1,
            1 if bytes[at - 1] == 0 && bytes[at - 2] == 0 => return Some(at - 2),
            _ => at += 3,
        }
    }
    None
}

/// What fragments carry, at most so much each, with their flags of start and end, which H.264 and H.265 have alike.
pub(crate) fn even_parts(mut rest: &[u8], max: usize) -> impl Iterator<Item = (u8, &[u8])> {
    let count = rest.len().div_ceil(max);
    (0..count).map(move |index| {
        let (now, later) = rest.split_at(rest.len().div_ceil(count - index));
        rest = later;
        let start = if index == 0 { START } else { 0 };
        let end = if index + 1 == count { END } else { 0 };
        (start | end, now)
    })
}
