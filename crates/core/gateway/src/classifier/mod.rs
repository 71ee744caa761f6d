//! Finds game streams among all flows by how they behave: sizes and times of packets, both ways. No port,
//! no address and no payload is looked at.
//!
//! Sources: Ky, Graff, Mathieu and Cholez, "A hybrid P4/NFV architecture for cloud gaming traffic detection
//! with unsupervised ML", ISCC 2023, and the supervised classifier before it (mosaico-anr/CG_Classifier: means
//! and deviations of sizes and intervals, bytes and packets both ways, each 33 ms, learnt by a tree); Sharma
//! et al., "Estimating WebRTC video QoE metrics without using application headers", IMC 2023 (frames show in
//! the sizes of packets).
//! Those learn thresholds from recordings. Here they come from what a game stream cannot help being:
//!
//! 1. a picture follows a picture: it never falls silent, and carries more than a call does;
//! 2. what it sends, it has just made: an elastic sender always has more and fills every packet, a
//!    frame ends where it ends, so packets are not all full;
//! 3. pictures come by a clock, 30 to 144 a second: its bytes have a line in their spectrum there (or
//!    are so evenly paced, by a rate or by acknowledgements, that no line is left, and then most packets are not full);
//! 4. the player answers all the time, with little: inputs and reports, not pictures, and not the bare
//!    acknowledgements of TCP.
//!
//! Every 256 ms the last 1.02 s of a flow are looked at ([`features`]). Three looks in a row recognise a
//! game: after 1.54 s at the earliest. Eight looks in a row without (2 s) demote it; and for what is
//! recognised the rhythm need not show, since congestion smears it, and half the rate will do.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | looks to recognise | 3 | with the window, within the two seconds that are asked of it |
//! | looks to demote | 8 | 2.05 s: as long as recognition; a queue must not change on one stall |
//! | flows | 1024 | a home's; 4.5 kB each |
//! | ways of the table | 8 | CAKE's (tc-cake(8)): collisions are rare until the table is nearly full |
//! | a flow is forgotten after | 120 s | RFC 4787 REQ-5: no NAT forgets UDP sooner |
//!
//! | Deviation | Why |
//! |---|---|
//! | no learning | thresholds from physics hold for services that nobody recorded, and can be explained |
//! | a game over TCP is not found | its acknowledgements look like a download's |
//! | sizes must be those on the wire | a host that merges packets (GRO) before it looks sees neither frames nor full packets |
//! | packets padded to one size hide frames | then only the inputs differ from a paced download |
//! | a picture one way, a film by RTP, is a game if it is fast | so it is, but for the fun: it is as sensitive |

pub mod features;
mod history;
mod spectrum;
mod table;
#[cfg(test)]
mod tests;

pub use features::{Bound, Criterion, Demand, Features, Missing};

pub use gameway_path::Direction;
use gameway_path::{Dscp, Header, Protocol, Traffic};
use gameway_units::{Bytes, Instant};
use history::History;
use spectrum::Spectrum;
use table::Table;

const LOOKS_TO_RECOGNISE: u32 = 3;
/// The last eight looks are kept, a bit each.
const LOOKS_TO_DEMOTE: u32 = u8::BITS;
const FLOWS: usize = 1024;

/// What a packet's flow is taken for, and whether that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// `None` until the flow has been there for a window.
    pub traffic: Option<Traffic>,
    /// Whether this packet made it a game, or no game any longer.
    pub changed: bool,
}

/// Why a flow is taken for what it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// What it is taken for.
    pub traffic: Option<Traffic>,
    /// The share of the last eight looks in which it behaved like a game: 0 to 1.
    pub confidence: f64,
    /// What the last look saw; `None` before the first.
    pub features: Option<Features>,
    /// What it lacked to be a game.
    pub missing: Missing,
    /// How many looks there were, of the last eight.
    pub looks: u32,
    /// What the last look asked for.
    pub demand: Demand,
}

/// A flow as the classifier knows it.
#[derive(Debug)]
struct Flow {
    history: History,
    /// The last eight looks, the latest lowest.
    looks: u8,
    /// How many there were, up to eight.
    looked: u32,
    demand: Demand,
    features: Option<Features>,
    missing: Missing,
    traffic: Option<Traffic>,
}

