//! The payload format of a codec, chosen when a stream begins, and what the formats have alike: the way back.
//!
//! The payloads of a frame, in order, give its NAL units again. A unit is there to be decoded as soon as its last
//! payload is: a picture of several slices is decoded while its last packets are on their way.

mod h264;
mod h265;
mod nal;
mod vp8;

pub use nal::{MAX_FRAME, MIN_PAYLOAD, PayloadError, nal_units};

use gameway_units::{PayloadFormat, VideoCodec};
use nal::{Format, Fragment};

const fn format(codec: VideoCodec) -> &'static Format {
    match codec {
        VideoCodec::H264 => &h264::FORMAT,
        VideoCodec::H265 => &h265::FORMAT,
    }
}

/// The type of a NAL unit by the first byte of its header.
pub(crate) fn nal_kind(codec: VideoCodec, first: u8) -> u8 {
    (format(codec).kind)(first)
}

/// Bytes that a fragment has beside those of its NAL unit or frame.
#[must_use]
pub const fn fragment_header(codec: VideoCodec, format: PayloadFormat) -> u64 {
    match (format, codec) {
        (PayloadFormat::Vp8, _) => vp8::DESCRIPTOR as u64,
        (PayloadFormat::Own, VideoCodec::H264) => h264::FRAGMENT_HEADER as u64,
        (PayloadFormat::Own, VideoCodec::H265) => h265::FRAGMENT_HEADER as u64,
    }
}

/// Bytes that a frame has ahead of its access unit.
#[must_use]
pub const fn frame_header(format: PayloadFormat) -> u64 {
    match format {
        PayloadFormat::Own => 0,
        PayloadFormat::Vp8 => vp8::FRAME_HEADER as u64,
    }
}

/// Bytes of a slice's start code that travel with it.
#[must_use]
pub const fn start_code(format: PayloadFormat) -> u64 {
    match format {
        PayloadFormat::Own => 0,
        PayloadFormat::Vp8 => 4,
    }
}

/// [`h264::packetize`] or [`h265::packetize`].
#[must_use]
pub fn packetize(codec: VideoCodec, annex_b: &[u8], largest: usize) -> Vec<Vec<u8>> {
    match codec {
        VideoCodec::H264 => h264::packetize(annex_b, largest),
        VideoCodec::H265 => h265::packetize(annex_b, largest),
    }
}

/// Cuts an access unit that is made in parts. In the codec's own format it is cut as [`packetize`] cuts it when it is whole: small
/// NAL units at the end of a part wait for those that may share a payload with them. In that of VP8 nothing waits.
#[derive(Debug)]
pub struct Packetizer {
    codec: VideoCodec,
    format: PayloadFormat,
    largest: usize,
    waiting: Vec<u8>,
    begun: bool,
}

impl Packetizer {
    /// Of payloads of at most `largest` bytes.
    #[must_use]
    pub fn new(codec: VideoCodec, format: PayloadFormat, largest: usize) -> Self {
        Self { codec, format, largest, waiting: Vec::new(), begun: false }
    }

    /// The payloads that the next part, NAL units with start codes, makes ready; and whether the frame refers to no other.
    pub fn push(&mut self, part: &[u8], key_frame: bool) -> Vec<Vec<u8>> {
        if self.format == PayloadFormat::Vp8 {
            let begins = !std::mem::replace(&mut self.begun, true);
            let mut bytes = if begins { vp8::frame_header(key_frame) } else { Vec::new() };
            bytes.extend_from_slice(part);
            return vp8::packetize(&bytes, begins, self.largest);
        }
        self.waiting.extend_from_slice(part);
        let mut payloads = packetize(self.codec, &self.waiting, self.largest);
        self.waiting.clear();
        let format = format(self.codec);
        let fragment = |payload: &Vec<u8>| (format.kind)(payload[0]) == format.fragment;
        let last = payloads.last().filter(|last| !fragment(last));
        if let Some(Ok(units)) = last.map(|last| depacketize(self.codec, [last])) {
            self.waiting = units;
            payloads.pop();
        }
        payloads
    }

    /// The payload that is left after the last part, if there is one.
    pub fn finish(&mut self) -> Vec<Vec<u8>> {
        let waiting = std::mem::take(&mut self.waiting);
        packetize(self.codec, &waiting, self.largest)
    }
}

