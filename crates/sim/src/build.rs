//! From a specification to a network, and from its end to a summary.

use crate::flow::FlowEnds;
use crate::network::{Flow, Network};
use crate::packet::Packet;
use crate::ping::Ping;
use crate::random;
use crate::recorder::Recorder;
use crate::spec::{
    CapacitySpec, CompetitorSpec, FeedbackSpec, LossSpec, PathSpec, QueueSpec, RunSpec, StreamSpec,
    VideoSpec,
};
use crate::stream::{Stream, StreamSetup};
use crate::tcp::{Tcp, TcpSetup};
use gameway_control::{FeedbackStyle, OptionError, RateController, RateLimits};
use gameway_events::{BIN, Name, SummaryRecord, TableError};
use gameway_media::{
    EncoderCalibration, EncoderModel, FrameTable, FrameTableError, RecordedVideo,
    RecordedVideoError,
};
use gameway_path::{
    Bottleneck, DelayLine, DropTail, FlowId, Jitter, Link, Loss, LossModel, StepsError, Trace,
    TraceError,
};
use gameway_session::{Receiver, ReceiverConfig, Sender, SenderConfig};
use gameway_units::{Duration, Instant, Rate, Ratio};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a run cannot be done; the message names the field and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The specification does not make sense.
    #[error("{field}: {why}")]
    Spec {
        /// The field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A controller cannot be built.
    #[error("stream \"{stream}\": {source}")]
    Controller {
        /// The stream.
        stream: String,
        /// Why.
        source: OptionError,
    },
    /// The capacity steps are wrong.
    #[error("path.capacity: {0}")]
    Steps(#[from] StepsError),
    /// A trace is wrong.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TraceError,
    },
    /// A frame table is wrong.
    #[error("{}: {source}", path.display())]
    FrameTable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FrameTableError,
    },
    /// A recording cannot be played.
    #[error("{}: {source}", path.display())]
    Video {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RecordedVideoError,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A result cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A refusal of a field.
pub(crate) fn spec_error(field: impl Into<String>, why: impl Into<String>) -> SimError {
    SimError::Spec { field: field.into(), why: why.into() }
}

/// Runs `spec` and writes its tables into `folder`, which must exist. Gives the summary row.
///
/// # Errors
/// If the specification is wrong, a file it names cannot be read, or a table cannot be written.
pub fn run(spec: &RunSpec, folder: &Path) -> Result<SummaryRecord, SimError> {
    let built = build(spec)?;
    let end = Instant::ZERO + spec.duration.0;
    let recorder = Recorder::create(folder, built.names, end, spec.record.packets)?;
    let mut network = Network::new(built.bottleneck, built.loss, built.flows, recorder);
    network.run_until(end)?;
    let summary = summary(spec, &network);
    network.recorder.finish(&summary)?;
    Ok(summary)
}

/// Whether [`run`] can do `spec`: builds all that it would, reads the files it names, runs nothing.
///
/// # Errors
/// If the specification is wrong, or a file it names cannot be read or is damaged.
pub fn check(spec: &RunSpec) -> Result<(), SimError> {
    build(spec).map(drop)
}

/// What a specification describes, ready to run.
struct Built {
    names: Vec<Name>,
    bottleneck: Bottleneck<Packet, DropTail<Packet>>,
    loss: Option<Loss>,
    flows: Vec<Flow>,
}

fn build(spec: &RunSpec) -> Result<Built, SimError> {
    crate::check::check(spec)?;
    let parts = Parts { spec, forward: forward_delay(&spec.path), names: flow_names(spec) };
    let bottleneck = bottleneck(&spec.path)?;
    let loss = spec.path.loss.as_ref().map(|loss| parts.loss(loss));
    let flows = parts.flows()?;
    Ok(Built { names: parts.names, bottleneck, loss, flows })
}

fn summary(spec: &RunSpec, network: &Network) -> SummaryRecord {
    let totals = &network.recorder.totals;
    SummaryRecord {
        duration_ns: spec.duration.0.as_nanos(),
        seed: spec.seed,
        arrived_packets: totals.arrived,
        forwarded_packets: totals.forwarded,
        dropped_packets: totals.dropped,
        queued_packets: network.queued(),
        lost_packets: totals.lost,
        delivered_packets: totals.delivered,
        under_way_packets: network.under_way(),
        events_processed: network.events,
    }
}

fn forward_delay(path: &PathSpec) -> Duration {
    path.forward_delay.map_or(path.base_rtt.0 / 2, |text| text.0)
}

/// The names of all flows, in the order of their numbers.
pub(crate) fn flow_names(spec: &RunSpec) -> Vec<Name> {
    let streams = spec.stream.iter().map(|stream| stream.name.as_str());
    let competitors = spec.competitor.iter().map(|CompetitorSpec::Tcp { name, .. }| name.as_str());
    let ping = spec.ping.iter().map(|_| "ping");
    streams.chain(competitors).chain(ping).map(Name::from).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, SimError> {
    std::fs::read(path).map_err(|source| SimError::Read { path: path.to_owned(), source })
}

fn link(capacity: &CapacitySpec) -> Result<Link, SimError> {
    Ok(match capacity {
        CapacitySpec::Constant(rate) => Link::constant(rate.0)?,
        CapacitySpec::Steps(list) => {
            let steps = list.steps.iter().map(|(at, rate)| (Instant::ZERO + at.0, rate.0));
            Link::steps(steps.collect())?
        }
        CapacitySpec::Trace(file) => {
            let path = file.trace.clone();
            let trace = Trace::parse(&read(&path)?);
            Link::trace(trace.map_err(|source| SimError::Trace { path, source })?)
        }
    })
}

fn bottleneck(path: &PathSpec) -> Result<Bottleneck<Packet, DropTail<Packet>>, SimError> {
    let QueueSpec::DropTail { size } = &path.queue;
    Ok(Bottleneck::new(link(&path.capacity)?, size.0, path.base_rtt.0, DropTail::new))
}

fn own_video(file: &Path) -> Result<Arc<RecordedVideo>, SimError> {
    let path = file.to_owned();
    let table = FrameTable::parse(&read(file)?)
        .map_err(|source| SimError::FrameTable { path: path.clone(), source })?;
    let video = RecordedVideo::new(&table).map_err(|source| SimError::Video { path, source })?;
    Ok(Arc::new(video))
}

/// What is needed to build the flows.
struct Parts<'a> {
    spec: &'a RunSpec,
    forward: Duration,
    names: Vec<Name>,
}

impl Parts<'_> {
    fn loss(&self, loss: &LossSpec) -> Loss {
        let model = match *loss {
            LossSpec::Random { probability } => LossModel::Random { probability: probability.0 },
            LossSpec::Bursty { probability, burst_length } => {
                LossModel::Bursty { probability: probability.0, burst_length }
            }
        };
        Loss::new(model, random::stream(self.spec.seed, "path/loss"))
    }

    fn flows(&self) -> Result<Vec<Flow>, SimError> {
        let mut flows = Vec::new();
        for (index, stream) in self.spec.stream.iter().enumerate() {
            flows.push(self.stream(FlowId(index as u16), stream)?);
        }
        for competitor in &self.spec.competitor {
            flows.push(self.competitor(FlowId(flows.len() as u16), competitor)?);
        }
        if let Some(ping) = &self.spec.ping {
            flows.push(self.ping(FlowId(flows.len() as u16), ping.interval.0));
        }
        Ok(flows)
    }

    fn flow(&self, id: FlowId, ends: Box<dyn FlowEnds>) -> Flow {
        let mut forward = DelayLine::new(self.forward);
        if let Some(jitter) = &self.spec.path.jitter {
            let part = format!("{}/jitter", self.names[usize::from(id.0)]);
            let jitter = Jitter { mean: jitter.mean.0, deviation: jitter.deviation.0 };
            forward = forward.with_jitter(jitter, random::stream(self.spec.seed, &part));
        }
        Flow { ends, forward }
    }

    fn return_delay(&self) -> Duration {
        self.spec.path.base_rtt.0 - self.forward
    }

    fn stream(&self, id: FlowId, stream: &StreamSpec) -> Result<Flow, SimError> {
        let frame_interval = frame_interval(stream)?;
        let controller = controller(stream, frame_interval)?;
        let style = match stream.feedback {
            FeedbackSpec::Native => controller.feedback_style(),
            FeedbackSpec::PerFrame => FeedbackStyle::PerFrame,
            FeedbackSpec::Interval(interval) => FeedbackStyle::Interval(interval),
        };
        let encoder = self.encoder(stream, frame_interval)?;
        let start = Instant::ZERO
            + stream.start.map_or(Duration::ZERO, |text| text.0)
            + self.below(&stream.name, "phase", frame_interval);
        let mut config = SenderConfig::new(start, frame_interval);
        config.repair_share = stream.fec.map_or(Ratio::ZERO, |text| text.0);
        let setup = StreamSetup {
            flow: id,
            stop: stream.stop.map(|text| Instant::ZERO + text.0),
            // Up to an hour apart: a controller that took the clocks for one would show it.
            clock_offset: self.below(&stream.name, "clock", Duration::from_secs(3600)),
            return_delay: self.return_delay(),
            observe_interval: self.spec.record.controller_interval.map_or(BIN, |text| text.0),
            start,
        };
        let sender = Sender::new(config, controller, encoder);
        let receiver = Receiver::new(ReceiverConfig::new(style));
        let name = self.names[usize::from(id.0)].clone();
        Ok(self.flow(id, Box::new(Stream::new(setup, name, sender, receiver))))
    }

    /// A random span below `bound` for a part of a flow.
    fn below(&self, flow: &str, part: &str, bound: Duration) -> Duration {
        let part = format!("{flow}/{part}");
        let nanos = random::below(self.spec.seed, &part, bound.as_nanos().unsigned_abs().max(1));
        Duration::from_nanos(nanos as i64)
    }

    fn encoder(&self, stream: &StreamSpec, interval: Duration) -> Result<EncoderModel, SimError> {
        let video = match &stream.video {
            VideoSpec::Steady => return Ok(EncoderModel::steady(interval)),
            VideoSpec::Doom => RecordedVideo::doom(),
            VideoSpec::File { file } => own_video(file)?,
        };
        let seed = random::number(self.spec.seed, &format!("{}/video", stream.name));
        Ok(EncoderModel::recorded(video, EncoderCalibration::default(), interval, seed))
    }

    fn competitor(&self, id: FlowId, competitor: &CompetitorSpec) -> Result<Flow, SimError> {
        let CompetitorSpec::Tcp { name, congestion_control, start, stop, bytes, rate_limit } =
            competitor;
        let setup = TcpSetup {
            flow: id,
            congestion_control: congestion_control.clone(),
            start: Instant::ZERO + start.map_or(Duration::ZERO, |text| text.0),
            stop: stop.map(|text| Instant::ZERO + text.0),
            bytes: bytes.map(|text| text.0),
            rate_limit: rate_limit.map(|text| text.0),
            return_delay: self.return_delay(),
            seed: random::number(self.spec.seed, &format!("{name}/tcp")),
            observe_interval: self.spec.record.controller_interval.map_or(BIN, |text| text.0),
        };
        let tcp = Tcp::new(setup)
            .map_err(|why| spec_error(format!("competitor \"{name}\": congestion_control"), why))?;
        Ok(self.flow(id, Box::new(tcp)))
    }

    fn ping(&self, id: FlowId, interval: Duration) -> Flow {
        let first = Instant::ZERO + self.below("ping", "phase", interval);
        let ping = Ping::new(id, interval, first, self.return_delay());
        self.flow(id, Box::new(ping))
    }
}

