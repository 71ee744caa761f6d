//! From the specification of a queue to the queue.

use super::htb;
use crate::spec::{
    AckFilterSpec, CakeSpec, CellsSpec, CodelSpec, DecisionSpec, DelayInputSpec, DiffservSpec,
    DropTailSpec, DualPi2Spec, FqCodelSpec, IsolationSpec, MarkingSpec, PieSpec, QueueSpec,
    SchedulerSpec, Switch, Text,
};
use crate::{RunError, random};
use gameway_path::{
    AckFilter, Cake, CakeConfig, Cells, Codel, CodelConfig, Decision, DelayInput, Diffserv,
    DropTail, DualPi2, DualPi2Config, FqCodel, FqCodelConfig, Framing, Isolation, Limit,
    LowLatencyMarking, PathPacket, Pie, PieConfig, Queue, Scheduler,
};
use gameway_units::{Duration, QueueSize, Ratio};

/// How much may wait in a queue of this specification.
#[must_use]
pub fn size(spec: &QueueSpec) -> QueueSize {
    match spec {
        QueueSpec::Cake(spec) if spec.size.is_none() => QueueSize::Bytes(cake(spec).limit()),
        other => other.size().unwrap_or(QueueSize::Packets(1)),
    }
}

/// The queue of the bottleneck called `link` in a run of this seed.
///
/// # Errors
/// If it cannot be built.
pub fn queue<P: PathPacket + Copy + 'static>(
    spec: &QueueSpec,
    limit: Limit,
    base_rtt: Duration,
    seed: u64,
    link: &str,
) -> Result<Box<dyn Queue<P>>, RunError> {
    let random = || random::stream(seed, &format!("{link}/queue"));
    Ok(match spec {
        QueueSpec::DropTail(DropTailSpec { mark_above, .. }) => {
            Box::new(DropTail::new(limit).with_marking(mark_above.map(|text| text.0)))
        }
        QueueSpec::Codel(spec) => Box::new(Codel::new(codel(spec), limit)),
        QueueSpec::FqCodel(spec) => Box::new(FqCodel::new(fq_codel(spec), limit, random())),
        QueueSpec::Pie(spec) => Box::new(Pie::new(pie(spec), limit, random())),
        QueueSpec::DualPi2(spec) => Box::new(DualPi2::new(dual_pi2(spec), limit, random())),
        QueueSpec::Cake(spec) => Box::new(Cake::new(cake(spec), limit, random())),
        QueueSpec::Htb(spec) => Box::new(htb::htb(spec, base_rtt, seed, link)?),
    })
}

/// What is given, or `otherwise`.
fn or<T: Copy>(given: Option<Text<T>>, otherwise: T) -> T {
    given.map_or(otherwise, |text| text.0)
}

fn codel(spec: &CodelSpec) -> CodelConfig {
    let default = CodelConfig::default();
    CodelConfig {
        target: or(spec.target, default.target),
        interval: or(spec.interval, default.interval),
        ecn: spec.ecn.map_or(default.ecn, |switch| switch == Switch::On),
    }
}

fn fq_codel(spec: &FqCodelSpec) -> FqCodelConfig {
    let FqCodelSpec { size, target, interval, ecn, flows, quantum } = *spec;
    let default = FqCodelConfig::default();
    FqCodelConfig {
        codel: codel(&CodelSpec { size, target, interval, ecn }),
        flows: flows.map_or(default.flows, |flows| flows as usize),
        quantum: or(quantum, default.quantum),
    }
}

fn pie(spec: &PieSpec) -> PieConfig {
    let default = PieConfig::default();
    PieConfig {
        target: or(spec.target, default.target),
        update_interval: or(spec.update_interval, default.update_interval),
        alpha: spec.alpha.unwrap_or(default.alpha),
        beta: spec.beta.unwrap_or(default.beta),
        burst_allowance: or(spec.burst_allowance, default.burst_allowance),
        mark_below: or(spec.mark_below, default.mark_below),
    }
}

