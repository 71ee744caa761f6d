//! The filter of acknowledgements: one that a later one of its connection makes needless is dropped, so that a
//! narrow way up has room (Linux, `sch_cake.c`, `cake_ack_filter`, `cake_tcph_may_drop`, `cake_tcph_sack_compare`).
//!
//! Model: with each TCP packet that comes, the queue is searched from its head for acknowledgements of the same
//! connection that this one supersedes. One may go if it does nothing else, acknowledges no more, its timestamps
//! are not newer, and each of its SACK blocks is within one of the newcomer's. The first such is dropped if a
//! second follows, so that one stays; in the aggressive mode also without a second, if the newcomer stands right
//! behind it. ECE and CWR are never lost: at a change of them the search begins anew.

use crate::tcp::{TcpHeader, is_after};
use crate::{Header, PathPacket};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Which acknowledgements are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// Of two that the newest makes needless the older.
    On,
    /// Also a single one right before the newest.
    Aggressive,
}

impl AckFilter {
    /// The place of the waiting packet that `newest`, which comes behind them, lets be dropped.
    pub(super) fn needless<'a, P: PathPacket + 'a>(
        self,
        waiting: impl Iterator<Item = &'a P>,
        newest: &P,
    ) -> Option<usize> {
        let new = newest.tcp().filter(|new| self != Self::Off && new.acknowledges)?;
        let mut found: Option<(usize, u8)> = None;
        let mut length = 0;
        for (place, packet) in waiting.enumerate() {
            length = place + 1;
            let same = is_of_same(&packet.header(), &newest.header());
            let Some(old) = packet.tcp().filter(|_| same) else { continue };
            found = found.filter(|(_, echoes)| *echoes == old.echoes);
            if !is_superseded(&old, &new) {
                continue;
            }
            match found {
                Some((first, _)) => return Some(first),
                None => found = Some((place, old.echoes)),
            }
        }
        let alone = |&(place, echoes): &(usize, u8)| {
            self == Self::Aggressive && place + 1 == length && echoes == new.echoes
        };
        found.filter(alone).map(|(place, _)| place)
    }
}

fn is_of_same(one: &Header, other: &Header) -> bool {
    (one.source, one.destination) == (other.source, other.destination)
}

/// Whether nothing is lost if only `new` arrives.
fn is_superseded(old: &TcpHeader, new: &TcpHeader) -> bool {
    let (value, echo) = new.timestamps.unwrap_or_default();
    let is_newer =
        old.timestamps.is_some_and(|times| is_after(times.0, value) || is_after(times.1, echo));
    if !old.is_plain || is_newer || is_after(old.acknowledgment, new.acknowledgment) {
        return false;
    }
    match compare_sacks(old, new) {
        None => false,
        Some(Ordering::Equal) => old.acknowledgment != new.acknowledgment,
        Some(_) => true,
    }
}

/// Whether `new` has the SACK blocks of `old` (equal) or more (less); `None` if it lacks some, or if `old` reports a
/// duplicate (RFC 2883).
fn compare_sacks(old: &TcpHeader, new: &TcpHeader) -> Option<Ordering> {
    let (olds, news) = (old.sack.as_slice(), new.sack.as_slice());
    let covered = |&(start, end): &(u32, u32)| {
        let within = |block: &&(u32, u32)| !is_after(block.0, start) && !is_after(end, block.1);
        !is_after(old.acknowledgment, start) && news.iter().any(|block| within(&block))
    };
    if !olds.iter().all(covered) {
        return None;
    }
    let bytes = |blocks: &[(u32, u32)]| -> u32 {
        blocks.iter().fold(0, |sum, (start, end)| sum.wrapping_add(end.wrapping_sub(*start)))
    };
    let (old_bytes, new_bytes) = (bytes(olds), bytes(news));
    // An option that was not there and is says more, whatever it says.
    let is_more = new_bytes > old_bytes || (olds.is_empty() && !news.is_empty());
    Some(if is_more { Ordering::Less } else { Ordering::Equal })
}
