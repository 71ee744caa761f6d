//! The live path without devices: it is told the time.

use super::super::config::FlowConfig;
use super::super::wire;
use super::*;
use gameway_events::{Name, RunEvent};
use gameway_experiment::check;
use gameway_experiment::spec::RecordSpec;
use gameway_path::{Direction, Discipline, DropTail, Limit, PathPacket, Queue, SizeOption};
use gameway_units::Ecn;
use gameway_units::declared::Configuration;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, channel};

pub(super) struct Bench {
    pub path: LivePath,
    pub flows: Flows,
    pub arrived: Vec<Arrived>,
    pub events: Receiver<RunEvent>,
}

pub(super) const END: Instant = Instant::from_nanos(3_600_000_000_000);

pub(super) fn bench(path: &str) -> Bench {
    bench_of(path, [(None, None); 2])
}

pub(super) fn bench_with(path: &str, flows: Vec<FlowConfig>) -> Bench {
    bench_knowing(path, flows, LinkRegistry::standard(), &RecordSpec::default())
}

fn bench_knowing(
    path: &str,
    flows: Vec<FlowConfig>,
    registry: LinkRegistry,
    record: &RecordSpec,
) -> Bench {
    let spec: PathSpec = path.parse().expect("it is a path");
    let registry = Arc::new(registry);
    check::check_path(registry.known(), &spec).expect("it can be built");
    let flows = Flows::new(flows, None);
    let (sink, events) = channel();
    let names: Vec<Name> = flows.names().collect();
    let links = Routes::new(&spec).names();
    let recorder = Recorder::new(Box::new(sink), names, links, END, record);
    let run = (7, END - Instant::ZERO);
    let path = LivePath::new(&spec, run, &flows, recorder, registry).expect("a path");
    Bench { path, flows, arrived: Vec::new(), events }
}

/// An IPv4 packet between a server with this last number and the client.
pub(super) fn bytes_of(server: u8, direction: Direction, tos: u8, size: usize) -> Vec<u8> {
    let mut packet = vec![0; size.max(28)];
    packet[0] = 0x45;
    packet[1] = tos;
    let length = packet.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[9] = 17;
    let ends = [[10, 77, 0, server], [10, 78, 0, 1]];
    let (from, to) = if direction == Direction::Down { (0, 1) } else { (1, 0) };
    packet[12..16].copy_from_slice(&ends[from]);
    packet[16..20].copy_from_slice(&ends[to]);
    packet
}

impl Bench {
    pub fn send(&mut self, now: i64, direction: Direction, bytes: &[u8]) {
        let now = Instant::from_nanos(now);
        let slot = self.path.pool().take().expect("there is room");
        self.path.pool().bytes(slot)[..bytes.len()].copy_from_slice(bytes);
        let parsed = wire::parse(bytes).expect("it is a packet");
        let packet = self.flows.packet(direction, slot, bytes, &parsed);
        self.path.advance(now, &mut self.arrived);
        self.path.arrive(now, packet);
    }

    pub fn advance(&mut self, now: i64) -> Vec<(i64, u64)> {
        let now = Instant::from_nanos(now);
        self.path.advance(now, &mut self.arrived);
        self.arrived.drain(..).map(|one| (one.due.as_nanos(), one.packet.size.get())).collect()
    }

    pub fn totals(&mut self) -> (u64, u64, u64, u64) {
        let totals = &self.path.recorder().totals;
        (totals.arrived, totals.dropped, totals.lost, totals.delivered)
    }

    pub fn inside(&self) -> u64 {
        self.path.network.inside()
    }
}

pub(super) const PLAIN: &str = r#"{"capacity": "12 Mb/s", "base_rtt": "20 ms", "forward_delay": "12 ms",
                        "queue": {"kind": "drop-tail", "size": "10 packets"}}"#;
pub(super) const MILLI: i64 = 1_000_000;

#[test]
fn a_late_driver_changes_no_due_time() {
    // 1500 bytes at 12 Mb/s take 1 ms.
    let wanted = vec![(13 * MILLI, 1500), (14 * MILLI, 1500), (15 * MILLI, 1500)];
    for late in [false, true] {
        let mut bench = bench(PLAIN);
        for _ in 0..3 {
            bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
        }
        let mut found = Vec::new();
        if !late {
            for micros in 0..20_000 {
                found.extend(bench.advance(micros * 1000));
            }
        }
        found.extend(bench.advance(700 * MILLI));
        assert_eq!(found, wanted, "late: {late}");
    }
}

