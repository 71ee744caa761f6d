//! Sets of stream offsets as sorted, disjoint runs: what a receiver holds out of order, and what a
//! sender knows to have been received.
//!
//! Source: bookkeeping that RFC 2018 section 4 and RFC 6675 section 3 leave to the implementation.
//! Model: a deque of half-open runs that never touch each other. Growing the last run, the usual
//! case, is O(1); any other insertion is a binary search plus the runs that it joins.

use std::collections::VecDeque;

/// A run: first offset, first offset after it.
pub type Run = (u64, u64);

/// Sorted, disjoint, not adjacent runs.
#[derive(Debug, Clone, Default)]
pub struct RangeSet {
    runs: VecDeque<Run>,
}

impl RangeSet {
    /// The runs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Run> + '_ {
        self.runs.iter().copied()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds `start..end`; calls `newly` for each part that was not in the set, then returns the run
    /// that now contains it.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn insert(&mut self, start: u64, end: u64, mut newly: impl FnMut(Run)) -> Run {
        assert!(start < end);
        let first = self.first_touching(start);
        let (mut last, mut covered, mut merged) = (first, start, (start, end));
        while let Some(&(run_start, run_end)) = self.runs.get(last).filter(|run| run.0 <= end) {
            if covered < run_start {
                newly((covered, run_start));
            }
            covered = covered.max(run_end);
            merged = (merged.0.min(run_start), merged.1.max(run_end));
            last += 1;
        }
        if covered < end {
            newly((covered, end));
        }
        self.replace(first, last, merged);
        merged
    }

    /// Index of the first run that ends at or after `start`.
    fn first_touching(&self, start: u64) -> usize {
        match self.runs.back() {
            None => 0,
            Some(back) if back.1 < start => self.runs.len(),
            Some(back) if back.0 <= start => self.runs.len() - 1,
            _ => self.runs.partition_point(|run| run.1 < start),
        }
    }

    fn replace(&mut self, first: usize, last: usize, merged: Run) {
        match last - first {
            0 => self.runs.insert(first, merged),
            1 => self.runs[first] = merged,
            _ => {
                self.runs[first] = merged;
                self.runs.drain(first + 1..last);
            }
        }
    }

    /// Forgets everything below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while self.runs.front().is_some_and(|run| run.1 <= offset) {
            self.runs.pop_front();
        }
        if let Some(front) = self.runs.front_mut() {
            front.0 = front.0.max(offset);
        }
    }

    /// If the set holds `offset`, removes the run from there on and returns its end.
    pub fn take_front_from(&mut self, offset: u64) -> Option<u64> {
        self.remove_below(offset);
        let &(start, end) = self.runs.front()?;
        (start == offset).then(|| {
            self.runs.pop_front();
            end
        })
    }

    /// The run that contains `offset`.
    #[must_use]
    pub fn containing(&self, offset: u64) -> Option<Run> {
        let index = self.runs.partition_point(|run| run.1 <= offset);
        self.runs.get(index).copied().filter(|run| run.0 <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_single_offsets(
            steps in prop::collection::vec((0u64..60, 1u64..12, any::<bool>()), 1..40)
        ) {
            let (mut runs, mut model) = (RangeSet::default(), BTreeSet::new());
            for (start, length, remove) in steps {
                if remove {
                    runs.remove_below(start);
                    model.retain(|offset| *offset >= start);
                    continue;
                }
                let mut new = Vec::new();
                let merged = runs.insert(start, start + length, |run| new.extend(run.0..run.1));
                let expected: Vec<u64> =
                    (start..start + length).filter(|offset| model.insert(*offset)).collect();
                prop_assert_eq!(new, expected);
                prop_assert!((merged.0..merged.1).all(|offset| model.contains(&offset)));
                prop_assert_eq!(runs.containing(start), Some(merged));
                let held: Vec<u64> = runs.iter().flat_map(|run| run.0..run.1).collect();
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                let touching = runs.iter().zip(runs.iter().skip(1)).any(|(a, b)| a.1 >= b.0);
                prop_assert!(!touching);
            }
        }
    }
}
