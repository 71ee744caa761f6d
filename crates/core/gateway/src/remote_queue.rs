//! The queue in front of a home, which is the provider's: how long packets wait there, read off the downloads.
//!
//! Source: RFC 7323 section 3 (timestamps and their echo); Jiang and Dovrolis, "Passive Estimation of TCP Round-Trip
//! Times", 2002. The smallest loop of a connection is taken for the path with empty queues, as in RFC 6817 section 3.4.1.
//! Model: an acknowledgment of the home passes with a new time stamp; data comes back with its echo. The loop that this
//! took is the path to the server and back and what the data waited on its way:
//! `wait = loop - smallest loop of this connection`. An echo request of the home and its reply (RFC 792, RFC 4443) are such a loop, too.
//! From a turn of QUIC's spin bit on its way from home to the server's turn is a loop, too, once in a round trip, and so is the first
//! exchange of QUIC's handshake (module `spin`).
//! The queue behind the gateway, at home, is read in the same way off data and the acknowledgments that come back ([`RemoteQueue::behind`]).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | samples | sixteen a loop | module `stamps` |
//! | a wait | is that of the smallest of the last four loops, which are no older than a quarter of a loop | RFC 6817 section 4.2 (CURRENT_FILTER): jitter is no queue |
//! | what a new connection finds is the least wait of the last | 200 ms | ours: the last may be jitter; its first loop less that wait is taken for its path. Else each connection that begins in a queue would leave more in it than the one before (the latecomer of RFC 6817) |
//! | connections of TCP and pings | 1024 | as in [`crate::FlowTable`] |
//! | connections whose spin bit is read | 256 | ours: 80 kB; of a full table those go first that do not spin |
//! | longest pause of a loop that counts | half of it | ours: where nothing comes for so long there is no queue, but a server that thinks |
//! | pauses that are remembered | 64 of 2 ms or more | ours: 128 ms at the least, and a loop with that number counts |
//! | the home sends, if a segment of it had | 500 B in the last second | ours: what is smaller asks for something |
//! | or two datagrams of a connection that follow within | 20 ms | ours: one of that size may look for a path's largest, which is one in an RTT (RFC 9000 section 14.3, RFC 8899 section 3) |
//! | memory of the smallest loop | 5 to 10 min | RFC 6817 section 4.2 (BASE_HISTORY: 10 intervals of a minute). A gateway that leaves 5 ms in the queue would take them for the path after a shorter one |
//!
//! Where the home sends data itself, acknowledgments wait behind that on their way, and a loop is longer than what waits in front of the home.
//! While it does, a wait is no longer than what data took longer on its own way ([`OneWay`]), and a connection of which that is not known
//! says nothing, nor does one of QUIC, whose data has no time.
//!
//! The wait of a period is the median over the connections that have a sample, by their bytes: what waits at a server's own
//! bottleneck is no queue of this home, and a connection that began in a full queue knows a smallest loop that is too long.
//! Connections without timestamps say nothing, nor does QUIC that does not spin.

use crate::loop_time::Smallest;
use crate::lru::LruMap;
use crate::one_way::OneWay;
use crate::segment::{Segment, ahead};
use crate::spin::{Loop, QuicHeader, SpinBit};
use crate::stamps::Stamps;
use gameway_path::{Endpoint, Header};
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

const MAX_CONNECTIONS: usize = 1024;
const BETWEEN_LARGE: Duration = Duration::from_millis(20);
const MAX_SPINNING: usize = 256;
const MEMORY: Duration = Duration::from_secs(300);
/// A loop counts if the longest pause of all data within it is no longer than the loop divided by this.
const PAUSES_PER_LOOP: i64 = 2;
const FILTER: usize = 4;
/// For so long the wait of the other connections is what a new one finds.
const FRESH: Duration = Duration::from_millis(200);
const MAX_KNOWN: usize = 16;
const SENDS: u32 = 500;
const SENDS_FOR: Duration = Duration::from_secs(1);
const MAX_PAUSES: usize = 64;
const MIN_PAUSE: Duration = Duration::from_millis(2);

/// Which queue is read off the loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Between the servers and here: an acknowledgment of the home starts a loop, data ends it.
    InFront,
    /// Between here and the machines of the home: data starts a loop, its acknowledgment ends it.
    Behind,
}

/// When no data came to the home, whoever sends it.
#[derive(Debug, Clone, Default)]
struct Pauses {
    last_data: Instant,
    /// When each ended, and how long it was; the oldest first.
    ended: VecDeque<(Instant, Duration)>,
}

impl Pauses {
    fn on_data(&mut self, now: Instant) {
        let length = now.saturating_since(self.last_data);
        self.last_data = now;
        if length >= MIN_PAUSE {
            if self.ended.len() >= MAX_PAUSES {
                self.ended.pop_front();
            }
            self.ended.push_back((now, length));
        }
    }

