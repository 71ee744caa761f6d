//! Streams and competitors.

use super::{MAX_DELAY, MAX_RUN, MIN_INTERVAL, check_bounds, positive_rate, span};
use crate::spec::{
    ChangeSpec, CompetitorSpec, CongestionControlSpec, DashSpec, EcnSpec, EncodeTimeSpec,
    FeedbackSpec, HeaderSpec, LadderSpec, MAX_DRAWN_RATE, OnOffSpec, OnliveSpec, PathSpec,
    QuicEcnSpec, QuicSpec, ShortTcpSpec, StreamKind, StreamSpec, TcpEcnSpec, TcpSpec, UdpSpec,
    VideoChatSpec, Way, Word,
};
use crate::{Known, RunError, build, spec_error};
use gameway_control::OracleOptions;
use gameway_units::declared::{self, Configuration};
use gameway_units::{Bytes, Duration};
use schemars::Schema;
use serde_json::Value;
use std::net::IpAddr;
use std::sync::LazyLock;

/// The most packets that a report covers (RFC 8888 section 3.1).
const MAX_REPORTED: u64 = 16_384;
/// What libwebrtc has.
const BROWSERS_CONTROLLER: &str = "gcc";

/// The bounds that flows declare. Those of a part of a flow are checked beside it.
struct Declared {
    stream: Schema,
    tcp: Schema,
    short_tcp: Schema,
    udp: Schema,
    onlive: Schema,
    video_chat: Schema,
    dash: Schema,
    quic: Schema,
    on_off: Schema,
}

static DECLARED: LazyLock<Declared> = LazyLock::new(|| Declared {
    stream: declared::schema::<StreamSpec>(),
    tcp: declared::schema::<TcpSpec>(),
    short_tcp: declared::schema::<ShortTcpSpec>(),
    udp: declared::schema::<UdpSpec>(),
    onlive: declared::schema::<OnliveSpec>(),
    video_chat: declared::schema::<VideoChatSpec>(),
    dash: declared::schema::<DashSpec>(),
    quic: declared::schema::<QuicSpec>(),
    on_off: declared::schema::<OnOffSpec>(),
});

pub(super) fn check_stream(stream: &StreamSpec) -> Result<(), RunError> {
    let field = |name: &str| format!("stream \"{}\": {name}", stream.name);
    check_bounds(&field, &DECLARED.stream, stream)?;
    if let FeedbackSpec::Interval(interval)
    | FeedbackSpec::Rfc8888(interval)
    | FeedbackSpec::TransportWide(interval) = stream.feedback
    {
        span(&field("feedback"), interval, MIN_INTERVAL, MAX_DELAY)?;
        check_report(&field("feedback"), interval, stream)?;
    }
    if let Some(pause) = &stream.pause {
        span(&field("pause.from"), pause.from, Duration::ZERO, MAX_RUN)?;
        span(&field("pause.to"), pause.to, pause.from, MAX_RUN)?;
    }
    let times = [
        ("encode_times", &stream.encode_times),
        ("key_frame_encode_times", &stream.key_frame_encode_times),
    ];
    for (name, times) in times {
        times.as_ref().map_or(Ok(()), |times| check_encode_times(&field(name), times))?;
    }
    check_ecn(&field, stream)?;
    check_browser(&field, stream)?;
    check_header(&field, &stream.header)?;
    check_times(field, stream.start, stream.stop)
}

/// A browser has one controller, and draws as often as a screen.
fn check_browser(field: &impl Fn(&str) -> String, stream: &StreamSpec) -> Result<(), RunError> {
    if stream.kind != StreamKind::Chromium {
        return Ok(());
    }
    if stream.controller.name() != BROWSERS_CONTROLLER || !stream.controller.options().is_empty() {
        let why = format!("Chromium has a GCC of its own: write \"{BROWSERS_CONTROLLER}\"");
        return Err(spec_error(field("controller"), why));
    }
    if stream.frame_rate > MAX_DRAWN_RATE {
        let why = format!("Chromium draws at most {MAX_DRAWN_RATE} pictures a second");
        return Err(spec_error(field("frame_rate"), why));
    }
    Ok(())
}

/// A report has room for what came since the one before it.
fn check_report(field: &str, interval: Duration, stream: &StreamSpec) -> Result<(), RunError> {
    let (max, full) = (stream.max_bitrate, build::overhead(stream));
    let packets = (max * interval).get() / (full.payload + full.packet).get();
    if packets <= MAX_REPORTED {
        return Ok(());
    }
    let why = format!(
        "{packets} packets come in {interval} at max_bitrate ({max}), and a report tells of at most {MAX_REPORTED}: report more often, or lower max_bitrate"
    );
    Err(spec_error(field, why))
}

