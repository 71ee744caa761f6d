//! Airtime: the queues of a Wi-Fi access point, per station and per flow, whose turns are times on the air.
//!
//! Model: each station (an address that receives) has an FQ-CoDel of its own ([`super::FqCodel`]), so that what waits for it
//! leaves as one frame. Stations take turns by deficit round robin in airtime: a frame takes its time off its station's
//! deficit, and a station below zero gets a quantum and waits for its next turn. A station that begins to hold packets comes
//! first, unless it is below zero: one that needs little does not wait for those that need much. The device below is given
//! packets ahead of their frames up to a limit of airtime for each station (AQL). Packets of priority have a queue of their
//! own beside these, which is served first.
//!
//! Sources: Høiland-Jørgensen, Kazior, Täht, Hurtig and Brunstrom, "Ending the Anomaly: Achieving Low Latency and Airtime
//! Fairness in WiFi", USENIX ATC 2017, section 3 (structure, algorithms 1 to 3); Linux 5.5, `net/mac80211/tx.c`, `sta_info.c`
//! and `include/net/cfg80211.h` (constants and AQL); IEEE 802.11-2016, Table 10-1, and RFC 8325 section 4 (classes).
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | target, interval | 20, 100 | ms | `ieee80211_txq_setup_flows`: a frame and the wait for the medium are no queue |
//! | quantum of flows | 300 | B | `include/net/fq_impl.h` |
//! | limit | 8192 | packets | the same |
//! | quantum of stations | 256 | us | `IEEE80211_DEFAULT_AIRTIME_WEIGHT` |
//! | aql, aql_low | 12, 5 | ms | `IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H` and `_L` |
//! | aql_low instead of aql above | 24 | ms | `IEEE80211_AQL_THRESHOLD`, of all stations together |
//! | priority: code points from | 32 | | user priorities 4 to 7 are video and voice; Linux takes the upper three bits of the code point |
//! | airtime of a byte before the first frame | 10 | ns | ours: of an order with today's rates; the first frame corrects it |
//! | weight of a new measurement of it | 1/8 | | ours |
//! | stations | 2007 | | association identifiers, IEEE 802.11-2016, 9.4.1.8 |
//!
//! | deviation | why |
//! |---|---|
//! | 256 queues for the flows of each station | mac80211 shares 4096 among all; a home has few stations |
//! | airtime is charged by an estimate when a packet leaves, and corrected when its frame is sent | on a wire, where nobody tells times, the turns are by bytes, and no device is below |
//! | what stations send is not charged | as the paper's; mac80211 can |
//! | CoDel has one target for all rates | mac80211 takes 50 ms for stations below 6 Mb/s |
//! | priority is one queue for each station, served first by the access point | 802.11 has video and voice, which contend by themselves with shorter pauses (EDCA); the medium here has one class |
//! | `aql = "0 s"`: the device takes its packets when the frame is made | what a device could do; none of mac80211's does |

mod station;

use super::discipline::{Discipline, SizeOption};
use super::{Backlog, Dequeued, Dropped, Limit, Queue};
use crate::{CodelConfig, Dscp, FqCodelConfig, PathPacket, Traffic};
use core::net::IpAddr;
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Instant};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use station::Station;
use std::collections::{BTreeMap, VecDeque};

/// Of all stations together: from here on `aql_low` holds.
const AQL_THRESHOLD: Duration = Duration::from_millis(24);
const FIRST_OF_PRIORITY: u8 = 32;
const MAX_STATIONS: usize = 2007;

