//! What steers the data path: the algorithm of `gameway-gateway`, unchanged, on the segments that passed, and what finds games.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | look at the ring | 5 ms | 1 Gb/s of small segments, 80 B each in the ring, are 0.6 MB in that time; it has 2 MiB |
//! | packets of a look | 16384 at most | a heartbeat does not wait for whoever sends more than three million a second |
//! | heartbeat | with each look | the data path gives up after a second |
//! | pings come more often for | 1 s | after a period in which datagrams came at 1 Mb/s, and no connection of TCP told what waits |
//! | what waits behind is known for | 1 s | ours: as long as the data path goes on without a heartbeat |
//!
//! What the router itself sends to the home or hears from there passed no queue in front of the home: it is not looked at.

use crate::config::Mode;
use crate::data_path::{DataPath, DataPathError, Passed, Settings};
use crate::exceptions::Exceptions;
use crate::games::{Games, GamesConfig};
use crate::home_interface::{HomeInterface, KernelReport};
use crate::home_queue::{HomeQueues, Waits};
use crate::out::{OutConfig, OutQueue};
use crate::own_queue::{self, QueueError, QueueKind, Way};
use crate::pings::{Ping, PingError, Pings};
use crate::record::{Datagram, Record};
use crate::shaped::ShapedQueue;
use crate::status::Status;
use crate::watch::Watch;
use gameway_gateway::{
    BothConfig, Gateway, Home, Limit, Packet, Passage, ShapeConfig, WindowsConfig,
};
use gameway_path::{Endpoint, Header, Protocol};
use gameway_runtime::clock::{Clock, sleep};
use gameway_runtime::stop::Stop;
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::BTreeMap;
use std::iter;
use std::net::IpAddr;

const LOOK: Duration = Duration::from_millis(5);
const MAX_PER_LOOK: usize = 16_384;
/// As in `bpf/gateway.bpf.c`.
const SILENCE: Duration = Duration::from_secs(1);
const REPORT: Duration = Duration::from_secs(1);
/// Of a ping, with its IP header.
const PING: Bytes = Bytes::new(84);
const HURRY: Duration = Duration::from_secs(1);
const MUCH: Rate = Rate::from_mbps(1);
const BEHIND: Duration = Duration::from_secs(1);

/// What the gateway is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// The interface towards the home: a bridge, mostly.
    pub home: String,
    /// What is done.
    pub mode: Mode,
    /// The gateway's own queue, if it has one.
    pub queue: Option<Queue>,
    /// Of the algorithm.
    pub windows: WindowsConfig,
    /// What the algorithm is told nothing of.
    pub exceptions: Exceptions,
    /// What is a game.
    pub games: GamesConfig,
}

impl Config {
    /// The queue for what the home sends, if there is to be one.
    fn out(&self) -> Option<&OutConfig> {
        self.queue.as_ref().and_then(|queue| queue.out.as_ref())
    }

    fn settings(&self) -> Settings {
        let GamesConfig { by_behaviour, trust_dscp, mark, games, no_games } = &self.games;
        Settings {
            trust_dscp: *trust_dscp,
            mark: *mark,
            asks_of_tcp: games.count() + no_games.count() > 0,
            all_quiet: !by_behaviour,
            holds_out: self.out().is_some(),
            ..Settings::default()
        }
    }
}

/// What the gateway's own queue is to be.
#[derive(Debug, Clone)]
pub struct Queue {
    /// Of the kernel's.
    pub kind: QueueKind,
    /// Its rate; `None`: it follows the link.
    pub rate: Option<Rate>,
    /// Whom the gateway pings, to know what waits in front where no TCP connection tells.
    pub ping: Option<IpAddr>,
    /// The one for what the home sends, if there is to be one.
    pub out: Option<OutConfig>,
}