fn frame_interval(stream: &StreamSpec) -> Result<Duration, SimError> {
    if !(1..=1000).contains(&stream.frame_rate) {
        let field = format!("stream \"{}\": frame_rate", stream.name);
        let why = format!("{} is not between 1 and 1000", stream.frame_rate);
        return Err(spec_error(field, why));
    }
    Ok(Duration::from_secs(1) / i64::from(stream.frame_rate))
}

fn controller(
    stream: &StreamSpec,
    frame_interval: Duration,
) -> Result<Box<dyn RateController>, SimError> {
    let (min, max) = (stream.min_bitrate.0, stream.max_bitrate.0);
    if min == Rate::ZERO || min > max {
        let field = format!("stream \"{}\": min_bitrate", stream.name);
        let why = format!("{min} is not between 1 b/s and max_bitrate ({max})");
        return Err(spec_error(field, why));
    }
    let start = stream.start_bitrate.0.clamp(min, max);
    let limits = RateLimits { min, max, start, frame_interval };
    gameway_control::build(stream.controller.name(), &stream.controller.options(), limits)
        .map_err(|source| SimError::Controller { stream: stream.name.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What `check` says of a stream with these keys over this capacity.
    fn checked(capacity: &str, stream: &str) -> String {
        let text = format!(
            r#"{{"seed": 1, "duration": "1 s",
                "path": {{"capacity": {capacity}, "base_rtt": "16 ms",
                          "queue": {{"kind": "drop-tail", "size": "2 bdp"}}}},
                "stream": [{{"name": "game", {stream}}}]}}"#
        );
        let spec: RunSpec = serde_json::from_str(&text).expect("it is a specification");
        check(&spec).err().map_or_else(String::new, |error| error.to_string())
    }

    /// A file of this content, in a folder of its own.
    fn file(name: &str, content: &[u8]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gameway-check-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder of temporary files can be written");
        let file = folder.join(name);
        fs::write(&file, content).expect("the folder of temporary files can be written");
        file
    }

    #[test]
    fn check_refuses_what_a_run_would_and_names_it() {
        let fine = r#""controller": "pudica""#;
        assert_eq!(checked(r#""25 Mb/s""#, fine), "");

        let unknown = checked(r#""25 Mb/s""#, r#""controller": "pudcia""#);
        assert!(unknown.contains("stream \"game\"") && unknown.contains("pudcia"), "{unknown}");

        let option = r#""controller": {"kind": "gcc", "backoff": 7}"#;
        let refused = checked(r#""25 Mb/s""#, option);
        assert!(refused.contains("\"backoff\"") && refused.contains("0.1 to 1"), "{refused}");
    }

    #[test]
    fn check_reads_the_files_that_a_run_would() {
        let doom = include_bytes!("../../media/data/doom.gwfr");
        let whole = file("whole.gwfr", doom);
        let cut = file("cut.gwfr", &doom[..doom.len() / 2]);
        let with = |file: &Path| format!(r#""controller": "fixed", "video": {{"file": {file:?}}}"#);
        assert_eq!(checked(r#""25 Mb/s""#, &with(&whole)), "");
        let refused = checked(r#""25 Mb/s""#, &with(&cut));
        assert!(refused.contains("cut.gwfr: ") && refused.contains("sizes"), "{refused}");

        let trace = file("bad.trace", b"1\n2\nthree\n");
        let refused = checked(&format!(r#"{{"trace": {trace:?}}}"#), r#""controller": "fixed""#);
        assert!(refused.contains("bad.trace: line 3"), "{refused}");
    }
}
