//! Lists of numbered queues; each queue is in one of them at most, and can be taken out of its middle.

/// Rings of queue numbers, linked both ways; behind the queues, each list has a number for its ends.
#[derive(Debug)]
pub(super) struct Lists {
    before: Vec<u16>,
    behind: Vec<u16>,
    queues: u16,
}

/// One of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// Queues that began to hold packets less than a turn ago.
    New,
    /// Queues that take turns.
    Old,
    /// Empty queues whose COBALT is not at rest.
    Decaying,
}

impl Lists {
    /// Empty lists for queues with numbers below `queues`.
    pub(super) fn new(queues: u16) -> Self {
        let alone: Vec<u16> = (0..queues + 3).collect();
        Self { before: alone.clone(), behind: alone, queues }
    }

    const fn ends(&self, list: List) -> u16 {
        self.queues + list as u16
    }

    /// The first queue of a list.
    pub(super) fn first(&self, list: List) -> Option<usize> {
        let first = self.behind[usize::from(self.ends(list))];
        (first < self.queues).then_some(usize::from(first))
    }

    /// Takes a queue out of the list that it is in, if it is in one.
    pub(super) fn remove(&mut self, queue: usize) {
        let (before, behind) = (self.before[queue], self.behind[queue]);
        self.behind[usize::from(before)] = behind;
        self.before[usize::from(behind)] = before;
        self.before[queue] = queue as u16;
        self.behind[queue] = queue as u16;
    }

    /// Makes a queue the last of a list, wherever it was.
    pub(super) fn move_to_end(&mut self, list: List, queue: usize) {
        self.remove(queue);
        let ends = self.ends(list);
        let last = std::mem::replace(&mut self.before[usize::from(ends)], queue as u16);
        self.behind[usize::from(last)] = queue as u16;
        self.before[queue] = last;
        self.behind[queue] = ends;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lists: &mut Lists, list: List) -> Vec<usize> {
        let mut found = Vec::new();
        while let Some(first) = lists.first(list) {
            lists.remove(first);
            found.push(first);
        }
        found
    }

    #[test]
    fn queues_go_from_list_to_list_and_leave_from_the_middle() {
        let mut lists = Lists::new(8);
        for queue in 0..6 {
            lists.move_to_end(List::New, queue);
        }
        lists.move_to_end(List::Old, 2);
        lists.move_to_end(List::New, 0);
        lists.remove(4);
        lists.remove(7);
        lists.move_to_end(List::Old, 7);
        assert_eq!(lists.first(List::Decaying), None);
        assert_eq!(all(&mut lists, List::New), [1, 3, 5, 0]);
        assert_eq!(all(&mut lists, List::Old), [2, 7]);
    }
}
