//! What must hold of CAKE whatever comes.

use super::*;

// Whatever comes.

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive { flow: u16, dscp: u8, size: u64, ecn: Ecn },
    Leave,
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let dscp = prop::sample::select(vec![0, BULK, VOICE]);
    let step = prop_oneof![
        3 => (0u16..12, dscp, 40u64..3000, ecn)
            .prop_map(|(flow, dscp, size, ecn)| Step::Arrive { flow, dscp, size, ecn }),
        2 => Just(Step::Leave),
    ];
    prop::collection::vec((0i64..4_000_000, step), 1..600)
}

fn configs() -> impl Strategy<Value = CakeConfig> {
    use Isolation::{
        Blind, DestinationHosts, DualDestination, DualSource, Flows, Hosts, SourceHosts, Triple,
    };
    let isolation = prop::sample::select(vec![
        Triple,
        DualSource,
        DualDestination,
        Flows,
        Hosts,
        SourceHosts,
        DestinationHosts,
        Blind,
    ]);
    let bandwidth = prop::sample::select(vec![None, Some(1), Some(10), Some(1000)]);
    let diffserv = prop::sample::select(vec![Diffserv::Three, Diffserv::BestEffort]);
    let cells = prop::sample::select(vec![Cells::None, Cells::Atm, Cells::Ptm]);
    (bandwidth, isolation, diffserv, 1i64..200, 0i64..60, cells, any::<bool>()).prop_map(
        |(bandwidth, isolation, diffserv, rtt, overhead, cells, ecn)| CakeConfig {
            bandwidth: bandwidth.map(Rate::from_mbps),
            rtt: Duration::from_millis(rtt),
            isolation,
            diffserv,
            framing: Framing { overhead: SignedBytes::new(overhead), min: Bytes::new(64), cells },
            ecn,
            ..CakeConfig::default()
        },
    )
}

/// The same with tins, filters and charges of all kinds.
fn any_configs() -> impl Strategy<Value = CakeConfig> {
    use Diffserv::{BestEffort, Eight, Four, Precedence, Three};
    let diffserv = prop::sample::select(vec![BestEffort, Three, Four, Eight, Precedence]);
    let filter = prop::sample::select(vec![AckFilter::Off, AckFilter::On, AckFilter::Aggressive]);
    (configs(), diffserv, filter, any::<bool>(), any::<bool>()).prop_map(
        |(config, diffserv, ack_filter, ingress, wash)| CakeConfig {
            diffserv,
            ack_filter,
            ingress,
            wash,
            ..config
        },
    )
}

/// Waiting packets of each flow, oldest first, and what must hold of those that go.
#[derive(Default)]
struct Ledger {
    sent: Vec<Packet>,
    waiting: BTreeMap<(u16, Dscp), VecDeque<u64>>,
}

impl Ledger {
    fn arrive(&mut self, packet: Packet) {
        self.sent.push(packet);
        self.waiting.entry((packet.flow, packet.header.dscp)).or_default().push_back(packet.number);
    }

    /// A packet that a later one makes needless goes: it does nothing but acknowledge.
    fn needless(&mut self, packet: Packet) -> Result<(), TestCaseError> {
        let was = self.sent[packet.number as usize];
        prop_assert!(was.tcp.is_some_and(|tcp| tcp.is_plain));
        let queue = self.waiting.entry((was.flow, was.header.dscp)).or_default();
        let length = queue.len();
        queue.retain(|number| *number != was.number);
        prop_assert_eq!(queue.len() + 1, length);
        Ok(())
    }

    /// A packet goes: it is the oldest of its flow, and as it was sent but for a mark and a washed code point.
    fn go(&mut self, packet: Packet, ecn: bool, wash: bool) -> Result<(), TestCaseError> {
        let was = self.sent[packet.number as usize];
        let key = (was.flow, was.header.dscp);
        prop_assert_eq!(
            self.waiting.get_mut(&key).and_then(VecDeque::pop_front),
            Some(packet.number)
        );
        let dscp = if wash { Dscp(0) } else { was.header.dscp };
        let expected = was.with_header(Header { dscp, ..was.header });
        prop_assert_eq!(packet.with_ecn(was.ecn), expected);
        if packet.ecn != was.ecn {
            prop_assert!(ecn && was.ecn.is_capable() && packet.ecn == Ecn::Ce);
        }
        Ok(())
    }

    fn backlog(&self) -> Backlog {
        let numbers = self.waiting.values().flatten();
        let bytes =
            numbers.clone().map(|number| Bytes::new(self.sent[*number as usize].size)).sum();
        Backlog { bytes, packets: numbers.count() as u64 }
    }
}

