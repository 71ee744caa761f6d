//! What the program makes of datagrams: the classifier behind a data path that is as it is told to be.

use crate::home_day::{Flow, KINDS, other, played};
use crate::traffic::{self, Draws, Packet, bulk, bytes, game, instant, later};
use gameway_gateway::classifier::Direction::{self, Down};
use gameway_path::{Dscp, Header, Protocol};
use gameway_router::exceptions::{Exception, Exceptions};
use gameway_router::games::status::{Basis, GamesStatus};
use gameway_router::games::{Games, GamesConfig};
use gameway_router::record::{Datagram, Verdict};
use gameway_units::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// From one look of the program to the next, as in `src/program.rs`; from one sample to the next, as in `bpf/games.h`.
const LOOK_S: f64 = 0.005;
const SAMPLE_S: f64 = 0.010;

/// The program's part behind a data path.
struct Router {
    games: Games,
    verdicts: BTreeMap<Header, Verdict>,
    /// Of quiet flows: when they were told of, and what passed since.
    samples: BTreeMap<Header, (f64, u32, Bytes)>,
    looked: f64,
    passed: u64,
    told: u64,
    dscp: Dscp,
}

fn inwards(header: Header, direction: Direction) -> Header {
    let header = if direction == Down { header } else { header.reversed() };
    Header { dscp: Dscp::default(), ..header }
}

impl Router {
    fn new(config: GamesConfig) -> Self {
        Self {
            games: Games::new(config, 1),
            verdicts: BTreeMap::new(),
            samples: BTreeMap::new(),
            looked: 0.0,
            passed: 0,
            told: 0,
            dscp: Dscp::default(),
        }
    }

    fn look(&mut self, at: f64) {
        self.looked = at;
        self.games.review(instant(at));
        for (header, verdict) in self.games.take_changes() {
            // As the data path: what is thought of one way is thought of both.
            assert_eq!(header.dscp, Dscp::default());
            self.verdicts.insert(header, verdict);
        }
    }

    fn pass(&mut self, number: u16, (at, size, direction): Packet) {
        if at - self.looked >= LOOK_S {
            self.look(at);
        }
        self.passed += 1;
        let header =
            Header { dscp: self.dscp, ..traffic::header(number, Protocol::Udp, direction) };
        let verdict = self.verdicts.get(&inwards(header, direction)).copied().unwrap_or_default();
        let mut untold = (0, Bytes::ZERO);
        if verdict.quiet {
            let sample = self.samples.entry(header).or_insert((at, 0, Bytes::ZERO));
            if at - sample.0 < SAMPLE_S {
                (sample.1, sample.2) = (sample.1 + 1, sample.2.saturating_add(bytes(size)));
                return;
            }
            untold = (sample.1, sample.2);
            *sample = (at, 0, Bytes::ZERO);
        }
        self.told += 1;
        let datagram = Datagram {
            at_ns: 0,
            to_home: direction == Down,
            header,
            ecn: 0,
            headers: Bytes::new(28),
            length: u32::try_from(size - 28).expect("a packet"),
            joined: 0,
            first: None,
            verdict,
            untold,
        };
        self.games.on_datagram(instant(at), &datagram);
    }

    fn play(&mut self, number: u16, packets: &[Packet]) {
        packets.iter().for_each(|packet| self.pass(number, *packet));
    }

    fn told(&mut self, at: f64) -> GamesStatus {
        self.look(at);
        self.games.told(instant(at))
    }

    fn verdict(&self, number: u16) -> Verdict {
        let header = traffic::header(number, Protocol::Udp, Down);
        self.verdicts.get(&header).copied().unwrap_or_default()
    }
}

fn rules(key: &str, port: Option<u32>) -> Exceptions {
    let one = |port| Exception { name: None, address: None, port: Some(port) };
    Exceptions::of(key, &port.map(one).into_iter().collect::<Vec<_>>()).expect("a rule")
}

fn config() -> GamesConfig {
    GamesConfig {
        by_behaviour: true,
        trust_dscp: false,
        mark: None,
        games: Exceptions::default(),
        no_games: Exceptions::default(),
    }
}

