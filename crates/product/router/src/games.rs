//! Which flows are games: by rules by hand, by behaviour, by DSCP, in this order.
//!
//! Behaviour is that of [`gameway_gateway::classifier`], unchanged: it is told of each datagram of UDP, both ways. It is not told of
//! TCP, in which it finds nothing (its acknowledgments look like a download's): there, rules and DSCP hold.
//!
//! What moves much and is no game need not be told of whole: once eight looks in a row have found no game in it, its flow is quiet. Then the
//! data path tells of samples, whose sums count for rates, until it is listened to again.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | a flow that may be quiet | from 10 Mb/s on | 1000 full packets a second, which cost a thousandth of a core; all below that cost less |
//! | quiet for | 10 s | with 2.8 s of eight looks, a fifth is told of: what a game waits for that begins in a tunnel that downloads |
//! | a game is over | 3 s after its last packet, if it was found by behaviour; 120 s, if by rule or DSCP | eight looks without (2.05 s); RFC 4787 REQ-5 |
//! | flows that are listed | 1024 | as many as the classifier knows |
//! | from one review to the next | 256 ms | the classifier's looks |

pub mod status;

use crate::exceptions::Exceptions;
use crate::record::{Datagram, Record, Verdict};
use gameway_gateway::classifier::{Classifier, Criterion, Direction, Evidence, Missing};
use gameway_path::{Dscp, Header, Traffic};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::BTreeMap;

const BULK: Rate = Rate::from_mbps(10);
const QUIET_FOR: Duration = Duration::from_secs(10);
const LOOKS: u32 = 8;
const SILENT_GAME: Duration = Duration::from_secs(3);
const SILENT_OTHER: Duration = Duration::from_secs(120);
const MAX_LISTED: usize = 1024;
const REVIEW: Duration = Duration::from_millis(256);
/// EF, CS4, CS5 and AF41 to AF43, as `bpf/games.h` has them.
const TRUSTED: [Dscp; 6] = [Dscp(46), Dscp(32), Dscp(40), Dscp(34), Dscp(36), Dscp(38)];

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GamesConfig {
    /// Whether games are found by behaviour.
    pub by_behaviour: bool,
    /// Whether a DSCP makes a game.
    pub trust_dscp: bool,
    /// The DSCP that packets of games to the home get.
    pub mark: Option<Dscp>,
    /// What is a game by hand.
    pub games: Exceptions,
    /// What is none by hand.
    pub no_games: Exceptions,
}

/// By what a flow is a game, or none by hand.
#[derive(Debug, Clone, PartialEq)]
enum By {
    Behaviour,
    Dscp(Dscp),
    Rule(String),
    NoRule,
}

/// A flow that is a game, or none by hand.
#[derive(Debug)]
struct ListedFlow {
    by: By,
    since: Instant,
    seen: Instant,
    /// To the home since rates were taken.
    bytes: Bytes,
    rate: Rate,
    /// What the look saw that found it.
    reasons: Vec<Criterion>,
}

#[derive(Debug, Clone, Copy)]
struct QuietFlow {
    until: Instant,
    missing: Missing,
}

/// See the module's head.
#[derive(Debug)]
pub struct Games {
    config: GamesConfig,
    classifier: Classifier,
    listed: BTreeMap<Header, ListedFlow>,
    quiet: BTreeMap<Header, QuietFlow>,
    /// For the data path.
    changes: BTreeMap<Header, Verdict>,
    reviewed: Instant,
    rates_taken: Instant,
}

/// A packet, whatever its protocol.
#[derive(Debug, Clone, Copy)]
struct Packet {
    now: Instant,
    /// As of one that goes to the home.
    header: Header,
    dscp: Dscp,
    to_home: bool,
    /// With what was not told.
    bytes: Bytes,
    known: Verdict,
}

impl Games {
    /// Knows nothing; `seed` should not be known outside ([`Classifier::new`]).
    #[must_use]
    pub fn new(config: GamesConfig, seed: u64) -> Self {
        Self {
            config,
            classifier: Classifier::new(seed),
            listed: BTreeMap::new(),
            quiet: BTreeMap::new(),
            changes: BTreeMap::new(),
            reviewed: Instant::ZERO,
            rates_taken: Instant::ZERO,
        }
    }

    /// A datagram passed, in the order of time.
    pub fn on_datagram(&mut self, now: Instant, datagram: &Datagram) {
        let header = inwards(&datagram.header, datagram.to_home);
        let packet = Packet {
            now,
            header,
            dscp: datagram.header.dscp,
            to_home: datagram.to_home,
            bytes: datagram.bytes(),
            known: datagram.verdict,
        };
        if self.by_hand(&packet, true).is_some() {
            return;
        }
        let wanted = self.by_behaviour(&packet, datagram);
        if wanted.game.is_none() {
            self.by_dscp(&packet);
        }
        self.want(&packet, wanted);
    }

    /// A segment of TCP passed. Gives whether it is of a game by hand.
    pub fn on_segment(&mut self, now: Instant, record: &Record) -> bool {
        let config = &self.config;
        if !config.trust_dscp && config.games.count() + config.no_games.count() == 0 {
            return false;
        }
        let packet = Packet {
            now,
            header: inwards(&record.segment.header, record.to_home),
            dscp: record.dscp,
            to_home: record.to_home,
            bytes: record.size_on_the_wire(),
            known: record.verdict,
        };
        let by_hand = self.by_hand(&packet, false);
        if by_hand.is_none() {
            self.by_dscp(&packet);
        }
        by_hand == Some(true)
    }

