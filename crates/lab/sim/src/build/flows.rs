//! The flows of a run, each with both ends and its ways.

use super::constant_rates::{chat_bitrates, onlive};
use super::foresight::Foreseen;
use crate::clock::ReceiverClock;
use crate::dash::{Dash, DashSetup};
use crate::datagrams::{self, Datagrams, Source};
use crate::encoding::{EncodeTime, EncodeTimes};
use crate::flow::FlowEnds;
use crate::headers;
use crate::ping::Ping;
use crate::quic::{self, Quic, QuicSetup};
use crate::short_tcp::{ShortTcp, ShortTcpSetup};
use crate::simulation::Flow;
use crate::stream::{Schedule, Stream, StreamSetup};
use crate::tcp::{Tcp, TcpSetup};
use gameway_control::{Controllers, Oracle, OracleOptions, RateController};
use gameway_events::{BIN, Name};
use gameway_experiment::build::{self, Routes};
use gameway_experiment::spec::{
    Begin, CompetitorSpec, CongestionControlSpec, DashSpec, EncodeTimeSpec, HeaderSpec, OnliveSpec,
    QuicEcnSpec, QuicSpec, QuicSpinSpec, RunSpec, ShortTcpSpec, Spacing, StreamSpec, TcpSpec,
    UdpEcnSpec, UdpSpec, VideoChatSpec, VideoSpec,
};
use gameway_experiment::{Known, RunError, random, read};
use gameway_media::{EncoderCalibration, EncoderModel, FrameTable, RecordedVideo};
use gameway_path::{FlowId, Link, Protocol, Stalls};
use gameway_quic::AckPolicy;
use gameway_session::{Receiver, ReceiverConfig, Sender, SenderConfig};
use gameway_tcp::{ConfiguredTcp, OnOff};
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::path::Path;
use std::sync::Arc;

/// What a live run's encoder took, where the stream is its twin.
fn encode_times(stream: &StreamSpec) -> Option<EncodeTimes> {
    let measured = |times: &Option<Vec<EncodeTimeSpec>>| {
        let rows = times.as_deref().unwrap_or_default().iter();
        let one = |&EncodeTimeSpec(from, first, whole): &EncodeTimeSpec| {
            (Instant::ZERO + from, EncodeTime { first, whole })
        };
        rows.map(one).collect::<Vec<_>>()
    };
    stream.encode_times.as_ref()?;
    let frames = measured(&stream.encode_times);
    Some(EncodeTimes::new(frames, measured(&stream.key_frame_encode_times)))
}

/// What is needed to build the flows.
pub struct Parts<'a> {
    pub spec: &'a RunSpec,
    pub controllers: &'a Controllers,
    pub known: Known<'a>,
    pub routes: &'a Routes,
    pub links: &'a [Link],
    pub names: Vec<Name>,
    pub stalls: Option<Stalls>,
}

