//! How long a packet is on the link below, by a table of sizes as `tc ... stab` makes it (tc-stab(8); iproute2,
//! `tc/tc_core.c`, `tc_calc_size_table`; Linux, `net/sched/sch_api.c`, `__qdisc_calculate_pkt_len`).
//!
//! Model: a packet's length and `overhead` is looked up in a table of `tsize` entries, each for as many bytes as let
//! the table reach `mtu`; the entry is what the last length of its bytes, at least `mpu`, is in cells of 53 B. What
//! is longer is taken apart into whole tables and a rest. Without cells and `mpu` there is no table: the overhead
//! is added, and a length is never below 1 B.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | mtu | 2047 | B | tc-stab(8) |
//! | tsize | 512 | entries | tc-stab(8) |
//! | an entry | 16 | bits | `__u16`; halved as often as the greatest asks for |
//!
//! | deviation | why |
//! |---|---|
//! | lengths are those of IP packets | an HTB on an Ethernet device counts the 14 B of its header; `overhead` here is 14 B more than there |
//! | queues of classes count bytes on the wire | in Linux a bfifo below a stab counts what the table says |

use crate::queue::cake::in_cells;
use gameway_units::{Bytes, SignedBytes};

/// What the link below is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkLayer {
    /// Bytes that each packet is longer there, or shorter.
    pub overhead: SignedBytes,
    /// The least length of a frame.
    pub min: Bytes,
    /// Whether frames are cut into ATM cells.
    pub atm: bool,
    /// Up to which length the table is exact.
    pub mtu: Bytes,
    /// Entries of the table, from 1.
    pub entries: u32,
}

impl Default for LinkLayer {
    fn default() -> Self {
        Self {
            overhead: SignedBytes::ZERO,
            min: Bytes::ZERO,
            atm: false,
            mtu: Bytes::new(2047),
            entries: 512,
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct SizeTable {
    overhead: SignedBytes,
    entries: Vec<u64>,
    /// Each entry covers 2^`cell_log` bytes.
    cell_log: u32,
    /// What an entry is divided by, likewise.
    size_log: u32,
}

impl SizeTable {
    pub(super) fn new(link: &LinkLayer) -> Self {
        let plain = Self { overhead: link.overhead, entries: Vec::new(), cell_log: 0, size_log: 0 };
        if !link.atm && link.min == Bytes::ZERO {
            return plain;
        }
        let count = u64::from(link.entries.max(1));
        let reaches = |log: &u32| link.mtu.get() >> log < count;
        let cell_log = (0..u64::BITS).find(reaches).unwrap_or(0);
        let adjusted = |index: u64| {
            let frame = Bytes::new((index + 1) << cell_log).max(link.min);
            if link.atm { in_cells(frame).get() } else { frame.get() }
        };
        let greatest = adjusted(count - 1);
        let size_log = (0..u64::BITS).find(|log| greatest >> log <= u64::from(u16::MAX));
        let size_log = size_log.unwrap_or(0);
        let entries = (0..count).map(|index| adjusted(index) >> size_log).collect();
        Self { entries, cell_log, size_log, ..plain }
    }

    pub(super) fn length(&self, size: Bytes) -> Bytes {
        let frame = size.saturating_add_signed(self.overhead).get();
        let count = self.entries.len() as u64;
        if count == 0 {
            return Bytes::new(frame.max(1));
        }
        // An entry is for the lengths up to its last.
        let slot = frame.saturating_sub(1) >> self.cell_log;
        let at = |slot: u64| self.entries[slot as usize];
        let looked_up =
            if slot < count { at(slot) } else { at(count - 1) * (slot / count) + at(slot % count) };
        Bytes::new((looked_up << self.size_log).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(link: LinkLayer, size: u64) -> u64 {
        SizeTable::new(&link).length(Bytes::new(size)).get()
    }

    #[test]
    fn cells_are_exact_up_to_the_mtu() {
        for overhead in [-14, 0, 10, 32, 40] {
            let atm = LinkLayer {
                overhead: SignedBytes::new(overhead),
                atm: true,
                ..LinkLayer::default()
            };
            for size in [20, 40, 47, 48, 49, 52, 95, 96, 97, 576, 1452, 1492, 1500, 2000] {
                let frame = (size as i64 + overhead) as u64;
                assert_eq!(length(atm, size), frame.div_ceil(48) * 53, "{size} {overhead}");
            }
        }
    }

    #[test]
    fn without_a_table_the_overhead_is_added() {
        let plain =
            |overhead| LinkLayer { overhead: SignedBytes::new(overhead), ..LinkLayer::default() };
        assert_eq!([length(plain(24), 1500), length(plain(-20), 1500)], [1524, 1480]);
        assert_eq!(length(plain(-20), 20), 1);
    }

    #[test]
    fn a_least_length_makes_a_table_that_rounds_up_to_its_entries() {
        // 2047 B in 512 entries: four bytes each.
        let padded = LinkLayer { min: Bytes::new(64), ..LinkLayer::default() };
        for (size, expected) in
            [(20, 64), (64, 64), (65, 68), (1497, 1500), (1500, 1500), (2048, 2048)]
        {
            assert_eq!(length(padded, size), expected, "{size}");
        }
        let fine = LinkLayer { entries: 2048, ..padded };
        assert_eq!([1497, 65].map(|size| length(fine, size)), [1497, 65]);
    }

    #[test]
    fn beyond_the_table_lengths_are_put_together() {
        let atm = LinkLayer { atm: true, ..LinkLayer::default() };
        // 4500 B: slot 1124 of entries for 4 B is two tables of 2048 B (43 cells each) and slot 100 (404 B: 9).
        assert_eq!(length(atm, 4500), 53 * (2 * 43 + 9));
        // A byte more than the table reaches: the table, and the cell of its first entry.
        assert_eq!([2048, 2049].map(|size| length(atm, size)), [53 * 43, 53 * (43 + 1)]);
        // The table of a jumbo frame has greater steps.
        let jumbo = LinkLayer { mtu: Bytes::new(9000), ..atm };
        assert_eq!([4500, 9000].map(|size| length(jumbo, size)), [53 * 94, 53 * 188]);
        // Entries of 16 bits: above 65 535 B they count pairs.
        let giant = LinkLayer { mtu: Bytes::new(65_535), ..atm };
        let exact = 65_000_u64.div_ceil(48) * 53;
        assert!((exact - 53..=exact + 160).contains(&length(giant, 65_000)));
    }
}