    /// The longest since a time.
    fn longest_since(&self, begun: Instant) -> Duration {
        let within = self.ended.iter().rev().take_while(|(end, _)| *end > begun);
        let lengths = within.map(|(end, length)| (*length).min(end.saturating_since(begun)));
        lengths.max().unwrap_or_default()
    }
}

/// What tells how long packets wait in front of the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WaitSource {
    /// Time stamps of TCP.
    #[default]
    Tcp,
    /// QUIC's spin bit.
    SpinBit,
    /// Echo requests and their replies.
    Pings,
}

impl WaitSource {
    /// As a status has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::SpinBit => "spin-bit",
            Self::Pings => "pings",
        }
    }
}

/// What loops of one connection tell.
#[derive(Debug, Clone, Default)]
struct Loops {
    wait_source: WaitSource,
    smallest: Smallest,
    /// The last loops, in a ring.
    last: [Option<(Instant, Duration)>; FILTER],
    place: usize,
    /// Of this period.
    bytes: u64,
    wait: Option<Duration>,
}

impl Loops {
    /// A loop has ended that took so long; `known`: what packets wait now, by other connections.
    fn learn(&mut self, now: Instant, looped: Duration, known: Duration) {
        if self.smallest.get().is_none() {
            self.smallest.add(now, MEMORY, (looped - known).max(Duration::ZERO));
        }
        self.smallest.add(now, MEMORY, looped);
    }

    /// The same of one that tells what waits.
    fn on_loop(&mut self, now: Instant, one: Loop, pauses: &Pauses, known: Duration) {
        let Loop { begun, took, sure } = one;
        self.learn(now, took, known);
        let smallest = self.smallest.get().unwrap_or(took);
        if pauses.longest_since(begun) <= took / PAUSES_PER_LOOP {
            self.last[self.place] = Some((now, sure));
            self.place = (self.place + 1) % FILTER;
            let recent = |at: Instant| now.saturating_since(at) <= smallest / FILTER as i64;
            let last = self.last.into_iter().flatten().filter(|(at, _)| recent(*at));
            let min = last.map(|(_, looped)| looped).min().unwrap_or(sure);
            self.wait = Some((min - smallest).max(Duration::ZERO));
        } else {
            self.last = [None; FILTER];
        }
    }
}

/// The data that a home receives of one connection.
#[derive(Debug, Clone, Default)]
struct Download {
    stamps: Stamps,
    one_way: OneWay,
    stamp: Option<u32>,
    acknowledged: Option<u32>,
    loops: Loops,
}

impl Download {
    /// The home acknowledges, or opens the connection.
    fn on_home(&mut self, now: Instant, segment: &Segment) {
        let Some(stamps) = segment.timestamps else { return };
        let acknowledges = self
            .acknowledged
            .replace(segment.acknowledgment)
            .is_none_or(|known| ahead(segment.acknowledgment, known) > 0);
        let opens = segment.flags.syn && !segment.flags.ack;
        if opens || segment.is_bare_ack() && acknowledges {
            self.begin(now, stamps.value);
        }
    }

    /// Data passes whose acknowledgment is to end a loop.
    fn on_data_behind(&mut self, now: Instant, segment: &Segment) {
        if let Some(stamps) = segment.timestamps {
            self.begin(now, stamps.value);
        }
    }

    /// A loop begins with a stamp, if that is new.
    fn begin(&mut self, now: Instant, stamp: u32) {
        if self.stamp.replace(stamp) != Some(stamp) {
            self.stamps.start(now, stamp, self.loops.smallest.get());
        }
    }

    /// What may end a loop comes; `known`: what packets wait now, by other connections.
    fn on_echoing(&mut self, now: Instant, segment: &Segment, pauses: &Pauses, known: Duration) {
        let echoed = segment.timestamps.and_then(|stamps| self.stamps.echoed(now, stamps.echo));
        if let Some(looped) = echoed {
            self.loops.on_loop(now, exact(looped), pauses, known);
        }
    }

    /// Data comes; `sends`: its loops may have waited on the way from home.
    fn on_own_way(&mut self, now: Instant, segment: &Segment, sends: bool) {
        let Some(stamps) = segment.timestamps else { return };
        let waited = self.one_way.on_data(now, stamps.value);
        if sends {
            self.loops.wait = self.loops.wait.zip(waited).map(|(wait, waited)| wait.min(waited));
        }
    }
}

/// One connection of QUIC.
#[derive(Debug, Clone, Default)]
struct Spinning {
    bit: SpinBit,
    loops: Loops,
    /// When a large datagram of the home passed last.
    large: Option<Instant>,
}

