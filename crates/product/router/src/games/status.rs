//! What is told of games: by the control socket, and in a terminal.

use super::{By, Games, ListedFlow};
use gameway_gateway::classifier::{Bound, Criterion, Direction, Missing};
use gameway_path::{Header, Protocol, Traffic};
use gameway_units::Instant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;

/// A page of a terminal.
const MAX_TOLD: usize = 20;

/// What is so at a moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GamesStatus {
    /// The games.
    pub found: Vec<Game>,
    /// Games beyond these.
    pub more: usize,
    /// Flows of UDP that are known and no games by behaviour.
    pub others: usize,
    /// What these lack to be one, and how many lack it.
    pub lacking: BTreeMap<String, usize>,
    /// Flows of UDP that were not there for a second yet.
    pub undecided: usize,
    /// Of all, those that are told of in samples, as they move much.
    pub quiet: usize,
    /// Flows that are no games by hand.
    pub overruled: usize,
}

/// A flow that is a game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Game {
    /// Outside.
    pub sender: SocketAddr,
    /// At home.
    pub receiver: SocketAddr,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// By what it is one.
    pub by: Basis,
    /// The rule's name, or the DSCP's.
    pub name: Option<String>,
    /// For how long.
    pub for_s: f64,
    /// To the home in the last second, on the wire.
    pub rate_bps: u64,
    /// The share of the last eight looks in which it behaved like a game; of behaviour alone.
    pub confidence: Option<f64>,
    /// What the look saw that found it; of behaviour alone.
    pub reasons: Vec<Reason>,
}

/// By what a flow is a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// What it does.
    Behaviour,
    /// What it says of itself.
    Dscp,
    /// By hand.
    Rule,
}

/// A figure beside its threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// What a flow lacks where it does not hold.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// `at least`, `above` or `at most`.
    pub bound: String,
    /// The threshold.
    pub threshold: f64,
    /// Of both.
    pub unit: String,
}

impl Reason {
    fn of(asked: &Criterion) -> Self {
        let bound = match asked.bound {
            Bound::AtLeast => "at least",
            Bound::Above => "above",
            Bound::AtMost => "at most",
        };
        Self {
            what: asked.what.names().collect(),
            value: asked.value,
            bound: bound.to_owned(),
            threshold: asked.threshold,
            unit: asked.unit.to_owned(),
        }
    }

    fn shown(&self) -> String {
        let Self { what, value, bound, threshold, unit } = self;
        let is_percent = unit.starts_with("of packets") || unit.starts_with("of the bytes");
        let (scale, sign) = if is_percent { (100.0, " %") } else { (1.0, "") };
        let figure = |figure: f64| {
            let figure = figure * scale;
            if figure >= 10.0 || is_percent { format!("{figure:.0}{sign}") } else { digits(figure) }
        };
        // Whoever answers at the socket may not steer the terminal.
        let [what, bound, unit] = [what, bound, unit].map(|text| text.escape_debug());
        format!("{what} {} {unit} ({bound} {})", figure(*value), figure(*threshold))
    }
}

