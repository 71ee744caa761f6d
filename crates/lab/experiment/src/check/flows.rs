//! Streams and competitors.

use super::{MAX_DELAY, MAX_RUN, MIN_INTERVAL, number, positive_rate, rate, span};
use crate::spec::{
    CompetitorSpec, CongestionControlSpec, DashSpec, EcnSpec, EncodeTimeSpec, FeedbackSpec,
    HeaderSpec, LadderSpec, Mss, PathSpec, ReceiveWindowSpec, ShortTcpSpec, StreamSpec, TcpEcnSpec,
    TcpSpec, Text, UdpSpec, VideoChatSpec, Way, Word,
};
use crate::{Known, RunError, build, spec_error};
use gameway_control::OracleOptions;
use gameway_tcp::ReceiveWindow;
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Ratio};
use serde_json::Value;
use std::net::IpAddr;

/// The most packets that a report covers (RFC 8888 section 3.1).
const MAX_REPORTED: u64 = 16_384;
/// From what leaves media more room than headers to Ethernet's.
const MTUS: std::ops::RangeInclusive<Bytes> = Bytes::new(256)..=Bytes::new(1500);

pub(super) fn check_stream(stream: &StreamSpec) -> Result<(), RunError> {
    let field = |name: &str| format!("stream \"{}\": {name}", stream.name);
    rate(&field("max_bitrate"), stream.max_bitrate.0)?;
    if let Some(fec) = stream.fec
        && fec.0 > Ratio::ONE
    {
        return Err(spec_error(field("fec"), format!("{} is more than 100 %", fec.0)));
    }
    if let Some(mtu) = stream.mtu.filter(|mtu| !MTUS.contains(&mtu.0)) {
        let why = format!("{} is not between {} and {}", mtu.0, MTUS.start(), MTUS.end());
        return Err(spec_error(field("mtu"), why));
    }
    if let FeedbackSpec::Interval(interval)
    | FeedbackSpec::Rfc8888(interval)
    | FeedbackSpec::TransportWide(interval) = stream.feedback
    {
        span(&field("feedback"), interval, MIN_INTERVAL, MAX_DELAY)?;
        check_report(&field("feedback"), interval, stream)?;
    }
    if let Some(pause) = &stream.pause {
        span(&field("pause.from"), pause.from.0, Duration::ZERO, MAX_RUN)?;
        span(&field("pause.to"), pause.to.0, pause.from.0, MAX_RUN)?;
    }
    let times = [
        ("encode_times", &stream.encode_times),
        ("key_frame_encode_times", &stream.key_frame_encode_times),
    ];
    for (name, times) in times {
        times.as_ref().map_or(Ok(()), |times| check_encode_times(&field(name), times))?;
    }
    check_ecn(&field, stream)?;
    check_way(&field, &stream.way())?;
    check_header(&field, &stream.header)?;
    check_times(field, stream.start, stream.stop)
}

/// A report has room for what came since the one before it.
fn check_report(field: &str, interval: Duration, stream: &StreamSpec) -> Result<(), RunError> {
    let (most, full) = (stream.max_bitrate.0, build::overhead(stream));
    let packets = (most * interval).get() / (full.payload + full.packet).get();
    if packets <= MAX_REPORTED {
        return Ok(());
    }
    let why = format!(
        "{packets} packets come in {interval} at max_bitrate ({most}), and a report tells of at most {MAX_REPORTED}: report more often, or lower max_bitrate"
    );
    Err(spec_error(field, why))
}

/// Times that ascend, and how long encoding took from each on.
fn check_encode_times(field: &str, times: &[EncodeTimeSpec]) -> Result<(), RunError> {
    if times.is_empty() || !times.is_sorted_by(|one, next| one.0.0 < next.0.0) {
        return Err(spec_error(field.to_owned(), "is empty or does not ascend in time"));
    }
    for EncodeTimeSpec(from, first, whole) in times {
        span(field, from.0, Duration::ZERO, MAX_RUN)?;
        span(field, whole.0, Duration::ZERO, MAX_DELAY)?;
        span(field, first.0, Duration::ZERO, whole.0)?;
    }
    Ok(())
}

/// A controller that was told which marks to read gets packets that can have them.
fn check_ecn(field: &impl Fn(&str) -> String, stream: &StreamSpec) -> Result<(), RunError> {
    let options = stream.controller.options();
    let Some(reads) = options.get("ecn").and_then(Value::as_str) else { return Ok(()) };
    let needed = match (reads, stream.ecn) {
        ("l4s", EcnSpec::None | EcnSpec::Ect0) => "\"ect1\"",
        ("classic", EcnSpec::None) => "\"ect0\" or \"ect1\"",
        // What the controller does not know it refuses itself.
        _ => return Ok(()),
    };
    let why = format!(
        "the controller's ecn = \"{reads}\" needs packets that leave as {needed}; leave one of the two out"
    );
    Err(spec_error(field("ecn"), why))
}

