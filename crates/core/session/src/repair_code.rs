//! For what a repair packet stands in.

/// How many media packets in a row one parity packet can name: the longest mask of FlexFEC (draft-ietf-payload-flexible-fec-scheme-03
/// section 4.2.2.1: 15, 31 and 63 bits).
pub const MAX_PARITY_SPAN: usize = 109;

/// What a receiver can do with the repair packets of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RepairCode {
    /// Nothing.
    None,
    /// Each is the exclusive or of the media packets that [`parity_for`] gives it, and stands in for one of these: what a browser takes.
    Interleaved,
    /// Any of them stands in for any packet (Reed and Solomon).
    #[default]
    AnyForAny,
}

impl RepairCode {
    /// How many packets such a loss leaves missing where it is not mended.
    pub(crate) fn missing(self, losses: usize, repair: usize) -> usize {
        match self {
            Self::AnyForAny => losses.saturating_sub(repair),
            Self::None | Self::Interleaved => losses,
        }
    }

    /// The probability that a frame can be repaired after `losses` of its packets were lost, at random places.
    pub(crate) fn mends(self, losses: usize, repair: usize, packets: usize) -> f64 {
        match self {
            _ if losses == 0 => 1.0,
            _ if losses > repair => 0.0,
            Self::None => 0.0,
            Self::AnyForAny => 1.0,
            // No two are of one group, a repair packet with the media packets for which it stands in.
            Self::Interleaved => {
                let group = packets as f64 / repair as f64;
                let free = |lost: usize| group * (repair - lost) as f64 / (packets - lost) as f64;
                (0..losses).map(|lost| free(lost).min(1.0)).product()
            }
        }
    }
}

/// Which of `repair` parity packets stands in for the media packet at this place in a frame of `media`.
///
/// A frame that is longer than one parity packet can name has parts of nearly equal length, to which parity packets go in turn. In a part,
/// packets in a row are of different ones, so that a burst hits each once. `None` if there are less parity packets than parts, and for
/// a place outside the frame.
#[must_use]
pub fn parity_for(place: u16, media: u16, repair: u16) -> Option<u16> {
    if place >= media {
        return None;
    }
    let [place, media, repair] = [place, media, repair].map(usize::from);
    let parts = media.div_ceil(MAX_PARITY_SPAN);
    let part = place * parts / media;
    let begin = (part * media).div_ceil(parts);
    let of_part = repair.saturating_sub(part).div_ceil(parts);
    let turn = (place - begin).checked_rem(of_part)?;
    u16::try_from(part + turn * parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places for which each parity packet stands in.
    fn groups(media: u16, repair: u16) -> Vec<Vec<u16>> {
        let of = |which| {
            (0..media).filter(move |place| parity_for(*place, media, repair) == Some(which))
        };
        (0..repair).map(|which| of(which).collect()).collect()
    }

    #[test]
    fn every_media_packet_has_one_parity_packet_and_neighbours_have_different_ones() {
        assert_eq!(groups(5, 2), [vec![0, 2, 4], vec![1, 3]]);
        for (media, repair) in [
            (1, 1),
            (40, 7),
            (109, 3),
            (110, 2),
            (110, 4),
            (218, 5),
            (300, 10),
            (300, 3),
            (4096, 64),
        ] {
            let groups = groups(media, repair);
            let covered = groups.iter().flatten().count();
            let [media, repair] = [media, repair].map(usize::from);
            assert_eq!(covered, media, "{media} {repair}: {groups:?}");
            for group in &groups {
                let (first, last) = (group[0], group[group.len() - 1]);
                assert!(usize::from(last - first) < MAX_PARITY_SPAN, "{media} {repair}: {group:?}");
                let parts = media.div_ceil(MAX_PARITY_SPAN);
                let apart = group.windows(2).all(|pair| pair[1] - pair[0] == group[1] - group[0]);
                assert!(apart, "{media} {repair}: {group:?}");
                assert!(
                    group.len() <= media / parts / (repair / parts) + 1,
                    "{media} {repair}: {group:?}"
                );
            }
        }
    }

    #[test]
    fn two_parity_packets_reach_two_of_three_parts() {
        assert_eq!(groups(300, 2).iter().flatten().count(), 200);
        assert_eq!(
            [parity_for(0, 300, 0), parity_for(300, 300, 9), parity_for(0, 0, 1)],
            [None; 3]
        );
    }

    /// Of 12 packets in 3 groups of 4: the second loss is of another group in 8 of 11 cases, the third in 4 of 10 of these.
    #[test]
    fn losses_in_different_groups_are_mended() {
        let mends = |losses| RepairCode::Interleaved.mends(losses, 3, 12);
        let expected = [1.0, 1.0, 8.0 / 11.0, 8.0 / 11.0 * 0.4, 0.0];
        for (losses, expected) in expected.into_iter().enumerate() {
            assert!((mends(losses) - expected).abs() < 1e-12, "{losses}: {}", mends(losses));
        }
        let mended = |code: RepairCode, losses| code.mends(losses, 3, 12) > 0.5;
        let all = [0, 1, 3, 4].map(|losses| mended(RepairCode::AnyForAny, losses));
        assert_eq!(all, [true, true, true, false]);
        assert_eq!([0, 1].map(|losses| mended(RepairCode::None, losses)), [true, false]);
    }
}