/// Whether a NAL unit ends with this payload.
#[must_use]
pub fn ends_unit(codec: VideoCodec, payload: &[u8]) -> bool {
    let format = format(codec);
    match payload.first() {
        Some(first) if (format.kind)(*first) == format.fragment => {
            (format.open_fragment)(payload).is_some_and(|fragment| fragment.ends)
        }
        first => first.is_some(),
    }
}

/// Puts the payloads of one frame, in order, together to an Annex B access unit.
///
/// # Errors
/// [`PayloadError`] names the payload that is not as it must be.
pub fn depacketize<P: AsRef<[u8]>>(
    codec: VideoCodec,
    payloads: impl IntoIterator<Item = P>,
) -> Result<Vec<u8>, PayloadError> {
    let mut frame = Depacketizer::new(codec);
    payloads.into_iter().try_for_each(|payload| frame.push(payload.as_ref()))?;
    frame.finish().map(<[u8]>::to_vec)
}

/// Puts the payloads of one frame together as they come.
pub struct Depacketizer {
    format: &'static Format,
    /// The access unit as far as it is there.
    frame: Vec<u8>,
    /// How much of it was taken.
    taken: usize,
    /// Where the last slice ends that is whole.
    sliced: usize,
    /// The header of the NAL unit that is being put together.
    within: Option<[u8; 2]>,
    payloads: usize,
    /// NAL units in what was not taken yet, up to the last slice and behind it.
    units: [usize; 2],
}

impl Depacketizer {
    /// Of a frame that has no payload yet.
    #[must_use]
    pub fn new(codec: VideoCodec) -> Self {
        Self {
            format: format(codec),
            frame: Vec::new(),
            taken: 0,
            sliced: 0,
            within: None,
            payloads: 0,
            units: [0, 0],
        }
    }

    /// Takes the next payload.
    ///
    /// # Errors
    /// [`PayloadError`]; the frame is then of no use.
    pub fn push(&mut self, payload: &[u8]) -> Result<(), PayloadError> {
        let (format, index) = (self.format, self.payloads);
        self.payloads += 1;
        if payload.len() < format.header {
            return Err(PayloadError::Short(index));
        }
        let kind = (format.kind)(payload[0]);
        if self.within.is_some() && kind != format.fragment {
            return Err(PayloadError::Fragment(index));
        }
        let is_damaged = payload[0] & 0x80 != 0;
        if kind < format.aggregate {
            self.push_unit(payload, index)?;
        } else if kind == format.aggregate && !is_damaged {
            self.split_aggregate(&payload[format.header..], index)?;
        } else if kind == format.fragment && !is_damaged {
            self.join(payload, index)?;
        } else {
            return Err(PayloadError::Kind { payload: index, kind });
        }
        if self.frame.len() > MAX_FRAME { Err(PayloadError::TooLarge) } else { Ok(()) }
    }

    /// What is there of the access unit beyond what was taken, up to its last whole slice; nothing without a slice.
    ///
    /// # Errors
    /// [`PayloadError::StartCode`]; the frame is then of no use.
    pub fn take(&mut self) -> Result<&[u8], PayloadError> {
        let part = self.taken..self.sliced.max(self.taken);
        self.taken = part.end;
        let units = std::mem::take(&mut self.units[0]);
        checked(&self.frame[part], units)
    }

    /// The rest of the access unit, after its last payload; nothing if all was taken.
    ///
    /// # Errors
    /// [`PayloadError`], if there is nothing to the frame or it is not whole.
    pub fn finish(&mut self) -> Result<&[u8], PayloadError> {
        if self.within.is_some() || self.frame.is_empty() {
            return Err(PayloadError::Unfinished);
        }
        let part = self.taken..;
        self.taken = self.frame.len();
        let units = std::mem::take(&mut self.units).iter().sum();
        checked(&self.frame[part], units)
    }

    fn push_unit(&mut self, unit: &[u8], index: usize) -> Result<(), PayloadError> {
        self.begin_unit(unit, index)?;
        self.end_unit(unit[0]);
        Ok(())
    }

    fn begin_unit(&mut self, unit: &[u8], index: usize) -> Result<(), PayloadError> {
        let format = self.format;
        if unit.len() < format.header {
            return Err(PayloadError::Short(index));
        }
        if !(format.allows)(unit) {
            let kind = (format.kind)(unit[0]);
            return Err(PayloadError::Kind { payload: index, kind });
        }
        self.frame.extend_from_slice(&[0, 0, 0, 1]);
        self.frame.extend_from_slice(unit);
        Ok(())
    }