fn dual_pi2(spec: &DualPi2Spec) -> DualPi2Config {
    let default = DualPi2Config::default();
    DualPi2Config {
        target: or(spec.target, default.target),
        update_interval: or(spec.update_interval, default.update_interval),
        alpha: spec.alpha.unwrap_or(default.alpha),
        beta: spec.beta.unwrap_or(default.beta),
        coupling: spec.coupling.unwrap_or(default.coupling),
        most_classic: or(spec.most_classic, default.most_classic),
        marking: marking(spec),
        delay_input: match spec.delay_input {
            None | Some(DelayInputSpec::Both) => DelayInput::Both,
            Some(DelayInputSpec::Classic) => DelayInput::Classic,
        },
        scheduler: scheduler(spec),
        decision: match spec.decision {
            None | Some(DecisionSpec::Recurring) => Decision::Recurring,
            Some(DecisionSpec::Random) => Decision::Random,
        },
    }
}

/// RFC 9332 appendix A.1, and Linux's step.
fn marking(spec: &DualPi2Spec) -> LowLatencyMarking {
    match spec.marking {
        None | Some(MarkingSpec::Ramp) => LowLatencyMarking::Ramp {
            from: or(spec.ramp_from, Duration::from_micros(800)),
            range: or(spec.ramp_range, Duration::from_micros(400)),
        },
        Some(MarkingSpec::Step) => {
            LowLatencyMarking::Step { above: or(spec.step_above, Duration::from_millis(1)) }
        }
    }
}

fn scheduler(spec: &DualPi2Spec) -> Scheduler {
    match spec.scheduler {
        None | Some(SchedulerSpec::Weighted) => {
            Scheduler::Weighted { classic: or(spec.classic_weight, Ratio::from_ppm(100_000)) }
        }
        Some(SchedulerSpec::TimeShifted) => {
            Scheduler::TimeShifted { shift: or(spec.time_shift, Duration::from_millis(30)) }
        }
    }
}

fn cake(spec: &CakeSpec) -> CakeConfig {
    let default = CakeConfig::default();
    CakeConfig {
        bandwidth: spec.bandwidth.map(|text| text.0),
        rtt: spec.rtt.map_or(default.rtt, |text| text.0.0),
        isolation: spec.isolation.map_or(default.isolation, isolation),
        diffserv: match spec.diffserv {
            None | Some(DiffservSpec::Diffserv3) => Diffserv::Three,
            Some(DiffservSpec::Diffserv4) => Diffserv::Four,
            Some(DiffservSpec::Diffserv8) => Diffserv::Eight,
            Some(DiffservSpec::Precedence) => Diffserv::Precedence,
            Some(DiffservSpec::Besteffort) => Diffserv::BestEffort,
        },
        framing: framing(spec),
        ack_filter: match spec.ack_filter {
            None | Some(AckFilterSpec::Off) => AckFilter::Off,
            Some(AckFilterSpec::On) => AckFilter::On,
            Some(AckFilterSpec::Aggressive) => AckFilter::Aggressive,
        },
        ingress: spec.ingress == Some(Switch::On),
        wash: spec.wash == Some(Switch::On),
        ecn: spec.ecn.map_or(default.ecn, |switch| switch == Switch::On),
    }
}

/// What the words say, but for what is given by itself.
fn framing(spec: &CakeSpec) -> Framing {
    let words = or(spec.framing, Framing::default());
    Framing {
        overhead: or(spec.overhead, words.overhead),
        least: or(spec.mpu, words.least),
        cells: match spec.cells {
            None => words.cells,
            Some(CellsSpec::None) => Cells::None,
            Some(CellsSpec::Atm) => Cells::Atm,
            Some(CellsSpec::Ptm) => Cells::Ptm,
        },
    }
}

const fn isolation(spec: IsolationSpec) -> Isolation {
    match spec {
        IsolationSpec::TripleIsolate => Isolation::Triple,
        IsolationSpec::DualSrchost => Isolation::DualSource,
        IsolationSpec::DualDsthost => Isolation::DualDestination,
        IsolationSpec::Flows => Isolation::Flows,
        IsolationSpec::Hosts => Isolation::Hosts,
        IsolationSpec::Srchost => Isolation::SourceHosts,
        IsolationSpec::Dsthost => Isolation::DestinationHosts,
        IsolationSpec::Flowblind => Isolation::Blind,
    }
}
