//! Repair of lost packets: a Reed-Solomon erasure code over the packets of one frame.
//!
//! # Model
//! The `k` media payloads of a frame are the code's originals, `r` parity payloads its recovery shards;
//! any `k` of the `k + r` give back all media payloads (maximum-distance separable). Payloads differ in
//! length, so each enters as a *shard*: its length in two bytes (big endian), its bytes, then zeros up to
//! the common shard size. Only parity is sent as shards; media payloads go as they are.
//!
//! The code is that of the crate `reed-solomon-simd` over GF(2^16) (Lin, Al-Naffouri, Han, Chung: "Novel
//! Polynomial Basis with Fast Fourier Transform and Its Application to Reed-Solomon Erasure Codes", 2016):
//! O(n log n), and up to 32768 shards of each kind, where codes over GF(2^8) end at 255 packets, that is
//! at frames of 0.2 MB.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | shard | largest media payload + 2 B, rounded up to even | the length; the field's elements are 16 bits |
//! | media, parity | 1 to 4096 each | `gameway-media`: `MAX_MEDIA_PACKETS`; at most as much repair as media |
//! | payload | at most 65 533 B | what two bytes of length can say, with the shard below 64 KiB |

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
use thiserror::Error;

/// Most media payloads, and most parity payloads, of a frame.
pub const MAX_SHARDS: usize = 4096;
/// Longest media payload.
pub const MAX_PAYLOAD: usize = 65_533;
/// Bytes of length in front of a payload in its shard.
const LENGTH: usize = 2;

/// Why a frame cannot be protected or repaired.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RepairError {
    /// Counts that no train has.
    #[error("{media} media and {parity} parity payloads: each from 1 to {MAX_SHARDS}")]
    Counts {
        /// Media payloads.
        media: usize,
        /// Parity payloads.
        parity: usize,
    },
    /// A media payload that is too long.
    #[error("media payload {index} has {size} bytes, more than {allowed}")]
    Payload {
        /// Its place.
        index: usize,
        /// Its size.
        size: usize,
        /// Most bytes that it may have here.
        allowed: usize,
    },
    /// A parity payload of a wrong size.
    #[error("parity payload {index} has {size} bytes; all must have the same, even, at least 2")]
    Parity {
        /// Its place.
        index: usize,
        /// Its size.
        size: usize,
    },
    /// Fewer payloads than media payloads were sent.
    #[error("{got} payloads of {needed} that are needed")]
    TooFew {
        /// Payloads received, of either kind.
        got: usize,
        /// Media payloads of the frame.
        needed: usize,
    },
    /// What came out is no payload: parity of another frame, or forged.
    #[error("repaired payload {0} has an impossible length: the parity is not this frame's")]
    Inconsistent(usize),
    /// The code's library refused.
    #[error("erasure code: {0}")]
    Code(String),
}

fn check_counts(media: usize, parity: usize) -> Result<(), RepairError> {
    let allowed = 1..=MAX_SHARDS;
    if allowed.contains(&media) && allowed.contains(&parity) {
        Ok(())
    } else {
        Err(RepairError::Counts { media, parity })
    }
}

fn code_error(error: reed_solomon_simd::Error) -> RepairError {
    RepairError::Code(error.to_string())
}

/// Size of every parity payload of a frame whose largest media payload has so many bytes.
#[must_use]
pub fn parity_size(largest: usize) -> usize {
    (largest + LENGTH).next_multiple_of(2)
}

fn write_shard(payload: &[u8], shard: &mut Vec<u8>, size: usize) {
    shard.clear();
    shard.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    shard.extend_from_slice(payload);
    shard.resize(size, 0);
}

/// Makes parity for frames; keeps its working memory from one to the next.
#[derive(Default)]
pub struct RepairEncoder {
    code: Option<ReedSolomonEncoder>,
    shard: Vec<u8>,
}

impl RepairEncoder {
    /// An encoder without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The `parity` payloads that protect `media`.
    ///
    /// # Errors
    /// [`RepairError::Counts`], [`RepairError::Payload`].
    pub fn protect<P: AsRef<[u8]>>(
        &mut self,
        media: &[P],
        parity: usize,
    ) -> Result<Vec<Vec<u8>>, RepairError> {
        if parity == 0 {
            return Ok(Vec::new());
        }
        check_counts(media.len(), parity)?;
        let sizes = || media.iter().map(|payload| payload.as_ref().len());
        if let Some((index, size)) = sizes().enumerate().find(|(_, size)| *size > MAX_PAYLOAD) {
            return Err(RepairError::Payload { index, size, allowed: MAX_PAYLOAD });
        }
        let size = parity_size(sizes().max().unwrap_or(0));
        let code = match &mut self.code {
            Some(code) => {
                code.reset(media.len(), parity, size).map_err(code_error)?;
                code
            }
            none => {
                let code = ReedSolomonEncoder::new(media.len(), parity, size);
                none.insert(code.map_err(code_error)?)
            }
        };
        for payload in media {
            write_shard(payload.as_ref(), &mut self.shard, size);
            code.add_original_shard(&self.shard).map_err(code_error)?;
        }
        let coded = code.encode().map_err(code_error)?;
        Ok(coded.recovery_iter().map(<[u8]>::to_vec).collect())
    }
}

