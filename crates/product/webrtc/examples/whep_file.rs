//! Streams an H.264 file to a browser or to our client: `whep_file FILE.h264 [LISTEN] [TOKEN] [LOSE]`.
//!
//! A small model of a host: one thread that sleeps on the media socket, signalling on another. Each frame's packets
//! are spread evenly over half a frame interval; there is no congestion control. The file starts again at its end.
//! Packet number LOSE is never sent, to see what the receiver does about it.
//! Make one with
//! `ffmpeg -f lavfi -i testsrc2=s=1280x720:r=60 -t 20 -c:v libx264 -preset ultrafast -tune zerolatency
//! -profile:v baseline -bf 0 -g 600 video.h264`

#[path = "support/annex_b.rs"]
mod annex_b;

use annex_b::{AccessUnit, access_units, rtp_payloads};
use gameway_control::SequenceNumber;
use gameway_units::{Duration, Ecn, Instant};
use gameway_webrtc::feedback::frames::{FrameNews, FrameReports};
use gameway_webrtc::feedback::{Outgoing, ReportReader};
use gameway_webrtc::http::{IceServers, SignalingConfig, SignalingRequest, SignalingServer};
use gameway_webrtc::socket::{MediaSocket, MonotonicClock};
use gameway_webrtc::{
    Event, Extensions, HostConfig, Identity, Peer, RtpHeader, RtpPacket, Secrets,
};
use std::collections::VecDeque;
use std::error::Error;
use std::net::SocketAddr;

const FRAME: Duration = Duration::from_nanos(16_666_667);
const TICKS: u32 = 1_500;

/// A packet of the frame that is being sent.
struct Waiting {
    due: Instant,
    marker: bool,
    timestamp: u32,
    /// How many packets a report is asked for with it.
    report_on: Option<u16>,
    payload: Vec<u8>,
}

/// What the receiver has told.
#[derive(Debug, Default)]
struct Statistics {
    received_frames: usize,
    presented_frames: usize,
    reports: usize,
    reported_packets: usize,
    ect1_packets: usize,
    key_frame_requests: usize,
}

struct Host {
    clock: MonotonicClock,
    socket: MediaSocket,
    signaling: SignalingServer,
    config: HostConfig,
    peer: Option<(String, Peer)>,
    units: Vec<AccessUnit>,
    next_unit: usize,
    next_frame: Instant,
    timestamp: u32,
    waiting: VecDeque<Waiting>,
    sent: u64,
    lose: Option<u64>,
    reader: ReportReader,
    statistics: Statistics,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file =
        arguments.first().ok_or("which file? whep_file FILE.h264 [LISTEN] [TOKEN] [LOSE]")?;
    let listen: SocketAddr = arguments.get(1).map_or("127.0.0.1:8443", String::as_str).parse()?;
    let token = arguments.get(2).map_or("a-test-on-loopback", String::as_str).to_owned();
    let lose = arguments.get(3).map(|number| number.parse()).transpose()?;
    let units = access_units(&std::fs::read(file)?);
    if units.is_empty() {
        return Err(format!("{file}: no H.264 pictures in it (Annex B byte stream)").into());
    }
    let clock = MonotonicClock::starting_now();
    let socket = MediaSocket::bind(listen, clock)?;
    let config = host_config(&socket)?;
    let signaling = SignalingServer::start(SignalingConfig {
        listen,
        token: token.clone(),
        names: Vec::new(),
        pairing: None,
        certificate: None,
        lab: None,
        servers: IceServers::default(),
        wake: None,
    })?;
    println!("ready http://{}/#{token} {} pictures", signaling.address(), units.len());
    let host = Host {
        clock,
        socket,
        signaling,
        config,
        peer: None,
        units,
        next_unit: 0,
        next_frame: Instant::MAX,
        timestamp: 0,
        waiting: VecDeque::new(),
        sent: 0,
        lose,
        reader: ReportReader::default(),
        statistics: Statistics::default(),
    };
    host.run()
}

/// The file's own frames, and nothing sent again.
fn host_config(socket: &MediaSocket) -> Result<HostConfig, Box<dyn Error>> {
    Ok(HostConfig {
        identity: Identity::generate()?,
        candidates: vec![socket.address().into()],
        audio: true,
        h265: false,
        nack: false,
        parity: false,
        references: false,
        export_keys: false,
    })
}

impl Host {
    fn run(mut self) -> Result<(), Box<dyn Error>> {
        loop {
            let now = self.clock.now();
            self.signal(now);
            self.send_media(now)?;
            if let Some((_, peer)) = &mut self.peer {
                if peer.next_deadline().is_some_and(|deadline| deadline <= now) {
                    peer.handle_timeout(now);
                }
                while let Some(transmit) = peer.poll_transmit() {
                    self.socket.send(&transmit)?;
                }
            }
            self.take_events(now);
            let deadlines = [
                self.peer.as_ref().and_then(|(_, peer)| peer.next_deadline()),
                self.waiting.front().map(|packet| packet.due),
                Some(self.next_frame),
                // Signalling is looked at so often.
                Some(now + Duration::from_millis(10)),
            ];
            let deadline = deadlines.into_iter().flatten().min().unwrap_or(now);
            if self.socket.wait(deadline)? {
                let peer = &mut self.peer;
                self.socket.receive(|got| {
                    if let Some((_, peer)) = peer {
                        peer.handle_datagram(got.arrival, got.remote(), got.to, got.ecn, got.bytes);
                    }
                })?;
            }
        }
    }

