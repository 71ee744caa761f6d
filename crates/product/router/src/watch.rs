//! What is told of a gateway that runs: how long packets waited in front of the home, who has which rate, and who is limited.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | memory of waits | 1 min | what a person who looks has felt |
//! | from one remembered wait to the next | 100 ms | 600 are enough for a 99th percentile, however short the periods are |
//! | connections | 4096 | 1 MB; of more those are kept that were seen last, and the bytes of all are in the sums |
//! | connections that are told | 50 | those with the highest rates; a page of a terminal |

use crate::record::{Datagram, Record};
use crate::status::{Connection, WaitMinute};
use gameway_gateway::{Limit, LruMap};
use gameway_path::{Dscp, Endpoint, Header, Protocol};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

const MEMORY: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
const SPACING: Duration = Duration::from_millis(100);
const MAX_CONNECTIONS: usize = 4096;
const MAX_TOLD: usize = 50;

/// How long packets waited in the last minute.
#[derive(Debug, Default)]
struct Waits(VecDeque<(Instant, Duration)>);

impl Waits {
    fn add(&mut self, now: Instant, wait: Option<Duration>) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_since(*at) >= MEMORY) {
            self.0.pop_front();
        }
        let is_due = self.0.back().is_none_or(|(at, _)| now.saturating_since(*at) >= SPACING);
        self.0.extend(wait.filter(|_| is_due).map(|wait| (now, wait)));
    }

    /// Those of the last second, the newest last.
    fn recent(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let is_recent = move |(at, _): &&(Instant, Duration)| now.saturating_since(*at) < SECOND;
        self.0.iter().filter(is_recent).map(|(_, wait)| *wait)
    }

    /// Median and 99th percentile, if there is one.
    fn minute(&self) -> Option<WaitMinute> {
        let mut sorted: Vec<Duration> = self.0.iter().map(|(_, wait)| *wait).collect();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let quantile = |percent: usize| sorted[(sorted.len() * percent / 100).min(last)];
        Some(WaitMinute {
            median_ms: quantile(50).as_millis_f64(),
            p99_ms: quantile(99).as_millis_f64(),
            readings: sorted.len(),
        })
    }
}

/// The data of one end of a connection.
#[derive(Debug, Default)]
struct Flow {
    /// Since the last time that rates were taken.
    bytes: Bytes,
    rate: Rate,
    is_left_alone: bool,
}

/// See the module's head.
#[derive(Debug)]
pub struct Watch {
    waits: Waits,
    flows: LruMap<Header, Flow>,
    /// On the wire, to the home and from it, since the last time that rates were taken.
    passed: [Bytes; 2],
    rates: [Rate; 2],
    taken: Instant,
    limited: BTreeMap<Header, (Instant, u64)>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            waits: Waits::default(),
            flows: LruMap::new(MAX_CONNECTIONS),
            passed: [Bytes::ZERO; 2],
            rates: [Rate::ZERO; 2],
            taken: Instant::ZERO,
            limited: BTreeMap::new(),
        }
    }
}

impl Watch {
    /// A segment passed, whose connection is left alone or not.
    pub fn on_record(&mut self, record: &Record, is_left_alone: bool) {
        let size = record.size_on_the_wire();
        self.pass(size, record.to_home);
        if record.to_home && record.segment.length > 0 {
            self.add(record.segment.header, size, is_left_alone);
        }
    }

    /// A datagram passed.
    pub fn on_datagram(&mut self, datagram: &Datagram) {
        let size = datagram.bytes();
        self.pass(size, datagram.to_home);
        if datagram.to_home {
            self.add(Header { dscp: Dscp::default(), ..datagram.header }, size, false);
        }
    }

    fn pass(&mut self, size: Bytes, to_home: bool) {
        let passed = &mut self.passed[usize::from(!to_home)];
        *passed = passed.saturating_add(size);
    }

    fn add(&mut self, header: Header, size: Bytes, is_left_alone: bool) {
        let place = self.flows.find_or_insert(header, Flow::default);
        let flow = self.flows.at(place);
        flow.bytes = flow.bytes.saturating_add(size);
        flow.is_left_alone = is_left_alone;
    }

    /// A period has ended: packets waited so long, and these connections are limited from now on.
    pub fn on_period(
        &mut self,
        now: Instant,
        wait: Option<Duration>,
        limits: &BTreeMap<Header, Limit>,
    ) {
        self.waits.add(now, wait);
        let known = std::mem::take(&mut self.limited);
        let of = |(header, limit): (&Header, &Limit)| {
            let since = known.get(header).map_or(now, |(since, _)| *since);
            (*header, (since, limit.wanted.max(limit.min)))
        };
        self.limited = limits.iter().map(of).collect();
    }

    /// Takes the rates since the last time.
    pub fn take_rates(&mut self, now: Instant) {
        let span = now.saturating_since(self.taken).as_secs_f64();
        let rate = |bytes: Bytes| {
            let bits = if span > 0.0 { bytes.as_f64() * 8.0 / span } else { 0.0 };
            Rate::from_bps_f64(bits)
        };
        self.rates = self.passed.map(rate);
        self.passed = [Bytes::ZERO; 2];
        self.taken = now;
        let limited = &self.limited;
        self.flows.retain(|header, flow| {
            flow.rate = rate(std::mem::take(&mut flow.bytes));
            flow.rate > Rate::ZERO || limited.contains_key(header)
        });
    }