/// What is served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Nothing.
    Off,
    /// What 802.11 calls video and voice, by its code point.
    Marked,
    /// What a gateway takes for a game.
    Games,
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AirtimeConfig {
    /// Of the CoDel of each flow.
    #[serde(flatten)]
    pub codel: CodelConfig,
    /// queues that the flows of a station are hashed to
    #[schemars(range(min = 1, max = 65536))]
    pub flows: usize,
    /// bytes that each flow of a station may send in its turn
    #[schemars(extend("x-min" = "1 B", "x-max" = "1 GB"))]
    pub quantum: Bytes,
    /// airtime that each station gets in a turn
    #[schemars(extend("x-min" = "1 us", "x-max" = "1 s"))]
    pub airtime_quantum: Duration,
    /// airtime of a station's packets that the device may hold ahead of the frame that it sends
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 s"))]
    pub aql: Duration,
    /// the same while it holds 24 ms or more of all stations
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 s"))]
    pub aql_low: Duration,
    /// "off", "marked" (code points from CS4 on) or "games" (as the classifier of the path tells): what is served first
    pub priority: Priority,
}

impl Configuration for AirtimeConfig {
    const NAME: &'static str = "airtime";
    const SUMMARY: &'static str = "a Wi-Fi access point's as in Linux: FQ-CoDel for each station, turns by airtime, a limit of what the device holds (AQL)";
    const SOURCE: &'static str =
        "Høiland-Jørgensen et al.: Ending the Anomaly; Linux, net/mac80211";
}

impl Discipline for AirtimeConfig {
    const SIZE: SizeOption = SizeOption {
        default: Some("8192 packets"),
        summary: "what may wait for all stations, as of drop-tail; more costs the fattest queue of the fattest station its oldest packets",
    };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(Airtime::new(self, limit, random))
    }
}

impl Default for AirtimeConfig {
    fn default() -> Self {
        Self {
            codel: CodelConfig { target: Duration::from_millis(20), ..CodelConfig::default() },
            flows: 256,
            quantum: Bytes::new(300),
            airtime_quantum: Duration::from_micros(256),
            aql: Duration::from_millis(12),
            aql_low: Duration::from_millis(5),
            priority: Priority::Marked,
        }
    }
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct Airtime<P> {
    config: AirtimeConfig,
    limit: Limit,
    random: Xoshiro256PlusPlus,
    numbers: BTreeMap<IpAddr, usize>,
    stations: Vec<Station<P>>,
    /// Stations with packets in their own queues, whose turn it is first.
    turns: VecDeque<usize>,
    /// Those with packets of priority.
    first: VecDeque<usize>,
    /// Those of which the device has packets.
    device: VecDeque<usize>,
    /// Whether anybody told what frames take: else there is no device below.
    told: bool,
    backlog: Backlog,
}

impl<P: PathPacket> Airtime<P> {
    /// Empty queues that hold `limit` together; `random` seeds the hashes of flows.
    #[must_use]
    pub fn new(config: AirtimeConfig, limit: Limit, random: Xoshiro256PlusPlus) -> Self {
        Self {
            config,
            limit,
            random,
            numbers: BTreeMap::new(),
            stations: Vec::new(),
            turns: VecDeque::new(),
            first: VecDeque::new(),
            device: VecDeque::new(),
            told: false,
            backlog: Backlog::default(),
        }
    }

    fn station_of(&mut self, packet: &P) -> usize {
        let address = packet.header().destination.address;
        let known = self.numbers.len();
        let number = *self.numbers.entry(address).or_insert(known % MAX_STATIONS);
        if number == self.stations.len() {
            let AirtimeConfig { codel, flows, quantum, airtime_quantum, .. } = self.config;
            let random = Xoshiro256PlusPlus::seed_from_u64(self.random.next_u64());
            let queues = FqCodelConfig { codel, flows, quantum };
            self.stations.push(Station::new(queues, random, airtime_quantum));
        }
        number
    }

    fn has_priority(&self, packet: &P) -> bool {
        match self.config.priority {
            Priority::Off => false,
            Priority::Marked => packet.header().dscp >= Dscp(FIRST_OF_PRIORITY),
            Priority::Games => packet.traffic() == Some(Traffic::Game),
        }
    }

