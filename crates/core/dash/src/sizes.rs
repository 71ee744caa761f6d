//! How large the segments of a real ladder are, as a table: CSV with the columns level, segment and bytes.
//!
//! Model: levels count from 1, the lowest; segments from 0; each pair stands there once, in any order. What a player
//! fetches beyond the last segment begins again with the first.

use gameway_units::Bytes;
use std::collections::BTreeMap;

const HEAD: &str = "level,segment,bytes";
/// As many as a video of a day has in segments of 100 ms, at ten levels: more is no table of sizes.
const MAX_ROWS: usize = 10_000_000;

/// Why something is no table of sizes; lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizesError {
    /// The first line is another.
    #[error("the first line must be \"{HEAD}\"")]
    Head,
    /// A line is not three whole numbers.
    #[error("line {0} is not a level from 1, a segment from 0 and bytes above zero")]
    Row(usize),
    /// A level and segment stands there before.
    #[error("line {0}: this level and segment stands there before")]
    Twice(usize),
    /// There are too many lines.
    #[error("there are more than {MAX_ROWS} lines")]
    TooLong,
    /// A level has other segments than the first.
    #[error("level {level} has not the segments 0 to {last}, each")]
    Gap {
        /// The level.
        level: u16,
        /// The last segment of the level that has most.
        last: u32,
    },
    /// Nothing follows the first line.
    #[error("there is no segment")]
    Empty,
}

/// Reads a table: the sizes of each level's segments, the lowest level first.
///
/// # Errors
/// See [`SizesError`].
pub fn parse_sizes(text: &str) -> Result<Vec<Vec<Bytes>>, SizesError> {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(HEAD) {
        return Err(SizesError::Head);
    }
    let mut found: BTreeMap<(u16, u32), Bytes> = BTreeMap::new();
    for (index, line) in lines.enumerate() {
        let number = index + 2;
        if index >= MAX_ROWS {
            return Err(SizesError::TooLong);
        }
        let (level, segment, bytes) = row(line).ok_or(SizesError::Row(number))?;
        if found.insert((level, segment), Bytes::new(bytes)).is_some() {
            return Err(SizesError::Twice(number));
        }
    }
    whole(&found)
}

fn row(line: &str) -> Option<(u16, u32, u64)> {
    let mut cells = line.trim_end().split(',');
    let (level, segment, bytes) = (cells.next()?, cells.next()?, cells.next()?);
    let row: (u16, u32, u64) = (level.parse().ok()?, segment.parse().ok()?, bytes.parse().ok()?);
    (cells.next().is_none() && row.0 > 0 && row.2 > 0).then_some(row)
}

/// The rows as a table without gaps.
fn whole(found: &BTreeMap<(u16, u32), Bytes>) -> Result<Vec<Vec<Bytes>>, SizesError> {
    let last = found.keys().map(|key| key.1).max().ok_or(SizesError::Empty)?;
    let levels = found.keys().map(|key| key.0).max().ok_or(SizesError::Empty)?;
    let count = last as usize + 1;
    (1..=levels)
        .map(|level| {
            let row: Vec<Bytes> =
                found.range((level, 0)..=(level, u32::MAX)).map(|(_, size)| *size).collect();
            (row.len() == count).then_some(row).ok_or(SizesError::Gap { level, last })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_any_order_make_a_table() {
        let table = parse_sizes("level,segment,bytes\r\n2,1,40\n1,0,10\n1,1,20\n2,0,30\n").unwrap();
        let sizes: Vec<Vec<u64>> =
            table.iter().map(|row| row.iter().map(|size| size.get()).collect()).collect();
        assert_eq!(sizes, [[10, 20], [30, 40]]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        let refused =
            |rows: &str| parse_sizes(&format!("level,segment,bytes\n{rows}")).unwrap_err();
        assert_eq!(parse_sizes("segment,bytes\n"), Err(SizesError::Head));
        assert_eq!(refused(""), SizesError::Empty);
        for bad in ["1,0", "1,0,5,6", "0,0,5", "1,-1,5", "1,0,0", "1,0,x", ""] {
            assert_eq!(refused(&format!("1,1,5\n{bad}\n")), SizesError::Row(3), "{bad}");
        }
        assert_eq!(refused("1,0,5\n1,0,5\n"), SizesError::Twice(3));
        assert_eq!(refused("1,0,5\n2,1,5\n"), SizesError::Gap { level: 1, last: 1 });
        assert_eq!(refused("2,0,5\n"), SizesError::Gap { level: 1, last: 0 });
        assert_eq!(refused("1,4294967295,5\n"), SizesError::Gap { level: 1, last: u32::MAX });
    }
}