#[test]
fn what_goes_up_meets_the_return_delay_only() {
    let mut bench = bench(PLAIN);
    for _ in 0..100 {
        bench.send(5 * MILLI, Direction::Up, &bytes_of(2, Direction::Up, 0, 1500));
    }
    assert_eq!(bench.advance(13 * MILLI - 1), []);
    assert_eq!(bench.advance(13 * MILLI), vec![(13 * MILLI, 1500); 100]);
    assert_eq!(bench.totals(), (0, 0, 0, 0));
}

#[test]
fn a_full_queue_drops_and_its_slots_are_free_again() {
    let mut bench = bench(PLAIN);
    for _ in 0..20 {
        bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    // One in transmission, ten wait.
    assert_eq!(bench.totals(), (20, 9, 0, 0));
    assert_eq!((bench.path.pool().used(), bench.inside()), (11, 11));
    assert_eq!(bench.advance(1_000 * MILLI).len(), 11);
}

#[test]
fn a_sink_hears_what_becomes_of_each_packet_where_that_is_asked_for() {
    let packets: RecordSpec = serde_json::from_str(r#"{"packets": true}"#).expect("it is one");
    let flow: FlowConfig =
        serde_json::from_str(r#"{"name": "game", "address": "10.77.0.1"}"#).expect("it is a flow");
    for (record, told) in [(RecordSpec::default(), 0), (packets, 20)] {
        let mut bench = bench_knowing(PLAIN, vec![flow.clone()], LinkRegistry::standard(), &record);
        for _ in 0..20 {
            bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
        }
        assert_eq!(bench.advance(400 * MILLI).len(), 11);
        let fates = bench.events.try_iter().filter_map(|event| match event {
            RunEvent::Packet(record) => Some(record.fate.to_string()),
            _ => None,
        });
        let fates: Vec<String> = fates.collect();
        let dropped = fates.iter().filter(|fate| *fate == "dropped").count();
        assert_eq!((fates.len(), dropped), (told, if told > 0 { 9 } else { 0 }));
    }
}

/// A queue of somebody else's: one packet waits, whatever a path says.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
struct OneWaits {}

impl Configuration for OneWaits {
    const NAME: &'static str = "one-waits";
    const SUMMARY: &'static str = "one packet waits";
    const SOURCE: &'static str = "this test";
}

impl Discipline for OneWaits {
    const SIZE: SizeOption = SizeOption { default: Some("2 bdp"), summary: "has no effect" };

    fn build<P: PathPacket + 'static>(
        self,
        _limit: Limit,
        _random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(DropTail::new(Limit::Packets(1)))
    }
}

#[test]
fn a_queue_that_is_not_of_this_repository_is_built_and_named_in_a_change() {
    let path = PLAIN.replace("drop-tail", "one-waits");
    let spec: PathSpec = path.parse().expect("it is a path");
    assert!(check::check_path(LinkRegistry::standard().known(), &spec).is_err(), "nobody knows it");
    let registry = LinkRegistry::standard().with_queue::<OneWaits>();
    let mut bench = bench_knowing(&path, Vec::new(), registry, &RecordSpec::default());
    let mut send_five = |now: i64| {
        for _ in 0..5 {
            bench.send(now, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
        }
        // One is sent, one waits.
        let arrived = bench.advance(now + 100 * MILLI).len();
        let spec = bench.path.spec.clone();
        let links = build::changed_links(&spec, &spec).expect("the same");
        let later = Instant::from_nanos(now + 200 * MILLI);
        bench.path.change(later, spec, links).expect("it is still known");
        arrived
    };
    assert_eq!((send_five(0), send_five(300 * MILLI)), (2, 2));
}

#[test]
fn a_mark_of_the_queue_is_known_when_the_packet_leaves() {
    let path = r#"{"capacity": "12 Mb/s", "base_rtt": "20 ms",
                   "queue": {"kind": "drop-tail", "size": "10 packets", "mark_above": "1500 us"}}"#;
    let mut bench = bench(path);
    for tos in [0b10, 0b10, 0b10, 0b00] {
        bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, tos, 1500));
    }
    bench.path.advance(END, &mut bench.arrived);
    let ecn: Vec<Ecn> = bench.arrived.iter().map(|one| one.packet.ecn).collect();
    assert_eq!(ecn, [Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::NotEct]);
}

