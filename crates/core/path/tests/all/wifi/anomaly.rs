//! Two stations of which one is slow: with one queue they get the same bytes and the slow one nearly all of the airtime
//! (Heusse, Rousseau, Berger-Sabbatel and Duda, "Performance anomaly of 802.11b", INFOCOM 2003); with a queue for each and
//! turns by airtime each gets half of it, and the fast one nearly what half of the medium can carry.

use super::Packet;
use gameway_path::{
    Airtime, AirtimeConfig, CodelConfig, DataRate, DropTail, GuardInterval, Limit, Medium, Queue,
    Spatial, Timing, WifiConfig,
};
use gameway_units::{Bytes, Duration, Instant};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const FAST: usize = 1;
const SLOW: usize = 2;
const SIZE: u64 = 1500;

fn rate(mcs: u32, streams: u32) -> DataRate {
    DataRate::Ht(Spatial { mcs, streams, width_mhz: 20, guard_interval: GuardInterval::Long })
}

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn config() -> WifiConfig {
    WifiConfig::new(rate(7, 2)).unwrap()
}

/// Mb/s of the two in a second, where one packet after the other comes for each of them in turn.
fn rates(queue: Box<dyn Queue<Packet>>) -> [f64; 2] {
    let limit = Limit::Packets(10);
    let stations = [1, 2].map(|_| Box::new(DropTail::new(limit)) as Box<dyn Queue<Packet>>);
    let all = std::iter::once(queue).chain(stations);
    let medium = Medium::new(config(), all, random()).unwrap();
    let mut medium = medium.with_rate(SLOW, rate(0, 1)).unwrap();
    let (end, mut waiting, mut bytes) =
        (Instant::ZERO + Duration::from_secs(10), [0i64; 2], [0; 2]);
    let mut number = 0;
    let mut offer = |medium: &mut Medium<Packet, Box<dyn Queue<Packet>>>,
                     now,
                     waiting: &mut [i64; 2]| {
        while waiting.iter().any(|count| *count < 128) {
            for station in [FAST, SLOW] {
                if waiting[station - 1] < 128 {
                    number += 1;
                    waiting[station - 1] += 1;
                    medium.arrive(now, 0, Packet { number, station: station as u16, size: SIZE });
                }
            }
        }
    };
    offer(&mut medium, Instant::ZERO, &mut waiting);
    while let Some(due) = medium.next_deadline().filter(|due| *due < end) {
        medium.on_deadline(due);
        while let Some(done) = medium.poll_delivered() {
            let place = usize::from(done.packet.station) - 1;
            waiting[place] -= 1;
            bytes[place] += SIZE;
        }
        assert_eq!(medium.drain_dropped().count(), 0);
        offer(&mut medium, due, &mut waiting);
    }
    bytes.map(|bytes| bytes as f64 * 8.0 / 10.0 / 1e6)
}

/// Packets of a full frame, its exchange, and that with the pauses before it.
fn full(data: DataRate) -> (f64, f64, f64) {
    let timing = Timing::new(WifiConfig { data, ..config() });
    let each = timing.aggregated(Bytes::new(SIZE)).get();
    let packets = (timing.max_bytes().get() / each).min(64);
    let exchange = timing.exchange(Bytes::new(each * packets), packets as usize);
    let pauses = timing.ifs() + timing.config().slot * 15 / 2;
    (packets as f64, exchange.as_secs_f64(), (exchange + pauses).as_secs_f64())
}

#[test]
fn one_queue_gives_equal_bytes_and_turns_by_airtime_give_equal_times() {
    let mbit = SIZE as f64 * 8.0 / 1e6;
    let [fast, slow] = rates(Box::new(DropTail::new(Limit::Packets(300))));
    // One packet of each in turn, none of which finds another of its station behind it.
    let alone = |data| {
        let timing = Timing::new(WifiConfig { data, ..config() });
        let exchange = timing.exchange(timing.alone(Bytes::new(SIZE)), 1);
        (exchange + timing.ifs() + timing.config().slot * 15 / 2).as_secs_f64()
    };
    let expected = mbit / (alone(rate(7, 2)) + alone(rate(0, 1)));
    for found in [fast, slow] {
        assert!((found / expected - 1.0).abs() < 0.02, "{fast} {slow} of {expected}");
    }

    let codel = CodelConfig { target: Duration::from_secs(3600), ..CodelConfig::default() };
    let turns = AirtimeConfig { codel, aql: Duration::ZERO, ..AirtimeConfig::default() };
    let [fast, slow] = rates(Box::new(Airtime::new(turns, Limit::Packets(300), random())));
    // Exchanges of each take the same time: as many frames of one as its exchange is shorter.
    let ((many, of_fast, fast_cycle), (few, of_slow, slow_cycle)) =
        (full(rate(7, 2)), full(rate(0, 1)));
    let time = fast_cycle / of_fast + slow_cycle / of_slow;
    for (found, expected) in
        [(fast, many * mbit / of_fast / time), (slow, few * mbit / of_slow / time)]
    {
        assert!((found / expected - 1.0).abs() < 0.02, "{found} of {expected}: {fast} {slow}");
    }
    assert!(fast / slow > 15.0, "{fast} {slow}");
}