impl Spinning {
    /// A datagram of the home passes, and those before it that were not told; whether the home sends data.
    fn on_home(&mut self, now: Instant, quic: QuicHeader, size: Bytes) -> bool {
        let QuicHeader { spin, datagrams } = quic;
        let Some(spin) = spin else {
            self.bit.on_home_handshake(now);
            return false;
        };
        self.bit.on_home(now, spin);
        if size < Bytes::new(SENDS.into()) * u64::from(datagrams) {
            return false;
        }
        let last = self.large.replace(now);
        datagrams > 1 || last.is_some_and(|last| now.saturating_since(last) < BETWEEN_LARGE)
    }

    /// A datagram of the server passes, while the home sends or not; `known`: what packets wait now, by other connections.
    fn on_server(
        &mut self,
        now: Instant,
        quic: QuicHeader,
        (sends, pauses, known): (bool, &Pauses, Duration),
    ) {
        let Self { bit, loops, .. } = self;
        let Some(spin) = quic.spin else {
            if let Some(looped) = bit.on_server_handshake(now) {
                loops.learn(now, looped, known);
            }
            return;
        };
        let turned = bit.on_server(now, spin, loops.smallest.get());
        let Some(turned) = turned.filter(|_| bit.spins()) else { return };
        if sends {
            loops.learn(now, turned.took, known);
        } else {
            loops.on_loop(now, turned, pauses, known);
        }
    }
}

/// By their ends, outside and at home.
type Downloads = LruMap<[Endpoint; 2], Download>;
type SpinBits = LruMap<[Endpoint; 2], Spinning>;

/// See the module's head.
#[derive(Debug, Clone)]
pub struct RemoteQueue {
    side: Side,
    downloads: Downloads,
    spinning: SpinBits,
    pauses: Pauses,
    /// Of datagrams that may be data of QUIC.
    datagram_pauses: Pauses,
    /// When the home sent much data last, over TCP and in datagrams.
    sent: Option<Instant>,
    sent_datagrams: Option<Instant>,
    /// When a connection told last, not by echoes of pings.
    told: Option<Instant>,
    /// When data or the reply to an echo request came last.
    came: Instant,
    /// What [`Self::take_wait`] gave lately, and when data had come then.
    known: VecDeque<(Instant, Duration)>,
    /// The longest way to a server and back of the connections that told, without what waits.
    longest_path: Option<Duration>,
    wait_source: WaitSource,
}

impl Default for RemoteQueue {
    fn default() -> Self {
        Self {
            side: Side::InFront,
            downloads: LruMap::new(MAX_CONNECTIONS),
            spinning: LruMap::new(MAX_SPINNING),
            pauses: Pauses::default(),
            datagram_pauses: Pauses::default(),
            sent: None,
            sent_datagrams: None,
            told: None,
            came: Instant::ZERO,
            known: VecDeque::new(),
            longest_path: None,
            wait_source: WaitSource::Tcp,
        }
    }
}

impl RemoteQueue {
    /// The queue behind the gateway, on the way to the machines of the home, read off the acknowledgments of data.
    #[must_use]
    pub fn behind() -> Self {
        Self { side: Side::Behind, ..Self::default() }
    }

    /// A segment passes, towards the home or from it, with the windows that its sender wrote or others.
    pub fn on_segment(&mut self, now: Instant, to_home: bool, segment: &Segment) {
        let known = self.known(now);
        let download = seen(&mut self.downloads, to_home, &segment.header);
        let is_data = to_home && (segment.length > 0 || segment.flags.syn);
        if is_data {
            self.came = now;
            download.loops.bytes += u64::from(segment.length);
        }
        if !to_home && segment.length >= SENDS {
            self.sent = Some(now);
        }
        let sends = is_recent(now, self.sent);
        match (self.side, to_home) {
            (Side::InFront, false) => download.on_home(now, segment),
            (Side::InFront, true) if is_data => {
                self.pauses.on_data(now);
                download.on_echoing(now, segment, &self.pauses, known);
                download.on_own_way(now, segment, sends);
            }
            (Side::Behind, true) if is_data => download.on_data_behind(now, segment),
            (Side::Behind, false) => download.on_echoing(now, segment, &self.pauses, known),
            (_, true) => {}
        }
        if download.loops.wait.is_some() {
            self.told = Some(now);
        }
    }

    /// An echo request of the home passes, or the reply to it: a loop like that of a stamp.
    pub fn on_echo(&mut self, now: Instant, to_home: bool, header: Header, echo: u32) {
        let known = self.known(now);
        let echoes = seen(&mut self.downloads, to_home, &header);
        if !to_home {
            echoes.stamps.start(now, echo, None);
            return;
        }
        self.came = now;
        if let Some(looped) = echoes.stamps.echoed(now, echo) {
            echoes.loops.wait_source = WaitSource::Pings;
            // A reply waits for nobody: pauses of others say nothing of it.
            echoes.loops.on_loop(now, exact(looped), &Pauses::default(), known);
        }
    }

