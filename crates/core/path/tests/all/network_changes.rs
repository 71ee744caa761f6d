//! A network whose parts become others while packets are in it: what is told, what is due then, and what stays as it was.

use crate::support::{Packet, millis};
use gameway_path::{
    AnyQueue, Bottleneck, Cake, CakeConfig, DataRate, DelayLine, Direction, DropTail, Fate, Hop,
    HopChange, Impairments, Limit, Link, Loss, LossModel, Medium, Network, Observer, Slot, Way,
    Wifi, WifiConfig,
};
use gameway_units::{Bytes, Duration, Instant, QueueSize, Rate, Ratio};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const SIZE: QueueSize = QueueSize::Packets(9);
const DELAY: Duration = Duration::from_millis(10);

/// What became of packets, by their numbers, and what was told to wait.
#[derive(Debug, Default)]
struct Told {
    dropped: Vec<u64>,
    lost: Vec<u64>,
    arrivals: Vec<(u64, Instant)>,
    waiting: Vec<(Instant, usize, Bytes)>,
}

impl Observer<Packet> for Told {
    fn queue_is(&mut self, now: Instant, hop: usize, bytes: Bytes) {
        self.waiting.push((now, hop, bytes));
    }
    fn copied(&mut self, _: &Packet) -> Option<Packet> {
        None
    }
    fn fate(&mut self, packet: &Packet, fate: Fate) {
        match fate {
            Fate::Dropped { .. } => self.dropped.push(packet.number),
            Fate::Lost { .. } => self.lost.push(packet.number),
            Fate::Delivered { arrived, .. } => self.arrivals.push((packet.number, arrived)),
            Fate::Copied { .. } => {}
        }
    }
}

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn micros(count: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(count)
}

fn link(mbps: u64) -> Link {
    Link::constant(Rate::from_mbps(mbps)).unwrap()
}

fn drop_tail(limit: Limit) -> AnyQueue<Packet> {
    Box::new(DropTail::new(limit))
}

/// 12 Mb/s, at which 1500 B take 1 ms.
fn wired() -> Hop<Packet> {
    Hop::Wired(Bottleneck::new(link(12), SIZE, Duration::ZERO, drop_tail))
}

/// A shaper of this rate in front of a link of 80 Mb/s, at which 1000 B take 0.1 ms.
fn shaper(mbps: u64) -> Hop<Packet> {
    let config = CakeConfig { bandwidth: Some(Rate::from_mbps(mbps)), ..CakeConfig::default() };
    let queue = |limit| -> AnyQueue<Packet> { Box::new(Cake::new(config, limit, random())) };
    Hop::Wired(Bottleneck::new(link(80), SIZE, Duration::ZERO, queue))
}

/// An access point and one station.
fn wifi() -> Hop<Packet> {
    let config = WifiConfig::new(DataRate::Ofdm(54)).unwrap();
    let queues = (0..2).map(|_| drop_tail(Limit::Packets(9)));
    let medium = Medium::new(config, queues, random()).unwrap();
    Hop::Wifi(Wifi::new(medium.with_stations(vec![1]), link(30)))
}

/// One flow, whose data goes down through the first bottleneck, and back up through the last.
fn network(hops: Vec<Hop<Packet>>) -> Network<Packet> {
    let last = hops.len() - 1;
    let ways = [
        Way::new(Direction::Down, vec![0], DelayLine::new(DELAY)),
        Way::new(Direction::Up, vec![last], DelayLine::new(DELAY)),
    ];
    Network::new(hops, [Impairments::default(), Impairments::default()], vec![ways])
}

fn send(network: &mut Network<Packet>, now: Instant, count: u64, size: u64, told: &mut Told) {
    for number in 0..count {
        network.send(now, Packet::new(0, number, size), told);
    }
}

/// All that is due until nothing is left.
fn run(network: &mut Network<Packet>, told: &mut Told) {
    loop {
        match network.next() {
            (_, Instant::MAX) => return,
            (Slot::Hop(hop), due) => network.on_hop(hop, due, told),
            (Slot::Line(flow, returning), due) => {
                network.pop_arrived(flow, returning, due, told);
            }
            (slot, _) => panic!("{slot:?} was never set"),
        }
    }
}

/// What becomes of a packet each way: 0 to the client, 1 to the server.
fn one_each_way(network: &mut Network<Packet>) -> Told {
    let mut told = Told::default();
    for returning in [false, true] {
        let packet = Packet::new(0, u64::from(returning), 1500).with_direction(returning);
        network.send(millis(0), packet, &mut told);
    }
    run(network, &mut told);
    told
}