/// Repairs frames; keeps its working memory from one to the next.
#[derive(Default)]
pub struct RepairDecoder {
    code: Option<ReedSolomonDecoder>,
    shard: Vec<u8>,
}

/// What came of a frame.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Media payloads in order, `None` where lost.
    pub media: &'a [Option<Vec<u8>>],
    /// Parity payloads in order, `None` where lost.
    pub parity: &'a [Option<Vec<u8>>],
}

impl RepairDecoder {
    /// A decoder without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The media payloads that were lost, each with its place.
    ///
    /// # Errors
    /// [`RepairError::TooFew`] when fewer than `media` payloads came; others for payloads that do not fit
    /// together. What is returned was never checked against what was sent: packets are authenticated below
    /// (SRTP), and who can forge one can forge any.
    pub fn repair(&mut self, received: Received<'_>) -> Result<Vec<(usize, Vec<u8>)>, RepairError> {
        let Received { media, parity } = received;
        let there = |payloads: &[Option<Vec<u8>>]| payloads.iter().flatten().count();
        if there(media) == media.len() && !media.is_empty() {
            return Ok(Vec::new());
        }
        let (needed, got) = (media.len(), there(media) + there(parity));
        if got < needed {
            return Err(RepairError::TooFew { got, needed });
        }
        check_counts(media.len(), parity.len())?;
        let size = shard_size(received)?;
        let code = match &mut self.code {
            Some(code) => {
                code.reset(media.len(), parity.len(), size).map_err(code_error)?;
                code
            }
            none => {
                let code = ReedSolomonDecoder::new(media.len(), parity.len(), size);
                none.insert(code.map_err(code_error)?)
            }
        };
        for (index, payload) in present(media) {
            write_shard(payload, &mut self.shard, size);
            code.add_original_shard(index, &self.shard).map_err(code_error)?;
        }
        for (index, payload) in present(parity) {
            code.add_recovery_shard(index, payload).map_err(code_error)?;
        }
        let decoded = code.decode().map_err(code_error)?;
        decoded.restored_original_iter().map(|(index, shard)| unwrap(index, shard)).collect()
    }
}

fn present(payloads: &[Option<Vec<u8>>]) -> impl Iterator<Item = (usize, &[u8])> {
    let payloads = payloads.iter().enumerate();
    payloads.filter_map(|(index, payload)| Some((index, payload.as_deref()?)))
}

/// The size that all parity has, if it can hold all media.
fn shard_size(received: Received<'_>) -> Result<usize, RepairError> {
    let mut parity = present(received.parity);
    let (first, shard) = parity.next().ok_or(RepairError::TooFew { got: 0, needed: 1 })?;
    let size = shard.len();
    if size < LENGTH || size % 2 != 0 || size > parity_size(MAX_PAYLOAD) {
        return Err(RepairError::Parity { index: first, size });
    }
    if let Some((index, other)) = parity.find(|(_, shard)| shard.len() != size) {
        return Err(RepairError::Parity { index, size: other.len() });
    }
    let allowed = size - LENGTH;
    match present(received.media).find(|(_, payload)| payload.len() > allowed) {
        Some((index, payload)) => Err(RepairError::Payload { index, size: payload.len(), allowed }),
        None => Ok(size),
    }
}