proptest! {
    /// Every packet leaves or is dropped, once, and in the order of its flow; the limit holds; only what is
    /// ECN-capable is marked; the shaper alone holds packets back.
    #[test]
    fn packets_are_conserved_in_order_and_within_bounds(
        steps in steps(),
        config in any_configs(),
        limit in prop_oneof![
            (3000u64..60_000).prop_map(|max| Limit::Bytes(Bytes::new(max))),
            (1u64..80).prop_map(Limit::Packets),
        ],
        seed in any::<u64>(),
    ) {
        let mut queue = seeded(config, limit, seed);
        let mut ledger = Ledger::default();
        let (mut now, mut dropped) = (Instant::ZERO, Vec::new());
        let end = steps.len();
        // At last all that waits leaves, in no more departures than there were arrivals.
        let rest = std::iter::repeat_n((0, Step::Leave), end);
        for (gap, step) in steps.into_iter().chain(rest) {
            now += Duration::from_nanos(gap);
            match step {
                Step::Arrive { flow, dscp, size, ecn } => {
                    let header = Header { dscp: Dscp(dscp), ..between(flow as u8 % 3, flow as u8 % 4, flow, flow > 6) };
                    let number = ledger.sent.len() as u64;
                    let tcp = TcpHeader { acknowledges: true, is_plain: size < 1500, acknowledgment: number as u32, ..TcpHeader::default() };
                    let packet = Packet::new(flow, number, size).with_ecn(ecn).with_header(header).with_tcp(tcp);
                    ledger.arrive(packet);
                    for drop in queue.offer(now, packet) {
                        if drop.reason == DropReason::Needless {
                            prop_assert!(config.ack_filter != AckFilter::Off);
                            ledger.needless(drop.packet)?;
                            continue;
                        }
                        prop_assert_eq!(drop.reason, DropReason::Overflow);
                        ledger.go(drop.packet, false, config.wash)?;
                    }
                }
                Step::Leave => {
                    let release = queue.next_release(now);
                    prop_assert!(release.is_none_or(|at| at > now && config.bandwidth.is_some()));
                    now = release.unwrap_or(now);
                    let waiting = queue.backlog().packets > 0;
                    let next = queue.dequeue(now, &mut dropped);
                    prop_assert_eq!(next.is_some(), waiting);
                    for drop in dropped.drain(..) {
                        prop_assert_eq!(drop.reason, DropReason::Early);
                        // BLUE also drops what CoDel has just marked.
                        ledger.go(drop.packet, config.ecn, config.wash)?;
                    }
                    if let Some(next) = next {
                        ledger.go(next.packet, config.ecn, config.wash)?;
                    }
                }
            }
            prop_assert_eq!(queue.backlog(), ledger.backlog());
            match limit {
                Limit::Bytes(max) => prop_assert!(queue.backlog().bytes <= max),
                Limit::Packets(max) => prop_assert!(queue.backlog().packets <= max),
            }
        }
        prop_assert_eq!(queue.backlog(), Backlog::default());
        prop_assert_eq!(queue.next_release(now), None);
    }

    /// In front of a faster link: in every window no more than the bandwidth carries in it, and one packet.
    #[test]
    fn no_window_has_more_than_the_bandwidth_and_a_packet(
        arrivals in prop::collection::vec((0i64..2_000_000, 0u16..5, 40u64..3000), 1..250),
        mbps in 1u64..60,
        framing in configs().prop_map(|config| config.framing),
        seed in any::<u64>(),
    ) {
        let bandwidth = Rate::from_mbps(mbps);
        let config = CakeConfig { bandwidth: Some(bandwidth), framing, ..CakeConfig::default() };
        let link = Link::constant(Rate::from_mbps(100)).unwrap();
        let size = QueueSize::Packets(1000);
        let mut path = Bottleneck::new(link, size, Duration::ZERO, |limit| seeded(config, limit, seed));
        let (mut now, mut started) = (Instant::ZERO, Vec::new());
        let mut leave = |path: &mut Bottleneck<Packet, _>, until: Option<Instant>| {
            while let Some(at) = path.next_deadline().filter(|at| until.is_none_or(|until| *at <= until)) {
                started.extend(path.on_deadline(at).map(|done| (done.started, done.packet.size)));
            }
        };
        for (number, (gap, flow, size)) in (0..).zip(arrivals) {
            now += Duration::from_nanos(gap);
            leave(&mut path, Some(now));
            path.arrive(now, Packet::new(flow, number, size));
        }
        leave(&mut path, None);
        for (first, (from, _)) in started.iter().enumerate() {
            let mut bytes = 0;
            for (to, size) in &started[first..] {
                prop_assert!(Bytes::new(bytes) <= bandwidth * (*to - *from));
                bytes += size + framing.overhead.get().unsigned_abs();
            }
        }
    }

    /// Of flows that always have packets, in whatever tins, none is left out.
    #[test]
    fn none_starves(
        config in configs(),
        // Modes with a queue per flow: in one for several the first to come is served first.
        isolation in prop::sample::select(vec![Isolation::Triple, Isolation::DualSource, Isolation::DualDestination, Isolation::Flows]),
        flows in prop::collection::vec((0u8..5, 0u8..5, prop::sample::select(vec![0, BULK, VOICE]), 200u64..3000), 2..12),
        seed in any::<u64>(),
    ) {
        let config = CakeConfig { isolation, rtt: Duration::from_secs(36_000), ..config };
        let mut queue = seeded(config, ROOM, seed);
        for (flow, (source, destination, dscp, size)) in (0u16..).zip(&flows) {
            let header = Header { dscp: Dscp(*dscp), ..between(*source, *destination, flow, false) };
            fill(&mut queue, flow, header, 1500, *size);
        }
        // The least share: a sixteenth of the bytes (bulk), of that an eleventh by host, of that by flow.
        let mut seen = vec![false; flows.len()];
        let mut now = millis(0);
        for _ in 0..1500 {
            seen[usize::from(leave(&mut queue, &mut now).unwrap().flow)] = true;
        }
        let missing: Vec<_> = flows.iter().zip(&seen).filter(|(_, seen)| !**seen).collect();
        prop_assert!(missing.is_empty(), "{:?}", missing);
    }
}