#[test]
fn flows_and_what_is_of_none_are_counted() {
    let mut bench = bench(PLAIN);
    for server in [1, 2, 2, 9] {
        bench.send(0, Direction::Down, &bytes_of(server, Direction::Down, 0, 100));
    }
    assert_eq!(bench.flows.others(), 1);
    assert_eq!(bench.totals().0, 4);
    assert_eq!(bench.advance(1_000 * MILLI).len(), 4);
}

#[test]
fn a_run_that_was_cut_short_tells_all_until_then() {
    let mut bench = bench(PLAIN);
    bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    let end = Instant::from_nanos(1_700 * MILLI);
    bench.path.advance(end, &mut bench.arrived);
    bench.path.end(end);
    let summary = bench.path.finish(end).expect("a channel keeps all");
    assert_eq!((summary.arrived_packets, summary.delivered_packets), (1, 1));
    assert_eq!(summary.duration_ns, 1_700 * MILLI);
    let events: Vec<RunEvent> = bench.events.try_iter().collect();
    let rows = |table: &str| events.iter().filter(|event| event.table() == table).count();
    // Bins of 0.5 s: three whole ones and one that was cut, for both flows.
    assert_eq!((rows("bins"), rows("link")), (8, 4));
    let last = events.last();
    assert!(matches!(last, Some(RunEvent::Summary(told)) if *told == summary), "{last:?}");
}