/// Two digits that matter, and no more.
fn digits(figure: f64) -> String {
    let text = format!("{figure:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Games {
    /// What is so now.
    #[must_use]
    pub fn told(&self, now: Instant) -> GamesStatus {
        let mut told = GamesStatus { quiet: self.quiet.len(), ..GamesStatus::default() };
        for (header, listed) in &self.listed {
            match listed.by {
                By::NoRule => told.overruled += 1,
                _ if told.found.len() >= MAX_TOLD => told.more += 1,
                _ => told.found.push(self.game(now, header, listed)),
            }
        }
        for (_, _, evidence) in self.classifier.all().filter(|(_, seen, _)| is_there(now, *seen)) {
            match evidence.traffic {
                Some(Traffic::Game) => {}
                Some(Traffic::Other) => told.count(evidence.missing),
                None => told.undecided += 1,
            }
        }
        self.quiet.values().for_each(|one| told.count(one.missing));
        told
    }

    fn game(&self, now: Instant, header: &Header, listed: &ListedFlow) -> Game {
        let (by, name) = match &listed.by {
            By::Rule(name) => (Basis::Rule, Some(name.clone())),
            By::Dscp(dscp) => (Basis::Dscp, Some(dscp.to_string())),
            By::Behaviour | By::NoRule => (Basis::Behaviour, None),
        };
        let evidence = self.classifier.why(header, Direction::Down);
        Game {
            sender: SocketAddr::new(header.source.address, header.source.port),
            receiver: SocketAddr::new(header.destination.address, header.destination.port),
            protocol: if header.protocol == Protocol::Tcp { "tcp" } else { "udp" }.to_owned(),
            by,
            name,
            for_s: now.saturating_since(listed.since).as_secs_f64(),
            rate_bps: listed.rate.as_bps(),
            confidence: evidence.map(|one| one.confidence).filter(|_| by == Basis::Behaviour),
            reasons: listed.reasons.iter().map(Reason::of).collect(),
        }
    }
}

/// Whether a flow that the classifier remembers may go on.
fn is_there(now: Instant, seen: Instant) -> bool {
    now.saturating_since(seen) < super::SILENT_OTHER
}

impl GamesStatus {
    fn count(&mut self, missing: Missing) {
        self.others += 1;
        for name in missing.names() {
            *self.lacking.entry(name.to_owned()).or_default() += 1;
        }
        // A look that lacks nothing is one of three that it takes.
        if missing.is_empty() {
            *self.lacking.entry("time".to_owned()).or_default() += 1;
        }
    }

    /// For a terminal; empty if there is nothing.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = String::new();
        let known = self.others + self.undecided + self.overruled;
        if self.found.is_empty() && known == 0 {
            return text;
        }
        let _ = writeln!(text, "\ngames                       {}", self.found.len() + self.more);
        self.found.iter().for_each(|game| text += &game.shown());
        if self.more > 0 {
            let _ = writeln!(text, "{:>10} more", self.more);
        }
        let mut lacking: Vec<_> = self.lacking.iter().collect();
        lacking.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let of = |(what, count): &(&String, &usize)| format!("{} ({count})", what.escape_debug());
        let why: Vec<String> = lacking.iter().map(of).collect();
        let why =
            if why.is_empty() { String::new() } else { format!(", lacking {}", why.join(", ")) };
        let _ = writeln!(text, "no games over UDP           {}{why}", self.others);
        if self.undecided + self.overruled + self.quiet > 0 {
            let _ = writeln!(
                text,
                "not judged yet, by hand     {}, {}; {} told of in samples",
                self.undecided, self.overruled, self.quiet
            );
        }
        text
    }
}

impl Game {
    fn shown(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default().escape_debug();
        let by = match self.by {
            Basis::Behaviour => "behaviour".to_owned(),
            Basis::Dscp => format!("DSCP {name}"),
            Basis::Rule => format!("rule {name}"),
        };
        let sure =
            self.confidence.map_or(String::new(), |one| format!(", {:.0} % sure", one * 100.0));
        let (rate, length) = (self.rate_bps as f64 / 1e6, self.for_s);
        let mut text = format!(
            "{rate:>5.2} Mb/s  {} {} -> {}, for {length:.0} s, by {by}{sure}\n",
            self.protocol.escape_debug(),
            self.sender,
            self.receiver
        );
        for reason in &self.reasons {
            let _ = writeln!(text, "            {}", reason.shown());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn game(text: &str, by: Basis) -> Game {
        let reason = Reason {
            what: text.to_owned(),
            value: 0.5,
            bound: text.to_owned(),
            threshold: 2.0,
            unit: text.to_owned(),
        };
        Game {
            sender: "203.0.113.9:443".parse().expect("an end"),
            receiver: "192.168.7.2:40000".parse().expect("an end"),
            protocol: text.to_owned(),
            by,
            name: Some(text.to_owned()),
            for_s: 12.4,
            rate_bps: 8_490_000,
            confidence: None,
            reasons: vec![reason],
        }
    }

    #[test]
    fn a_terminal_shows_by_what_each_is_a_game() {
        let told = GamesStatus {
            found: vec![game("tv", Basis::Rule), game("ef", Basis::Dscp)],
            more: 3,
            others: 9,
            lacking: BTreeMap::from([("frames".to_owned(), 2), ("rate".to_owned(), 8)]),
            overruled: 1,
            ..GamesStatus::default()
        };
        let expected = "
games                       5
 8.49 Mb/s  tv 203.0.113.9:443 -> 192.168.7.2:40000, for 12 s, by rule tv
            tv 0.5 tv (tv 2)
 8.49 Mb/s  ef 203.0.113.9:443 -> 192.168.7.2:40000, for 12 s, by DSCP ef
            ef 0.5 ef (ef 2)
         3 more
no games over UDP           9, lacking rate (8), frames (2)
not judged yet, by hand     0, 1; 0 told of in samples
";
        assert_eq!(told.shown(), expected);
        assert_eq!(GamesStatus::default().shown(), "");
    }

    proptest! {
        #[test]
        fn no_word_can_steer_the_terminal(text in any::<String>()) {
            let lacking = BTreeMap::from([(text.clone(), 1)]);
            let found = vec![game(&text, Basis::Rule), game(&text, Basis::Dscp)];
            let shown = GamesStatus { found, lacking, ..GamesStatus::default() }.shown();
            prop_assert!(shown.chars().all(|one| one == '\n' || !one.is_control()), "{:?}", shown);
        }
    }
}
