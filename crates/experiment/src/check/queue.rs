//! Queues and their options.

use super::{HIGHEST_RATE, LONGEST_DELAY, SHORTEST_INTERVAL, between, number, rate, share, span};
use crate::RunError;
use crate::spec::{DualPi2Spec, HtbSpec, QueueSpec, Text};
use gameway_units::{Bytes, Duration, Rate, SignedBytes};

/// tc's "datacentre" is 100 us; it takes 1 us.
const LEAST_RTT: Duration = Duration::from_micros(1);
/// CAKE's own least rate: 64 B/s.
const LEAST_BANDWIDTH: Rate = Rate::from_bps(512);
/// tc-cake(8) takes no less and no more.
const LEAST_OVERHEAD: SignedBytes = SignedBytes::new(-64);
const MOST_OVERHEAD: SignedBytes = SignedBytes::new(256);
const MOST_MPU: Bytes = Bytes::new(256);
/// A jumbo frame of any kind is shorter.
const MOST_MTU: Bytes = Bytes::new(65_535);

/// Whether a queue of this specification can be built.
///
/// # Errors
/// The first option that is wrong, and what is allowed.
pub fn check_queue(queue: &QueueSpec) -> Result<(), RunError> {
    check_queue_of("queue", queue)
}

pub(super) fn check_queue_of(field: &str, queue: &QueueSpec) -> Result<(), RunError> {
    let at = |option: &str| format!("{field}.{option}");
    let time = |option, given: Option<Text<Duration>>, least| match given {
        Some(text) => span(&at(option), text.0, least, LONGEST_DELAY),
        None => Ok(()),
    };
    let (any, some) = (Duration::ZERO, SHORTEST_INTERVAL);
    match queue {
        QueueSpec::DropTail(spec) => time("mark_above", spec.mark_above, any),
        QueueSpec::Codel(spec) => {
            time("target", spec.target, any)?;
            time("interval", spec.interval, some)
        }
        QueueSpec::FqCodel(spec) => {
            time("target", spec.target, any)?;
            time("interval", spec.interval, some)?;
            number(&at("flows"), spec.flows.map(f64::from), 1.0, 65_536.0)?;
            number(&at("quantum"), spec.quantum.map(|text| text.0.as_f64()), 1.0, 1e9)
        }
        QueueSpec::Pie(spec) => {
            time("target", spec.target, some)?;
            time("update_interval", spec.update_interval, some)?;
            time("burst_allowance", spec.burst_allowance, any)?;
            number(&at("alpha"), spec.alpha, 0.0, 1e3)?;
            number(&at("beta"), spec.beta, 0.0, 1e3)?;
            share(&at("mark_below"), spec.mark_below)
        }
        QueueSpec::DualPi2(spec) => check_dual_pi2(&at, &time, spec),
        QueueSpec::Htb(spec) => check_htb(field, spec),
        QueueSpec::Cake(spec) => {
            time("rtt", spec.rtt.map(|text| Text(text.0.0)), LEAST_RTT)?;
            between(&at("bandwidth"), spec.bandwidth, LEAST_BANDWIDTH, HIGHEST_RATE)?;
            between(&at("overhead"), spec.overhead, LEAST_OVERHEAD, MOST_OVERHEAD)?;
            between(&at("mpu"), spec.mpu, Bytes::ZERO, MOST_MPU)
        }
    }
}

fn check_htb(field: &str, spec: &HtbSpec) -> Result<(), RunError> {
    if let Some(all) = spec.rate {
        rate(&format!("{field}.rate"), all.0)?;
    }
    let at = |part: &str| format!("{field}.{part}");
    between(&at("overhead"), spec.overhead, LEAST_OVERHEAD, MOST_OVERHEAD)?;
    between(&at("mpu"), spec.mpu, Bytes::ZERO, MOST_MPU)?;
    between(&at("mtu"), spec.mtu, Bytes::new(1), MOST_MTU)?;
    number(&at("tsize"), spec.tsize.map(f64::from), 1.0, 16_384.0)?;
    for (name, class) in &spec.class {
        let at = |part: &str| format!("{field}.class.{name}.{part}");
        rate(&at("rate"), class.rate.0)?;
        rate(&at("ceil"), class.ceil.map_or(Rate::ZERO, |ceil| ceil.0))?;
        if let Some(queue) = &class.queue {
            check_queue_of(&at("queue"), queue)?;
        }
    }
    crate::build::check_htb(field, spec)
}

fn check_dual_pi2(
    at: &impl Fn(&str) -> String,
    time: &impl Fn(&'static str, Option<Text<Duration>>, Duration) -> Result<(), RunError>,
    spec: &DualPi2Spec,
) -> Result<(), RunError> {
    let (any, some) = (Duration::ZERO, SHORTEST_INTERVAL);
    time("target", spec.target, some)?;
    time("update_interval", spec.update_interval, some)?;
    for (option, given) in [
        ("step_above", spec.step_above),
        ("ramp_from", spec.ramp_from),
        ("ramp_range", spec.ramp_range),
        ("time_shift", spec.time_shift),
    ] {
        time(option, given, any)?;
    }
    number(&at("alpha"), spec.alpha, 0.0, 1e3)?;
    number(&at("beta"), spec.beta, 0.0, 1e3)?;
    number(&at("coupling"), spec.coupling, 0.0, 1e3)?;
    share(&at("most_classic"), spec.most_classic)?;
    share(&at("classic_weight"), spec.classic_weight)
}