    /// The station whose turn it is, of those that `may` have it.
    fn turn(&mut self, may: impl Fn(&Station<P>) -> bool) -> Option<usize> {
        let mut passed = 0;
        while passed < self.turns.len() {
            let index = *self.turns.front()?;
            let station = &mut self.stations[index];
            if !station.waits() {
                station.scheduled = false;
                self.turns.pop_front();
            } else if !may(station) {
                self.turns.rotate_left(1);
                passed += 1;
            } else if station.deficit < Duration::ZERO {
                station.deficit += self.config.airtime_quantum;
                self.turns.rotate_left(1);
                passed = 0;
            } else {
                return Some(index);
            }
        }
        None
    }

    /// Whether packets wait in a device before they leave.
    fn has_device(&self) -> bool {
        self.told && self.config.aql > Duration::ZERO
    }

    /// The device takes packets ahead, as far as it may.
    fn fill_device(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) {
        let held = self.stations.iter().map(Station::ahead);
        let mut all = held.fold(Duration::ZERO, |sum, one| sum + one);
        loop {
            let AirtimeConfig { aql, aql_low, .. } = self.config;
            let limit = if all >= AQL_THRESHOLD { aql_low.min(aql) } else { aql };
            let Some(index) = self.turn(|station| station.ahead() < limit) else { return };
            let station = &mut self.stations[index];
            let before = station.ahead();
            if station.move_ahead(now, dropped) && !self.device.contains(&index) {
                self.device.push_back(index);
            }
            all += station.ahead() - before;
        }
    }

    /// The next packet of priority of a station.
    fn pop_first(&mut self, index: usize) -> Option<Dequeued<P>> {
        let next = self.stations[index].first.pop_front();
        if self.stations[index].first.is_empty() {
            self.first.retain(|one| *one != index);
        }
        next
    }

    /// The next packet that the device has of a station.
    fn pop_ahead(&mut self, index: usize) -> Option<Dequeued<P>> {
        let next = self.stations[index].pop_ahead();
        if !self.stations[index].has_ahead() {
            self.device.retain(|one| *one != index);
        }
        next
    }

    fn next(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<(usize, Dequeued<P>)> {
        if let Some(index) = self.first.front().copied() {
            self.first.rotate_left(1);
            return self.pop_first(index).map(|next| (index, next));
        }
        if self.has_device() {
            self.fill_device(now, dropped);
            let index = *self.device.front()?;
            self.device.rotate_left(1);
            return self.pop_ahead(index).map(|next| (index, next));
        }
        while let Some(index) = self.turn(|_| true) {
            if let Some(next) = self.stations[index].pop(now, dropped) {
                return Some((index, next));
            }
        }
        None
    }

    /// A packet leaves, and others were dropped: from `before` on.
    fn left(
        &mut self,
        next: Option<(usize, Dequeued<P>)>,
        dropped: &[Dropped<P>],
    ) -> Option<Dequeued<P>> {
        for gone in dropped {
            self.backlog = self.backlog.without(gone.packet.wire_size());
        }
        let (index, next) = next?;
        let size = next.packet.wire_size();
        self.backlog = self.backlog.without(size);
        self.stations[index].charge(size);
        Some(next)
    }

    /// A packet that has left comes back, as the next of its station.
    fn take_back(&mut self, taken: Dequeued<P>) {
        let index = self.station_of(&taken.packet);
        let in_device = self.has_device();
        self.backlog = self.backlog.with(taken.packet.wire_size());
        self.stations[index].take_back(taken, in_device);
        if in_device {
            self.device.retain(|one| *one != index);
            self.device.push_front(index);
        } else if !std::mem::replace(&mut self.stations[index].scheduled, true) {
            self.turns.push_front(index);
        }
    }

    /// Drops from the station with most bytes.
    fn drop_some(&mut self, dropped: &mut Vec<Dropped<P>>) {
        let all = self.stations.iter().enumerate();
        let Some((index, _)) = all.max_by_key(|(_, one)| one.backlog().bytes) else { return };
        let before = dropped.len();
        self.stations[index].drop_some(dropped);
        self.left(None, &dropped[before..]);
        if self.stations[index].first.is_empty() {
            self.first.retain(|one| *one != index);
        }
        if !self.stations[index].has_ahead() {
            self.device.retain(|one| *one != index);
        }
    }

    fn accept(&mut self, now: Instant, waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        let index = self.station_of(&waiting.packet);
        self.backlog = self.backlog.with(waiting.packet.wire_size());
        if self.has_priority(&waiting.packet) {
            self.stations[index].first.push_back(waiting);
            if !self.first.contains(&index) {
                self.first.push_back(index);
            }
        } else {
            let station = &mut self.stations[index];
            station.enqueue(now, waiting);
            if !std::mem::replace(&mut station.scheduled, true) {
                self.turns.push_front(index);
            }
        }
        while !self.backlog.is_within(self.limit) {
            self.drop_some(dropped);
        }
    }
}

impl<P: PathPacket> Queue<P> for Airtime<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.accept(now, Dequeued { packet, enqueued: now }, dropped);
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        let before = dropped.len();
        let next = self.next(now, dropped);
        self.left(next, &dropped[before..])
    }