/// Why a gateway does not run, or does not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Its data path.
    #[error(transparent)]
    DataPath(#[from] DataPathError),
    /// Its queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Its pings.
    #[error(transparent)]
    Pings(#[from] PingError),
    /// What asks the kernel about the home's interface.
    #[error("no thread that asks about the home's interface: {0}")]
    Thread(std::io::Error),
}

/// The algorithm, and the limits that the data path has from it.
#[derive(Debug)]
struct Steering {
    gateway: Home,
    limits: BTreeMap<Header, Limit>,
    exceptions: Exceptions,
    watch: Watch,
    games: Games,
    lowers_windows: bool,
    /// Whether the queues at the home's interface count: none of them is the gateway's own.
    looks_behind: bool,
    /// The gateway's own.
    queue: Option<ShapedQueue>,
    out: Option<OutQueue>,
    home_interface: HomeInterface,
    /// The kernel's, which are looked at where none is the gateway's own.
    home_queues: HomeQueues,
    /// What came through the gateway for the home since they were looked at.
    to_home: Bytes,
    /// What a packet waited there at the last look, and when that was.
    behind: Option<(Instant, Waits)>,
    pings: Option<Pings>,
    /// Of datagrams to the home in this period, and when it began.
    datagrams: Bytes,
    period_start: Instant,
    /// Until then, pings come more often.
    hurry_until: Instant,
    /// The router's own addresses at the home's interface.
    own: Vec<IpAddr>,
}

impl Steering {
    fn new(config: &Config, seed: u64) -> Result<Self, RunError> {
        let WindowsConfig { alpha, beta, period, .. } = config.windows;
        let mut gateway = match config.mode {
            Mode::Windows => Home::windows(config.windows),
            Mode::Shape => Home::shape(ShapeConfig { period }),
            Mode::Both => Home::both(BothConfig { alpha, beta, period }),
        };
        gateway = gateway.at_rate(config.queue.as_ref().and_then(|queue| queue.rate));
        let target = (config.mode == Mode::Both).then(|| beta * 2);
        let install = |queue: &Queue| {
            let place = (&*config.home, Way::ToHome);
            ShapedQueue::install(place, queue.kind, queue.rate, target)
        };
        let out = config.queue.as_ref().and_then(|queue| Some((queue.kind, queue.out.as_ref()?)));
        let out = out.map(|(kind, out)| OutQueue::install(out, kind, target)).transpose()?;
        if out.is_some() {
            gateway.guard_way_out();
        }
        let ping = config.queue.as_ref().and_then(|queue| queue.ping);
        let looks_behind = config.mode == Mode::Windows;
        Ok(Self {
            gateway,
            limits: BTreeMap::new(),
            exceptions: config.exceptions.clone(),
            watch: Watch::default(),
            games: Games::new(config.games.clone(), seed),
            lowers_windows: config.mode != Mode::Shape,
            looks_behind,
            queue: config.queue.as_ref().map(install).transpose()?,
            out,
            home_interface: HomeInterface::watch(config.home.clone(), looks_behind)
                .map_err(RunError::Thread)?,
            home_queues: HomeQueues::default(),
            to_home: Bytes::ZERO,
            behind: None,
            pings: ping.map(Pings::start).transpose()?,
            datagrams: Bytes::ZERO,
            period_start: Instant::ZERO,
            hurry_until: Instant::ZERO,
            own: Vec::new(),
        })
    }

    /// Hears what the kernel told of the home's interface.
    fn on_home_interface(&mut self, clock: &Clock) {
        while let Some(told) = self.home_interface.next() {
            match told {
                KernelReport::Addresses(own) => self.own = own,
                KernelReport::Queues(at_ns, counted) => {
                    let (at, came) = (clock.at(at_ns), std::mem::take(&mut self.to_home));
                    let waits = self.home_queues.on_look(at, &counted, came);
                    self.behind = waits.map(|waits| (at, waits));
                }
            }
        }
    }

    /// Whether one end is the router itself.
    fn is_own(&self, header: &Header) -> bool {
        [header.source, header.destination].iter().any(|end| self.own.contains(&end.address))
    }

    /// Of a packet for the home the data path sees neither its wait nor when it leaves.
    fn on_came(&mut self, now: Instant, header: &Header, size: Bytes) {
        self.to_home = self.to_home.saturating_add(size);
        self.gateway.on_departure_of(now, header, size, Duration::ZERO);
    }

    /// Its bytes use the link, as those of all do.
    fn on_datagram(&mut self, now: Instant, datagram: &Datagram) {
        let (header, size) = (datagram.header, datagram.bytes());
        if self.is_own(&header) {
            return;
        }
        let passage = if datagram.to_home { Passage::Queue } else { Passage::Beside };
        self.watch.on_datagram(datagram);
        self.games.on_datagram(now, datagram);
        if datagram.to_home {
            self.datagrams = self.datagrams.saturating_add(size);
            self.on_came(now, &header, size);
        }
        let quic = datagram.quic();
        let packet = Packet::new(header, size, None).with_quic(quic);
        self.gateway.on_packet(now, passage, &mut { packet });
    }

    /// Whether what comes is mostly what does not tell by itself how long it waited, or the home sends.
    fn hurry(&mut self, now: Instant) {
        let span = now.saturating_since(std::mem::replace(&mut self.period_start, now));
        let came = std::mem::take(&mut self.datagrams);
        let is_much = span > Duration::ZERO && came / span >= MUCH;
        if is_much && !self.gateway.hears_connections(now) || self.gateway.sends_out() {
            self.hurry_until = now.saturating_add(HURRY);
        }
        if let Some(pings) = &self.pings {
            pings.hurry(now < self.hurry_until);
        }
    }

    fn on_record(&mut self, now: Instant, record: &Record) {
        if self.is_own(&record.segment.header) {
            return;
        }
        let passage = if record.to_home { Passage::Queue } else { Passage::Beside };
        // A game is not to be slowed.
        let is_game = self.games.on_segment(now, record);
        let is_left_alone = is_game || self.exceptions.has(&record.segment.header);
        self.watch.on_record(record, is_left_alone);
        for mut segment in record.on_the_wire() {
            let size = record.headers + Bytes::new(u64::from(segment.length));
            let header = segment.header;
            if record.to_home {
                self.on_came(now, &header, size);
            }
            // Its bytes use the link, and its windows are nobody's business.
            let segment = (!is_left_alone).then_some(&mut segment);
            let mut packet = Packet::new(header, size, segment);
            self.gateway.on_packet(now, passage, &mut packet);
        }
    }

    /// What the gateway's own pings tell.
    fn on_pings(&mut self, clock: &Clock) {
        while let Some((target, ping)) =
            self.pings.as_ref().and_then(|pings| Some((pings.target(), pings.next()?)))
        {
            let Ping { at_ns, is_reply, number } = ping;
            // What has left before this one.
            self.read_out(clock.now());
            let far = Endpoint { address: target, port: 0 };
            let reply = Header { source: far, protocol: Protocol::Icmp, ..Header::numbered(0) };
            let (header, passage) = match is_reply {
                true => (reply, Passage::Queue),
                false => (reply.reversed(), Passage::Beside),
            };
            let packet = Packet::new(header, PING, None).with_echo(Some(number.into()));
            self.gateway.on_packet(clock.at(at_ns), passage, &mut { packet });
        }
    }

    /// Reads what has left the queue for what the home sends.
    fn read_out(&mut self, now: Instant) {
        if let Some(out) = &mut self.out {
            self.gateway.on_left_home(now, out.left());
        }
    }

    /// What waits at the home's interface, if that is known.
    fn wait_behind(&mut self, now: Instant) -> Option<Waits> {
        self.behind = self.behind.filter(|(at, _)| now.saturating_since(*at) < BEHIND);
        self.behind.map(|(_, waits)| waits)
    }

    /// Tells the law what waits at the home's interface.
    fn tell_wait_behind(&mut self, now: Instant) {
        // The kernel does not tell whose packets wait: they count as those of connections that can be held.
        let header = Header { protocol: Protocol::Tcp, ..Header::numbered(0) };
        let wait = self.wait_behind(now).unwrap_or_default().of_downloads;
        self.gateway.on_departure_of(now, &header, Bytes::ZERO, wait);
    }

    /// No windows were written for a while.
    fn start_over(&mut self, now: Instant, data_path: &mut DataPath) -> Result<(), DataPathError> {
        self.gateway.start_over(now);
        self.limits.keys().try_for_each(|header| data_path.release(header))?;
        self.limits.clear();
        self.watch.on_period(now, None, &self.limits);
        Ok(())
    }

    /// Hands on what is thought of flows.
    fn judge(&mut self, now: Instant, data_path: &mut DataPath) -> Result<(), DataPathError> {
        self.games.review(now);
        let changes = self.games.take_changes();
        changes.iter().try_for_each(|(header, verdict)| data_path.judge(header, *verdict))
    }

    /// A period has ended.
    fn decide(&mut self, now: Instant, data_path: &mut DataPath) -> Result<(), RunError> {
        self.hurry(now);
        self.read_out(now);
        if self.looks_behind {
            self.tell_wait_behind(now);
        }
        self.gateway.on_deadline(now, None);
        if let Some(queue) = &mut self.queue {
            queue.decide(now, self.gateway.shaped_rate())?;
        }
        if let Some(out) = &mut self.out {
            out.shaped.decide(now, self.gateway.shaped_rate_out())?;
        }
        let mut wanted = BTreeMap::new();
        if self.lowers_windows {
            self.gateway.limits(&mut |limit| _ = wanted.insert(limit.header, limit));
        }
        for (header, limit) in &wanted {
            let known = self.limits.get(header).map(|known| (known.wanted, known.min));
            if known != Some((limit.wanted, limit.min)) {
                data_path.limit(limit)?;
            }
        }
        for header in self.limits.keys().filter(|header| !wanted.contains_key(header)) {
            data_path.release(header)?;
        }
        self.limits = wanted;
        self.watch.on_period(now, self.gateway.wait(), &self.limits);
        Ok(())
    }
}

impl Steering {
    /// What is so now; rates are those since the last time.
    fn status(
        &mut self,
        now: Instant,
        home: &str,
        data_path: &DataPath,
    ) -> Result<Status, RunError> {
        let own_queue = self.queue.as_mut().map(ShapedQueue::follow).transpose()?;
        let own_queue_out = self.out.as_mut().map(|out| out.shaped.follow()).transpose()?;
        let counters = data_path.counters()?;
        self.watch.take_rates(now);
        self.games.take_rates(now);
        let [to_home, from_home] = self.watch.rates();
        let (connections, more_connections) = self.watch.connections(now);
        Ok(Status {
            process: std::process::id(),
            home: home.to_owned(),
            time_s: (now - Instant::ZERO).as_secs_f64(),
            wait_ms: self.gateway.wait().map(Duration::as_millis_f64),
            wait_told_by: self
                .gateway
                .wait_source()
                .map(|wait_source| wait_source.name().to_owned()),
            recent_waits_ms: self.watch.recent_waits_ms(now),
            wait_minute: self.watch.minute(),
            wait_behind_ms: self.wait_behind(now).map(|waits| waits.longest.as_millis_f64()),
            own_queue,
            wait_out_ms: self.gateway.wait_out().map(Duration::as_millis_f64),
            own_queue_out,
            limited: self.limits.len(),
            segments: counters.segments,
            lowered: counters.lowered,
            lost_records: counters.lost_records,
            fragments: counters.fragments,
            others: counters.others,
            datagrams: counters.datagrams,
            lost_datagrams: counters.lost_datagrams,
            game_packets: counters.game_packets,
            games_out: counters.games_out,
            games: self.games.told(now),
            to_home_bps: to_home.as_bps(),
            from_home_bps: from_home.as_bps(),
            exceptions: self.exceptions.count(),
            connections,
            more_connections,
        })
    }
}

/// Runs until it is asked to stop; then nothing is left in the kernel. Tells what is so when it is attached, and each second.
///
/// # Errors
///
/// The kernel takes no data path or no queue, there is no such interface, or, with a queue, not any more.
pub fn run(config: &Config, stop: &Stop, tell: &mut dyn FnMut(&Status)) -> Result<(), RunError> {
    let start_ns = Clock::monotonic_ns();
    let clock = Clock::new(start_ns);
    let mut data_path = DataPath::load()?;
    data_path.set(config.settings());
    data_path.beat(start_ns)?;
    data_path.attach(&config.home)?;
    let out = config.out().map(|out| &out.interface);
    out.map_or(Ok(()), |interface| data_path.attach_out(interface))?;
    let mut beaten = Instant::ZERO;
    // Also for a gateway without a queue: one that was killed may have had one.
    for interface in iter::once(&config.home).chain(out) {
        own_queue::remove_left(interface)?;
    }
    let mut steering = Steering::new(config, seed()?)?;
    // The first line says that it is there; nobody has looked at the home's queues by then.
    let mut next_report = Instant::ZERO;
    while !stop.is_asked() {
        steering.on_home_interface(&clock);
        for passed in iter::from_fn(|| data_path.next_passed()).take(MAX_PER_LOOK) {
            match passed {
                Passed::Segment(one) => steering.on_record(clock.at(one.at_ns), &one),
                Passed::Datagram(one) => steering.on_datagram(clock.at(one.at_ns), &one),
            }
        }
        steering.on_pings(&clock);
        let now_ns = Clock::monotonic_ns();
        let now = clock.at(now_ns);
        if now.saturating_since(beaten) >= SILENCE {
            steering.start_over(now, &mut data_path)?;
        }
        data_path.beat(now_ns)?;
        beaten = now;
        steering.judge(now, &mut data_path)?;
        if now >= steering.gateway.next_deadline() {
            steering.decide(now, &mut data_path)?;
        }
        if now >= next_report {
            next_report = now.saturating_add(REPORT);
            tell(&steering.status(now, &config.home, &data_path)?);
        }
        sleep(LOOK);
    }
    Ok(())
}

/// For a table that nobody outside can fill on purpose.
fn seed() -> Result<u64, DataPathError> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| DataPathError::Seed(error.into()))?;
    Ok(u64::from_ne_bytes(bytes))
}
