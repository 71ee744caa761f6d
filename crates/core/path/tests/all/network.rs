//! A network by hand: what its observer is told of each packet, and when.

use crate::support::Packet;
use gameway_path::{
    AnyQueue, Bottleneck, DelayLine, Direction, DropReason, DropTail, Fate, Hop, Impairments,
    Limit, Link, Loss, LossModel, Network, Observer, Passage, Slot, Transmitted, Way,
};
use gameway_units::{Duration, Instant, QueueSize, Rate, Ratio};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// All that is told, a line each: times in milliseconds.
#[derive(Default)]
struct Lines(Vec<String>);

fn ms(at: Instant) -> i64 {
    at.as_nanos() / 1_000_000
}

impl Lines {
    fn add(&mut self, packet: &Packet, what: &str) {
        self.0.push(format!("{} {what}", packet.number));
    }
}

impl Observer<Packet> for Lines {
    fn sent(&mut self, packet: &Packet) {
        self.add(packet, &format!("sent {}", ms(packet.journey.came)));
    }
    fn passes_gateway(&mut self, now: Instant, passage: Passage, packet: &mut Packet) {
        self.add(packet, &format!("gateway {passage:?} {}", ms(now)));
    }
    fn transmitted(&mut self, hop: usize, guarded: bool, done: &Transmitted<Packet>) {
        self.add(&done.packet, &format!("transmitted {hop} {guarded} {}", ms(done.finished)));
    }
    fn forwarded(&mut self, packet: &Packet) {
        self.add(packet, &format!("forwarded, waited {}", packet.journey.waited));
    }
    fn copied(&mut self, packet: &Packet) -> Option<Packet> {
        Some(*packet)
    }
    fn fate(&mut self, packet: &Packet, fate: Fate) {
        let told = match fate {
            Fate::Dropped { reason } => format!("dropped {reason:?}"),
            Fate::Lost { departed } => format!("lost {}", ms(departed)),
            Fate::Delivered { departed, arrived } => format!("{} to {}", ms(departed), ms(arrived)),
            Fate::Copied { .. } => "copied".to_owned(),
        };
        self.add(packet, &told);
    }
    fn arrived(&mut self, packet: &Packet) {
        self.add(packet, "arrived");
    }
}

/// A bottleneck of so many Mb/s with room for one packet that waits.
fn hop(mbps: u64) -> Hop<Packet> {
    let link = Link::constant(Rate::from_mbps(mbps)).unwrap();
    let queue = |limit: Limit| -> AnyQueue<Packet> { Box::new(DropTail::new(limit)) };
    Hop::Wired(Bottleneck::new(link, QueueSize::Packets(1), Duration::ZERO, queue))
}

fn network(loss: u64) -> Network<Packet> {
    let random = Xoshiro256PlusPlus::seed_from_u64(1);
    let model = LossModel::Random { probability: Ratio::from_ppm(loss) };
    let impaired = Impairments { loss: Some(Loss::new(model, random)), ..Impairments::default() };
    let line = || DelayLine::new(Duration::from_millis(10));
    let ways = [
        Way::new(Direction::Down, vec![0, 1], line()),
        Way::new(Direction::Up, Vec::new(), line()),
    ];
    // 1500 bytes take 1 ms and 2 ms.
    Network::new(vec![hop(12), hop(6)], [impaired, Impairments::default()], vec![ways])
}

/// What is told of packets that are sent at these milliseconds, with data or back.
fn told(mut network: Network<Packet>, sends: &[(i64, bool)]) -> Vec<String> {
    let mut lines = Lines::default();
    let mut sends = sends.iter().enumerate().peekable();
    loop {
        let (slot, due) = network.next();
        let next = sends.peek().map(|(_, (at, _))| Instant::from_nanos(at * 1_000_000));
        if let Some(at) = next.filter(|at| *at < due) {
            let Some((number, (_, returning))) = sends.next() else { return lines.0 };
            let packet = Packet::new(0, number as u64, 1500).with_direction(*returning);
            network.send(at, packet, &mut lines);
            continue;
        }
        match slot {
            _ if due == Instant::MAX => return lines.0,
            Slot::Hop(hop) => {
                network.on_hop(hop, due, &mut lines);
            }
            Slot::Line(flow, returning) => {
                network.pop_arrived(flow, returning, due, &mut lines);
            }
            _ => panic!("{slot:?} was never set"),
        }
    }
}

#[test]
fn each_step_of_a_packet_is_told_once_and_at_its_time() {
    let wanted = [
        "0 sent 5",
        "0 gateway Queue 5",
        "0 transmitted 0 true 6",
        "0 transmitted 1 false 8",
        "0 forwarded, waited 0 s",
        "0 8 to 18",
        "0 arrived",
    ];
    assert_eq!(told(network(0), &[(5, false)]), wanted);
}

#[test]
fn what_goes_back_passes_the_gateway_beside_its_queue() {
    let wanted = ["0 sent 5", "0 gateway Beside 5", "0 forwarded, waited 0 s", "0 5 to 15"];
    assert_eq!(told(network(0), &[(5, true)])[..4], wanted);
}

#[test]
fn what_is_dropped_has_its_reason_and_waiting_is_summed_over_bottlenecks() {
    let lines = told(network(0), &[(0, false); 4]);
    let of = |what: &str| lines.iter().filter(|line| line.contains(what)).collect::<Vec<_>>();
    // One is on the wire, one waits, and two find no room.
    let overflow = format!("dropped {:?}", DropReason::Overflow);
    assert_eq!(of(&overflow), [&format!("2 {overflow}"), &format!("3 {overflow}")]);
    // The second waits 1 ms at the first bottleneck, and 1 ms at the second.
    assert_eq!(of("forwarded"), ["0 forwarded, waited 0 s", "1 forwarded, waited 2 ms"]);
    assert_eq!(of(" to "), ["0 3 to 13", "1 5 to 15"]);
}

#[test]
fn what_is_lost_behind_the_bottlenecks_does_not_arrive() {
    let lines = told(network(1_000_000), &[(0, false)]);
    assert_eq!(lines.last().map(String::as_str), Some("0 lost 3"));
}