    fn end_unit(&mut self, first: u8) {
        self.units[1] += 1;
        if (self.format.is_slice)((self.format.kind)(first)) {
            self.sliced = self.frame.len();
            self.units = [self.units.iter().sum(), 0];
        }
    }

    /// Takes what follows the header of an aggregation packet: units behind their sizes.
    fn split_aggregate(&mut self, mut rest: &[u8], index: usize) -> Result<(), PayloadError> {
        if rest.is_empty() {
            return Err(PayloadError::Short(index));
        }
        while !rest.is_empty() {
            let (size, after) = rest.split_first_chunk().ok_or(PayloadError::Aggregate(index))?;
            let size = usize::from(u16::from_be_bytes(*size));
            if size == 0 || size > after.len() {
                return Err(PayloadError::Aggregate(index));
            }
            self.push_unit(&after[..size], index)?;
            rest = &after[size..];
        }
        Ok(())
    }

    fn join(&mut self, payload: &[u8], index: usize) -> Result<(), PayloadError> {
        let fragment = (self.format.open_fragment)(payload);
        let Some(Fragment { header, starts, ends, data }) =
            fragment.filter(|it| !it.data.is_empty())
        else {
            return Err(PayloadError::Short(index));
        };
        // RFC 6184 section 5.8, RFC 7798 section 4.4.3: a fragmented unit needs two fragments at least, so none
        // both starts and ends.
        let follows = self.within.is_none_or(|first| first == header);
        if starts != self.within.is_none() || starts && ends || !follows {
            return Err(PayloadError::Fragment(index));
        }
        if starts {
            self.begin_unit(&header[..self.format.header], index)?;
        }
        self.frame.extend_from_slice(data);
        self.within = (!ends).then_some(header);
        if ends {
            self.end_unit(header[0]);
        }
        Ok(())
    }
}

