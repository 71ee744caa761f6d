//! What an oracle sees of a run before it happens.
//!
//! Model: at each time, what a bottleneck carries less the traffic that nothing slows down (UDP at a
//! constant rate, pings) is divided max-min fairly (Bertsekas and Gallager, Data Networks, section 6.5.2)
//! among the flows that pass it then: streams, and TCP transfers without end. Times are cut where a flow
//! comes or goes; within a piece, what a trace carries is divided as a whole.
//!
//! | deviation | why |
//! |---|---|
//! | short transfers take nothing | when they come depends on what they met before |
//! | reports and acknowledgements on a way back that media shares take nothing | 1 to 2 % of the media; an oracle would need to foresee itself |

use super::constant_rates::rates;
use crate::packet::PING_SIZE;
use gameway_control::Foresight;
use gameway_experiment::build::{Route, Routes};
use gameway_experiment::spec::{CompetitorSpec, QuicSpec, RunSpec, TcpSpec};
use gameway_path::Link;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// A flow that takes its share while it is there.
#[derive(Debug, Clone)]
struct SharingFlow {
    hops: Vec<usize>,
    start: Instant,
    stop: Instant,
    pause: Option<(Instant, Instant)>,
}

/// Traffic that takes what it wants.
#[derive(Debug, Clone)]
struct Constant {
    hops: Vec<usize>,
    start: Instant,
    stop: Instant,
    rate: Rate,
}

/// What is known of a run; see the module's head.
#[derive(Debug, Clone)]
pub struct Foreseen {
    links: Vec<Link>,
    sharers: Vec<SharingFlow>,
    constants: Vec<Constant>,
    /// The times at which anything changes.
    changes: Vec<Instant>,
    /// The stream's own place among the sharers.
    own: usize,
}

fn time(text: Option<Duration>, otherwise: Instant) -> Instant {
    text.map_or(otherwise, |text| Instant::ZERO + text)
}

impl Foreseen {
    /// All that is known of `spec` to its stream number `own`.
    pub fn new(spec: &RunSpec, routes: &Routes, links: &[Link], own: usize) -> Self {
        let mut known = Self {
            links: links.to_vec(),
            sharers: Vec::new(),
            constants: Vec::new(),
            changes: Vec::new(),
            own,
        };
        known.add_streams(spec, routes);
        known.add_competitors(spec, routes);
        known.add_ping(spec);
        known.note_changes();
        known
    }

    fn add_streams(&mut self, spec: &RunSpec, routes: &Routes) {
        for stream in &spec.stream {
            let hops = routes.of(&stream.way()).map_or_else(Vec::new, |route| route.forward);
            let pause = stream.pause.as_ref();
            let pause = pause.map(|pause| (Instant::ZERO + pause.from, Instant::ZERO + pause.to));
            let start = Instant::ZERO + stream.start;
            let stop = time(stream.stop, Instant::MAX);
            self.sharers.push(SharingFlow { hops, start, stop, pause });
        }
    }

    fn add_competitors(&mut self, spec: &RunSpec, routes: &Routes) {
        for competitor in &spec.competitor {
            let Some(Route { forward: hops, back, .. }) = routes.of(&competitor.way()) else {
                continue;
            };
            let (start, stop) = competitor.times();
            let (start, stop) = (Instant::ZERO + start, time(stop, Instant::MAX));
            match competitor {
                // A transfer that ends on its own takes its share for a time that nobody knows beforehand.
                CompetitorSpec::Tcp(TcpSpec { bytes: Some(_), .. })
                | CompetitorSpec::Quic(QuicSpec { bytes: Some(_), .. })
                | CompetitorSpec::ShortTcp(_) => {}
                // A video adapts to its share, up to its highest level.
                CompetitorSpec::Tcp(_) | CompetitorSpec::Quic(_) | CompetitorSpec::Dash(_) => {
                    self.sharers.push(SharingFlow { hops, start, stop, pause: None });
                }
                constant => {
                    let (rate, return_rate) = rates(constant);
                    self.constants.push(Constant { hops, start, stop, rate });
                    if return_rate > Rate::ZERO {
                        let rate = return_rate;
                        self.constants.push(Constant { hops: back, start, stop, rate });
                    }
                }
            }
        }
    }

    fn add_ping(&mut self, spec: &RunSpec) {
        let Some(ping) = &spec.ping else { return };
        let towards_clients = 1 + spec.path.hop.len();
        self.constants.push(Constant {
            hops: (0..self.links.len().min(towards_clients)).collect(),
            start: Instant::ZERO,
            stop: Instant::MAX,
            rate: PING_SIZE / ping.interval,
        });
    }

    fn note_changes(&mut self) {
        let pauses = self.sharers.iter().filter_map(|flow| flow.pause);
        let flows = self.sharers.iter().flat_map(|flow| [flow.start, flow.stop]);
        let constants = self.constants.iter().flat_map(|flow| [flow.start, flow.stop]);
        let pauses = pauses.flat_map(|(from, to)| [from, to]);
        self.changes = flows.chain(constants).chain(pauses).collect();
        self.changes.sort_unstable();
        self.changes.dedup();
    }