    /// Median and 99th percentile of the waits of the last minute, if one could be told.
    #[must_use]
    pub fn minute(&self) -> Option<WaitMinute> {
        self.waits.minute()
    }

    /// Waits of the last second in milliseconds, the newest last.
    #[must_use]
    pub fn recent_waits_ms(&self, now: Instant) -> Vec<f64> {
        self.waits.recent(now).map(Duration::as_millis_f64).collect()
    }

    /// What passed to the home and from it, on the wire, when rates were last taken.
    #[must_use]
    pub const fn rates(&self) -> [Rate; 2] {
        self.rates
    }

    /// The connections with the highest rates, and how many more there are.
    #[must_use]
    pub fn connections(&self, now: Instant) -> (Vec<Connection>, usize) {
        let mut all: Vec<Connection> = self.flows.iter().map(|one| self.told(now, one)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.rate_bps));
        let more = all.len().saturating_sub(MAX_TOLD);
        all.truncate(MAX_TOLD);
        (all, more)
    }

    fn told(&self, now: Instant, (header, flow): (&Header, &Flow)) -> Connection {
        let end = |end: Endpoint| SocketAddr::new(end.address, end.port);
        let limited = self.limited.get(header);
        let protocol = if header.protocol == Protocol::Tcp { "tcp" } else { "udp" };
        Connection {
            protocol: protocol.to_owned(),
            sender: end(header.source),
            receiver: end(header.destination),
            rate_bps: flow.rate.as_bps(),
            limit_bytes: limited.map(|(_, wanted)| *wanted),
            limited_s: limited.map(|(since, _)| now.saturating_since(*since).as_secs_f64()),
            left_alone: flow.is_left_alone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RECORD_BYTES;

    fn record(sender: u8, length: u32, to_home: bool) -> Record {
        let mut bytes = [0; RECORD_BYTES];
        // ::ffff:10.0.0.N
        bytes[18..20].fill(0xff);
        bytes[20..24].copy_from_slice(&[10, 0, 0, sender]);
        bytes[64..68].copy_from_slice(&length.to_ne_bytes());
        bytes[72] = 40;
        bytes[76] = to_home.into();
        Record::read(&bytes).expect("a record")
    }

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn waits_of_the_last_minute_count_once_in_100_ms() {
        let mut waits = Waits::default();
        assert_eq!(waits.minute(), None);
        for index in 0..1000 {
            waits.add(at(index * 50), Some(Duration::from_millis(index)));
        }
        let told = waits.minute().expect("waits");
        // 50 s, of which each second one counts.
        assert_eq!((told.readings, told.median_ms, told.p99_ms), (500, 500.0, 990.0));
        let recent: Vec<_> = waits.recent(at(49_950)).map(Duration::as_millis_f64).collect();
        assert_eq!((recent.len(), recent.last()), (10, Some(&998.0)));
        waits.add(at(109_950), None);
        assert_eq!(waits.minute(), None);
    }

    #[test]
    fn rates_are_of_the_time_since_the_last_and_of_data_to_the_home() {
        let mut watch = Watch::default();
        for _ in 0..100 {
            watch.on_record(&record(1, 960, true), false);
        }
        watch.on_record(&record(2, 9_960, true), true);
        // An acknowledgment, and data from the home.
        watch.on_record(&record(3, 0, true), false);
        watch.on_record(&record(4, 60, false), false);
        watch.take_rates(at(2000));
        assert_eq!(watch.rates(), [440_160, 400].map(Rate::from_bps));
        let (told, more) = watch.connections(at(2000));
        let rates: Vec<_> = told.iter().map(|one| (one.rate_bps, one.left_alone)).collect();
        assert_eq!((rates, more), (vec![(400_000, false), (40_000, true)], 0));
        assert_eq!(told[0].sender, "10.0.0.1:0".parse().expect("an end"));
        // Nobody has sent since then.
        watch.take_rates(at(3000));
        assert_eq!(watch.connections(at(3000)), (Vec::new(), 0));
        watch.take_rates(at(3000));
        assert_eq!(watch.rates(), [Rate::ZERO; 2]);
    }

    #[test]
    fn the_fastest_are_told_and_the_table_has_an_end() {
        let mut watch = Watch::default();
        for index in 0..5000_u32 {
            let mut one = record(0, 1 + index, true);
            one.segment.header.source.port = u16::try_from(index).expect("a port");
            watch.on_record(&one, false);
        }
        watch.take_rates(at(1000));
        let (told, more) = watch.connections(at(1000));
        assert_eq!((told.len(), more), (MAX_TOLD, MAX_CONNECTIONS - MAX_TOLD));
        assert!(told.is_sorted_by(|one, next| one.rate_bps > next.rate_bps));
    }

    /// A download that begins beside more small ones than the table has is told of.
    #[test]
    fn a_download_among_many_small_ones_is_kept() {
        let mut watch = Watch::default();
        for index in 0..20_000_u32 {
            let mut small = record(0, 1, true);
            small.segment.header.source.port = u16::try_from(index).expect("a port");
            watch.on_record(&small, false);
            if index >= 6_000 && index % 1_000 == 0 {
                watch.on_record(&record(1, 1_000, true), false);
            }
        }
        watch.take_rates(at(1000));
        let (told, more) = watch.connections(at(1000));
        assert_eq!(told[0].rate_bps, 14 * 8 * 1_040);
        assert_eq!(more, MAX_CONNECTIONS - MAX_TOLD);
    }
}