    fn signal(&mut self, now: Instant) {
        match self.signaling.poll() {
            Some(SignalingRequest::Offer { session, offer, reply, .. }) => {
                match Peer::answer(now, &self.config, Secrets::from_system(), &offer) {
                    Ok((peer, answer)) => {
                        reply.accept(answer);
                        self.peer = Some((session, peer));
                        // Its numbers begin anew.
                        (self.reader, self.sent) = (ReportReader::default(), 0);
                        self.next_frame = Instant::MAX;
                        self.waiting.clear();
                    }
                    Err(error) => reply.refuse(400, error.to_string()),
                }
            }
            Some(SignalingRequest::Controller { reply, .. }) => {
                reply.refuse(404, "a file has no controller".to_owned());
            }
            Some(SignalingRequest::Watching { reply }) => {
                reply.refuse(404, "one watches".to_owned());
            }
            Some(SignalingRequest::End { session, reply }) => {
                if self.peer.as_ref().is_some_and(|(name, _)| *name == session) {
                    self.peer = None;
                    self.next_frame = Instant::MAX;
                    reply.accept(String::new());
                } else {
                    reply.refuse(404, "no such session".to_owned());
                }
            }
            // It pairs no devices.
            Some(SignalingRequest::Devices { .. }) | None => {}
        }
    }

    fn take_events(&mut self, now: Instant) {
        let Some((_, peer)) = &mut self.peer else { return };
        while let Some(event) = peer.poll_event() {
            match event {
                Event::Connected => {
                    println!("connected {:?}", peer.negotiated());
                    self.next_unit = 0;
                    self.next_frame = now;
                }
                Event::Rtcp { bytes, .. } => {
                    let newest = SequenceNumber(self.sent.saturating_sub(1));
                    for report in self.reader.read(&bytes, peer.negotiated(), newest) {
                        let arrived = report.packets.iter().flatten();
                        let ect1 = arrived.clone().filter(|it| it.ecn == Ecn::Ect1);
                        self.statistics.reports += 1;
                        self.statistics.reported_packets += arrived.count();
                        self.statistics.ect1_packets += ect1.count();
                        if report.key_frame_request {
                            self.statistics.key_frame_requests += 1;
                            self.next_unit = 0;
                        }
                    }
                }
                Event::Data { label, bytes, .. } => match FrameReports::parse(&bytes) {
                    Ok(reports) => {
                        for record in reports.records {
                            match record.news {
                                FrameNews::Received { .. } => self.statistics.received_frames += 1,
                                FrameNews::Presented { .. } => {
                                    self.statistics.presented_frames += 1;
                                }
                                FrameNews::KeyFrameNeeded => {
                                    self.statistics.key_frame_requests += 1;
                                    self.next_unit = 0;
                                }
                                FrameNews::CountsWanted => {}
                            }
                        }
                    }
                    Err(error) => println!("channel {label}: {error}"),
                },
                Event::Closed(reason) => {
                    println!("closed: {reason:?}");
                    (self.peer, self.next_frame) = (None, Instant::MAX);
                    return;
                }
                Event::Rtp { .. } | Event::ChannelOpened { .. } | Event::ChannelClosed { .. } => {}
            }
        }
    }

    fn send_media(&mut self, now: Instant) -> Result<(), Box<dyn Error>> {
        if now >= self.next_frame {
            self.enqueue_frame();
        }
        let Some((_, peer)) = &mut self.peer else { return Ok(()) };
        while self.waiting.front().is_some_and(|packet| packet.due <= now) {
            let Some(packet) = self.waiting.pop_front() else { break };
            let terms = peer.negotiated();
            let (Some(payload_type), ssrc) = (terms.video, terms.video_ssrc) else { break };
            let number = SequenceNumber(self.sent);
            let header = RtpHeader {
                payload_type,
                marker: packet.marker,
                sequence_number: self.reader.number(terms, Outgoing::Frames, number),
                timestamp: packet.timestamp,
                ssrc,
            };
            let extensions = Extensions {
                transport_wide: Some(self.sent as u16),
                // Of each frame when its last packet is there, and of the one before again.
                report_on: packet.report_on,
                playout_delay: Some((0, 0)),
                ..Extensions::default()
            };
            let rtp = RtpPacket { header, extensions, payload: &packet.payload, padding: 0 };
            if self.lose != Some(self.sent) {
                peer.send_rtp(&rtp, Ecn::Ect1)?;
            }
            self.sent += 1;
        }
        Ok(())
    }

    fn enqueue_frame(&mut self) {
        self.timestamp = self.timestamp.wrapping_add(TICKS);
        let payloads = rtp_payloads(&self.units[self.next_unit]);
        let count = payloads.len();
        let spacing = FRAME / 2 / count.max(1) as i64;
        for (index, payload) in payloads.into_iter().enumerate() {
            let due = self.next_frame + spacing * index as i64;
            self.waiting.push_back(Waiting {
                due,
                marker: index + 1 == count,
                timestamp: self.timestamp,
                report_on: (index + 1 == count).then_some(2 * count as u16),
                payload,
            });
        }
        self.next_unit = (self.next_unit + 1) % self.units.len();
        self.next_frame += FRAME;
        if (self.timestamp / TICKS).is_multiple_of(60) {
            println!("{:?}, {} malformed", self.statistics, self.reader.malformed());
        }
    }
}