impl Parts<'_> {
    pub fn flows(&self) -> Result<Vec<Flow>, RunError> {
        let mut flows = Vec::new();
        for (index, stream) in self.spec.stream.iter().enumerate() {
            flows.push(self.stream(FlowId(index as u16), stream)?);
        }
        for competitor in &self.spec.competitor {
            flows.push(self.competitor(FlowId(flows.len() as u16), competitor)?);
        }
        if let Some(ping) = &self.spec.ping {
            flows.push(self.ping(FlowId(flows.len() as u16), ping.interval));
        }
        headers::separate(&mut flows);
        Ok(flows)
    }

    /// The flow of this number, with these ends.
    fn flow(&self, id: FlowId, header: (Protocol, &HeaderSpec), ends: Box<dyn FlowEnds>) -> Flow {
        let (protocol, header) = header;
        let name = &self.names[usize::from(id.0)];
        let stalls_too = protocol == Protocol::Tcp && build::stalls_too(self.spec, name);
        Flow {
            ends,
            header: headers::of(id, protocol, header),
            stalls: self.stalls.clone().filter(|_| stalls_too),
        }
    }

    fn stream(&self, id: FlowId, stream: &StreamSpec) -> Result<Flow, RunError> {
        let frame_interval = build::frame_interval(stream)?;
        let controller = self.controller(id, stream, frame_interval)?;
        let feedback = stream.feedback;
        let style = build::feedback_style(stream, &*controller);
        let encoder = self.encoder(stream, frame_interval)?;
        let schedule = self.schedule(stream, frame_interval);
        let mut config = SenderConfig::new(schedule.start, frame_interval);
        config.repair_share = stream.fec;
        config.repair = stream.repair;
        config.recovery = stream.recovery;
        config.ladder = build::ladder(stream);
        config.overhead = build::overhead(stream);
        config.circuit_breaker = stream.circuit_breaker.min(stream.min_bitrate);
        let setup = StreamSetup {
            flow: id,
            schedule,
            // Up to an hour apart: a controller that took the clocks for one would show it.
            clock: ReceiverClock {
                offset: self.below(&stream.name, "clock", Duration::from_secs(3600)),
                drift_ppm: stream.clock_drift.0,
            },
            ecn: stream.ecn.or_native(controller.ecn()),
            observe_interval: self.observe_interval(),
        };
        let sender = Sender::new(config, controller);
        let resolution = feedback.resolution();
        let receiver = Receiver::new(ReceiverConfig {
            arrival_resolution: resolution,
            repair: stream.repair,
            recovery: stream.recovery,
            ..ReceiverConfig::new(style)
        });
        let name = self.names[usize::from(id.0)].clone();
        let ends = Stream::new(setup, name, (sender, encoder), receiver)
            .with_encode_times(encode_times(stream));
        Ok(self.flow(id, (Protocol::Udp, &stream.header), Box::new(ends)))
    }

    fn schedule(&self, stream: &StreamSpec, frame_interval: Duration) -> Schedule {
        let pause = stream.pause.as_ref();
        Schedule {
            start: build::first_capture(stream, frame_interval, self.spec.seed),
            stop: stream.stop.map(|text| Instant::ZERO + text),
            pause: pause.map(|pause| (Instant::ZERO + pause.from, Instant::ZERO + pause.to)),
        }
    }

    fn observe_interval(&self) -> Duration {
        self.spec.record.controller_interval.unwrap_or(BIN)
    }

    /// A random span below `bound` for a part of a flow.
    fn below(&self, flow: &str, part: &str, bound: Duration) -> Duration {
        let part = format!("{flow}/{part}");
        let nanos = random::below(self.spec.seed, &part, bound.as_nanos().unsigned_abs().max(1));
        Duration::from_nanos(nanos as i64)
    }

    fn encoder(&self, stream: &StreamSpec, interval: Duration) -> Result<EncoderModel, RunError> {
        let seed = random::number(self.spec.seed, &format!("{}/video", stream.name));
        let video = match &stream.video {
            // An encoder's noise is no part of the limit.
            _ if is_oracle(stream) => return Ok(EncoderModel::steady(interval)),
            VideoSpec::Steady => return Ok(EncoderModel::steady(interval)),
            VideoSpec::Scene => return Ok(EncoderModel::constrained(interval, seed)),
            VideoSpec::Doom => RecordedVideo::doom(),
            VideoSpec::File { file } => own_video(file)?,
        };
        Ok(EncoderModel::recorded(video, EncoderCalibration::default(), interval, seed))
    }

    fn controller(
        &self,
        id: FlowId,
        stream: &StreamSpec,
        frame_interval: Duration,
    ) -> Result<Box<dyn RateController>, RunError> {
        let limits = build::rate_limits(stream, frame_interval)?;
        let options = stream.controller.options();
        let controller: Result<Box<dyn RateController>, _> = if is_oracle(stream) {
            let known = Foreseen::new(self.spec, self.routes, self.links, usize::from(id.0));
            OracleOptions::read(&options)
                .map(|options| Box::new(Oracle::new(options, limits, Box::new(known))) as _)
        } else {
            self.controllers.build(stream.controller.name(), &options, limits)
        };
        controller.map_err(|source| RunError::Controller { stream: stream.name.clone(), source })
    }

    fn competitor(&self, id: FlowId, competitor: &CompetitorSpec) -> Result<Flow, RunError> {
        let (protocol, ends): (_, Box<dyn FlowEnds>) = match competitor {
            CompetitorSpec::Tcp(tcp) => (Protocol::Tcp, Box::new(self.tcp(id, tcp)?)),
            CompetitorSpec::ShortTcp(short) => {
                (Protocol::Tcp, Box::new(self.short_tcp(id, short)?))
            }
            CompetitorSpec::Udp(udp) => (Protocol::Udp, Box::new(self.udp(id, udp))),
            CompetitorSpec::OnliveUt(game) | CompetitorSpec::OnliveRome(game) => {
                let down = onlive(competitor);
                (Protocol::Udp, Box::new(self.onlive(id, game, down)))
            }
            CompetitorSpec::VideoChat(chat) => (Protocol::Udp, Box::new(self.video_chat(id, chat))),
            CompetitorSpec::Dash(dash) => (Protocol::Tcp, Box::new(self.dash(id, dash)?)),
            CompetitorSpec::Quic(quic) => (Protocol::Udp, Box::new(self.quic(id, quic)?)),
        };
        let mut header = *competitor.header();
        if matches!(competitor, CompetitorSpec::Quic(_)) {
            header.port.get_or_insert(quic::PORT);
        }
        Ok(self.flow(id, (protocol, &header), ends))
    }

    fn congestion_control(
        &self,
        name: &str,
        spec: &CongestionControlSpec,
    ) -> Result<ConfiguredTcp, RunError> {
        let field = format!("competitor \"{name}\": congestion_control");
        build::congestion_control(self.known, &field, spec)
    }

    fn tcp(&self, id: FlowId, tcp: &TcpSpec) -> Result<Tcp, RunError> {
        let congestion_control = self.congestion_control(&tcp.name, &tcp.congestion_control)?;
        let setup = TcpSetup {
            flow: id,
            ecn: build::ecn(tcp.ecn, &congestion_control),
            congestion_control,
            receive_window: tcp.receive_window.0,
            segment_size: tcp.mss.segment_size(),
            start: Instant::ZERO + tcp.start,
            stop: tcp.stop.map(|text| Instant::ZERO + text),
            bytes: tcp.bytes,
            rate_limit: tcp.rate_limit,
            block: tcp.block,
            on_off: tcp.on_off.map(|video| OnOff {
                segment: video.bitrate * video.segment,
                interval: video.segment,
            }),
            seed: random::number(self.spec.seed, &format!("{}/tcp", tcp.name)),
            observe_interval: self.observe_interval(),
        };
        Ok(Tcp::new(setup))
    }

    fn short_tcp(&self, id: FlowId, short: &ShortTcpSpec) -> Result<ShortTcp, RunError> {
        let congestion_control = self.congestion_control(&short.name, &short.congestion_control)?;
        let setup = ShortTcpSetup {
            transfer: TcpSetup {
                flow: id,
                ecn: build::ecn(short.ecn, &congestion_control),
                congestion_control,
                receive_window: short.receive_window.0,
                segment_size: short.mss.segment_size(),
                start: Instant::ZERO + short.start,
                stop: short.stop.map(|text| Instant::ZERO + text),
                bytes: None,
                rate_limit: None,
                block: None,
                on_off: None,
                seed: 0,
                observe_interval: self.observe_interval(),
            },
            sizes: (short.min_size, short.max_size),
            connections: short.connections,
            mean_gap: short.mean_gap,
            begins_with_transfer: short.begins == Begin::On,
        };
        let random = random::stream(self.spec.seed, &format!("{}/transfers", short.name));
        Ok(ShortTcp::new(setup, random))
    }

    fn dash(&self, id: FlowId, dash: &DashSpec) -> Result<Dash, RunError> {
        let congestion_control = self.congestion_control(&dash.name, &dash.congestion_control)?;
        let end = Instant::ZERO + self.spec.duration;
        Ok(Dash::new(DashSetup {
            flow: id,
            ecn: build::ecn(dash.ecn, &congestion_control),
            congestion_control,
            receive_window: dash.receive_window.0,
            segment_size: dash.mss.segment_size(),
            presentation: build::presentation(dash, self.spec.seed)?,
            settings: build::player_settings(dash),
            start: Instant::ZERO + dash.start,
            stop: dash.stop.map_or(end, |text| end.min(Instant::ZERO + text)),
            seed: random::number(self.spec.seed, &format!("{}/tcp", dash.name)),
            observe_interval: self.observe_interval(),
        }))
    }

    fn quic(&self, id: FlowId, quic: &QuicSpec) -> Result<Quic, RunError> {
        let QuicSpec { name, datagram_size, ack_packets, max_ack_delay, .. } = quic;
        let field = format!("competitor \"{name}\": congestion_control");
        let acks = AckPolicy { packets: *ack_packets, max_delay: *max_ack_delay };
        let spin = quic.spin == QuicSpinSpec::On;
        Ok(Quic::new(QuicSetup {
            flow: id,
            congestion_control: build::quic_congestion_control(
                self.known,
                &field,
                &quic.congestion_control,
            )?,
            sender: gameway_quic::SenderConfig {
                bytes: quic.bytes,
                max_datagram_size: u32::try_from(datagram_size.get()).unwrap_or(u32::MAX),
                ecn: quic.ecn == QuicEcnSpec::On,
                max_ack_delay: *max_ack_delay,
                spin,
            },
            receiver: gameway_quic::ReceiverConfig { acks, spin },
            start: Instant::ZERO + quic.start,
            stop: quic.stop.map(|text| Instant::ZERO + text),
            seed: random::number(self.spec.seed, &format!("{name}/quic")),
            observe_interval: self.observe_interval(),
        }))
    }

    fn udp(&self, id: FlowId, udp: &UdpSpec) -> Datagrams {
        let UdpSpec { name, packet_size, spacing, start, .. } = udp;
        let size = *packet_size;
        let packets = (size, udp.rate.time_for(size));
        let down = self.packets(name, "", packets, *start, *spacing);
        let up = udp.return_rate.map(|rate| {
            let size = udp.return_packet_size.unwrap_or(*packet_size);
            self.packets(name, "return-", (size, rate.time_for(size)), *start, *spacing)
        });
        let stop = udp.stop.map(|text| Instant::ZERO + text);
        Datagrams::new(id, vec![down], up.into_iter().collect(), stop).with_ecn(match udp.ecn {
            UdpEcnSpec::None => Ecn::NotEct,
            UdpEcnSpec::Ect0 => Ecn::Ect0,
            UdpEcnSpec::Ect1 => Ecn::Ect1,
        })
    }

    fn onlive(&self, id: FlowId, game: &OnliveSpec, down: (Bytes, Duration)) -> Datagrams {
        let OnliveSpec { name, spacing, start, stop, .. } = game;
        let packets = |part, packets| vec![self.packets(name, part, packets, *start, *spacing)];
        let up = packets("return-", datagrams::ONLIVE_ACTIONS);
        let stop = stop.map(|text| Instant::ZERO + text);
        Datagrams::new(id, packets("", down), up, stop)
    }

    /// Evenly or exponentially spaced packets of one end, of which `part` names what is random.
    fn packets(
        &self,
        flow: &str,
        part: &str,
        packets: (Bytes, Duration),
        begin: Duration,
        spacing: Spacing,
    ) -> Source {
        let phase = self.below(flow, &format!("{part}phase"), packets.1);
        let random = (spacing == Spacing::Exponential)
            .then(|| random::stream(self.spec.seed, &format!("{flow}/{part}spacing")));
        Source::packets(packets, Instant::ZERO + begin + phase, random)
    }

    fn video_chat(&self, id: FlowId, chat: &VideoChatSpec) -> Datagrams {
        let (rate, return_rate) = chat_bitrates(chat);
        let stop = chat.stop.map(|text| Instant::ZERO + text);
        let (down, up) = (self.caller(chat, "", rate), self.caller(chat, "return-", return_rate));
        Datagrams::new(id, down, up, stop)
    }

    /// Sound, and the picture if there is one, of one end of a call.
    fn caller(&self, chat: &VideoChatSpec, part: &str, bitrate: Rate) -> Vec<Source> {
        let sound = format!("{part}sound-");
        let sound = self.packets(&chat.name, &sound, datagrams::SOUND, chat.start, Spacing::Even);
        let picture = (bitrate > Rate::ZERO).then(|| {
            let interval = Duration::from_secs(1) / i64::from(chat.frame_rate);
            let phase = self.below(&chat.name, &format!("{part}phase"), interval);
            let random = random::stream(self.spec.seed, &format!("{}/{part}video", chat.name));
            Source::frames(bitrate, interval, Instant::ZERO + chat.start + phase, random)
        });
        std::iter::once(sound).chain(picture).collect()
    }

    fn ping(&self, id: FlowId, interval: Duration) -> Flow {
        let first = Instant::ZERO + self.below("ping", "phase", interval);
        let header = (Protocol::Icmp, &HeaderSpec::default());
        self.flow(id, header, Box::new(Ping::new(id, interval, first)))
    }
}

fn is_oracle(stream: &StreamSpec) -> bool {
    stream.controller.name() == OracleOptions::NAME
}

fn own_video(file: &Path) -> Result<Arc<RecordedVideo>, RunError> {
    let path = file.to_owned();
    let table = FrameTable::parse(&read(file)?)
        .map_err(|source| RunError::FrameTable { path: path.clone(), source })?;
    let video = RecordedVideo::new(&table).map_err(|source| RunError::Video { path, source })?;
    Ok(Arc::new(video))
}