#[test]
fn what_comes_after_the_end_is_none_of_the_runs() {
    let mut bench = bench(PLAIN);
    let end = END.as_nanos();
    for _ in 0..5 {
        bench.send(end - 1, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    }
    // The driver reads on and then notices the time.
    bench.send(end + 3 * MILLI, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
    assert_eq!(bench.advance(end + 4 * MILLI), []);
    assert_eq!(bench.totals(), (5, 0, 0, 0));
    assert_eq!((bench.path.pool().used(), bench.inside()), (5, 5));
    bench.path.end(END);
    assert_eq!(bench.path.recorder().next_deadline(), Instant::MAX);
}

#[test]
fn a_copy_has_bytes_of_its_own_and_is_counted() {
    let path = PLAIN
        .replace('{', r#"{"duplicate": {"probability": "100 %"}, "#)
        .replace(r#""queue": {"duplicate": {"probability": "100 %"}, "#, r#""queue": {"#);
    let mut bench = bench(&path);
    let bytes = bytes_of(1, Direction::Down, 0, 1500);
    bench.send(0, Direction::Down, &bytes);
    bench.path.advance(END, &mut bench.arrived);
    assert_eq!(bench.arrived.len(), 2);
    let slots = [0, 1].map(|number: usize| bench.arrived[number].packet.slot);
    assert_ne!(slots[0], slots[1]);
    for slot in slots {
        assert_eq!(bench.path.pool().bytes(slot)[..1500], bytes[..]);
    }
    assert_eq!(bench.totals(), (1, 0, 0, 2));
    assert_eq!(bench.path.recorder().totals.duplicated, 1);
}

#[test]
fn packets_change_their_place_as_they_are_told_to() {
    let with = |reorder: &str| PLAIN.replacen('{', &format!(r#"{{"reorder": {reorder}, "#), 1);
    let order = |path: &str| {
        let mut bench = bench(path);
        for size in [101, 102, 103, 104] {
            bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, size));
        }
        bench.advance(1_000 * MILLI).into_iter().map(|one| one.1).collect::<Vec<u64>>()
    };
    assert_eq!(order(PLAIN), [101, 102, 103, 104]);
    // Each second one overtakes all that are under way, or falls behind them.
    assert_eq!(order(&with(r#"{"probability": "100 %", "gap": 2}"#)), [102, 104, 101, 103]);
    let later = with(r#"{"probability": "100 %", "gap": 2, "later": "1 ms"}"#);
    assert_eq!(order(&later), [101, 103, 102, 104]);
    let slightly = with(r#"{"probability": "100 %", "gap": 4, "earlier": "100 us"}"#);
    assert_eq!(order(&slightly), [101, 102, 104, 103]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// However late the driver, nothing is lost track of, and what arrives is what would have.
    #[test]
    fn packets_are_conserved_and_late_drivers_agree(
        sends in prop::collection::vec((0_i64..3_000_000, any::<bool>(), 1_u8..4, 28_usize..1500, 0_u8..4), 1..200),
        queue in prop::sample::select(vec!["drop-tail", "codel", "fq-codel", "pie", "dual-pi2", "cake"]),
        wifi in any::<bool>(),
    ) {
        let (capacity, back) = if wifi {
            (r#"{"wifi": "802.11n", "error_rate": "20 %", "attempts": 2}"#, "")
        } else {
            (r#"{"steps": [["0 s", "10 Mb/s"], ["50 ms", "0 b/s"], ["90 ms", "30 Mb/s"]]}"#, r#""capacity": "5 Mb/s", "#)
        };
        let path = format!(
            r#"{{"capacity": {capacity}, "base_rtt": "20 ms",
                "queue": {{"kind": "{queue}", "size": "20 packets"}},
                "loss": {{"kind": "random", "probability": "10 %"}},
                "duplicate": {{"probability": "10 %"}},
                "reorder": {{"probability": "20 %", "gap": 2}},
                "jitter": {{"kind": "half-normal", "deviation": "3 ms"}},
                "back": {{{back}"loss": {{"kind": "bursty", "probability": "5 %", "burst_length": 2.0}}}}}}"#
        );
        let mut found = Vec::new();
        for late in [false, true] {
            let mut bench = bench(&path);
            let mut now = 0;
            let mut all = Vec::new();
            for (number, &(pause, down, server, size, tos)) in sends.iter().enumerate() {
                now += pause;
                if !late {
                    all.extend(bench.advance(now - pause / 2));
                }
                let direction = if down { Direction::Down } else { Direction::Up };
                bench.send(now, direction, &bytes_of(server, direction, tos, size));
                let (arrived, dropped, lost, _) = bench.totals();
                let handed_out = bench.arrived.len() + all.len();
                prop_assert_eq!(bench.path.pool().used(), bench.inside() as usize + handed_out);
                prop_assert_eq!(arrived, number as u64 + 1);
                prop_assert!(dropped + lost <= arrived);
            }
            all.extend(bench.advance(END.as_nanos() - 1));
            let (arrived, dropped, lost, delivered) = bench.totals();
            prop_assert_eq!(arrived, sends.len() as u64);
            let copies = bench.path.recorder().totals.duplicated;
            prop_assert_eq!(arrived + copies, dropped + lost + delivered);
            prop_assert_eq!(delivered, all.len() as u64);
            prop_assert_eq!(bench.inside(), 0);
            prop_assert!(all.is_sorted_by_key(|one| one.0));
            found.push(all);
        }
        prop_assert_eq!(&found[0], &found[1]);
    }
}

/// Two flows with ways of their own.
fn bench_of(path: &str, ways: [(Option<&str>, Option<&str>); 2]) -> Bench {
    let text = |(via, rtt): (Option<&str>, Option<&str>), name: &str, last: u8| {
        let via = via.map_or("null".to_owned(), |via| format!("{via:?}"));
        let rtt = rtt.map_or("null".to_owned(), |rtt| format!("{rtt:?}"));
        format!(
            r#"{{"name": "{name}", "address": "10.77.0.{last}", "via": {via}, "base_rtt": {rtt}}}"#
        )
    };
    let one =
        |way, name: &str, last| serde_json::from_str(&text(way, name, last)).expect("it is a flow");
    bench_with(path, vec![one(ways[0], "game", 1), one(ways[1], "download", 2)])
}

#[test]
fn a_flow_has_its_own_bottlenecks_and_round_trip_time() {
    let hop = r#"{"hop": [{"name": "last", "capacity": "6 Mb/s",
                           "queue": {"kind": "drop-tail", "size": "10 packets"}}], "#;
    let path = PLAIN.replacen('{', hop, 1);
    let arrivals = |ways| {
        let mut bench = bench_of(&path, ways);
        bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, 0, 1500));
        bench.send(0, Direction::Down, &bytes_of(2, Direction::Down, 0, 1499));
        bench.advance(1_000 * MILLI)
    };
    // 1 ms onto the path's link, 2 ms onto the hop's, and 12 or 20 ms of propagation.
    let own = arrivals([(Some("path"), None), (Some("last"), Some("40 ms"))]);
    let onto_last = (1499 * 8 * MILLI + 5_999) / 6_000;
    assert_eq!(own, [(13 * MILLI, 1500), (20 * MILLI + onto_last, 1499)]);
    // Both through both: the second waits for the first at the hop.
    let shared = arrivals([(None, None), (None, None)]);
    assert_eq!(shared[0], (15 * MILLI, 1500));
    assert!((16_990_000..=17 * MILLI).contains(&shared[1].0), "{shared:?}");
}

#[test]
fn a_hop_in_front_is_passed_first() {
    let at_hop_first = |place: &str| {
        let hop = format!(
            r#"{{"hop": [{{"name": "last", "capacity": "6 Mb/s", "place": "{place}",
                           "queue": {{"kind": "drop-tail", "size": "1 packets"}}}}], "#
        );
        let mut bench = bench_of(&PLAIN.replacen('{', &hop, 1), [(None, None), (None, None)]);
        for number in 0..4 {
            bench.send(0, Direction::Down, &bytes_of(1, Direction::Down, number, 1500));
        }
        bench.advance(1_000 * MILLI).len()
    };
    // Four at once: the slower link has one in transmission and one that waits. Behind the faster one, which needs
    // half as long for each, it has sent the first before the third comes.
    assert_eq!((at_hop_first("in-front"), at_hop_first("behind")), (2, 3));
}

#[test]
fn in_a_stall_nothing_arrives() {
    let stalls = r#"{"stalls": {"interval": "20 ms", "lengths": [["5 ms", "5 ms", 1]], "connections": "0 %"}, "#;
    let path = PLAIN.replacen('{', stalls, 1);
    let spec: PathSpec = path.parse().expect("it is a path");
    let drawn = build::stalls(&spec, 7, END - Instant::ZERO).expect("it has stalls");
    let mut bench = bench(&path);
    let mut all = Vec::new();
    for number in 0..500 {
        let direction = if number % 2 == 0 { Direction::Down } else { Direction::Up };
        bench.send(number * MILLI, direction, &bytes_of(1, direction, 0, 100));
        all.extend(bench.advance(number * MILLI));
    }
    all.extend(bench.advance(2_000 * MILLI));
    assert_eq!(all.len(), 500);
    assert!(all.iter().all(|(due, _)| drawn.held(Instant::from_nanos(*due)).as_nanos() == *due));
    // A fifth of the time: without stalls, no two of one way would arrive together.
    let together = all.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    assert!((50..=150).contains(&together), "{together}");
}

const WIFI: &str = r#"{"capacity": {"wifi": "802.11n"}, "base_rtt": "20 ms",
                       "queue": {"kind": "drop-tail", "size": "1000 packets"}}"#;

#[test]
fn flows_of_one_client_address_are_wifi_stations_of_their_own() {
    let mut bench = bench(WIFI);
    for _ in 0..30 {
        for server in [1, 2] {
            bench.send(0, Direction::Down, &bytes_of(server, Direction::Down, 0, 1500));
        }
    }
    bench.path.advance(END, &mut bench.arrived);
    let flows: Vec<(Instant, u16)> =
        bench.arrived.iter().map(|one| (one.due, one.packet.flow.0)).collect();
    assert_eq!(flows.len(), 60);
    // A frame has packets of one station; the queue alternates, so that no frame has more than one.
    assert!(flows.windows(2).all(|pair| pair[0].0 < pair[1].0), "{flows:?}");
}

#[test]
fn both_ways_share_a_wifi_medium() {
    let last = |down, up| {
        let mut bench = bench(WIFI);
        for (direction, count) in [(Direction::Down, down), (Direction::Up, up)] {
            for _ in 0..count {
                bench.send(0, direction, &bytes_of(1, direction, 0, 1500));
            }
        }
        let all = bench.advance(END.as_nanos() - 1);
        assert_eq!(all.len(), down + up);
        assert_eq!(bench.totals(), ((down + up) as u64, 0, 0, (down + up) as u64));
        all[all.len() - 1].0 - 10 * MILLI
    };
    let (down, up, both) = (last(400, 0), last(0, 400), last(400, 400));
    assert!(both > (down + up) * 9 / 10, "{down} {up} {both}");
}