    /// A datagram passes that may be a packet of QUIC, and those before it that were not told; `size` is that of all.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        to_home: bool,
        (header, size): (&Header, Bytes),
        quic: QuicHeader,
    ) {
        let known = self.known(now);
        let place = self.spinning.find_or_insert(key(to_home, header), Spinning::default);
        let one = self.spinning.at(place);
        if to_home {
            self.came = now;
            self.datagram_pauses.on_data(now);
            one.loops.bytes += size.get();
            one.loops.wait_source = WaitSource::SpinBit;
            let sends = [self.sent, self.sent_datagrams].iter().any(|at| is_recent(now, *at));
            one.on_server(now, quic, (sends, &self.datagram_pauses, known));
        } else if one.on_home(now, quic, size) {
            self.sent_datagrams = Some(now);
        }
        let spins = one.bit.spins();
        self.spinning.protect(place, spins);
    }

    /// What packets wait now, by the connections that told last.
    fn known(&self, now: Instant) -> Duration {
        let fresh = |(at, _): &&(Instant, Duration)| now.saturating_since(*at) < FRESH;
        self.known.iter().filter(fresh).map(|(_, wait)| *wait).min().unwrap_or_default()
    }

    /// How long packets waited since the last call at the longest, of the connections that can tell; `None`: none can.
    pub fn take_wait(&mut self) -> Option<Duration> {
        let mut longest_path = None;
        let mut waits: Vec<_> = all_loops(&mut self.downloads, &mut self.spinning)
            .filter_map(|one| {
                let bytes = std::mem::take(&mut one.bytes);
                let wait = one.wait.take()?;
                longest_path = longest_path.max(one.smallest.get());
                Some((wait, bytes, one.wait_source))
            })
            .collect();
        self.longest_path = longest_path.or(self.longest_path);
        waits.sort_unstable();
        let total: u64 = waits.iter().map(|(_, bytes, _)| bytes).sum();
        let mut below = 0;
        let half = |(_, bytes, _): &&(Duration, u64, WaitSource)| {
            below += bytes;
            2 * below >= total
        };
        let (wait, _, wait_source) = waits.iter().find(half).copied()?;
        if self.known.len() >= MAX_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back((self.came, wait));
        self.wait_source = wait_source;
        Some(wait)
    }

    /// What told the last wait; of several connections the one whose wait it was.
    #[must_use]
    pub const fn wait_source(&self) -> WaitSource {
        self.wait_source
    }

    /// When a connection of TCP could tell last.
    #[must_use]
    pub const fn told(&self) -> Option<Instant> {
        self.told
    }

    /// The longest way to a server and back, without what waits, of the connections that could tell last.
    #[must_use]
    pub const fn longest_path(&self) -> Option<Duration> {
        self.longest_path
    }

    /// Paths are longer than they were by `by`: that part of the measured wait is no queue.
    pub fn lengthen_paths(&mut self, by: Duration) {
        let all = all_loops(&mut self.downloads, &mut self.spinning);
        all.for_each(|loops| loops.smallest.raise(by));
        self.known.clear();
    }
}

/// The connection of a packet that passes now; a new one takes the place of the one that was silent longest.
fn seen<'a>(downloads: &'a mut Downloads, to_home: bool, header: &Header) -> &'a mut Download {
    let place = downloads.find_or_insert(key(to_home, header), Download::default);
    downloads.at(place)
}

/// The ends of a connection, outside and at home.
const fn key(to_home: bool, header: &Header) -> [Endpoint; 2] {
    let Header { source, destination, .. } = *header;
    if to_home { [source, destination] } else { [destination, source] }
}

/// The loops of all connections, in an order that depends on their ends alone.
fn all_loops<'a>(
    downloads: &'a mut Downloads,
    spinning: &'a mut SpinBits,
) -> impl Iterator<Item = &'a mut Loops> {
    let of_tcp = downloads.values_mut().map(|one| &mut one.loops);
    of_tcp.chain(spinning.values_mut().map(|one| &mut one.loops))
}

/// A loop that is known as it is.
const fn exact((took, begun): (Duration, Instant)) -> Loop {
    Loop { begun, took, sure: took }
}

/// Whether the home sent then, and does so still.
fn is_recent(now: Instant, sent: Option<Instant>) -> bool {
    sent.is_some_and(|sent| now.saturating_since(sent) < SENDS_FOR)
}

#[cfg(test)]
mod tests;
