//! The home gateway at work: it stands at the path's own bottleneck, and what it knows is logged.
//!
//! What comes to that bottleneck passes it there, and what goes another way (back, mostly) where that leaves
//! the bottlenecks, or where it comes to the hop with `place = "out"`.

use crate::recorder::{Recorder, intern};
use crate::spec::PathSpec;
use crate::{Known, RunError, build};
use gameway_events::{ControllerRecord, Name, RunEvent};
use gameway_gateway::{Gateway, Observation, Packet, Passage};
use gameway_path::{Direction, FlowId, Header};
use gameway_units::{Bytes, Duration, Instant, Rate};

/// Name of the gateway in the log, beside those of flows.
const NAME: &str = "gateway";

/// Which flow a header belongs to, either way.
pub type FlowOf = Box<dyn Fn(&Header) -> Option<FlowId>>;

/// See the module's head.
pub struct HomeGateway {
    gateway: Box<dyn Gateway>,
    observe_interval: Duration,
    next_observation: Instant,
    name: Name,
    flow_of: FlowOf,
    /// Variables, their names made once.
    words: Vec<Name>,
    observations: Vec<Observation>,
}

impl HomeGateway {
    /// The gateway, which is observed so often, among flows of which `flow_of` tells by a header.
    #[must_use]
    pub fn new(gateway: Box<dyn Gateway>, observe_interval: Duration, flow_of: FlowOf) -> Self {
        Self {
            gateway,
            observe_interval,
            next_observation: Instant::ZERO + observe_interval,
            name: NAME.into(),
            flow_of,
            words: Vec::new(),
            observations: Vec::new(),
        }
    }

    /// The gateway that a path has, if it has one that does more than forward.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn of_path(
        known: Known<'_>,
        path: &PathSpec,
        observe_interval: Duration,
        flow_of: FlowOf,
    ) -> Result<Option<Self>, RunError> {
        let spec = path.gateway.as_ref();
        let built = spec.map(|spec| build::gateway(known.gateways, "path.gateway", spec));
        let gateway = built.transpose()?.flatten();
        Ok(gateway.map(|one| Self::new(one, observe_interval, flow_of)))
    }

    /// It stands there from `now` on; `oldest`: when what waits longest came to the bottleneck.
    #[must_use]
    pub fn from(mut self, now: Instant, oldest: Option<Instant>) -> Self {
        self.next_observation = now.saturating_add(self.observe_interval);
        if self.gateway.next_deadline() <= now {
            self.gateway.on_deadline(now, oldest);
        }
        self
    }

    /// A packet passes; gives whether the window that it carries is lower now.
    pub fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool {
        self.gateway.on_packet(now, passage, packet)
    }

    /// A packet begins to leave the bottleneck after waiting so long.
    pub fn on_departure(&mut self, now: Instant, header: &Header, size: Bytes, waited: Duration) {
        self.gateway.on_departure_of(now, header, size, waited);
    }

    /// It has a shaper for what the home sends, too.
    pub fn guard_way_out(&mut self) {
        self.gateway.guard_way_out();
    }

    /// A packet has left that one.
    pub fn on_left_home(&mut self, now: Instant, size: Bytes) {
        self.gateway.on_left_home(now, size);
    }

    /// The rate that the shaper of its queue this way is to have; `None`: it stays.
    #[must_use]
    pub fn shaped_rate(&self, direction: Direction) -> Option<Rate> {
        match direction {
            Direction::Down => self.gateway.shaped_rate(),
            Direction::Up => self.gateway.shaped_rate_out(),
        }
    }

    /// When [`Self::on_deadline`] is due.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.gateway.next_deadline().min(self.next_observation)
    }

    /// That time has come; `oldest`: when what waits longest came to the bottleneck.
    pub fn on_deadline(&mut self, now: Instant, oldest: Option<Instant>, log: &mut Recorder) {
        if self.gateway.next_deadline() <= now {
            self.gateway.on_deadline(now, oldest);
        }
        if self.next_observation <= now {
            self.next_observation = now.saturating_add(self.observe_interval);
            self.observe(now, log);
        }
    }

    fn observe(&mut self, now: Instant, log: &mut Recorder) {
        let found = &mut self.observations;
        self.gateway.observe(&mut |observation| found.push(observation));
        for Observation { flow, variable, value, .. } in self.observations.drain(..) {
            let stream = match flow {
                None => self.name.clone(),
                Some(header) => match (self.flow_of)(&header) {
                    Some(flow) => log.name(flow).clone(),
                    None => continue,
                },
            };
            let variable = intern(&mut self.words, variable);
            let time_ns = now.as_nanos();
            let record = ControllerRecord { stream, time_ns, variable, value };
            log.tell(RunEvent::Controller(record));
        }
    }
}