/// A NAL unit must not smuggle others in (ITU-T H.264 section 7.4.1, H.265 section 7.4.2: no start code inside).
fn checked(part: &[u8], units: usize) -> Result<&[u8], PayloadError> {
    if nal_units(part).count() == units { Ok(part) } else { Err(PayloadError::StartCode) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// NAL units with start codes.
    pub(crate) fn annex_b(units: &[Vec<u8>]) -> Vec<u8> {
        units.iter().flat_map(|unit| [&[0, 0, 0, 1], &unit[..]].concat()).collect()
    }

    /// NAL units of either codec without start codes inside, as an encoder's emulation prevention leaves them.
    fn units(count: std::ops::Range<usize>) -> impl Strategy<Value = (VideoCodec, Vec<Vec<u8>>)> {
        let h264 = (1_u8..=23, 0_u8..4).prop_map(|(kind, importance)| vec![importance << 5 | kind]);
        let h265 = (0_u8..48, 0_u8..64, 1_u8..8).prop_map(|(kind, layer, temporal)| {
            vec![kind << 1 | layer >> 5, layer << 3 | temporal]
        });
        let unit = |header: BoxedStrategy<Vec<u8>>| {
            (header, vec(1_u8.., 0..5000)).prop_map(|(header, body)| [header, body].concat())
        };
        prop_oneof![
            (Just(VideoCodec::H264), vec(unit(h264.boxed()), count.clone())),
            (Just(VideoCodec::H265), vec(unit(h265.boxed()), count)),
        ]
    }

    fn is_slice(codec: VideoCodec, unit: &[u8]) -> bool {
        let format = format(codec);
        (format.is_slice)((format.kind)(unit[0]))
    }

    proptest! {
        #[test]
        fn frames_come_back((codec, units) in units(1..6), largest in MIN_PAYLOAD..1500) {
            let frame = annex_b(&units);
            let payloads = packetize(codec, &frame, largest);
            prop_assert!(payloads.iter().all(|payload| payload.len() <= largest));
            prop_assert_eq!(depacketize(codec, &payloads), Ok(frame));
        }

        #[test]
        fn an_access_unit_in_parts_is_cut_as_a_whole_one(
            (codec, units) in units(1..9),
            parts in vec(1_usize..4, 9),
            largest in MIN_PAYLOAD..1500,
        ) {
            let mut packetizer = Packetizer::new(codec, PayloadFormat::Own, largest);
            let mut payloads = Vec::new();
            let mut left = &units[..];
            for part in parts {
                let (now, later) = left.split_at(part.min(left.len()));
                payloads.extend(packetizer.push(&annex_b(now), false));
                left = later;
            }
            payloads.extend(packetizer.finish());
            prop_assert_eq!(payloads, packetize(codec, &annex_b(&units), largest));
        }

        #[test]
        fn fragments_are_even((codec, units) in units(1..2), largest in MIN_PAYLOAD..1500) {
            let payloads = packetize(codec, &annex_b(&units), largest);
            let sizes = || payloads.iter().map(Vec::len);
            prop_assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
            let (size, header) = (units[0].len(), format(codec).header);
            let room = largest - fragment_header(codec, PayloadFormat::Own) as usize;
            let min = if size <= largest { 1 } else { (size - header).div_ceil(room) };
            prop_assert_eq!(payloads.len(), min);
        }

        /// As a browser's receiver of VP8 and the page put it together.
        #[test]
        fn frames_come_back_from_the_format_of_vp8(
            (codec, units) in units(1..9),
            parts in vec(1_usize..4, 9),
            largest in MIN_PAYLOAD..1500,
            key_frame in any::<bool>(),
        ) {
            let mut packetizer = Packetizer::new(codec, PayloadFormat::Vp8, largest);
            let (mut payloads, mut left) = (Vec::new(), &units[..]);
            for part in parts {
                let (now, later) = left.split_at(part.min(left.len()));
                if now.is_empty() {
                    break;
                }
                let ready = packetizer.push(&annex_b(now), key_frame);
                prop_assert!(!ready.is_empty(), "nothing waits");
                payloads.extend(ready);
                left = later;
            }
            prop_assert!(packetizer.finish().is_empty());
            prop_assert!(payloads.iter().all(|payload| (2..=largest).contains(&payload.len())));
            prop_assert_eq!(payloads[0][0], 0x10, "partition 0 begins");
            prop_assert!(payloads[1..].iter().all(|payload| payload[0] == 0));
            let header = fragment_header(codec, PayloadFormat::Vp8) as usize;
            let frame: Vec<u8> = payloads.iter().flat_map(|one| &one[header..]).copied().collect();
            let (head, access_unit) = frame.split_at(frame_header(PayloadFormat::Vp8) as usize);
            prop_assert_eq!(head[0] & 1 == 0, key_frame);
            prop_assert_eq!(&head[3..6], [0x9d, 0x01, 0x2a]);
            prop_assert_eq!(access_unit, &annex_b(&units[..units.len() - left.len()])[..]);
        }

        #[test]
        fn any_payloads_are_a_frame_or_an_error(
            codec in prop::sample::select(vec![VideoCodec::H264, VideoCodec::H265]),
            payloads in vec(vec(any::<u8>(), 0..40), 0..6),
        ) {
            if let Ok(frame) = depacketize(codec, payloads) {
                prop_assert!(frame.starts_with(&[0, 0, 0, 1]));
            }
        }

        /// Taken after each payload, a frame is the same as put together at its end; a part has a slice at its
        /// end, and one is there as soon as a payload ends it.
        #[test]
        fn parts_are_the_whole((codec, units) in units(1..8), largest in MIN_PAYLOAD..1300) {
            let frame = annex_b(&units);
            let (mut depacketizer, mut parts) = (Depacketizer::new(codec), Vec::new());
            for payload in packetize(codec, &frame, largest) {
                depacketizer.push(&payload).unwrap();
                let part = depacketizer.take().unwrap();
                if let Some(last) = nal_units(part).last() {
                    prop_assert!(is_slice(codec, last) && ends_unit(codec, &payload));
                }
                parts.extend_from_slice(part);
            }
            let slices = units.iter().filter(|unit| is_slice(codec, unit)).count();
            prop_assert_eq!(nal_units(&parts).filter(|unit| is_slice(codec, unit)).count(), slices);
            parts.extend_from_slice(depacketizer.finish().unwrap());
            prop_assert_eq!(parts, frame);
            prop_assert!(depacketizer.finish().unwrap().is_empty(), "nothing is given twice");
        }
    }

    #[test]
    fn a_part_must_not_smuggle_units_in() {
        let mut frame = Depacketizer::new(VideoCodec::H264);
        frame.push(&[0x65, 1, 0, 0, 1, 0x67]).unwrap();
        assert_eq!(frame.take(), Err(PayloadError::StartCode));
        assert!(!ends_unit(VideoCodec::H264, &[]) && !ends_unit(VideoCodec::H264, &[0x7c]));
    }
}
