//! A network of several flows: nothing is lost track of, whichever way and through whichever bottlenecks it goes.

use crate::support::Packet;
use gameway_path::{
    AnyQueue, Bottleneck, Chance, DataRate, DelayLine, Direction, DropTail, Duplication, Fate,
    GuardInterval, Hop, Impairments, Limit, Link, Loss, LossModel, Medium, Meter, Network,
    Observer, Passage, PathPacket, Slot, Spatial, Transmitted, Way, Wifi, WifiConfig,
};
use gameway_units::{Bytes, Duration, Instant, QueueSize, Rate, Ratio};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type Parcel = Box<Packet>;

/// A packet of 1500 bytes that goes with the data of its flow, or back.
fn parcel(flow: u16, returning: bool) -> Parcel {
    Box::new(Packet::new(flow, 0, 1500).with_direction(returning))
}

/// What was told, counted.
#[derive(Debug, Default)]
struct Counts {
    sent: u64,
    copied: u64,
    dropped: u64,
    lost: u64,
    arrived: u64,
    forwarded: u64,
    /// Of those that totals count: set out for the other end, and arrived there.
    counted: u64,
    counted_arrived: u64,
    /// Bytes that each bottleneck transmitted, and bytes that wait there.
    carried: [Bytes; 3],
    waiting: [Bytes; 3],
    passages: Vec<(u16, bool, Passage)>,
    guarded: Vec<(u16, bool, bool)>,
    left_home: usize,
}

impl Observer<Parcel> for Counts {
    fn sent(&mut self, _: &Parcel) {
        self.sent += 1;
    }
    fn passes_gateway(&mut self, _: Instant, passage: Passage, packet: &mut Parcel) {
        self.passages.push((packet.flow, packet.journey.returning, passage));
    }
    fn queue_is(&mut self, _: Instant, hop: usize, bytes: Bytes) {
        self.waiting[hop] = bytes;
    }
    fn transmitted(&mut self, hop: usize, guarded: bool, done: &Transmitted<Parcel>) {
        self.carried[hop] += done.packet.wire_size();
        self.guarded.push((done.packet.flow, done.packet.journey.returning, guarded));
    }
    fn left_home(&mut self, _: Instant, _: Bytes) {
        self.left_home += 1;
    }
    fn forwarded(&mut self, _: &Parcel) {
        self.forwarded += 1;
    }
    fn copied(&mut self, packet: &Parcel) -> Option<Parcel> {
        self.copied += 1;
        Some(packet.clone())
    }
    fn fate(&mut self, packet: &Parcel, fate: Fate) {
        match fate {
            Fate::Dropped { .. } => self.dropped += 1,
            Fate::Lost { .. } => self.lost += 1,
            Fate::Delivered { .. } | Fate::Copied { .. } => {
                self.counted += u64::from(is_counted(packet));
            }
        }
    }
    fn arrived(&mut self, packet: &Parcel) {
        self.arrived += 1;
        self.counted_arrived += u64::from(is_counted(packet));
    }
}

/// Data, and what goes back through a bottleneck: all but the first flow's way back.
fn is_counted(packet: &Packet) -> bool {
    packet.flow != 0 || !packet.journey.returning
}

fn queue(limit: Limit) -> AnyQueue<Parcel> {
    Box::new(DropTail::new(limit))
}

/// A bottleneck of 12 Mb/s, which sends 1500 bytes in a millisecond.
fn wired(packets: u64) -> Hop<Parcel> {
    let link = Link::constant(Rate::from_mbps(12)).unwrap();
    Hop::Wired(Bottleneck::new(link, QueueSize::Packets(packets), Duration::ZERO, queue))
}

/// A medium with two stations; the clients of all flows are at the second.
fn wifi(packets: u64) -> Hop<Parcel> {
    let guard_interval = GuardInterval::Long;
    let spatial = Spatial { mcs: 7, streams: 1, width_mhz: 20, guard_interval };
    let config = WifiConfig::new(DataRate::Ht(spatial)).unwrap();
    let queues = (0..3).map(|_| queue(Limit::Packets(packets)));
    let medium = Medium::new(config, queues, Xoshiro256PlusPlus::seed_from_u64(5)).unwrap();
    let nominal = Link::constant(Rate::from_mbps(30)).unwrap();
    Hop::Wifi(Wifi::new(medium.with_stations(vec![2; 3]), nominal))
}

fn impairments(seed: u64) -> Impairments {
    let random = |number| Xoshiro256PlusPlus::seed_from_u64(seed + number);
    let model = LossModel::Random { probability: Ratio::from_ppm(50_000) };
    let twice = Chance { probability: Ratio::from_ppm(100_000), correlation: Ratio::ZERO };
    Impairments {
        loss: Some(Loss::new(model, random(1))),
        duplication: Some(Duplication::new(twice, random(2))),
        reordering: None,
    }
}

