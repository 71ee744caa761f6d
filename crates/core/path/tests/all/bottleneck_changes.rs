//! A bottleneck that becomes another one while packets are in it: none is lost track of, and sizes follow.

use crate::support::{Packet, millis};
use gameway_path::{
    Bottleneck, DropReason, DropTail, DualPi2, DualPi2Config, HopChange, Limit, Link, Meter, Queue,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate, Ratio};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

type Any = Bottleneck<Packet, Box<dyn Queue<Packet>>>;

const RTT: Duration = Duration::from_millis(20);

fn link(mbps: u64) -> Link {
    Link::constant(Rate::from_mbps(mbps)).unwrap()
}

fn drop_tail(limit: Limit) -> Box<dyn Queue<Packet>> {
    Box::new(DropTail::new(limit))
}

/// 12 Mb/s, at which 1500 B take 1 ms.
fn bottleneck(size: QueueSize) -> Any {
    Bottleneck::new(link(12), size, RTT, drop_tail)
}

fn fill(path: &mut Any, now: Instant, count: u64) {
    (0..count).for_each(|number| path.arrive(now, Packet::new(0, number, 1500)));
}

/// Number of each packet that leaves, when it came, and when it began to leave.
fn departures(path: &mut Any) -> Vec<(u64, Instant, Instant)> {
    let mut left = Vec::new();
    while let Some(due) = path.next_deadline() {
        left.extend(
            path.on_deadline(due).map(|one| (one.packet.number, one.enqueued, one.started)),
        );
    }
    left
}

#[test]
fn what_waits_goes_into_another_queue_in_the_order_in_which_it_came() {
    let queue = |limit| -> Box<dyn Queue<Packet>> {
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        Box::new(DualPi2::new(DualPi2Config::default(), limit, random))
    };
    let mut path: Any = Bottleneck::new(link(12), QueueSize::Packets(9), RTT, queue);
    let micros = |count| Instant::ZERO + Duration::from_micros(count);
    for number in 0..6 {
        // Two queues in one: what is drained is not in the order of arrival.
        let ecn = if number % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 };
        path.arrive(micros(number as i64), Packet::new(0, number, 1500).with_ecn(ecn));
    }
    let queue = Some(drop_tail(Limit::Packets(4)));
    let size = QueueSize::Packets(4);
    path.change(micros(500), HopChange { link: None, queue, size, base_rtt: RTT });
    let dropped: Vec<_> =
        path.drain_dropped().map(|one| (one.packet.number, one.enqueued, one.reason)).collect();
    assert_eq!(dropped, [(5, micros(5), DropReason::Overflow)], "the last found no room");
    let expected: Vec<_> =
        (0..5).map(|number| (number as u64, micros(number), millis(number))).collect();
    assert_eq!(departures(&mut path), expected);
}

#[test]
fn the_packet_in_transmission_ends_by_the_new_link() {
    let mut path = bottleneck(QueueSize::Packets(9));
    fill(&mut path, millis(0), 2);
    let now = Instant::ZERO + Duration::from_micros(500);
    let size = QueueSize::Packets(9);
    path.change(now, HopChange { link: Some(link(6)), queue: None, size, base_rtt: RTT });
    // Half of it at 12 Mb/s in 0.5 ms, half at 6 Mb/s in 1 ms.
    let finished = now + Duration::from_millis(1);
    assert_eq!(path.next_deadline(), Some(finished));
    assert_eq!(
        path.meter(millis(1)),
        Meter { busy: Duration::from_millis(1), carried: Bytes::new(1125) }
    );
    // What was busy ends with the packet, however late the question.
    assert_eq!(path.on_deadline(finished).map(|one| one.finished), Some(finished));
    let second = path.on_deadline(finished + Duration::from_millis(2)).expect("it has left");
    assert_eq!((second.started, second.finished), (finished, finished + Duration::from_millis(2)));
    let whole = Meter { busy: Duration::from_micros(3500), carried: Bytes::new(3000) };
    assert_eq!(path.meter(millis(10)), whole);
}

/// How many of 100 packets that come at once are then inside, with the one in transmission.
fn inside(path: &mut Any, now: Instant) -> u64 {
    departures(path);
    fill(path, now, 100);
    path.packets_inside()
}

#[test]
fn the_size_of_a_queue_that_stays_is_of_the_link_in_force() {
    let ten_ms = QueueSize::Time(Duration::from_millis(10));
    let mut path = bottleneck(QueueSize::Packets(3));
    assert_eq!(inside(&mut path, millis(0)), 1 + 3);
    // 10 ms at 12 Mb/s are ten packets, at 24 Mb/s twenty.
    let change = |link, size| HopChange { link, queue: None, size, base_rtt: RTT };
    path.change(millis(1000), change(None, ten_ms));
    assert_eq!(inside(&mut path, millis(1000)), 1 + 10);
    path.change(millis(2000), change(Some(link(24)), ten_ms));
    assert_eq!(inside(&mut path, millis(2000)), 1 + 20);
    // Of capacities in steps it follows each, whose times count from the change.
    let rates = [12, 24, 6].map(Rate::from_mbps);
    let steps = [0, 1000, 2000].map(millis).into_iter().zip(rates).collect();
    path.change(millis(3000), change(Some(Link::steps(steps).unwrap()), ten_ms));
    assert_eq!([3000, 4000, 5000].map(|at| inside(&mut path, millis(at))), [11, 21, 6]);
    // 2 BDP of 20 ms at 6 Mb/s are 30 000 B.
    path.change(millis(6000), change(None, QueueSize::Bdp(Ratio::from_ppm(2_000_000))));
    assert_eq!(inside(&mut path, millis(6000)), 1 + 20);
}
