//! An H.264 byte stream cut into pictures, and pictures into RTP payloads (RFC 6184 sections 5.6 and 5.8): as
//! much as an example needs.

const PAYLOAD: usize = 1_150;

/// The NAL units of one picture.
pub type AccessUnit = Vec<Vec<u8>>;

/// The pictures of a byte stream (H.264 Annex B). A picture begins with a parameter set or with a slice that
/// starts at its first macroblock.
pub fn access_units(stream: &[u8]) -> Vec<AccessUnit> {
    let mut units: Vec<AccessUnit> = Vec::new();
    let mut has_slice = true;
    for nal in nal_units(stream) {
        let is_slice = matches!(nal[0] & 31, 1 | 5);
        // first_mb_in_slice is zero: Exp-Golomb code of one bit.
        let is_first = !is_slice || nal.get(1).is_some_and(|byte| byte & 0x80 != 0);
        if units.is_empty() || (has_slice && is_first) {
            units.push(Vec::new());
            has_slice = false;
        }
        has_slice |= is_slice;
        // Delimiters and supplemental information are of no use to a receiver.
        if let (1 | 5 | 7 | 8, Some(unit)) = (nal[0] & 31, units.last_mut()) {
            unit.push(nal.to_vec());
        }
    }
    units.retain(|unit| !unit.is_empty());
    units
}

fn nal_units(stream: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> =
        (3..stream.len()).filter(|at| stream[at - 3..*at] == [0, 0, 1]).collect();
    let ends = starts.iter().skip(1).map(|next| next - 3).chain([stream.len()]);
    let trim = |(start, end): (&usize, usize)| {
        let mut nal = &stream[*start..end];
        while let [rest @ .., 0] = nal {
            nal = rest;
        }
        nal
    };
    starts.iter().zip(ends).map(trim).filter(|nal| !nal.is_empty()).collect()
}

/// A picture's payloads: whole NAL units where they fit, else fragments.
pub fn rtp_payloads(unit: &AccessUnit) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    for nal in unit {
        if nal.len() <= PAYLOAD {
            payloads.push(nal.clone());
            continue;
        }
        let pieces = nal[1..].chunks(PAYLOAD - 2);
        let last = pieces.len() - 1;
        for (index, piece) in pieces.enumerate() {
            let begins = u8::from(index == 0) << 7;
            let ends = u8::from(index == last) << 6;
            let mut payload = vec![nal[0] & 0xE0 | 28, begins | ends | nal[0] & 31];
            payload.extend(piece);
            payloads.push(payload);
        }
    }
    payloads
}