    /// What a rule says.
    fn by_hand(&mut self, packet: &Packet, quiet: bool) -> Option<bool> {
        let config = &self.config;
        let (is_game, by) = if config.no_games.has(&packet.header) {
            (false, By::NoRule)
        } else {
            let name = config.games.name(&packet.header)?;
            (true, By::Rule(name.to_owned()))
        };
        self.list(packet, by);
        self.want(packet, Verdict { game: Some(is_game), quiet });
        Some(is_game)
    }

    fn by_dscp(&mut self, packet: &Packet) {
        // What goes out has what the home wrote: a class of the queue to the home is asked for by what comes in.
        if self.config.trust_dscp && packet.to_home && TRUSTED.contains(&packet.dscp) {
            self.list(packet, By::Dscp(packet.dscp));
        }
    }

    fn by_behaviour(&mut self, packet: &Packet, datagram: &Datagram) -> Verdict {
        let Packet { now, header, .. } = *packet;
        let quiet = !self.config.by_behaviour || self.quiet.contains_key(&header);
        if quiet || packet.known.quiet {
            return Verdict { game: None, quiet };
        }
        let direction = if packet.to_home { Direction::Down } else { Direction::Up };
        let mut traffic = None;
        for size in datagram.sizes_on_the_wire() {
            traffic = self.classifier.on_packet(now, &datagram.header, size, direction).traffic;
        }
        let is_game = traffic == Some(Traffic::Game);
        if is_game {
            self.list(packet, By::Behaviour);
        } else if self.listed.get(&header).is_some_and(|one| one.by == By::Behaviour) {
            self.listed.remove(&header);
        }
        Verdict { game: is_game.then_some(true), quiet }
    }

    /// Notes a packet of what is a game or none by hand.
    fn list(&mut self, packet: &Packet, by: By) {
        let Packet { now, header, .. } = *packet;
        if self.listed.len() >= MAX_LISTED && !self.listed.contains_key(&header) {
            return;
        }
        let listed = self.listed.entry(header).or_insert_with(|| ListedFlow {
            by: by.clone(),
            since: now,
            seen: now,
            bytes: Bytes::ZERO,
            rate: Rate::ZERO,
            reasons: reasons(&self.classifier, &header, &by),
        });
        if listed.by != by {
            let reasons = reasons(&self.classifier, &header, &by);
            *listed = ListedFlow { by, since: now, reasons, ..*listed };
        }
        listed.seen = now;
        if packet.to_home {
            listed.bytes = listed.bytes.saturating_add(packet.bytes);
        }
    }

    fn want(&mut self, packet: &Packet, wanted: Verdict) {
        if packet.known != wanted {
            self.changes.insert(packet.header, wanted);
        }
    }

    /// Looks through all flows, if that is due.
    pub fn review(&mut self, now: Instant) {
        if now.saturating_since(self.reviewed) < REVIEW {
            return;
        }
        self.reviewed = now;
        let bulk = |(header, _, evidence): (Header, Instant, Evidence)| {
            is_bulk(&evidence).then_some((header, evidence.missing))
        };
        let bulk: Vec<_> = self.classifier.all().filter_map(bulk).collect();
        for (header, missing) in bulk {
            self.classifier.forget(&header, Direction::Down);
            self.quiet.insert(header, QuietFlow { until: now.saturating_add(QUIET_FOR), missing });
            self.changes.insert(header, Verdict { game: None, quiet: true });
        }
        let Self { quiet, listed, changes, .. } = self;
        quiet.retain(|header, one| {
            if now >= one.until {
                changes.insert(*header, Verdict::default());
            }
            now < one.until
        });
        listed.retain(|header, one| {
            let is_found = one.by == By::Behaviour;
            let patience = if is_found { SILENT_GAME } else { SILENT_OTHER };
            let is_over = now.saturating_since(one.seen) >= patience;
            if is_over && is_found {
                changes.insert(*header, Verdict::default());
            }
            !is_over
        });
    }

    /// What the data path must be told: a flow, and what is thought of both its ways.
    pub fn take_changes(&mut self) -> BTreeMap<Header, Verdict> {
        std::mem::take(&mut self.changes)
    }

    /// Takes the rates since the last time.
    pub fn take_rates(&mut self, now: Instant) {
        let span = now.saturating_since(self.rates_taken);
        self.rates_taken = now;
        for one in self.listed.values_mut() {
            let bytes = std::mem::take(&mut one.bytes);
            one.rate = if span > Duration::ZERO { bytes / span } else { Rate::ZERO };
        }
    }
}

/// Whether a flow moves much, and is no game in any of eight looks.
fn is_bulk(evidence: &Evidence) -> bool {
    evidence.traffic == Some(Traffic::Other)
        && evidence.looks == LOOKS
        && evidence.confidence <= 0.0
        && evidence.features.is_some_and(|features| features.rate >= BULK)
}

fn reasons(classifier: &Classifier, header: &Header, by: &By) -> Vec<Criterion> {
    let evidence = classifier.why(header, Direction::Down).filter(|_| *by == By::Behaviour);
    let told = evidence.and_then(|evidence| {
        evidence.features.map(|features| features.reasons(header.protocol, evidence.demand))
    });
    told.unwrap_or_default()
}

/// The header as of a packet of the same flow that goes to the home, whatever it asks of queues.
fn inwards(header: &Header, to_home: bool) -> Header {
    let header = if to_home { *header } else { header.reversed() };
    Header { dscp: Dscp::default(), ..header }
}
