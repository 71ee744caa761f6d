//! The number that the test card shows, as cells that are bright or dark, and what the card tells of each answer to a key.
//!
//! Source: this project's own. The number is Gray-coded (F. Gray, US patent 2632058): from one to the next a single cell of it flips.
//!
//! | cells | what they hold |
//! |---|---|
//! | 0, 1 | bright, dark: what is bright and what is dark |
//! | 2 to 9 | the number, coded, the most significant bit first |
//! | 10 to 13 | the sum of its two halves without carry, and 5: a single wrong cell is noticed |
//! | 14, 15 | dark, bright |
//!
//! The cells stand in one row over the whole width, from 3/8 to 5/8 of the height, so that they are read in a picture of any size: a
//! cell of 1280x720 has 80x180 pixels, 50 macroblocks.

/// How many cells there are.
pub const CELLS: usize = 16;
/// The row of cells begins and ends at so many eighths of the height.
pub const ROW: (usize, usize) = (3, 5);
/// A told answer has so many bytes.
const SIZE: usize = 17;

/// Which cells are bright.
#[must_use]
pub fn cells(number: u8) -> [bool; CELLS] {
    let gray = number ^ number >> 1;
    let word = 0b10 << 14 | u16::from(gray) << 6 | u16::from(check(gray)) << 2 | 0b01;
    std::array::from_fn(|cell| word >> (CELLS - 1 - cell) & 1 == 1)
}

/// The number of these cells, if they are those of one.
#[must_use]
pub fn number(bright: [bool; CELLS]) -> Option<u8> {
    let word = bright.into_iter().fold(0_u16, |word, bright| word << 1 | u16::from(bright));
    let gray = (word >> 6) as u8;
    let number = [1, 2, 4].into_iter().fold(gray, |number, shift| number ^ number >> shift);
    (cells(number) == bright).then_some(number)
}

fn check(gray: u8) -> u8 {
    (gray ^ gray >> 4) & 15 ^ 5
}

/// The card has answered a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// What it shows since.
    pub number: u8,
    /// When it had the key, in nanoseconds of CLOCK_MONOTONIC.
    pub got_ns: i64,
    /// When the screen had its answer.
    pub drawn_ns: i64,
}

impl Answer {
    /// As it is told.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [self.number; SIZE];
        bytes[1..9].copy_from_slice(&self.got_ns.to_be_bytes());
        bytes[9..].copy_from_slice(&self.drawn_ns.to_be_bytes());
        bytes
    }

    /// As it was heard; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, times) = bytes.split_first()?;
        let (got, drawn) = times.split_first_chunk()?;
        let (got_ns, drawn_ns) =
            (i64::from_be_bytes(*got), i64::from_be_bytes(drawn.try_into().ok()?));
        Some(Self { number: *number, got_ns, drawn_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_back_and_a_wrong_cell_is_noticed() {
        for told in 0..=255 {
            let shown = cells(told);
            assert_eq!(number(shown), Some(told));
            for wrong in 0..CELLS {
                let mut damaged = shown;
                damaged[wrong] = !damaged[wrong];
                assert_eq!(number(damaged), None, "{told} with cell {wrong}");
            }
            let next = cells(told.wrapping_add(1));
            let flipped = (2..10).filter(|cell| shown[*cell] != next[*cell]);
            assert_eq!(flipped.count(), 1, "{told}");
        }
        assert_eq!([[false; CELLS], [true; CELLS]].map(number), [None; 2]);
    }

    #[test]
    fn an_answer_is_heard_as_it_was_told() {
        let answer = Answer { number: 7, got_ns: 1 << 40, drawn_ns: -2 };
        assert_eq!(Answer::parse(&answer.to_bytes()), Some(answer));
        assert_eq!(Answer::parse(&answer.to_bytes()[1..]), None);
        assert_eq!(Answer::parse(&[0; SIZE + 1]), None);
    }
}