/// What a medium carries depends on who else sends: nobody knows that before it happens.
pub(super) fn check_foresight(stream: &StreamSpec, path: &PathSpec) -> Result<(), RunError> {
    if path.capacity.wifi().is_none() || stream.controller.name() != OracleOptions::NAME {
        return Ok(());
    }
    let field = format!("stream \"{}\": controller", stream.name);
    Err(spec_error(field, "\"oracle\" cannot foresee what a Wi-Fi medium will carry"))
}

/// Whether a flow can go so; whether its bottleneck is there, [`crate::build::Routes`] knows.
///
/// # Errors
/// If its round-trip time is too long; `field` gives the name of a key.
pub fn check_way(field: &impl Fn(&str) -> String, way: &Way<'_>) -> Result<(), RunError> {
    let base_rtt = way.base_rtt.unwrap_or(Duration::ZERO);
    span(&field("base_rtt"), base_rtt, Duration::ZERO, MAX_DELAY)
}

fn check_header(field: &impl Fn(&str) -> String, header: &HeaderSpec) -> Result<(), RunError> {
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

pub(super) fn check_competitor(
    known: Known<'_>,
    competitor: &CompetitorSpec,
) -> Result<(), RunError> {
    let field = |part: &str| format!("competitor \"{}\": {part}", competitor.name());
    match competitor {
        CompetitorSpec::Tcp(tcp) => check_tcp(known, &field, tcp)?,
        CompetitorSpec::ShortTcp(short) => check_short_tcp(known, &field, short)?,
        CompetitorSpec::Udp(udp) => check_udp(&field, udp)?,
        CompetitorSpec::VideoChat(chat) => check_video_chat(&field, chat)?,
        CompetitorSpec::Dash(dash) => check_dash(known, &field, dash)?,
        CompetitorSpec::OnliveUt(_) | CompetitorSpec::OnliveRome(_) => {}
    }
    check_way(&field, &competitor.way())?;
    check_header(&field, competitor.header())?;
    let (start, stop) = competitor.times();
    check_times(field, start, stop)
}

/// Up to what iperf3 takes (its `MAX_BLOCKSIZE`).
const BLOCKS: std::ops::RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(1 << 20);

fn check_tcp(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    tcp: &TcpSpec,
) -> Result<(), RunError> {
    if let Some(limit) = tcp.rate_limit {
        positive_rate(field("rate_limit"), limit.0)?;
    }
    if let Some(block) = tcp.block {
        if tcp.rate_limit.is_none() {
            return Err(spec_error(field("block"), "has no meaning without rate_limit"));
        }
        if !BLOCKS.contains(&block.0) {
            let why = format!("{} is not between {} and {}", block.0, BLOCKS.start(), BLOCKS.end());
            return Err(spec_error(field("block"), why));
        }
    }
    if let Some(on_off) = tcp.on_off {
        if tcp.rate_limit.is_some() {
            return Err(spec_error(field("on_off"), "has no meaning beside rate_limit"));
        }
        positive_rate(field("on_off.bitrate"), on_off.bitrate.0)?;
        span(&field("on_off.segment"), on_off.segment.0, MIN_INTERVAL, MAX_DELAY)?;
        if on_off.bitrate.0 * on_off.segment.0 == Bytes::ZERO {
            return Err(spec_error(field("on_off"), "a segment must have a byte"));
        }
    }
    if tcp.bytes.is_some_and(|bytes| bytes.0 == Bytes::ZERO) {
        return Err(spec_error(field("bytes"), "must be more than 0 B"));
    }
    check_transport(field, tcp.receive_window, tcp.mss)?;
    check_congestion_control(known, field, &tcp.congestion_control, tcp.ecn)
}

/// Linux's least buffer (`tcp_rmem`), and what a window can count (RFC 7323 section 2.3).
const WINDOWS: std::ops::RangeInclusive<Bytes> = Bytes::new(4096)..=Bytes::new(65_535 << 14);
/// From Linux's least (`TCP_MIN_MSS`) to that of packets of 1500 B.
const MSS: std::ops::RangeInclusive<Bytes> = Bytes::new(88)..=Bytes::new(1_460);

fn check_transport(
    field: &impl Fn(&str) -> String,
    window: ReceiveWindowSpec,
    mss: Mss,
) -> Result<(), RunError> {
    let size = if let ReceiveWindow::Fixed(size) = window.0 { size } else { *WINDOWS.start() };
    for (part, size, allowed) in [("receive_window", size, WINDOWS), ("mss", mss.0.0, MSS)] {
        if !allowed.contains(&size) {
            let why = format!("{size} is not between {} and {}", allowed.start(), allowed.end());
            return Err(spec_error(field(part), why));
        }
    }
    Ok(())
}

fn check_congestion_control(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    spec: &CongestionControlSpec,
    ecn: Option<TcpEcnSpec>,
) -> Result<(), RunError> {
    let congestion_control = build::congestion_control(known, &field("congestion_control"), spec)?;
    if congestion_control.needs_accurate_ecn() && ecn.is_some_and(|ecn| ecn != TcpEcnSpec::Accurate)
    {
        let why = format!("congestion_control = \"{}\" needs \"accurate\"", spec.kind);
        return Err(spec_error(field("ecn"), why));
    }
    Ok(())
}

fn check_short_tcp(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    short: &ShortTcpSpec,
) -> Result<(), RunError> {
    check_transport(field, short.receive_window, short.mss)?;
    check_congestion_control(known, field, &short.congestion_control, short.ecn)?;
    let (least, greatest) = (short.min_size.0, short.max_size.0);
    if least == Bytes::ZERO {
        return Err(spec_error(field("min_size"), "must be more than 0 B"));
    }
    if greatest < least {
        let why = format!("{greatest} is less than min_size ({least})");
        return Err(spec_error(field("max_size"), why));
    }
    if !(1..=MAX_CONNECTIONS).contains(&short.connections) {
        let why = format!("{} is not between 1 and {MAX_CONNECTIONS}", short.connections);
        return Err(spec_error(field("connections"), why));
    }
    span(&field("mean_gap"), short.mean_gap.0, MIN_INTERVAL, MAX_RUN)
}

/// More than any browser opens for a page.
const MAX_CONNECTIONS: u32 = 100;
/// A packet smaller than its headers does not exist; one larger than this no Ethernet carries.
const PACKET_SIZES: std::ops::RangeInclusive<Bytes> = Bytes::new(29)..=Bytes::new(9_000);

fn check_udp(field: &impl Fn(&str) -> String, udp: &UdpSpec) -> Result<(), RunError> {
    positive_rate(field("rate"), udp.rate.0)?;
    packet_size(field("packet_size"), udp.packet_size.0)?;
    if let Some(size) = udp.return_packet_size {
        packet_size(field("return_packet_size"), size.0)?;
    }
    udp.return_rate.map_or(Ok(()), |rate| positive_rate(field("return_rate"), rate.0))
}

fn packet_size(field: String, size: Bytes) -> Result<(), RunError> {
    if PACKET_SIZES.contains(&size) {
        return Ok(());
    }
    let (least, most) = (PACKET_SIZES.start(), PACKET_SIZES.end());
    Err(spec_error(field, format!("{size} is not between {least} and {most}")))
}

fn check_video_chat(field: &impl Fn(&str) -> String, chat: &VideoChatSpec) -> Result<(), RunError> {
    rate(&field("bitrate"), chat.bitrate.0)?;
    rate(&field("return_bitrate"), chat.return_bitrate.unwrap_or(chat.bitrate).0)?;
    number(&field("frame_rate"), Some(f64::from(chat.frame_rate)), 1.0, 1e3)
}

/// A segment shorter than a few round trips is none; one longer than this no player would buffer.
const SEGMENTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(60);
/// Half of a segment's mean is left at least.
const MAX_SPREAD: f64 = 0.5;

fn check_dash(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    dash: &DashSpec,
) -> Result<(), RunError> {
    check_transport(field, dash.receive_window, dash.mss)?;
    check_congestion_control(known, field, &dash.congestion_control, dash.ecn)?;
    let segment = dash.segment_length.0;
    span(&field("segment_length"), segment, *SEGMENTS.start(), *SEGMENTS.end())?;
    for (_, bitrate) in dash.ladder.iter().flat_map(LadderSpec::levels) {
        positive_rate(field("ladder"), bitrate)?;
    }
    let spread = dash.size_spread.map(|text| text.0.as_f64());
    number(&field("size_spread"), spread, 0.0, MAX_SPREAD)?;
    if let Some(length) = dash.video_length {
        span(&field("video_length"), length.0, segment, MAX_RUN)?;
    }
    for (part, buffer) in [("buffer", dash.buffer), ("top_buffer", dash.top_buffer)] {
        if let Some(buffer) = buffer {
            span(&field(part), buffer.0, segment, MAX_DELAY)?;
        }
    }
    build::presentation(dash, 0).map(drop)
}

fn check_times(
    field: impl Fn(&str) -> String,
    start: Option<Text<Duration>>,
    stop: Option<Text<Duration>>,
) -> Result<(), RunError> {
    let start = start.map_or(Duration::ZERO, |text| text.0);
    span(&field("start"), start, Duration::ZERO, MAX_RUN)?;
    match stop {
        None => Ok(()),
        Some(Text(stop)) if stop > start => Ok(()),
        Some(Text(stop)) => {
            Err(spec_error(field("stop"), format!("{stop} is not after the start at {start}")))
        }
    }
}