    fn dequeue_beside(
        &mut self,
        now: Instant,
        other: &P,
        room: Bytes,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        let index = self.station_of(other);
        let before = dropped.len();
        let fits = |one: &Dequeued<P>| one.packet.wire_size() <= room;
        let next = if self.has_priority(other) {
            let fitting = self.stations[index].first.front().is_some_and(fits);
            if fitting { self.pop_first(index) } else { None }
        } else if self.has_device() {
            let fitting = self.stations[index].front_ahead().is_some_and(fits);
            if fitting { self.pop_ahead(index) } else { None }
        } else {
            self.stations[index].pop_if(now, fits, dropped)
        };
        self.left(next.map(|next| (index, next)), &dropped[before..])
    }

    fn exchange(&mut self, taken: Dequeued<P>) -> Result<Dequeued<P>, Dequeued<P>> {
        let first = self.first.front().copied().filter(|_| !self.has_priority(&taken.packet));
        let next = first.and_then(|index| Some((index, self.pop_first(index)?)));
        let Some(next) = self.left(next, &[]) else { return Err(taken) };
        self.take_back(taken);
        Ok(next)
    }

    fn on_airtime(&mut self, other: &P, bytes: Bytes, airtime: Duration) {
        self.told = true;
        let index = self.station_of(other);
        self.stations[index].correct(bytes, airtime);
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        self.stations.iter_mut().for_each(|station| station.drain(into));
        self.first.clear();
        self.device.clear();
        self.backlog = Backlog::default();
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn oldest(&self) -> Option<Instant> {
        self.stations.iter().filter_map(Station::oldest).min()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowId, Header};
    use gameway_units::Ecn;
    use std::net::Ipv4Addr;

    /// A packet of 1500 B to this station, and what its flow is taken for.
    #[derive(Debug)]
    struct Packet(u8, Option<Traffic>);

    impl PathPacket for Packet {
        fn wire_size(&self) -> Bytes {
            Bytes::new(1500)
        }
        fn flow(&self) -> FlowId {
            FlowId(u16::from(self.0))
        }
        fn header(&self) -> Header {
            let mut header = Header::numbered(u16::from(self.0));
            header.destination.address = IpAddr::V4(Ipv4Addr::new(192, 168, 0, self.0));
            header
        }
        fn traffic(&self) -> Option<Traffic> {
            self.1
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ecn(&mut self, _: Ecn) {}
    }

    fn queue(config: AirtimeConfig, packets: &[(u8, Option<Traffic>)]) -> Airtime<Packet> {
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut queue = Airtime::new(config, Limit::Packets(100), random);
        for &(station, traffic) in packets {
            queue.enqueue(Instant::ZERO, Packet(station, traffic), &mut Vec::new());
        }
        queue
    }

    fn stations(queue: &mut Airtime<Packet>) -> Vec<u8> {
        let next = || queue.dequeue(Instant::ZERO, &mut Vec::new());
        std::iter::from_fn(next).map(|next| next.packet.0).collect()
    }

    #[test]
    fn what_is_taken_for_a_game_goes_first_where_games_do() {
        for other in [Some(Traffic::Other), None] {
            let packets = [(1, other), (2, Some(Traffic::Game)), (3, other)];
            let games = AirtimeConfig { priority: Priority::Games, ..AirtimeConfig::default() };
            // Of the rest, who begins to hold packets last comes first.
            assert_eq!(stations(&mut queue(games, &packets)), [2, 3, 1], "{other:?}");
            let marked = AirtimeConfig { priority: Priority::Marked, ..games };
            assert_eq!(stations(&mut queue(marked, &packets)), [3, 2, 1], "{other:?}");
        }
    }

    #[test]
    fn who_finds_nobody_whose_turn_it_may_be_leaves_the_turns_as_they_are() {
        let mut queue = queue(AirtimeConfig::default(), &[(1, None), (2, None), (3, None)]);
        let before = queue.turns.clone();
        assert_eq!((queue.turn(|_| false), &queue.turns), (None, &before));
        let deficits: Vec<Duration> = queue.stations.iter().map(|one| one.deficit).collect();
        assert_eq!(deficits, [AirtimeConfig::default().airtime_quantum; 3]);
    }

    /// 1500 B are charged with 15 us: of a quantum of 30 us two packets leave nothing, which is not below zero, and a
    /// third owes 15 us; from the next quantum, which leaves 15 us, two leave.
    #[test]
    fn a_station_that_has_used_up_its_quantum_exactly_goes_on() {
        let airtime_quantum = Duration::from_micros(30);
        let config = AirtimeConfig { airtime_quantum, ..AirtimeConfig::default() };
        let mut queue = queue(config, &[[(1, None); 7], [(2, None); 7]].concat());
        assert_eq!(stations(&mut queue), [2, 2, 2, 1, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1]);
    }

    fn leave(queue: &mut Airtime<Packet>) -> Dequeued<Packet> {
        queue.dequeue(Instant::ZERO, &mut Vec::new()).unwrap()
    }

    /// 1500 B are charged with 15 us until a frame is told, whose airtime takes the place of what was charged for it.
    #[test]
    fn what_comes_back_is_charged_when_it_leaves_again() {
        for aql in [Duration::ZERO, Duration::from_millis(12)] {
            let config = AirtimeConfig { aql, priority: Priority::Games, ..Default::default() };
            let mut queue = queue(config, &[(1, None)]);
            let whole = config.airtime_quantum;
            let (estimate, frame) = (Duration::from_micros(15), Duration::from_micros(20));
            let taken = leave(&mut queue);
            assert_eq!(queue.stations[0].deficit, whole - estimate);
            let game = Packet(2, Some(Traffic::Game));
            queue.enqueue(Instant::ZERO, game, &mut Vec::new());
            assert_eq!(queue.exchange(taken).unwrap().packet.0, 2);
            assert_eq!(queue.stations[0].deficit, whole);
            let own = leave(&mut queue).packet;
            assert_eq!(queue.stations[0].deficit, whole - estimate);
            queue.on_airtime(&own, Bytes::new(1500), frame);
            assert_eq!(queue.stations[0].deficit, whole - frame);
        }
    }

    #[test]
    fn a_measurement_of_a_byte_has_an_eighth_of_the_weight() {
        let mut queue = queue(AirtimeConfig::default(), &[(1, None); 3]);
        // 18 ns for a byte in place of 10 ns: 11 ns from now on; then 3 ns, which makes it 10 ns again.
        for (told, each) in [(27_000, 16_500), (4_500, 15_000)] {
            let own = leave(&mut queue).packet;
            queue.on_airtime(&own, Bytes::new(1500), Duration::from_nanos(told));
            let before = queue.stations[0].deficit;
            queue.stations[0].charge(Bytes::new(1500));
            assert_eq!(before - queue.stations[0].deficit, Duration::from_nanos(each));
        }
    }
}
