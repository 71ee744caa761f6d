//! The last minutes of a gateway: what packets waited each second, and what was done, for those who begin to look later.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | points | 300 | five minutes, one each second; 30 kB |
//! | deeds | 100 | what a person scrolls through; 15 kB |
//!
//! A deed is what differs between two statuses. A status tells of fifty connections: where it leaves out others, one that is told no
//! more was not released for that.

use crate::status::{Connection, Status};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

const MAX_POINTS: usize = 300;
const MAX_DEEDS: usize = 100;

/// What was so in a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Since the start.
    pub time_s: f64,
    /// The longest wait in front of the home, if one could be told.
    pub wait_ms: Option<f64>,
    /// Half of the last minute's waits were no longer.
    pub median_ms: Option<f64>,
    /// 99 % were no longer.
    pub p99_ms: Option<f64>,
    /// TCP to the home.
    pub to_home_bps: u64,
    /// TCP from the home.
    pub from_home_bps: u64,
}

impl Point {
    fn of(status: &Status) -> Self {
        Self {
            time_s: status.time_s,
            wait_ms: status.recent_waits_ms.iter().copied().reduce(f64::max),
            median_ms: status.wait_minute.map(|minute| minute.median_ms),
            p99_ms: status.wait_minute.map(|minute| minute.p99_ms),
            to_home_bps: status.to_home_bps,
            from_home_bps: status.from_home_bps,
        }
    }
}

/// What was done, or went wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "deed", rename_all = "kebab-case")]
pub enum Action {
    /// A connection is limited from now on.
    Limited {
        /// Outside.
        sender: SocketAddr,
        /// At home.
        receiver: SocketAddr,
        /// What its sender may have under way, at first.
        limit_bytes: u64,
    },
    /// It is limited no more, or has ended.
    Released {
        /// Outside.
        sender: SocketAddr,
        /// At home.
        receiver: SocketAddr,
        /// For how long it was limited.
        limited_s: f64,
    },
    /// The program came too late to the ring.
    LostRecords {
        /// So many segments it was not told of.
        segments: u64,
    },
}

/// A deed and its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PastAction {
    /// Since the start.
    pub time_s: f64,
    /// What it is.
    #[serde(flatten)]
    pub what: Action,
}

type Ends = (SocketAddr, SocketAddr);

/// See the module's head.
#[derive(Debug, Clone, Default, Serialize)]
pub struct History {
    points: VecDeque<Point>,
    deeds: VecDeque<PastAction>,
    #[serde(skip)]
    limited: BTreeMap<Ends, f64>,
    #[serde(skip)]
    lost: u64,
}

impl History {
    /// This is so now.
    pub fn take(&mut self, status: &Status) {
        if self.points.len() == MAX_POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point::of(status));
        let lost = status.lost_records.saturating_sub(self.lost);
        if lost > 0 {
            self.note(status, Action::LostRecords { segments: lost });
        }
        self.lost = status.lost_records;
        self.compare(status);
    }

    /// What came after this time, in seconds since the start.
    #[must_use]
    pub fn since(mut self, time_s: f64) -> Self {
        self.points.retain(|point| point.time_s > time_s);
        self.deeds.retain(|deed| deed.time_s > time_s);
        self
    }

    /// What is limited now and was not, and the other way.
    fn compare(&mut self, status: &Status) {
        let ends = |one: &Connection| (one.sender, one.receiver);
        let told: BTreeMap<Ends, &Connection> =
            status.connections.iter().map(|one| (ends(one), one)).collect();
        let known = std::mem::take(&mut self.limited);
        for (&(sender, receiver), one) in &told {
            let (Some(limit_bytes), Some(limited_s)) = (one.limit_bytes, one.limited_s) else {
                continue;
            };
            if !known.contains_key(&(sender, receiver)) {
                self.note(status, Action::Limited { sender, receiver, limit_bytes });
            }
            self.limited.insert((sender, receiver), limited_s);
        }
        for ((sender, receiver), limited_s) in known {
            let is_left_out =
                !told.contains_key(&(sender, receiver)) && status.more_connections > 0;
            if !self.limited.contains_key(&(sender, receiver)) && !is_left_out {
                self.note(status, Action::Released { sender, receiver, limited_s });
            }
        }
    }

    fn note(&mut self, status: &Status, what: Action) {
        if self.deeds.len() == MAX_DEEDS {
            self.deeds.pop_front();
        }
        self.deeds.push_back(PastAction { time_s: status.time_s, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::status;

    fn at(second: u32, change: impl FnOnce(&mut Status)) -> Status {
        let mut made = Status { time_s: f64::from(second), more_connections: 0, ..status() };
        change(&mut made);
        made
    }

    fn deeds(history: &History) -> Vec<&'static str> {
        let name = |done: &PastAction| match done.what {
            Action::Limited { .. } => "limited",
            Action::Released { .. } => "released",
            Action::LostRecords { .. } => "lost",
        };
        history.deeds.iter().map(name).collect()
    }

    #[test]
    fn what_differs_between_two_seconds_is_a_deed() {
        let mut history = History::default();
        history.take(&at(1, |_| ()));
        history.take(&at(2, |_| ()));
        assert_eq!(deeds(&history), ["limited"]);
        history.take(&at(3, |status| status.connections[0].limit_bytes = None));
        assert_eq!(deeds(&history), ["limited", "released"]);
        history.take(&at(4, |_| ()));
        history.take(&at(5, |status| status.connections.clear()));
        assert_eq!(deeds(&history), ["limited", "released", "limited", "released"]);
        history.take(&at(6, |status| status.lost_records = 7));
        let newest = serde_json::to_string(history.deeds.back().expect("a deed")).expect("JSON");
        // The connection of the example is limited again.
        assert!(newest.starts_with(r#"{"time_s":6.0,"deed":"limited","sender":"203.0.113.9:443""#));
        assert_eq!(history.deeds[4].what, Action::LostRecords { segments: 7 });
    }

    #[test]
    fn one_that_is_told_no_more_among_many_was_not_released() {
        let mut history = History::default();
        history.take(&at(1, |_| ()));
        history.take(&at(2, |status| {
            status.connections.clear();
            status.more_connections = 60;
        }));
        assert_eq!(deeds(&history), ["limited"]);
    }

    #[test]
    fn it_has_an_end_and_keeps_the_newest() {
        let mut history = History::default();
        for second in 0..1000 {
            history.take(&at(second, |status| {
                if second % 2 == 0 {
                    status.connections.clear();
                }
            }));
        }
        assert_eq!((history.points.len(), history.deeds.len()), (MAX_POINTS, MAX_DEEDS));
        let times = history.points.iter().map(|point| point.time_s);
        assert!(times.is_sorted() && history.points[0].time_s > 699.0);
        assert_eq!(history.points[0].wait_ms, Some(12.34));
        let newest = history.since(997.0);
        assert_eq!((newest.points.len(), newest.deeds.len()), (2, 2));
    }
}