#[test]
fn a_game_is_found_with_its_reasons_and_is_over_when_it_ends() {
    let mut router = Router::new(config());
    router.play(7, &game(8.0, 60.0, 0.4, 4.0));
    assert_eq!(router.verdict(7), Verdict { game: Some(true), quiet: false });
    router.games.take_rates(instant(4.0));
    let told = router.told(4.0);
    let [found] = &told.found[..] else { panic!("{told:?}") };
    assert_eq!((found.by, found.confidence), (Basis::Behaviour, Some(1.0)));
    assert!((2.3..2.5).contains(&found.for_s), "{}", found.for_s);
    let of = |what: &str| found.reasons.iter().find(|one| one.what == what).expect(what).value;
    assert!((7.0..10.0).contains(&of("rate")) && (58.0..62.0).contains(&of("rhythm")));
    assert!((120.0..130.0).contains(&of("answers")) && of("asymmetry") < 0.2);
    assert!((4e6..10e6).contains(&(found.rate_bps as f64)), "{}", found.rate_bps);
    let shown = told.shown();
    assert!(shown.contains("\ngames                       1\n"), "{shown}");
    assert!(shown.contains("by behaviour, 100 % sure\n"), "{shown}");
    assert!(shown.contains("rhythm 60") || shown.contains("rhythm 59"), "{shown}");
    // Silent.
    assert_eq!(router.told(6.7).found.len(), 1);
    assert_eq!(router.told(7.1).found, []);
    assert_eq!(router.verdict(7), Verdict::default());
}

#[test]
fn what_moves_much_is_told_of_in_samples_and_listened_to_again() {
    let mut router = Router::new(config());
    let packets = bulk(1_278, 40.0, 8.0, 75, 36.0);
    router.play(3, &packets);
    // Eight looks are over at 2.8 s, then it is quiet for 10 s, listened to for 2.8 s, and so on: 8.4 s of 36, and samples.
    let share = router.told as f64 / router.passed as f64;
    assert!((0.24..0.30).contains(&share), "{share}");
    let told = router.told(36.0);
    assert_eq!((told.others, told.quiet, &told.found[..]), (1, 1, &[][..]));
    assert_eq!(told.lacking, BTreeMap::from([("frames".to_owned(), 1)]));
    // The twin, below 10 Mb/s: it costs little.
    let mut router = Router::new(config());
    router.play(3, &bulk(1_278, 9.0, 8.0, 75, 40.0));
    assert_eq!(router.told, router.passed);
    assert_eq!(router.told(40.0).quiet, 0);
}

#[test]
fn a_game_in_what_was_a_download_is_found_when_it_is_listened_to() {
    let mut router = Router::new(config());
    router.play(3, &bulk(1_278, 40.0, 8.0, 75, 4.0));
    assert!(router.verdict(3).quiet);
    router.play(3, &later(game(10.0, 60.0, 0.4, 14.0), 4.0));
    let told = router.told(18.0);
    // Quiet until 12.9 s, and three looks.
    assert!((3.2..4.0).contains(&told.found[0].for_s), "{told:?}");
}

#[test]
fn rules_come_first_then_behaviour_then_dscp() {
    let packets = game(8.0, 60.0, 0.4, 4.0);
    let calm = traffic::steady(200, 0.02, Down, 4.0);
    let ef = Dscp(46);
    let by = |config: GamesConfig, dscp: Dscp, packets: &[Packet]| {
        let mut router = Router::new(config);
        router.dscp = dscp;
        router.play(7, packets);
        let told = router.told(4.0);
        let first = told.found.first().map(|one| (one.by, one.name.clone()));
        (first, told.overruled, router.verdict(7))
    };
    let trusting = || GamesConfig { trust_dscp: true, ..config() };
    let game_by_hand = Verdict { game: Some(true), quiet: true };
    let none_by_hand = Verdict { game: Some(false), quiet: true };
    let rule = |name: &str| Some((Basis::Rule, Some(name.to_owned())));
    let ruled = GamesConfig { games: rules("game", Some(7)), ..trusting() };
    assert_eq!(by(ruled.clone(), ef, &calm), (rule("port 7"), 0, game_by_hand));
    let overruled = GamesConfig { no_games: rules("no_game", Some(7)), ..ruled };
    assert_eq!(by(overruled, ef, &packets), (None, 1, none_by_hand));
    let found = Verdict { game: Some(true), quiet: false };
    assert_eq!(by(trusting(), ef, &packets), (Some((Basis::Behaviour, None)), 0, found));
    let marked = Some((Basis::Dscp, Some("ef".to_owned())));
    assert_eq!(by(trusting(), ef, &calm), (marked, 0, Verdict::default()));
    assert_eq!(by(config(), ef, &calm), (None, 0, Verdict::default()));
    assert_eq!(by(trusting(), Dscp(8), &calm), (None, 0, Verdict::default()));
    let off = GamesConfig { by_behaviour: false, ..config() };
    let quiet = Verdict { game: None, quiet: true };
    assert_eq!(by(off, Dscp(0), &packets), (None, 0, quiet));
}