/// A flow down through both bottlenecks, with a way back beside them; one up through the first alone, with a way
/// back through the second; one that goes past the first both ways.
fn ways() -> Vec<[Way<Parcel>; 2]> {
    let way = |direction, hops: &[usize]| {
        Way::new(direction, hops.to_vec(), DelayLine::new(Duration::from_millis(10)))
    };
    let (down, up) = (Direction::Down, Direction::Up);
    vec![
        [way(down, &[0, 1]), way(up, &[])],
        [way(up, &[0]), way(down, &[1])],
        [way(up, &[]), way(down, &[0])],
    ]
}

fn network(first: Hop<Parcel>, impaired: [Impairments; 2]) -> Network<Parcel> {
    Network::new(vec![first, wired(4)], impaired, ways())
}

/// Does what is due first, if that is before `until`.
fn step(network: &mut Network<Parcel>, until: Instant, counts: &mut Counts) -> bool {
    let (slot, due) = network.next();
    if due >= until {
        return false;
    }
    match slot {
        Slot::Hop(hop) => network.on_hop(hop, due, counts),
        Slot::Line(flow, returning) => {
            let packet = network.pop_arrived(flow, returning, due, counts).expect("it is due");
            assert_eq!((packet.flow, packet.journey.returning), (flow as u16, returning));
        }
        _ => panic!("{slot:?} was never set"),
    }
    true
}

/// What has been told, and what the network says is in it, are the same packets.
fn check(network: &Network<Parcel>, counts: &Counts) {
    let gone = counts.arrived + counts.dropped + counts.lost;
    assert_eq!(network.inside(), counts.sent + counts.copied - gone);
    assert_eq!(network.queued(), counts.sent - counts.forwarded - counts.dropped);
    assert_eq!(network.under_way(), counts.counted - counts.counted_arrived);
}

/// 2000 packets, one in a time of up to `micros`.
fn conserves(first: Hop<Parcel>, micros: u64) -> (Vec<Meter>, Counts, Instant) {
    let mut network = network(first, [impairments(1), impairments(2)]);
    let (mut counts, mut now) = (Counts::default(), Instant::ZERO);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for _ in 0..2000 {
        now += Duration::from_micros((random.next_u64() % micros) as i64);
        while step(&mut network, now, &mut counts) {
            check(&network, &counts);
        }
        let (flow, size) = (random.next_u64() % 3, 40 + random.next_u64() % 1461);
        let returning = random.next_u64().is_multiple_of(3);
        let packet = Packet::new(flow as u16, 0, size).with_direction(returning);
        network.send(now, Box::new(packet), &mut counts);
        check(&network, &counts);
    }
    while step(&mut network, Instant::MAX, &mut counts) {}
    check(&network, &counts);
    assert_eq!(network.inside(), 0);
    let end = now + Duration::from_secs(1);
    (network.meters(end).into_iter().map(|(_, meter)| meter).collect(), counts, end)
}

#[test]
fn packets_are_where_they_are_told_to_be_at_every_step() {
    let (meters, counts, end) = conserves(wired(4), 600);
    let some = [counts.dropped, counts.lost, counts.copied];
    assert!(some.iter().all(|count| *count > 50), "{some:?}");
    for (meter, carried) in meters.iter().zip(counts.carried) {
        assert_eq!(meter.carried, carried);
        // Busy as long as its bytes take at 12 Mb/s; each packet's time is rounded up to a nanosecond.
        let busy = meter.busy - Rate::from_mbps(12).time_for(carried);
        assert!(busy >= Duration::ZERO && busy < Duration::from_micros(2), "{busy}");
    }
    // A medium carries the first bottleneck's packets as well; its frames take longer than their bytes.
    let (meters, counts, _) = conserves(wifi(1), 300);
    assert!(counts.dropped > 50, "{}", counts.dropped);
    assert_eq!(meters[0].carried, counts.carried[0]);
    assert!(meters[0].busy > Rate::from_mbps(54).time_for(counts.carried[0]));
    assert!(meters[0].busy < end - Instant::ZERO);
}

#[test]
fn what_waits_is_told_with_its_bytes_and_its_age() {
    // A link, and a medium's access point: of three packets one is in transmission.
    for first in [wired(4), wifi(4)] {
        let mut network = network(first, [Impairments::default(), Impairments::default()]);
        let mut counts = Counts::default();
        assert_eq!(network.oldest(), None);
        for micros in [5, 6, 7] {
            let now = Instant::ZERO + Duration::from_micros(micros);
            network.send(now, parcel(0, false), &mut counts);
        }
        assert_eq!(counts.waiting, [Bytes::new(3000), Bytes::ZERO, Bytes::ZERO]);
        assert_eq!(network.oldest(), Some(Instant::ZERO + Duration::from_micros(6)));
    }
    // What comes from a station waits there.
    let mut network = network(wifi(4), [Impairments::default(), Impairments::default()]);
    let mut counts = Counts::default();
    (0..3).for_each(|_| network.send(Instant::ZERO, parcel(1, false), &mut counts));
    assert_eq!((counts.waiting[0], network.oldest(), network.queued()), (Bytes::ZERO, None, 3));
}

