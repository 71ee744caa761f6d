//! Numbers of which only the low bits travel, made whole again.

/// The number nearest to `near` whose low `bits` are `low`; the later one of two as near, none below zero.
#[must_use]
pub fn unwrap_number(near: u64, low: u64, bits: u32) -> u64 {
    let span = 1_u64 << bits;
    let low = low & (span - 1);
    let ahead = low.wrapping_sub(near) & (span - 1);
    let behind = span - ahead;
    if ahead > span / 2 && near >= behind { near - behind } else { near.saturating_add(ahead) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_number_is_taken() {
        assert_eq!(unwrap_number(0, 5, 16), 5);
        assert_eq!(unwrap_number(65_530, 3, 16), 65_539);
        assert_eq!(unwrap_number(65_539, 65_530, 16), 65_530);
        assert_eq!(unwrap_number(10, 65_530, 16), 65_530, "nothing is below zero");
        assert_eq!(unwrap_number(1 << 33, 7, 32), (1 << 33) + 7);
        for near in [70_000, 1 << 40] {
            for distance in -32_767_i64..=32_768 {
                let number = near + distance;
                assert_eq!(unwrap_number(near as u64, number as u64 & 0xFFFF, 16), number as u64);
            }
        }
    }
}
