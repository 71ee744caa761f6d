//! Classes of one priority that take turns: what Linux calls a row or a feed, there a tree of their ids.

/// The numbers of the bits that are set, in rising order.
pub fn members(set: u64) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let next = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(next)
    })
}

/// A set of classes, and whose turn it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ring {
    set: u64,
    turn: Option<usize>,
    /// Whose turn it was when it left: it goes on with it or the one after it.
    left: Option<usize>,
}

impl Ring {
    pub fn is_empty(&self) -> bool {
        self.set == 0
    }

    #[cfg(test)]
    pub fn has(&self, class: usize) -> bool {
        self.set >> class & 1 == 1
    }

    pub fn insert(&mut self, class: usize) {
        self.set |= 1 << class;
    }

    /// Takes a class out of a row; if it had the turn, the next one has it.
    pub fn remove_and_pass(&mut self, class: usize) {
        if self.turn == Some(class) {
            self.pass();
        }
        self.set &= !(1 << class);
    }

    /// Takes a class out of a feed; if it had the turn, it is remembered.
    pub fn remove_and_remember(&mut self, class: usize) {
        if self.turn == Some(class) {
            self.left = Some(class);
            self.turn = None;
        }
        self.set &= !(1 << class);
    }

    /// Whose turn it is; `None` at the end of a round.
    pub fn turn(&mut self) -> Option<usize> {
        if self.turn.is_none()
            && let Some(left) = self.left
        {
            self.turn = self.at_or_after(left);
        }
        // Who remembers for long remembers what is no longer so.
        self.left = None;
        self.turn
    }

    /// The next one's turn; after the last one, nobody's.
    pub fn pass(&mut self) {
        self.turn = self.turn.and_then(|class| self.at_or_after(class + 1));
    }

    /// A new round.
    pub fn rewind(&mut self) {
        self.turn = self.at_or_after(0);
    }

    fn at_or_after(&self, class: usize) -> Option<usize> {
        let rest = self.set & u64::MAX.checked_shl(class as u32).unwrap_or(0);
        (rest != 0).then(|| rest.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(classes: &[usize], turn: usize) -> Ring {
        let mut ring = Ring::default();
        classes.iter().for_each(|&class| ring.insert(class));
        ring.turn = Some(turn);
        ring
    }

    #[test]
    fn turns_go_round_in_the_order_of_the_classes() {
        let mut ring = ring(&[0, 5, 63], 0);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(ring.turn());
            ring.pass();
        }
        assert_eq!(seen, [Some(0), Some(5), Some(63), None]);
        ring.rewind();
        assert_eq!(ring.turn(), Some(0));
    }

    /// Linux: `last_ptr_id` of a feed, and `htb_next_rb_node` in `htb_remove_class_from_row`.
    #[test]
    fn who_leaves_at_its_turn_is_remembered_by_a_feed_and_passed_by_a_row() {
        let mut feed = ring(&[1, 2, 3], 2);
        feed.remove_and_remember(2);
        feed.insert(2);
        assert_eq!(feed.turn(), Some(2), "it came back in time");
        feed.remove_and_remember(2);
        assert_eq!(feed.turn(), Some(3), "it did not");
        feed.insert(2);
        assert_eq!(feed.turn(), Some(3), "and then it is forgotten");

        let mut row = ring(&[1, 2, 3], 2);
        row.remove_and_pass(2);
        row.insert(2);
        assert_eq!(row.turn(), Some(3));
        row.remove_and_pass(3);
        assert_eq!(row.turn(), None, "the end of a round");
        // Others that leave do not change whose turn it is.
        let mut feed = ring(&[1, 2, 3], 2);
        feed.remove_and_remember(3);
        feed.remove_and_pass(1);
        assert_eq!(feed.turn(), Some(2));
    }

    #[test]
    fn members_are_the_bits() {
        assert_eq!(members(1 | 1 << 7 | 1 << 63).collect::<Vec<_>>(), [0, 7, 63]);
        assert_eq!(members(0).count(), 0);
    }
}