#[test]
fn all_packets_of_a_frame_go_on_when_it_has_arrived() {
    let mut network = network(wifi(4), [Impairments::default(), Impairments::default()]);
    let mut counts = Counts::default();
    (0..4).for_each(|_| network.send(Instant::ZERO, parcel(2, true), &mut counts));
    // They wait for the first slot together, and share a frame.
    while counts.forwarded == 0 {
        assert!(step(&mut network, Instant::MAX, &mut counts));
    }
    assert_eq!((counts.forwarded, network.queued()), (4, 0));
}

#[test]
fn equal_times_go_to_the_recorder_the_bottlenecks_each_flow_and_the_gateway() {
    let mut network = network(wired(4), [Impairments::default(), Impairments::default()]);
    assert_eq!(network.next().1, Instant::MAX, "nothing is due");
    let of_flow = |flow| {
        [Slot::Server(flow), Slot::Line(flow, false), Slot::Client(flow), Slot::Line(flow, true)]
    };
    let parts = [Slot::Recorder, Slot::Hop(0), Slot::Hop(1)].into_iter();
    let order: Vec<Slot> = parts.chain((0..3).flat_map(of_flow)).chain([Slot::Gateway]).collect();
    let now = Some(Instant::from_nanos(9));
    order.iter().rev().for_each(|slot| network.set(*slot, now));
    for slot in order {
        assert_eq!(network.next(), (slot, Instant::from_nanos(9)));
        network.set(slot, None);
    }
}

/// One packet of each flow and way, and what the home gateway and the first bottleneck tell of it.
fn passages(first: Hop<Parcel>) -> Counts {
    let mut network = network(first, [Impairments::default(), Impairments::default()]);
    let mut counts = Counts::default();
    for (flow, returning) in (0..3).flat_map(|flow| [(flow, false), (flow, true)]) {
        let now = network.next().1.min(Instant::ZERO);
        network.send(now, parcel(flow, returning), &mut counts);
        while step(&mut network, Instant::MAX, &mut counts) {}
    }
    counts
}

#[test]
fn a_gateway_guards_the_queue_it_stands_before_and_sees_the_rest_pass() {
    use Passage::{Beside, Queue};
    // At a link all that goes through it waits behind the gateway.
    let counts = passages(wired(4));
    let wanted = [
        (0, false, Queue),
        (0, true, Beside),
        (1, false, Queue),
        (1, true, Beside),
        (2, false, Beside),
        (2, true, Queue),
    ];
    assert_eq!(counts.passages, wanted);
    let guarded = counts.guarded.iter().filter(|told| told.2).map(|told| (told.0, told.1));
    assert_eq!(guarded.collect::<Vec<_>>(), [(0, false), (1, false), (2, true)]);
    // At an access point what comes from stations does not.
    let counts = passages(wifi(4));
    assert_eq!(counts.passages[2], (1, false, Beside));
    let guarded = counts.guarded.iter().filter(|told| told.2).map(|told| (told.0, told.1));
    assert_eq!(guarded.collect::<Vec<_>>(), [(0, false), (2, true)]);
}

#[test]
fn a_gateway_serves_the_flows_that_come_into_the_home_through_it() {
    let network = network(wired(4), [Impairments::default(), Impairments::default()]);
    assert_eq!([0, 1, 2].map(|flow| network.passes_gateway(flow)), [true, false, true]);
    let ways: Vec<_> =
        [0, 1].iter().map(|back| network.direction(&parcel(0, *back == 1))).collect();
    assert_eq!(ways, [Direction::Down, Direction::Up]);
    assert_eq!(Direction::ALL.map(Direction::index), [0, 1]);
    assert_eq!(Direction::ALL.map(Direction::reversed), [Direction::Up, Direction::Down]);
}

#[test]
fn a_gateway_with_a_way_out_sees_what_goes_up_before_it_waits_there() {
    use Passage::{Beside, Queue};
    let way = |direction, hops: &[usize]| {
        Way::new(direction, hops.to_vec(), DelayLine::new(Duration::from_millis(10)))
    };
    let ways = || vec![[way(Direction::Down, &[0]), way(Direction::Up, &[2, 1])]];
    let hops = || vec![wired(4), wired(4), wired(4)];
    for (out, seen_at) in [(Some(2), 0), (None, 2)] {
        let impaired = [Impairments::default(), Impairments::default()];
        let mut network = Network::new(hops(), impaired, ways()).with_way_out(out);
        let mut counts = Counts::default();
        network.send(Instant::ZERO, parcel(0, true), &mut counts);
        let mut left = 0;
        while counts.passages.is_empty() && step(&mut network, Instant::MAX, &mut counts) {
            left += 1;
        }
        assert_eq!((counts.passages.as_slice(), left), ([(0, true, Beside)].as_slice(), seen_at));
        network.send(network.next().1.min(Instant::ZERO), parcel(0, false), &mut counts);
        while step(&mut network, Instant::MAX, &mut counts) {}
        assert_eq!(counts.passages, [(0, true, Beside), (0, false, Queue)]);
        assert_eq!(counts.left_home, usize::from(out.is_some()));
        assert_eq!(network.shaped_rate(Direction::Up), None);
    }
}
