//! What a specification must satisfy beyond its grammar: every refusal names the field.
//!
//! Bounds are wide: they keep out what is a slip of the pen, and what would let a run not end or
//! overflow the clock (nanoseconds in 64 bits reach 292 years).

use crate::build::{SimError, sap_law, spec_error, voap};
use crate::spec::{
    BackSpec, CapacitySpec, CompetitorSpec, DualPi2Spec, FeedbackSpec, GatewaySpec, HopSpec,
    JitterSpec, LossSpec, PathSpec, QueueSpec, RunSpec, ShortTcpSpec, StreamSpec, TcpSpec, Text,
    UdpSpec, Way,
};
use gameway_gateway::{SapLawConfig, VoapConfig};
use gameway_units::{Bytes, Duration, Rate, Ratio};

const LONGEST_RUN: Duration = Duration::from_secs(366 * 24 * 3600);
const LONGEST_DELAY: Duration = Duration::from_secs(3600);
/// What repeats at a shorter interval fills tables, or keeps a run from ever advancing.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
const HIGHEST_RATE: Rate = Rate::from_mbps(1_000_000);
/// Flows are numbered with 16 bits; a table's names too.
const MOST_FLOWS: usize = 1_000;

/// Whether `spec` can be run.
///
/// # Errors
/// The first field that is wrong, and what is allowed.
pub fn check(spec: &RunSpec) -> Result<(), SimError> {
    span("duration", spec.duration.0, Duration::from_nanos(1), LONGEST_RUN)?;
    check_path(&spec.path)?;
    let count = spec.stream.len() + spec.competitor.len();
    if count > MOST_FLOWS {
        return Err(spec_error("stream", format!("{count} flows; at most {MOST_FLOWS} can run")));
    }
    spec.stream.iter().try_for_each(check_stream)?;
    spec.competitor.iter().try_for_each(check_competitor)?;
    if let Some(ping) = &spec.ping {
        span("ping.interval", ping.interval.0, SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    if let Some(interval) = &spec.record.controller_interval {
        span("record.controller_interval", interval.0, SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    check_names(spec)
}

fn span(field: &str, span: Duration, least: Duration, most: Duration) -> Result<(), SimError> {
    if (least..=most).contains(&span) {
        return Ok(());
    }
    Err(spec_error(field, format!("{span} is not between {least} and {most}")))
}

fn rate(field: &str, rate: Rate) -> Result<(), SimError> {
    if rate <= HIGHEST_RATE {
        return Ok(());
    }
    Err(spec_error(field, format!("{rate} is more than {HIGHEST_RATE}")))
}

fn check_path(path: &PathSpec) -> Result<(), SimError> {
    check_capacity("path.capacity", &path.capacity)?;
    span("path.base_rtt", path.base_rtt.0, Duration::ZERO, LONGEST_DELAY)?;
    if let Some(forward) = path.forward_delay {
        span("path.forward_delay", forward.0, Duration::ZERO, path.base_rtt.0)?;
    }
    check_queue_of("path.queue", &path.queue)?;
    check_jitter("path.jitter", path.jitter.as_ref())?;
    check_loss("path.loss", path.loss.as_ref())?;
    if let Some(gateway) = &path.gateway {
        check_gateway_of("path.gateway", gateway)?;
    }
    path.hop.iter().try_for_each(check_hop)?;
    path.back.as_ref().map_or(Ok(()), check_back)
}

fn check_hop(hop: &HopSpec) -> Result<(), SimError> {
    if [Way::ALL, Way::PATH, crate::build::BACK].contains(&hop.name.as_str()) {
        return Err(spec_error("path.hop.name", format!("\"{}\" means something else", hop.name)));
    }
    let field = |part: &str| format!("path.hop \"{}\": {part}", hop.name);
    check_capacity(&field("capacity"), &hop.capacity)?;
    check_queue_of(&field("queue"), &hop.queue)
}

fn check_back(back: &BackSpec) -> Result<(), SimError> {
    if let Some(capacity) = &back.capacity {
        check_capacity("path.back.capacity", capacity)?;
    } else if back.queue.is_some() {
        return Err(spec_error(
            "path.back.queue",
            "needs path.back.capacity: nothing waits without",
        ));
    }
    check_jitter("path.back.jitter", back.jitter.as_ref())?;
    check_loss("path.back.loss", back.loss.as_ref())
}

fn check_capacity(field: &str, capacity: &CapacitySpec) -> Result<(), SimError> {
    match capacity {
        CapacitySpec::Constant(capacity) => rate(field, capacity.0),
        CapacitySpec::Steps(list) => list.steps.iter().try_for_each(|(at, capacity)| {
            span(field, at.0, Duration::ZERO, LONGEST_RUN)?;
            rate(field, capacity.0)
        }),
        CapacitySpec::Trace(_) => Ok(()),
    }
}

/// Whether a gateway of this specification can be built.
///
/// # Errors
/// The first option that is wrong, and what is allowed.
pub fn check_gateway(gateway: &GatewaySpec) -> Result<(), SimError> {
    check_gateway_of("gateway", gateway)
}

fn check_gateway_of(field: &str, gateway: &GatewaySpec) -> Result<(), SimError> {
    let at = |option: &str| format!("{field}.{option}");
    let time = |option, time, least| span(&at(option), time, least, LONGEST_DELAY);
    match gateway {
        GatewaySpec::None(_) => Ok(()),
        GatewaySpec::Voap(spec) => {
            let VoapConfig { alpha, beta, period, memory, .. } = voap(spec);
            time("alpha", alpha, Duration::ZERO)?;
            time("beta", beta, alpha)?;
            time("period", period, SHORTEST_INTERVAL)?;
            time("memory", memory, Duration::ZERO)
        }
        GatewaySpec::SapLaw(spec) => {
            let SapLawConfig { capacity, rtt, period } = sap_law(spec);
            positive_rate(at("capacity"), capacity)?;
            time("rtt", rtt.unwrap_or(SHORTEST_INTERVAL), Duration::from_nanos(1))?;
            time("period", period, SHORTEST_INTERVAL)
        }
    }
}

/// Whether a queue of this specification can be built.
///
/// # Errors
/// The first option that is wrong, and what is allowed.
pub fn check_queue(queue: &QueueSpec) -> Result<(), SimError> {
    check_queue_of("queue", queue)
}

fn check_queue_of(field: &str, queue: &QueueSpec) -> Result<(), SimError> {
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
    }
}

fn check_dual_pi2(
    at: &impl Fn(&str) -> String,
    time: &impl Fn(&'static str, Option<Text<Duration>>, Duration) -> Result<(), SimError>,
    spec: &DualPi2Spec,
) -> Result<(), SimError> {
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

fn number(field: &str, given: Option<f64>, least: f64, most: f64) -> Result<(), SimError> {
    match given {
        Some(value) if !(least..=most).contains(&value) => {
            Err(spec_error(field, format!("{value} is not between {least} and {most}")))
        }
        _ => Ok(()),
    }
}

fn share(field: &str, given: Option<Text<Ratio>>) -> Result<(), SimError> {
    match given {
        Some(Text(share)) if share > Ratio::ONE => {
            Err(spec_error(field, format!("{share} is more than 100 %")))
        }
        _ => Ok(()),
    }
}

fn check_jitter(field: &str, jitter: Option<&JitterSpec>) -> Result<(), SimError> {
    let delay = |part, delay: Text<Duration>| {
        span(&format!("{field}.{part}"), delay.0, Duration::ZERO, LONGEST_DELAY)
    };
    match *jitter.map_or(&JitterSpec::HalfNormal { deviation: Text(Duration::ZERO) }, |one| one) {
        JitterSpec::Normal { mean, deviation } => {
            delay("mean", mean)?;
            delay("deviation", deviation)
        }
        JitterSpec::HalfNormal { deviation } => delay("deviation", deviation),
        JitterSpec::Periodic { delay: held, interval } => {
            span(&format!("{field}.interval"), interval.0, SHORTEST_INTERVAL, LONGEST_DELAY)?;
            span(&format!("{field}.delay"), held.0, Duration::ZERO, interval.0)
        }
    }
}

fn check_loss(field: &str, loss: Option<&LossSpec>) -> Result<(), SimError> {
    let Some(loss) = loss else { return Ok(()) };
    let (LossSpec::Random { probability } | LossSpec::Bursty { probability, .. }) = *loss;
    if probability.0 > Ratio::ONE {
        let why = format!("{} is more than 100 %", probability.0);
        return Err(spec_error(format!("{field}.probability"), why));
    }
    let LossSpec::Bursty { burst_length, .. } = *loss else { return Ok(()) };
    if !(1.0..=1e6).contains(&burst_length) {
        let why = format!("{burst_length} packets is not between 1 and 1000000");
        return Err(spec_error(format!("{field}.burst_length"), why));
    }
    // Between two bursts at least one packet gets through.
    let most = burst_length / (burst_length + 1.0);
    if probability.0.as_f64() > most {
        let why = format!("bursts of {burst_length} packets lose at most {:.1} %", most * 100.0);
        return Err(spec_error(format!("{field}.probability"), why));
    }
    Ok(())
}

fn check_stream(stream: &StreamSpec) -> Result<(), SimError> {
    let field = |name: &str| format!("stream \"{}\": {name}", stream.name);
    rate(&field("max_bitrate"), stream.max_bitrate.0)?;
    if let Some(fec) = stream.fec
        && fec.0 > Ratio::ONE
    {
        return Err(spec_error(field("fec"), format!("{} is more than 100 %", fec.0)));
    }
    if let FeedbackSpec::Interval(interval)
    | FeedbackSpec::Rfc8888(interval)
    | FeedbackSpec::TransportWide(interval) = stream.feedback
    {
        span(&field("feedback"), interval, SHORTEST_INTERVAL, LONGEST_DELAY)?;
    }
    if let Some(pause) = &stream.pause {
        span(&field("pause.from"), pause.from.0, Duration::ZERO, LONGEST_RUN)?;
        span(&field("pause.to"), pause.to.0, pause.from.0, LONGEST_RUN)?;
    }
    check_way(&field, &stream.way())?;
    check_times(field, stream.start, stream.stop)
}

fn check_way(field: &impl Fn(&str) -> String, way: &Way<'_>) -> Result<(), SimError> {
    let base_rtt = way.base_rtt.unwrap_or(Duration::ZERO);
    span(&field("base_rtt"), base_rtt, Duration::ZERO, LONGEST_DELAY)
}

fn check_competitor(competitor: &CompetitorSpec) -> Result<(), SimError> {
    let field = |part: &str| format!("competitor \"{}\": {part}", competitor.name());
    match competitor {
        CompetitorSpec::Tcp(tcp) => check_tcp(&field, tcp)?,
        CompetitorSpec::ShortTcp(short) => check_short_tcp(&field, short)?,
        CompetitorSpec::Udp(udp) => check_udp(&field, udp)?,
    }
    check_way(&field, &competitor.way())?;
    let (start, stop) = competitor.times();
    check_times(field, start, stop)
}

fn check_tcp(field: &impl Fn(&str) -> String, tcp: &TcpSpec) -> Result<(), SimError> {
    if let Some(limit) = tcp.rate_limit {
        positive_rate(field("rate_limit"), limit.0)?;
    }
    if tcp.bytes.is_some_and(|bytes| bytes.0 == Bytes::ZERO) {
        return Err(spec_error(field("bytes"), "must be more than 0 B"));
    }
    Ok(())
}

fn check_short_tcp(field: &impl Fn(&str) -> String, short: &ShortTcpSpec) -> Result<(), SimError> {
    let (least, greatest) = (short.least_size.0, short.greatest_size.0);
    if least == Bytes::ZERO {
        return Err(spec_error(field("least_size"), "must be more than 0 B"));
    }
    if greatest < least {
        let why = format!("{greatest} is less than least_size ({least})");
        return Err(spec_error(field("greatest_size"), why));
    }
    span(&field("mean_gap"), short.mean_gap.0, SHORTEST_INTERVAL, LONGEST_RUN)
}

/// A packet smaller than its headers does not exist; one larger than this no Ethernet carries.
const PACKET_SIZES: std::ops::RangeInclusive<Bytes> = Bytes::new(29)..=Bytes::new(9_000);

fn check_udp(field: &impl Fn(&str) -> String, udp: &UdpSpec) -> Result<(), SimError> {
    positive_rate(field("rate"), udp.rate.0)?;
    let size = udp.packet_size.0;
    if PACKET_SIZES.contains(&size) {
        return Ok(());
    }
    let (least, most) = (PACKET_SIZES.start(), PACKET_SIZES.end());
    Err(spec_error(field("packet_size"), format!("{size} is not between {least} and {most}")))
}

fn positive_rate(field: String, limit: Rate) -> Result<(), SimError> {
    rate(&field, limit)?;
    if limit == Rate::ZERO {
        return Err(spec_error(field, "must be more than 0 b/s"));
    }
    Ok(())
}

fn check_times(
    field: impl Fn(&str) -> String,
    start: Option<Text<Duration>>,
    stop: Option<Text<Duration>>,
) -> Result<(), SimError> {
    let start = start.map_or(Duration::ZERO, |text| text.0);
    span(&field("start"), start, Duration::ZERO, LONGEST_RUN)?;
    match stop {
        None => Ok(()),
        Some(Text(stop)) if stop > start => Ok(()),
        Some(Text(stop)) => {
            Err(spec_error(field("stop"), format!("{stop} is not after the start at {start}")))
        }
    }
}

fn check_names(spec: &RunSpec) -> Result<(), SimError> {
    let mut hops: Vec<&str> = spec.path.hop.iter().map(|hop| hop.name.as_str()).collect();
    hops.sort_unstable();
    if let Some(pair) = hops.windows(2).find(|pair| pair[0] == pair[1]) {
        let why = format!("two hops are called \"{}\"; names must differ", pair[0]);
        return Err(spec_error("path.hop.name", why));
    }
    let mut names = crate::build::flow_names(spec);
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let why = format!("two flows are called \"{}\"; names must differ", pair[0]);
            Err(spec_error("name", why))
        }
    }
}
