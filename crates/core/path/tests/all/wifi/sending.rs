//! What a node sends when its turn has come, how long it has the medium for it, and what its queue is told of that.

use super::Packet;
use gameway_path::{
    Backlog, DataRate, Dequeued, DropReason, DropTail, Dropped, GuardInterval, Limit, Medium,
    Queue, Spatial, Timing, WifiConfig,
};
use gameway_units::{Bytes, Duration, Instant, Ratio};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::RefCell;
use std::rc::Rc;

/// Frames of the node of this queue, as it is told of them: bytes of packets, and airtime.
type Frames = Rc<RefCell<Vec<(Bytes, Duration)>>>;

/// Numbers from here on are urgent.
const URGENT: u64 = 1000;

/// Urgent packets leave first, and before one that was taken up and not yet sent.
struct Lanes {
    urgent: DropTail<Packet>,
    others: DropTail<Packet>,
    /// What came back, which is the next of the others.
    back: Option<Dequeued<Packet>>,
    frames: Frames,
}

impl Lanes {
    fn new(frames: &Frames) -> Self {
        let lane = || DropTail::new(Limit::Packets(10));
        Self { urgent: lane(), others: lane(), back: None, frames: Rc::clone(frames) }
    }
}

impl Queue<Packet> for Lanes {
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Vec<Dropped<Packet>>) {
        let lane = if packet.number < URGENT { &mut self.others } else { &mut self.urgent };
        lane.enqueue(now, packet, dropped);
    }
    fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<Dequeued<Packet>> {
        let next = self.urgent.dequeue(now, dropped).or_else(|| self.back.take());
        next.or_else(|| self.others.dequeue(now, dropped))
    }
    fn exchange(&mut self, taken: Dequeued<Packet>) -> Result<Dequeued<Packet>, Dequeued<Packet>> {
        let next = self.urgent.dequeue(taken.enqueued, &mut Vec::new()).ok_or(taken)?;
        self.back = Some(taken);
        Ok(next)
    }
    fn on_airtime(&mut self, _: &Packet, bytes: Bytes, airtime: Duration) {
        self.frames.borrow_mut().push((bytes, airtime));
    }
    fn drain(&mut self, into: &mut Vec<Dequeued<Packet>>) {
        into.extend(self.back.take());
        self.urgent.drain(into);
        self.others.drain(into);
    }
    fn backlog(&self) -> Backlog {
        let (urgent, others) = (self.urgent.backlog(), self.others.backlog());
        let packets = urgent.packets + others.packets + u64::from(self.back.is_some());
        Backlog { bytes: urgent.bytes + others.bytes, packets }
    }
    fn oldest(&self) -> Option<Instant> {
        self.others.oldest()
    }
    fn set_limit(&mut self, _: Limit) {}
}

type Home = Medium<Packet, Lanes>;

/// An access point and two stations, and the frames that each of the three sends.
fn home(config: WifiConfig, seed: u64) -> (Home, [Frames; 3]) {
    let frames = [0, 1, 2].map(|_| Frames::default());
    let queues: Vec<Lanes> = frames.iter().map(Lanes::new).collect();
    (Medium::new(config, queues, Xoshiro256PlusPlus::seed_from_u64(seed)).unwrap(), frames)
}

fn g() -> WifiConfig {
    WifiConfig::new(DataRate::Ofdm(54)).unwrap()
}

fn micros(count: i64) -> Duration {
    Duration::from_micros(count)
}

fn at(count: i64) -> Instant {
    Instant::ZERO + micros(count)
}

fn packet(number: u64, station: u16) -> Packet {
    Packet { number, station, size: 1500 }
}

/// Of packets in the order in which they arrive: number, when each came, was taken up, and arrived.
fn run(home: &mut Home) -> Vec<(u64, Instant, Instant, Instant)> {
    let mut delivered = Vec::new();
    while let Some(due) = home.next_deadline() {
        home.on_deadline(due);
        while let Some(done) = home.poll_delivered() {
            delivered.push((done.packet.number, done.enqueued, done.started, done.finished));
        }
    }
    delivered
}

#[test]
fn a_packet_that_was_not_yet_sent_gives_way_to_an_urgent_one() {
    let (mut home, _) = home(g(), 1);
    // Slots begin at 28 + 9 k us: the 108th at 1000 us, for which the first waits.
    home.arrive(at(995), 0, packet(0, 1));
    home.arrive(at(998), 0, packet(URGENT, 1));
    assert_eq!(home.next_deadline(), Some(at(1000)));
    let delivered = run(&mut home);
    // The urgent one is taken up when it is sent; the other again when that is acknowledged.
    assert_eq!(delivered[0], (URGENT, at(998), at(1000), at(1254)));
    assert_eq!((delivered[1].0, delivered[1].1, delivered[1].2), (0, at(995), at(1298)));
    assert_eq!(home.packets_inside(), 0);
}