impl Flow {
    fn new(now: Instant) -> Self {
        Self {
            history: History::new(now),
            looks: 0,
            looked: 0,
            demand: Demand::Become,
            features: None,
            missing: Missing::TIME,
            traffic: None,
        }
    }

    /// Judges the last window; whether that changed what it is taken for.
    fn look(&mut self, protocol: Protocol, spectrum: &mut Spectrum) -> bool {
        let was = self.traffic;
        let demand = match was {
            Some(Traffic::Game) => Demand::Remain,
            _ => Demand::Become,
        };
        let (features, missing) = features::look(&self.history, protocol, spectrum, demand);
        self.features = Some(features);
        self.looked = (self.looked + 1).min(LOOKS_TO_DEMOTE);
        self.demand = demand;
        self.missing = missing;
        self.looks = (self.looks << 1) | u8::from(missing.is_empty());
        self.traffic = Some(match was {
            Some(Traffic::Game) if self.looks.count_ones() > 0 => Traffic::Game,
            _ if self.looks.trailing_ones() >= LOOKS_TO_RECOGNISE => Traffic::Game,
            _ => Traffic::Other,
        });
        (was == Some(Traffic::Game)) != (self.traffic == Some(Traffic::Game))
    }

    fn evidence(&self) -> Evidence {
        Evidence {
            traffic: self.traffic,
            confidence: f64::from(self.looks.count_ones()) / f64::from(LOOKS_TO_DEMOTE),
            features: self.features,
            missing: self.missing,
            looks: self.looked,
            demand: self.demand,
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Classifier {
    table: Table<Flow>,
    spectrum: Spectrum,
}

impl Classifier {
    /// A classifier that has seen nothing. `seed` keeps others from choosing ports that collide in its
    /// table: it need not be secret in a simulation.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_flows(seed, FLOWS)
    }

    /// A classifier that remembers about `flows` flows, at least eight.
    #[must_use]
    pub fn with_flows(seed: u64, flows: usize) -> Self {
        Self { table: Table::new(seed, flows), spectrum: Spectrum::new() }
    }

    /// A packet of `size` on the wire passes. Call it in the order of time.
    pub fn on_packet(
        &mut self,
        now: Instant,
        header: &Header,
        size: Bytes,
        direction: Direction,
    ) -> Judgement {
        let inwards = inwards(header, direction);
        let keep = |flow: &Flow| flow.traffic == Some(Traffic::Game);
        let flow = self.table.entry(now, &inwards, || Flow::new(now), keep);
        // Looks come before the packet: it belongs to the next epoch.
        let mut changed = false;
        while flow.history.advance(now) {
            changed ^= flow.look(header.protocol, &mut self.spectrum);
        }
        flow.history.add(size, direction);
        Judgement { traffic: flow.traffic, changed }
    }

    /// What a flow is taken for; the header is one of its packets'.
    #[must_use]
    pub fn traffic(&self, header: &Header, direction: Direction) -> Option<Traffic> {
        self.table.get(&inwards(header, direction))?.traffic
    }

    /// Why a flow is taken for what it is; `None` for a flow that it does not know.
    #[must_use]
    pub fn why(&self, header: &Header, direction: Direction) -> Option<Evidence> {
        self.table.get(&inwards(header, direction)).map(Flow::evidence)
    }

    /// All flows that it remembers, by the header of what goes in, with when the last packet passed; in the order of its table,
    /// which depends on nothing but the seed and what it has seen.
    pub fn all(&self) -> impl Iterator<Item = (Header, Instant, Evidence)> {
        self.table.iter().map(|(header, seen, flow)| (*header, seen, flow.evidence()))
    }

    /// Forgets a flow: its next packet is the first of one.
    pub fn forget(&mut self, header: &Header, direction: Direction) {
        self.table.remove(&inwards(header, direction));
    }

    /// How many flows it remembers.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.table.len()
    }
}

/// The header as of a packet of the same flow that goes in.
fn inwards(header: &Header, direction: Direction) -> Header {
    let header = match direction {
        Direction::Down => *header,
        Direction::Up => header.reversed(),
    };
    Header { dscp: Dscp::default(), ..header }
}
