//! What a specification must satisfy beyond its grammar: every refusal names the field.
//!
//! Bounds are wide: they keep out what is a slip of the pen, and what would let a run not end or
//! overflow the clock (nanoseconds in 64 bits reach 292 years).

use crate::build::{SimError, sap_law, spec_error, voap, wifi_config};
use crate::spec::{
    BackSpec, CapacitySpec, CompetitorSpec, DualPi2Spec, EcnSpec, FeedbackSpec, GatewaySpec,
    HeaderSpec, HopSpec, HtbSpec, JitterSpec, LossSpec, PathSpec, QueueSpec, RunSpec, ShortTcpSpec,
    StreamSpec, TcpEcnSpec, TcpSpec, Text, UdpSpec, VideoChatSpec, Way, WifiSpec, Word,
    needs_accurate_ecn,
};
use gameway_control::oracle;
use gameway_events::BIN;
use gameway_gateway::{SapLawConfig, VoapConfig};
use gameway_units::{Bytes, Duration, Rate, Ratio};
use std::fmt::Display;
use std::net::IpAddr;

const LONGEST_RUN: Duration = Duration::from_secs(366 * 24 * 3600);
const LONGEST_DELAY: Duration = Duration::from_secs(3600);
/// What repeats at a shorter interval fills tables, or keeps a run from ever advancing.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
/// tc's "datacentre" is 100 us; it takes 1 us.
const LEAST_RTT: Duration = Duration::from_micros(1);
/// CAKE's own least rate: 64 B/s.
const LEAST_BANDWIDTH: Rate = Rate::from_bps(512);
/// tc takes no more.
const MOST_OVERHEAD: Bytes = Bytes::new(256);
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
    spec.stream.iter().try_for_each(|stream| check_foresight(stream, &spec.path))?;
    spec.competitor.iter().try_for_each(check_competitor)?;
    if let Some(ping) = &spec.ping {
        span("ping.interval", ping.interval.0, SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    if let Some(interval) = &spec.record.controller_interval {
        span("record.controller_interval", interval.0, SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    if let Some(window) = &spec.record.delay_window
        && (window.0 < BIN || window.0.as_nanos() % BIN.as_nanos() != 0)
    {
        let why = format!("{} is not a multiple of {BIN}, of which the tables have bins", window.0);
        return Err(spec_error("record.delay_window", why));
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
    check_shared(path)?;
    if let Some(gateway) = &path.gateway {
        check_gateway_of("path.gateway", gateway)?;
    }
    path.hop.iter().try_for_each(check_hop)?;
    path.back.as_ref().map_or(Ok(()), check_back)
}

/// A medium is the path's own bottleneck, and carries both ways.
fn check_shared(path: &PathSpec) -> Result<(), SimError> {
    let back = path.back.as_ref().and_then(|back| back.capacity.as_ref());
    let hops =
        path.hop.iter().map(|hop| (format!("path.hop \"{}\": capacity", hop.name), &hop.capacity));
    let others = hops.chain(back.map(|capacity| ("path.back.capacity".to_owned(), capacity)));
    for (field, capacity) in others {
        if capacity.wifi().is_some() {
            return Err(spec_error(field, "only path.capacity can be a Wi-Fi medium"));
        }
    }
    if path.capacity.wifi().is_some() && back.is_some() {
        let why = "the way back shares the Wi-Fi medium of path.capacity; leave this out";
        return Err(spec_error("path.back.capacity", why));
    }
    Ok(())
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
    if let Some(queue) = &back.queue {
        check_queue_of("path.back.queue", queue)?;
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
        CapacitySpec::Wifi(wifi) => check_wifi(wifi),
    }
}

/// Whether a Wi-Fi medium of this specification can be built.
///
/// # Errors
/// The first key that is wrong, and what is allowed.
pub fn check_wifi(wifi: &WifiSpec) -> Result<(), SimError> {
    let field = |key: &str| format!("path.capacity.{key}");
    let (shortest, longest) = (Duration::from_micros(1), Duration::from_millis(10));
    if let Some(slot) = wifi.slot {
        span(&field("slot"), slot.0, shortest, longest)?;
    }
    if let Some(time) = wifi.aggregate_time {
        span(&field("aggregate_time"), time.0, shortest, longest)?;
    }
    number(&field("attempts"), wifi.attempts.map(f64::from), 1.0, 255.0)?;
    if let Some(queue) = &wifi.station_queue {
        check_queue_of(&field("station_queue"), queue)?;
    }
    wifi_config(wifi).map(drop)
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
        QueueSpec::Htb(spec) => check_htb(field, spec),
        QueueSpec::Cake(spec) => {
            time("rtt", spec.rtt, LEAST_RTT)?;
            between(&at("bandwidth"), spec.bandwidth, LEAST_BANDWIDTH, HIGHEST_RATE)?;
            between(&at("overhead"), spec.overhead, Bytes::ZERO, MOST_OVERHEAD)?;
            between(&at("mpu"), spec.mpu, Bytes::ZERO, MOST_OVERHEAD)
        }
    }
}

fn check_htb(field: &str, spec: &HtbSpec) -> Result<(), SimError> {
    if let Some(all) = spec.rate {
        rate(&format!("{field}.rate"), all.0)?;
    }
    for (name, class) in &spec.class {
        let at = |part: &str| format!("{field}.class.{name}.{part}");
        rate(&at("rate"), class.rate.0)?;
        rate(&at("ceil"), class.ceil.map_or(Rate::ZERO, |ceil| ceil.0))?;
        if let Some(queue) = &class.queue {
            check_queue_of(&at("queue"), queue)?;
        }
    }
    crate::build::htb::check(field, spec)
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

fn between<T: PartialOrd + Display>(
    field: &str,
    given: Option<Text<T>>,
    least: T,
    most: T,
) -> Result<(), SimError> {
    match given {
        Some(Text(value)) if value < least || value > most => {
            Err(spec_error(field, format!("{value} is not between {least} and {most}")))
        }
        _ => Ok(()),
    }
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
    check_ecn(&field, stream)?;
    check_way(&field, &stream.way())?;
    check_header(&field, &stream.header)?;
    check_times(field, stream.start, stream.stop)
}

/// A controller that was told which marks to read gets packets that can have them.
fn check_ecn(field: &impl Fn(&str) -> String, stream: &StreamSpec) -> Result<(), SimError> {
    let options = stream.controller.options();
    let Some((_, reads)) = options.iter().find(|(name, _)| name == "ecn") else { return Ok(()) };
    let wanted = match reads.as_str() {
        "l4s" => (EcnSpec::Ect1, "\"ect1\""),
        "classic" => (EcnSpec::Ect0, "\"ect0\""),
        "off" => (EcnSpec::None, "\"none\""),
        // The controller refuses what it does not know.
        _ => return Ok(()),
    };
    if stream.ecn == EcnSpec::Native || stream.ecn == wanted.0 {
        return Ok(());
    }
    let why = format!(
        "the controller's ecn = \"{reads}\" needs packets that leave as {}; leave one of the two out",
        wanted.1
    );
    Err(spec_error(field("ecn"), why))
}

/// What a medium carries depends on who else sends: nobody knows that before it happens.
fn check_foresight(stream: &StreamSpec, path: &PathSpec) -> Result<(), SimError> {
    if path.capacity.wifi().is_none() || stream.controller.name() != oracle::SPEC.name {
        return Ok(());
    }
    let field = format!("stream \"{}\": controller", stream.name);
    Err(spec_error(field, "\"oracle\" cannot foresee what a Wi-Fi medium will carry"))
}

fn check_way(field: &impl Fn(&str) -> String, way: &Way<'_>) -> Result<(), SimError> {
    let base_rtt = way.base_rtt.unwrap_or(Duration::ZERO);
    span(&field("base_rtt"), base_rtt, Duration::ZERO, LONGEST_DELAY)
}

fn check_header(field: &impl Fn(&str) -> String, header: &HeaderSpec) -> Result<(), SimError> {
    let HeaderSpec { client, server, port, .. } = *header;
    if port == Some(0) {
        return Err(spec_error(field("header.port"), "0 is not between 1 and 65535"));
    }
    let is_ipv6 = |given: Option<Word<IpAddr>>| given.is_some_and(|word| word.0.is_ipv6());
    for (part, given, other) in [("client", client, server), ("server", server, client)] {
        if is_ipv6(given) && !is_ipv6(other) {
            let why = "is of IPv6, and the other end is not: give client and server of one version";
            return Err(spec_error(field(&format!("header.{part}")), why));
        }
    }
    let is_fit = |address: IpAddr| !address.is_unspecified() && !address.is_multicast();
    for (part, given) in [("client", client), ("server", server)] {
        if let Some(Word(address)) = given.filter(|word| !is_fit(word.0)) {
            let why = format!("{address} is not the address of a host");
            return Err(spec_error(field(&format!("header.{part}")), why));
        }
    }
    Ok(())
}

fn check_competitor(competitor: &CompetitorSpec) -> Result<(), SimError> {
    let field = |part: &str| format!("competitor \"{}\": {part}", competitor.name());
    match competitor {
        CompetitorSpec::Tcp(tcp) => check_tcp(&field, tcp)?,
        CompetitorSpec::ShortTcp(short) => check_short_tcp(&field, short)?,
        CompetitorSpec::Udp(udp) => check_udp(&field, udp)?,
        CompetitorSpec::VideoChat(chat) => check_video_chat(&field, chat)?,
        CompetitorSpec::OnliveUt(_) | CompetitorSpec::OnliveRome(_) => {}
    }
    check_way(&field, &competitor.way())?;
    check_header(&field, competitor.header())?;
    let (start, stop) = competitor.times();
    check_times(field, start, stop)
}

fn check_tcp(field: &impl Fn(&str) -> String, tcp: &TcpSpec) -> Result<(), SimError> {
    if let Some(limit) = tcp.rate_limit {
        positive_rate(field("rate_limit"), limit.0)?;
    }
    if let Some(on_off) = tcp.on_off {
        if tcp.rate_limit.is_some() {
            return Err(spec_error(field("on_off"), "has no meaning beside rate_limit"));
        }
        positive_rate(field("on_off.bitrate"), on_off.bitrate.0)?;
        span(&field("on_off.segment"), on_off.segment.0, SHORTEST_INTERVAL, LONGEST_DELAY)?;
        if on_off.bitrate.0 * on_off.segment.0 == Bytes::ZERO {
            return Err(spec_error(field("on_off"), "a segment must have a byte"));
        }
    }
    if tcp.bytes.is_some_and(|bytes| bytes.0 == Bytes::ZERO) {
        return Err(spec_error(field("bytes"), "must be more than 0 B"));
    }
    check_tcp_ecn(field, tcp.ecn, &tcp.congestion_control)
}

fn check_tcp_ecn(
    field: &impl Fn(&str) -> String,
    ecn: Option<TcpEcnSpec>,
    congestion_control: &str,
) -> Result<(), SimError> {
    if ecn.is_some_and(|ecn| ecn != TcpEcnSpec::Accurate) && needs_accurate_ecn(congestion_control)
    {
        let why = format!("congestion_control = \"{congestion_control}\" needs \"accurate\"");
        return Err(spec_error(field("ecn"), why));
    }
    Ok(())
}

fn check_short_tcp(field: &impl Fn(&str) -> String, short: &ShortTcpSpec) -> Result<(), SimError> {
    check_tcp_ecn(field, short.ecn, &short.congestion_control)?;
    let (least, greatest) = (short.least_size.0, short.greatest_size.0);
    if least == Bytes::ZERO {
        return Err(spec_error(field("least_size"), "must be more than 0 B"));
    }
    if greatest < least {
        let why = format!("{greatest} is less than least_size ({least})");
        return Err(spec_error(field("greatest_size"), why));
    }
    if !(1..=MOST_CONNECTIONS).contains(&short.connections) {
        let why = format!("{} is not between 1 and {MOST_CONNECTIONS}", short.connections);
        return Err(spec_error(field("connections"), why));
    }
    span(&field("mean_gap"), short.mean_gap.0, SHORTEST_INTERVAL, LONGEST_RUN)
}

/// More than any browser opens for a page.
const MOST_CONNECTIONS: u32 = 100;
/// A packet smaller than its headers does not exist; one larger than this no Ethernet carries.
const PACKET_SIZES: std::ops::RangeInclusive<Bytes> = Bytes::new(29)..=Bytes::new(9_000);

fn check_udp(field: &impl Fn(&str) -> String, udp: &UdpSpec) -> Result<(), SimError> {
    positive_rate(field("rate"), udp.rate.0)?;
    packet_size(field("packet_size"), udp.packet_size.0)?;
    if let Some(size) = udp.return_packet_size {
        packet_size(field("return_packet_size"), size.0)?;
    }
    udp.return_rate.map_or(Ok(()), |rate| positive_rate(field("return_rate"), rate.0))
}

fn packet_size(field: String, size: Bytes) -> Result<(), SimError> {
    if PACKET_SIZES.contains(&size) {
        return Ok(());
    }
    let (least, most) = (PACKET_SIZES.start(), PACKET_SIZES.end());
    Err(spec_error(field, format!("{size} is not between {least} and {most}")))
}

fn check_video_chat(field: &impl Fn(&str) -> String, chat: &VideoChatSpec) -> Result<(), SimError> {
    rate(&field("bitrate"), chat.bitrate.0)?;
    rate(&field("return_bitrate"), chat.return_bitrate.unwrap_or(chat.bitrate).0)?;
    number(&field("frame_rate"), Some(f64::from(chat.frame_rate)), 1.0, 1e3)
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