#[test]
fn a_packet_that_was_sent_in_vain_does_not_give_way() {
    // All that is sent is damaged, 7 times.
    let config = WifiConfig { error_rate: Ratio::from_ppm(999_999), ..g() };
    let (mut home, frames) = home(config, 1);
    home.arrive(at(1000), 0, packet(0, 1));
    home.on_deadline(at(1000));
    home.arrive(at(1100), 0, packet(URGENT, 1));
    assert_eq!(run(&mut home), []);
    let dropped = home.drain_dropped().map(|one| (one.packet.number, one.reason));
    let gone = [0, URGENT].map(|number| (number, DropReason::RetryLimit));
    assert_eq!(dropped.collect::<Vec<_>>(), gone);
    assert_eq!(frames[0].borrow().len(), 2 * 7);
}

#[test]
fn all_packets_of_an_aggregate_that_were_damaged_are_sent_again_together() {
    let guard_interval = GuardInterval::Long;
    let spatial = Spatial { mcs: 7, streams: 2, width_mhz: 20, guard_interval };
    let config = WifiConfig::new(DataRate::Ht(spatial)).unwrap();
    let damaging = WifiConfig { error_rate: Ratio::from_ppm(999_999), ..config };
    let (mut home, frames) = home(damaging, 1);
    (0..3).for_each(|number| home.arrive(at(1000), 0, packet(number, 1)));
    assert_eq!(run(&mut home), []);
    let timing = Timing::new(damaging);
    let psdu = Bytes::new(3 * timing.aggregated(Bytes::new(1500)).get());
    let frame = (Bytes::new(4500), timing.exchange(psdu, 3));
    assert_eq!(*frames[0].borrow(), [frame; 7]);
    let dropped = home.drain_dropped().map(|one| (one.packet.number, one.reason));
    let gone = [0, 1, 2].map(|number| (number, DropReason::RetryLimit));
    assert_eq!(dropped.collect::<Vec<_>>(), gone);
}

#[test]
fn a_lone_frame_takes_its_exchange_with_rts_and_cts_where_it_is_long() {
    for rts_above in [None, Some(Bytes::new(500))] {
        let config = WifiConfig { rts_above, ..g() };
        let (mut home, frames) = home(config, 1);
        home.arrive(at(1000), 1, packet(0, 1));
        let delivered = run(&mut home);
        // RTS, SIFS, CTS, SIFS; the packet; SIFS and its acknowledgement.
        let reserved = if rts_above.is_some() { 34 + 10 + 34 + 10 } else { 0 };
        assert_eq!(delivered[0].3, at(1000 + reserved + 254));
        let exchange = micros(reserved + 254 + 10 + 34);
        assert_eq!(home.airtime(at(5000)), exchange);
        assert_eq!(*frames[1].borrow(), [(Bytes::new(1500), exchange)]);
        assert_eq!(*frames[0].borrow(), []);
    }
}

#[test]
fn a_collision_takes_the_longest_of_its_frames_or_their_rts() {
    // 1500 B take 254 us, 40 B take 38 us; RTS 34 us.
    for (rts_above, told, lasts) in [(None, [254, 38], 254), (Some(Bytes::ZERO), [34, 34], 34)] {
        let config = WifiConfig { rts_above, ..g() };
        let (mut home, frames) = home(config, 1);
        home.arrive(at(1000), 1, packet(0, 1));
        home.arrive(at(1000), 2, Packet { size: 40, ..packet(1, 2) });
        home.on_deadline(at(1000));
        assert_eq!(home.next_deadline(), Some(at(1000 + lasts)));
        home.on_deadline(at(1000 + lasts));
        assert_eq!((home.poll_delivered(), home.airtime(at(5000))), (None, micros(lasts)));
        for (station, size) in [(1, 1500), (2, 40)] {
            let airtime = micros(told[station - 1]);
            assert_eq!(*frames[station].borrow(), [(Bytes::new(size), airtime)]);
        }
        // Slots count again behind EIFS: nobody sends before.
        let eifs = Timing::new(config).eifs();
        assert!(home.next_deadline().is_some_and(|next| next >= at(1000 + lasts) + eifs));
        assert_eq!(run(&mut home).len(), 2);
    }
}