/// Takes the payload out of its shard.
fn unwrap(index: usize, shard: &[u8]) -> Result<(usize, Vec<u8>), RepairError> {
    let inconsistent = RepairError::Inconsistent(index);
    let Some((length, rest)) = shard.split_first_chunk::<LENGTH>() else {
        return Err(inconsistent);
    };
    let length = usize::from(u16::from_be_bytes(*length));
    let zeros = rest.get(length..).is_some_and(|padding| padding.iter().all(|byte| *byte == 0));
    if zeros { Ok((index, rest[..length].to_vec())) } else { Err(inconsistent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payloads(count: usize, seed: u8) -> Vec<Vec<u8>> {
        let byte = |i: usize, j: usize| (i * 31 + j * 7 + usize::from(seed)) as u8;
        (0..count).map(|i| (0..100 + i % 3).map(|j| byte(i, j)).collect()).collect()
    }

    /// Loses the packets at these places of the train; gives what the decoder says.
    fn lose(
        media: &[Vec<u8>],
        parity: &[Vec<u8>],
        lost: &[usize],
    ) -> Result<Vec<(usize, Vec<u8>)>, RepairError> {
        let mut train: Vec<_> = media.iter().chain(parity).cloned().map(Some).collect();
        lost.iter().for_each(|place| train[*place] = None);
        let (media, parity) = train.split_at(media.len());
        RepairDecoder::new().repair(Received { media, parity })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_loss_up_to_the_parity_is_repaired(
            media in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..40),
            share in 0.01_f64..1.0,
            order in prop::collection::vec(any::<u32>(), 80),
            excess: bool,
        ) {
            let parity = ((media.len() as f64 * share).ceil() as usize).max(1);
            let coded = RepairEncoder::new().protect(&media, parity).unwrap();
            let largest = media.iter().map(Vec::len).max().unwrap();
            prop_assert!(coded.iter().all(|p| p.len() == largest + 2 + largest % 2));
            let mut places: Vec<usize> = (0..media.len() + parity).collect();
            places.sort_by_key(|place| order[*place]);
            let lost = &places[..parity + usize::from(excess)];
            let repaired = lose(&media, &coded, lost);
            // A loss of parity alone leaves nothing to repair, however much it is.
            let lost_media: Vec<usize> = lost.iter().copied().filter(|p| *p < media.len()).collect();
            if lost_media.is_empty() {
                prop_assert_eq!(repaired, Ok(vec![]));
            } else if excess {
                let (got, needed) = (media.len() - 1, media.len());
                prop_assert_eq!(repaired, Err(RepairError::TooFew { got, needed }));
            } else {
                let repaired = repaired.unwrap();
                prop_assert_eq!(repaired.len(), lost_media.len());
                prop_assert!(repaired.iter().all(|(place, payload)| &media[*place] == payload));
            }
        }
    }

    #[test]
    fn the_largest_frames_are_repaired() {
        for (media, parity) in [(4096, 1), (4096, 4096), (1, 1), (4095, 205), (256, 13)] {
            let (sent, lost) = (payloads(media, 1), parity.min(media));
            let coded = RepairEncoder::new().protect(&sent, parity).unwrap();
            let repaired = lose(&sent, &coded, &(0..lost).collect::<Vec<_>>()).unwrap();
            assert_eq!(repaired.len(), lost);
            assert!(repaired.iter().all(|(place, payload)| &sent[*place] == payload));
        }
    }

    #[test]
    fn empty_payloads_are_repaired() {
        let media = vec![Vec::new(); 3];
        let coded = RepairEncoder::new().protect(&media, 1).unwrap();
        assert_eq!(lose(&media, &coded, &[1]), Ok(vec![(1, Vec::new())]));
    }

    #[test]
    fn memory_is_used_again_for_another_shape() {
        let (mut encoder, mut decoder) = (RepairEncoder::new(), RepairDecoder::new());
        for (count, parity) in [(20, 4), (3, 1), (700, 70)] {
            let media = payloads(count, parity as u8);
            let coded = encoder.protect(&media, parity).unwrap();
            let mut got: Vec<_> = media.iter().cloned().map(Some).collect();
            got[..parity].fill(None);
            let parity: Vec<_> = coded.into_iter().map(Some).collect();
            let repaired = decoder.repair(Received { media: &got, parity: &parity }).unwrap();
            assert!(repaired.iter().all(|(place, payload)| &media[*place] == payload));
        }
    }

    #[test]
    fn hostile_shards_are_refused() {
        let media = payloads(4, 0);
        let coded = RepairEncoder::new().protect(&media, 2).unwrap();
        let with =
            |parity: [&[u8]; 2]| lose(&media, &parity.map(<[u8]>::to_vec), &[0, 1]).unwrap_err();
        let odd = &coded[1][..coded[1].len() - 1];
        assert!(matches!(with([odd, odd]), RepairError::Parity { index: 0, size: 103 }));
        assert!(matches!(with([&coded[0], &coded[1][2..]]), RepairError::Parity { index: 1, .. }));
        assert!(matches!(with([&[], &[]]), RepairError::Parity { size: 0, .. }));
        let short = &coded[0][..52];
        let refused = with([short, short]);
        assert!(matches!(refused, RepairError::Payload { index: 2, size: 102, allowed: 50 }));
        let forged: Vec<u8> = coded[0].iter().map(|byte| byte ^ 0x55).collect();
        assert!(matches!(with([&forged, &coded[1]]), RepairError::Inconsistent(_)));
        let none = RepairDecoder::new().repair(Received { media: &[], parity: &[] });
        assert_eq!(none, Err(RepairError::Counts { media: 0, parity: 0 }));
    }

    #[test]
    fn what_no_train_has_is_refused() {
        let mut encoder = RepairEncoder::new();
        assert_eq!(encoder.protect(&[[0_u8; 3]], 0), Ok(vec![]));
        let none = encoder.protect::<Vec<u8>>(&[], 1);
        assert_eq!(none, Err(RepairError::Counts { media: 0, parity: 1 }));
        let many = encoder.protect(&[[0_u8; 3]], 4097);
        assert_eq!(many, Err(RepairError::Counts { media: 1, parity: 4097 }));
        let long = encoder.protect(&[vec![0; 65_534]], 1);
        assert!(matches!(long, Err(RepairError::Payload { size: 65_534, .. })));
    }
}