/// Times that ascend, and how long encoding took from each on.
fn check_encode_times(field: &str, times: &[EncodeTimeSpec]) -> Result<(), RunError> {
    if times.is_empty() || !times.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(spec_error(field.to_owned(), "is empty or does not ascend in time"));
    }
    for &EncodeTimeSpec(from, first, whole) in times {
        span(field, from, Duration::ZERO, MAX_RUN)?;
        span(field, whole, Duration::ZERO, MAX_DELAY)?;
        span(field, first, Duration::ZERO, whole)?;
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

/// What a medium carries depends on who else sends: nobody knows that before it happens. What a list of changes brings
/// is not read by it.
pub(super) fn check_foresight(stream: &StreamSpec, path: &PathSpec) -> Result<(), RunError> {
    if stream.controller.name() != OracleOptions::NAME {
        return Ok(());
    }
    let why = if path.capacity.wifi().is_some() {
        "\"oracle\" cannot foresee what a Wi-Fi medium will carry"
    } else if path.change.iter().any(ChangeSpec::of_capacity) {
        "\"oracle\" cannot foresee path.change: write its capacities as { steps = ... }"
    } else {
        return Ok(());
    };
    Err(spec_error(format!("stream \"{}\": controller", stream.name), why))
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
        CompetitorSpec::Udp(udp) => check_bounds(&field, &DECLARED.udp, udp)?,
        CompetitorSpec::VideoChat(chat) => check_bounds(&field, &DECLARED.video_chat, chat)?,
        CompetitorSpec::Dash(dash) => check_dash(known, &field, dash)?,
        CompetitorSpec::Quic(quic) => check_quic(known, &field, quic)?,
        CompetitorSpec::OnliveUt(game) | CompetitorSpec::OnliveRome(game) => {
            check_bounds(&field, &DECLARED.onlive, game)?;
        }
    }
    check_header(&field, competitor.header())?;
    let (start, stop) = competitor.times();
    check_times(field, start, stop)
}

fn check_tcp(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    tcp: &TcpSpec,
) -> Result<(), RunError> {
    check_bounds(field, &DECLARED.tcp, tcp)?;
    if tcp.block.is_some() && tcp.rate_limit.is_none() {
        return Err(spec_error(field("block"), "has no meaning without rate_limit"));
    }
    if let Some(on_off) = tcp.on_off {
        if tcp.rate_limit.is_some() {
            return Err(spec_error(field("on_off"), "has no meaning beside rate_limit"));
        }
        check_bounds(&|part| field(&format!("on_off.{part}")), &DECLARED.on_off, &on_off)?;
        if on_off.bitrate * on_off.segment == Bytes::ZERO {
            return Err(spec_error(field("on_off"), "a segment must have a byte"));
        }
    }
    check_congestion_control(known, field, &tcp.congestion_control, tcp.ecn)
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
    check_bounds(field, &DECLARED.short_tcp, short)?;
    if short.max_size < short.min_size {
        let why = format!("{} is less than min_size ({})", short.max_size, short.min_size);
        return Err(spec_error(field("max_size"), why));
    }
    check_congestion_control(known, field, &short.congestion_control, short.ecn)
}

fn check_dash(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    dash: &DashSpec,
) -> Result<(), RunError> {
    check_bounds(field, &DECLARED.dash, dash)?;
    check_congestion_control(known, field, &dash.congestion_control, dash.ecn)?;
    let segment = dash.segment_length;
    for (_, bitrate) in dash.ladder.iter().flat_map(LadderSpec::levels) {
        positive_rate(field("ladder"), bitrate)?;
    }
    if let Some(length) = dash.video_length {
        span(&field("video_length"), length, segment, MAX_RUN)?;
    }
    for (part, buffer) in [("buffer", dash.buffer), ("top_buffer", dash.top_buffer)] {
        if let Some(buffer) = buffer {
            span(&field(part), buffer, segment, MAX_DELAY)?;
        }
    }
    build::presentation(dash, 0).map(drop)
}

fn check_quic(
    known: Known<'_>,
    field: &impl Fn(&str) -> String,
    quic: &QuicSpec,
) -> Result<(), RunError> {
    check_bounds(field, &DECLARED.quic, quic)?;
    let name = field("congestion_control");
    let control = build::quic_congestion_control(known, &name, &quic.congestion_control)?;
    if control.needs_accurate_ecn() && quic.ecn == QuicEcnSpec::Off {
        let why = format!("congestion_control = \"{}\" needs \"on\"", control.name());
        return Err(spec_error(field("ecn"), why));
    }
    Ok(())
}

fn check_times(
    field: impl Fn(&str) -> String,
    start: Duration,
    stop: Option<Duration>,
) -> Result<(), RunError> {
    match stop {
        None => Ok(()),
        Some(stop) if stop > start => Ok(()),
        Some(stop) => {
            Err(spec_error(field("stop"), format!("{stop} is not after the start at {start}")))
        }
    }
}