    /// What is left for flows that share, at each bottleneck, in bytes between two times within which
    /// nothing changes.
    fn room(&self, from: Instant, to: Instant) -> Vec<f64> {
        let mut room: Vec<f64> =
            self.links.iter().map(|link| link.capacity_between(from, to).as_f64()).collect();
        for flow in self.constants.iter().filter(|flow| flow.start <= from && from < flow.stop) {
            for &hop in &flow.hops {
                room[hop] = (room[hop] - (flow.rate * (to - from)).as_f64()).max(0.0);
            }
        }
        room
    }

    /// The stream's max-min fair share of that.
    fn share(&self, from: Instant, to: Instant) -> f64 {
        let mut room = self.room(from, to);
        let here = |flow: &&SharingFlow| flow.is_there(from);
        let mut open: Vec<&SharingFlow> = self.sharers.iter().filter(here).collect();
        let own = &self.sharers[self.own];
        if !own.is_there(from) {
            open.push(own);
        }
        loop {
            let tightest = (0..room.len())
                .filter_map(|hop| {
                    let count = open.iter().filter(|flow| flow.hops.contains(&hop)).count();
                    (count > 0).then(|| (room[hop] / count as f64, hop))
                })
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((share, hop)) = tightest else { return f64::INFINITY };
            if own.hops.contains(&hop) {
                return share;
            }
            for flow in open.iter().filter(|flow| flow.hops.contains(&hop)) {
                flow.hops.iter().for_each(|&one| room[one] = (room[one] - share).max(0.0));
            }
            open.retain(|flow| !flow.hops.contains(&hop));
        }
    }
}

impl SharingFlow {
    fn is_there(&self, at: Instant) -> bool {
        let paused = self.pause.is_some_and(|(from, to)| from <= at && at < to);
        self.start <= at && at < self.stop && !paused
    }
}

impl Foresight for Foreseen {
    fn available(&self, from: Instant, to: Instant) -> Bytes {
        let (mut bytes, mut begin) = (0.0, from);
        let later = self.changes.partition_point(|change| *change <= from);
        for &change in self.changes[later..].iter().take_while(|change| **change < to) {
            bytes += self.share(begin, change);
            begin = change;
        }
        // A stream that passes no bottleneck may send what it likes; its own bounds hold.
        Bytes::from_f64((bytes + self.share(begin, to)).min(1e15))
    }

    fn capacity(&self, from: Instant, to: Instant) -> Bytes {
        let room = self.room(from, to);
        let own = self.sharers[self.own].hops.iter().map(|&hop| room[hop]);
        Bytes::from_f64(own.fold(1e15, f64::min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known(own: usize) -> Foreseen {
        let stream =
            |name: &str, via: &str| json!({ "name": name, "controller": "oracle", "via": via });
        let spec: RunSpec = RunSpec::try_from(json!({
            "seed": 1,
            "duration": "10 s",
            "path": {
                "capacity": "20 Mb/s",
                "base_rtt": "20 ms",
                "queue": { "kind": "drop-tail", "size": "2 bdp" },
                "hop": [{
                    "name": "last",
                    "capacity": "15 Mb/s",
                    "queue": { "kind": "drop-tail", "size": "2 bdp" },
                }],
            },
            "stream": [stream("both", "all"), stream("first", "path"), stream("second", "last")],
            "competitor": [
                { "kind": "udp", "name": "constant", "rate": "3 Mb/s", "via": "last", "start": "4 s", "stop": "6 s" },
                { "kind": "tcp", "name": "bulk", "congestion_control": "cubic", "via": "path", "start": "8 s" },
            ],
        }))
        .expect("it is a specification");
        let routes = Routes::new(&spec.path);
        let links = gameway_experiment::build::links(&spec.path).expect("the capacities are right");
        Foreseen::new(&spec, &routes, &links, own)
    }

    /// Mb/s of a stream between two seconds.
    fn share(own: usize, from: i64, to: i64) -> f64 {
        let second = |count| Instant::ZERO + Duration::from_secs(count);
        let bytes = known(own).available(second(from), second(to));
        bytes.as_f64() * 8.0 / 1e6 / (to - from) as f64
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-3
    }

    #[test]
    fn shares_are_max_min_fair_by_hand() {
        // The second bottleneck is the tighter: 7.5 each; what the first then has left is the other's.
        assert!(near(share(0, 0, 4), 7.5) && near(share(2, 0, 4), 7.5));
        assert!(near(share(1, 0, 4), 12.5), "{}", share(1, 0, 4));
        // Constant traffic takes 3 of 15.
        assert!(near(share(0, 4, 6), 6.0) && near(share(1, 4, 6), 14.0));
        // A bulk transfer joins the first: 20 / 3 is less than 7.5.
        assert!(near(share(0, 8, 9), 20.0 / 3.0), "{}", share(0, 8, 9));
        assert!(near(share(2, 8, 9), 15.0 - 20.0 / 3.0));
        // Over a change: the mean of both.
        assert!(near(share(0, 3, 5), 6.75));
    }
}
