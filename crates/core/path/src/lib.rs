//! The network path of an experiment: queue, link, delay, jitter, loss, duplication and
//! reordering, all sans-IO.
//!
//! A packet's way through it: [`Bottleneck`] (a [`Queue`] in front of a [`Link`]), then [`Impairments`],
//! then a [`DelayLine`]; a Wi-Fi [`Medium`] takes the place of a bottleneck. A [`Network`] joins these parts and
//! takes each packet from step to step. Drivers call with `now` and ask for the next deadline; the same network
//! runs under the simulator and under a live emulator.

mod bottleneck;
mod delay;
mod header;
mod impairments;
mod link;
mod loss;
mod measured_delays;
mod network;
mod packet;
mod queue;
mod segments;
mod stalls;
mod tcp;
mod throughput;
mod trace;
mod wifi;

pub use bottleneck::{Bottleneck, HopChange, Meter, Transmitted};
pub use delay::{DelayLine, Jitter};
pub use header::{Dscp, Endpoint, Header, HeaderError, Protocol, Traffic};
pub use impairments::{Chance, Displacement, Duplication, Impairments, ReorderModel, Reordering};
pub use link::{Link, StepsError};
pub use loss::{Loss, LossModel};
pub use measured_delays::MeasuredDelays;
pub use network::{
    AnyQueue, Direction, Fate, Hop, Journey, Network, NetworkPacket, Observer, Passage, Slot, Way,
    Wifi,
};
pub use packet::{FlowId, PathPacket};
pub use queue::{
    AckFilter, Airtime, AirtimeConfig, Backlog, Cake, CakeConfig, Cells, Classifier, Codel,
    CodelConfig, Decision, DefaultSize, DelayInput, Dequeued, Diffserv, Discipline, Disciplines,
    DropReason, DropTail, DropTailConfig, Dropped, DualPi2, DualPi2Config, FqCodel, FqCodelConfig,
    Framing, FramingError, Htb, HtbClass, HtbConfig, HtbError, Isolation, Limit, LinkLayer,
    LowLatencyMarking, OptionError, Options, Pie, PieConfig, PortRange, Prefix, Priority, Queue,
    Rule, Scheduler, SizeOption,
};
pub use stalls::Stalls;
pub use tcp::{SackRanges, TcpHeader};
pub use throughput::{Columns, ThroughputError, ThroughputTable};
pub use trace::{Trace, TraceError};
pub use wifi::{
    Aggregation, Countdown, DataRate, Generation, GuardInterval, Medium, Spatial, Timing,
    WifiConfig, WifiError,
};

/// A uniform draw from [0, 1) with 53 bits, the same on every machine.
pub fn uniform(random: &mut impl rand_core::Rng) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (random.next_u64() >> 11) as f64 * STEP
}
