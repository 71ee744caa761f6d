//! For what a repair packet stands in.

/// What a receiver can do with the repair packets of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RepairCode {
    /// Nothing.
    None,
    /// Each of `m` repair packets is the exclusive or of every `m`-th media packet, and stands in for one of these: what a browser
    /// takes.
    Interleaved,
    /// Any of them stands in for any packet (Reed and Solomon).
    #[default]
    AnyForAny,
}

impl RepairCode {
    /// With what probability so many losses among a frame's packets leave it whole, wherever they are.
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

#[cfg(test)]
mod tests {
    use super::*;

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