#[test]
fn a_game_is_found_among_ten_thousand_flows() {
    let mut router = Router::new(config());
    let packets = game(10.0, 60.0, 0.4, 6.0);
    let mut draws = Draws(3);
    let mut next = 0.0;
    for packet in packets {
        // Each of the others has a packet in two seconds.
        while next < packet.0 {
            let number = 100 + (draws.uniform() * 10_000.0) as u16;
            router.pass(number, (next, 1_400, Down));
            next += 0.000_2;
        }
        router.pass(7, packet);
    }
    let told = router.told(6.0);
    assert_eq!(told.found.len(), 1);
    assert!((4.0..4.5).contains(&told.found[0].for_s), "{}", told.found[0].for_s);
    assert!((900..1024).contains(&(told.others + told.undecided)), "{told:?}");
}

/// What came of hours at a home: flows and games of each kind, and those that were taken for games.
#[derive(Debug, Default)]
struct Day {
    flows: BTreeMap<&'static str, u32>,
    taken: BTreeMap<&'static str, u32>,
    packets: u64,
    told: u64,
}

/// Flows come at random, four at a time in the mean, each 20th a game.
fn day(seed: u64, hours: f64) -> Day {
    const MEAN_GAP_S: f64 = 8.0;
    let mut draws = Draws(seed);
    let mut router = Router::new(config());
    let mut day = Day::default();
    let mut going: BTreeMap<u16, (Flow, f64, bool)> = BTreeMap::new();
    let mut due: BinaryHeap<Reverse<(u64, u16, usize)>> = BinaryHeap::new();
    let nanos = |seconds: f64| (seconds * 1e9) as u64;
    let (mut next_flow, mut number) = (1.0, 0_u16);
    let end = hours * 3600.0;
    loop {
        let at = due.peek().map_or(f64::MAX, |Reverse((at, ..))| *at as f64 * 1e-9);
        if next_flow <= at.min(end) {
            let is_game = draws.uniform() < 0.05;
            let kind = (draws.uniform() * KINDS as f64) as usize;
            let flow = if is_game { played(&mut draws) } else { other(kind, &mut draws) };
            number = number.wrapping_add(1).max(1);
            *day.flows.entry(flow.kind).or_default() += 1;
            due.push(Reverse((nanos(next_flow + flow.packets[0].0), number, 0)));
            going.insert(number, (flow, next_flow, false));
            next_flow += 2.0 * MEAN_GAP_S * draws.uniform();
            continue;
        }
        let Some(Reverse((_, number, index))) = due.pop() else { break };
        let (flow, start, is_taken) = going.get_mut(&number).expect("it goes on");
        let (offset, size, direction) = flow.packets[index];
        router.pass(number, (*start + offset, size, direction));
        *is_taken |= router.verdict(number).game == Some(true);
        match flow.packets.get(index + 1) {
            Some((next, ..)) => due.push(Reverse((nanos(*start + next), number, index + 1))),
            None => {
                if *is_taken {
                    *day.taken.entry(flow.kind).or_default() += 1;
                }
                going.remove(&number);
            }
        }
    }
    (day.packets, day.told) = (router.passed, router.told);
    day
}

#[test]
fn half_an_hour_at_a_home_has_no_false_game_and_all_true_ones() {
    let day = day(1, 0.5);
    let games = day.flows["a game"];
    assert_eq!(day.taken, BTreeMap::from([("a game", games)]), "{day:?}");
    assert!(games >= 8 && day.flows.len() == KINDS + 1, "{day:?}");
    assert!(day.told < day.packets, "{day:?}");
}

/// The whole form: `cargo test --release -p gameway-router --test all a_day -- --ignored --nocapture`.
#[test]
#[ignore = "minutes"]
fn a_day_at_a_home_has_no_false_game_and_all_true_ones() {
    let day = day(2, 24.0);
    eprintln!("{day:#?}");
    let games = day.flows["a game"];
    assert_eq!(day.taken, BTreeMap::from([("a game", games)]));
}