#[test]
fn a_bottleneck_that_becomes_another_tells_what_it_drops_and_is_due_by_its_new_link() {
    let mut network = network(vec![wired()]);
    let mut told = Told::default();
    send(&mut network, millis(0), 4, 1500, &mut told);
    assert_eq!((network.queued(), network.queued_bytes()), (4, Bytes::new(4500)));
    let queue = Some(drop_tail(Limit::Packets(1)));
    let (size, base_rtt) = (QueueSize::Packets(1), Duration::ZERO);
    let change = HopChange { link: Some(link(6)), queue, size, base_rtt };
    network.change_hop(0, micros(500), change, &mut told);
    // One is on the wire, one waits, and two have no room.
    assert_eq!(told.dropped, [2, 3]);
    assert_eq!(told.waiting.last(), Some(&(micros(500), 0, Bytes::new(1500))));
    assert_eq!((network.queued(), network.queued_bytes()), (2, Bytes::new(1500)));
    // Half of it has left at 12 Mb/s; the other half takes 1 ms at 6 Mb/s.
    assert_eq!(network.next(), (Slot::Hop(0), micros(1500)));
    assert_eq!(network.link(0).nominal_capacity(micros(500)), Rate::from_mbps(6));
    run(&mut network, &mut told);
    assert_eq!(told.arrivals, [(0, micros(11_500)), (1, micros(13_500))]);
}

#[test]
fn a_medium_stays_as_it_is_and_shapes_nothing() {
    let mut network = network(vec![wifi()]);
    let mut told = Told::default();
    send(&mut network, millis(0), 3, 1500, &mut told);
    let before = network.next();
    let queue = Some(drop_tail(Limit::Packets(1)));
    let (size, base_rtt) = (QueueSize::Packets(1), Duration::ZERO);
    let change = HopChange { link: Some(link(6)), queue, size, base_rtt };
    network.change_hop(0, micros(1), change, &mut told);
    network.set_shaped_rate(micros(1), Direction::Down, Rate::from_mbps(1));
    assert_eq!((network.next(), network.queued()), (before, 3));
    assert_eq!(network.shaped_rate(Direction::Down), None);
    assert_eq!(network.link(0).nominal_capacity(micros(1)), Rate::from_mbps(30));
    run(&mut network, &mut told);
    assert_eq!((told.dropped.len(), told.arrivals.len()), (0, 3));
}

#[test]
fn a_gateway_has_the_shaper_of_the_path_and_that_of_its_way_out() {
    let mut network = network(vec![shaper(8), wired(), shaper(4)]).with_way_out(Some(2));
    let rates = |network: &Network<Packet>| {
        Direction::ALL.map(|way| network.shaped_rate(way).map(|rate| rate.as_bps() / 1_000_000))
    };
    assert_eq!(rates(&network), [Some(8), Some(4)]);
    network.set_shaped_rate(millis(0), Direction::Up, Rate::from_mbps(2));
    assert_eq!(rates(&network), [Some(8), Some(2)]);
    network.set_shaped_rate(millis(0), Direction::Down, Rate::from_mbps(16));
    assert_eq!(rates(&network), [Some(16), Some(2)]);
    // Without a way out it has none this way, and sets none.
    let mut network = network.with_way_out(None);
    network.set_shaped_rate(millis(0), Direction::Up, Rate::from_mbps(1));
    assert_eq!(rates(&network), [Some(16), None]);
    assert_eq!(rates(&network.with_way_out(Some(2))), [Some(16), Some(2)]);
}

#[test]
fn a_shaper_whose_rate_changes_is_due_itself_and_nobody_else() {
    for (returning, out) in [(false, 0), (true, 1)] {
        let mut network = network(vec![shaper(8), shaper(8)]).with_way_out(Some(1));
        let mut told = Told::default();
        for number in 0..3 {
            let packet = Packet::new(0, number, 1000).with_direction(returning);
            network.send(millis(0), packet, &mut told);
        }
        // The first has left at 0.1 ms; its 1000 B take 1 ms at 8 Mb/s, then each of the others 0.5 ms at 16 Mb/s.
        network.on_hop(out, micros(100), &mut told);
        assert_eq!(network.next(), (Slot::Hop(out), millis(1)));
        let way = Direction::ALL[usize::from(returning)];
        network.set_shaped_rate(micros(500), way, Rate::from_mbps(16));
        assert_eq!(network.next(), (Slot::Hop(out), millis(1)));
        run(&mut network, &mut told);
        let left = [100, 1100, 1600].map(|at| micros(at) + DELAY);
        assert_eq!(told.arrivals, [(0, left[0]), (1, left[1]), (2, left[2])]);
    }
}

#[test]
fn what_happens_behind_the_bottlenecks_is_changed_one_way_at_a_time() {
    let all = LossModel::Random { probability: Ratio::ONE };
    for lossy in Direction::ALL {
        let mut network = network(vec![wired()]);
        network.impairments(lossy).loss = Some(Loss::new(all, random()));
        let told = one_each_way(&mut network);
        let lost = lossy.index() as u64;
        assert_eq!(told.lost, [lost]);
        assert_eq!(told.arrivals.iter().map(|one| one.0).collect::<Vec<_>>(), [1 - lost]);
    }
}

#[test]
fn the_propagation_of_one_way_is_changed_for_what_sets_out_then() {
    for changed in [false, true] {
        let mut network = network(vec![wired(), wired()]);
        network.line(0, changed).set_delay(Duration::from_millis(30));
        let mut told = one_each_way(&mut network);
        told.arrivals.sort_unstable();
        // 1 ms on the wire, and 10 ms or 30 ms behind it.
        let arrives = |number: u64| millis(if (number == 1) == changed { 31 } else { 11 });
        assert_eq!(told.arrivals, [(0, arrives(0)), (1, arrives(1))]);
    }
}
