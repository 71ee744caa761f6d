//! What every driver attaches to a network: the tables, the home gateway and the classifier, each at its turn.

use crate::spec::{ClassifierSpec, PathSpec};
use crate::{HomeGateway, Recognition, Recorder, random};
use gameway_events::{EventRecord, RunEvent, SummaryRecord};
use gameway_path::{Direction, Network, NetworkPacket, Slot, Traffic, Transmitted};
use gameway_units::{Bytes, Duration, Instant};

/// The event of a change of the path, and of whom it is; its value counts them.
const CHANGED: (&str, &str) = ("link", "path-changed");

/// See the module's head.
pub struct Attached {
    /// What counts packets and tells of them.
    pub recorder: Recorder,
    /// Events so far.
    pub events: u64,
    gateway: Option<HomeGateway>,
    /// What tells games from others, if anything does.
    recognition: Option<Recognition>,
    /// How often the path has become another one.
    changes: u32,
}

impl Attached {
    /// Attaches what the path has to a network at time zero.
    pub fn new<P: NetworkPacket>(
        recorder: Recorder,
        mut gateway: Option<HomeGateway>,
        (path, seed): (&PathSpec, u64),
        network: &mut Network<P>,
    ) -> Self {
        let recognition = recognition(path, seed);
        guard_way_out(gateway.as_mut(), network);
        network.set(Slot::Recorder, Some(recorder.next_deadline()));
        network.set(Slot::Gateway, gateway.as_ref().map(HomeGateway::next_deadline));
        Self { recorder, events: 0, gateway, recognition, changes: 0 }
    }

    /// The path is another one from `now` on: gateway and classifier begin anew where their keys differ, and the tables
    /// are told. `gateway` is that of the path `after`.
    pub fn change<P: NetworkPacket>(
        &mut self,
        (now, seed): (Instant, u64),
        (before, after): (&PathSpec, &PathSpec),
        gateway: Option<HomeGateway>,
        network: &mut Network<P>,
    ) {
        if before.gateway != after.gateway {
            self.gateway = gateway.map(|one| one.from(now, network.oldest()));
            network.set(Slot::Gateway, self.gateway.as_ref().map(HomeGateway::next_deadline));
        }
        guard_way_out(self.gateway.as_mut(), network);
        if before.classifier != after.classifier {
            self.recognition = recognition(after, seed);
        }
        self.changes += 1;
        let ((flow, event), value) = (CHANGED, f64::from(self.changes));
        let (flow, event, time_ns) = (flow.into(), event.into(), now.as_nanos());
        self.recorder.tell(RunEvent::Flow(EventRecord { time_ns, flow, event, value }));
    }

    /// The bin of the tables ends.
    pub fn tick<P: NetworkPacket>(&mut self, now: Instant, network: &mut Network<P>) {
        self.recorder.tick(now, &network.meters(now));
        network.set(Slot::Recorder, Some(self.recorder.next_deadline()));
    }

    /// The gateway is due.
    pub fn on_gateway<P: NetworkPacket>(&mut self, now: Instant, network: &mut Network<P>) {
        if let Some(gateway) = &mut self.gateway {
            gateway.on_deadline(now, network.oldest(), &mut self.recorder);
            for direction in Direction::ALL {
                let wanted = gateway.shaped_rate(direction);
                if let Some(rate) = wanted.filter(|_| wanted != network.shaped_rate(direction)) {
                    network.set_shaped_rate(now, direction, rate);
                }
            }
        }
        network.set(Slot::Gateway, self.gateway.as_ref().map(HomeGateway::next_deadline));
    }

    /// The gateway, if there is one that does more than forward.
    #[inline]
    pub const fn gateway(&mut self) -> Option<&mut HomeGateway> {
        self.gateway.as_mut()
    }

    /// A packet has left the gateway's queue.
    #[inline]
    pub fn departed<P: NetworkPacket>(&mut self, done: &Transmitted<P>) {
        if let Some(gateway) = &mut self.gateway {
            let size = done.packet.wire_size();
            let header = done.packet.header();
            gateway.on_departure(done.finished, &header, size, done.queueing_delay());
        }
    }

    /// A packet has left the gateway's queue for what the home sends.
    #[inline]
    pub fn left_home(&mut self, now: Instant, size: Bytes) {
        if let Some(gateway) = &mut self.gateway {
            gateway.on_left_home(now, size);
        }
    }

    /// What the classifier takes the flow of a packet for, which an end sends now; it sees what passes the gateway.
    #[inline]
    pub fn recognise<P: NetworkPacket>(
        &mut self,
        now: Instant,
        packet: &P,
        network: &Network<P>,
    ) -> Option<Traffic> {
        match &mut self.recognition {
            Some(recognition) if network.passes_gateway(usize::from(packet.flow().0)) => {
                recognition.see(now, packet, network.direction(packet), &mut self.recorder)
            }
            _ => None,
        }
    }

    /// The totals of a run that ends after `duration`.
    pub fn summary<P: NetworkPacket>(
        &self,
        (duration, seed): (Duration, u64),
        network: &Network<P>,
    ) -> SummaryRecord {
        let totals = &self.recorder.totals;
        SummaryRecord {
            duration_ns: duration.as_nanos(),
            seed,
            arrived_packets: totals.arrived,
            forwarded_packets: totals.forwarded,
            dropped_packets: totals.dropped,
            queued_packets: network.queued(),
            lost_packets: totals.lost,
            duplicated_packets: totals.duplicated,
            delivered_packets: totals.delivered,
            under_way_packets: network.under_way(),
            events_processed: self.events,
        }
    }
}

/// The gateway has the queue for what the home sends, if that is a shaper.
fn guard_way_out<P: NetworkPacket>(gateway: Option<&mut HomeGateway>, network: &Network<P>) {
    if let Some(gateway) = gateway.filter(|_| network.shaped_rate(Direction::Up).is_some()) {
        gateway.guard_way_out();
    }
}

fn recognition(path: &PathSpec, seed: u64) -> Option<Recognition> {
    let classified = path.classifier == ClassifierSpec::Behaviour;
    classified.then(|| Recognition::new(random::number(seed, "path/classifier")))
}
