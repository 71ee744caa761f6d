//! The live wire protocol: WebRTC with WHEP signalling. One protocol serves browsers and our own client, encrypted.
//!
//! ```text
//!            peer (sans-IO)                                         drivers
//!  sdp ─ ice ─ dtls ─ srtp ─ rtp, rtcp ─ events          socket   UDP, ECN, the kernel's times
//!                └─ sctp ─ data channels                 http     signalling (whep decides)
//!  feedback: RFC 8888, arrival times, transport-wide     links    TCP, where nothing else passes
//!                                                         whep_client
//! ```
//!
//! **Layers.** DTLS is `dimpl`, SRTP `rtc-srtp`, SCTP `sctp-proto`; session descriptions, ICE (a controlled host, a client that
//! nominates), RTP headers, RTCP and signalling are ours. A whole stack would hide what a lab must own: `str0m` cannot
//! send an RTCP packet of ours, and `rtc` brings its pacer, estimator and interceptors, and reports without ECN. In parts,
//! a packet is on its way when [`Peer::send_rtp`] returns: nothing paces, nothing holds back.
//!
//! **Time.** [`Peer`] is handed `now`. `dimpl` and `sctp-proto` are handed it, too, on a base that is read once
//! for each peer; `sctp-proto` reads the clock by itself once, when a client's association begins, for a value that
//! is only shown. Cryptographic random numbers inside these libraries are the system's.
//!
//! **Bytes of each video packet beside its payload**, over IPv4 ([`Peer::overhead`]):
//!
//! | | IP | UDP | RTP | extensions | SRTP tag | sum |
//! |---|---|---|---|---|---|---|
//! | browser with transport-wide feedback | 20 | 8 | 12 | 12 (block 4, elements 3 and 4, padding 1) | 16 | 68 |
//! | the same without the dependency descriptor | 20 | 8 | 12 | 8 (block 4, element 3, padding 1) | 16 | 64 |
//! | browser with RFC 8888 | 20 | 8 | 12 | 8 (block 4, element 4) | 16 | 64 |
//! | our client | 20 | 8 | 12 | 16 (block 4, element 12) | 16 | 72 |
//!
//! The tag is 16 bytes under AES-GCM, which our client and current browsers agree on, and 10 under AES-CM with
//! HMAC-SHA1. A playout delay, on key frames only, adds 4 to an extension block that is there and 8 where there is none.
//! A packet that asks a browser for a report has 4 more, one of a frame that refers further back than to the one before 4, and a key
//! frame's first packet 8.
//!
//! **Numbers.** Our client's packets have the low 16 bits of the transport-wide number as RTP number: probes, padding and
//! repair are numbered with media. A browser has probes and padding on the SSRC of retransmissions with numbers of their
//! own ([`feedback::ReportReader::number`]); transport-wide numbers count both.
//!
//! # The loop of a host
//!
//! ```no_run
//! use gameway_units::{Duration, Ecn};
//! use gameway_webrtc::feedback::ReportReader;
//! use gameway_webrtc::http::{SignalingConfig, SignalingRequest, SignalingServer};
//! use gameway_webrtc::socket::{MediaSocket, MonotonicClock};
//! use gameway_webrtc::{Event, HostConfig, Identity, Peer, Secrets};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let (listen, token) = ("10.77.0.1:8443".parse()?, "a secret of ours".to_owned());
//!     let clock = MonotonicClock::since(0);
//!     let mut socket = MediaSocket::bind(listen, clock)?; // UDP; signalling has the same port of TCP
//!     let signaling = SignalingServer::start(SignalingConfig { listen, token, names: vec![], pairing: None, certificate: None, lab: None, servers: Default::default(), wake: None })?;
//!     let candidates = vec![socket.address().into()];
//!     let config = HostConfig { identity: Identity::generate()?, candidates, audio: true, h265: false, nack: true, parity: false, references: false, export_keys: false };
//!     let mut session: Option<(String, Peer)> = None;
//!     let mut reader = ReportReader::default();
//!     loop {
//!         let now = clock.now();
//!         match signaling.poll() {
//!             Some(SignalingRequest::Offer { session: name, offer, reply, .. }) => {
//!                 match Peer::answer(now, &config, Secrets::from_system(), &offer) {
//!                     Ok((peer, answer)) => {
//!                         session = Some((name, peer)); // who is let in takes over
//!                         reader = ReportReader::default();
//!                         reply.accept(answer);
//!                     }
//!                     Err(error) => reply.refuse(400, error.to_string()),
//!                 }
//!             }
//!             Some(SignalingRequest::Controller { reply, .. }) => reply.refuse(404, "not here".to_owned()),
//!             Some(SignalingRequest::Watching { reply }) => reply.refuse(404, "nor this".to_owned()),
//!             Some(SignalingRequest::End { session: name, reply }) => {
//!                 let ours = session.take_if(|(ours, _)| *ours == name);
//!                 if ours.is_some() { reply.accept(String::new()) } else { reply.refuse(404, "gone".into()) }
//!             }
//!             Some(SignalingRequest::Devices { .. }) | None => {} // no devices are paired
//!         }
//!         let mut deadline = now + Duration::from_millis(5);
//!         if let Some((_, peer)) = &mut session {
//!             if peer.next_deadline().is_some_and(|due| due <= now) {
//!                 peer.handle_timeout(now);
//!             }
//!             while let Some(event) = peer.poll_event() {
//!                 match event {
//!                     Event::Connected => { /* begin with a key frame; its packets go to peer.send_rtp */ }
//!                     Event::Rtcp { bytes, .. } => {
//!                         let newest_sent = gameway_control::SequenceNumber(0);
//!                         for report in reader.read(&bytes, peer.negotiated(), newest_sent) {
//!                             let _ = report; // to the session's sender
//!                         }
//!                     }
//!                     _ => {}
//!                 }
//!             }
//!             while let Some(transmit) = peer.poll_transmit() {
//!                 socket.send(&transmit)?;
//!             }
//!             deadline = peer.next_deadline().map_or(deadline, |due| due.min(deadline));
//!         }
//!         if socket.wait(deadline)? {
//!             socket.receive(|got| {
//!                 if let Some((_, peer)) = &mut session {
//!                     peer.handle_datagram(got.arrival, got.remote(), got.to, got.ecn, got.bytes);
//!                 }
//!             })?;
//!         }
//!     }
//! }
//! ```
//!
//! A client makes [`Peer::offer`], posts it with [`whep_client::post_offer`], gives the answer to [`Peer::accept_answer`] and
//! runs the same loop; [`frame_extension::MediaPacketReader`] makes the session's packets of what arrives, and
//! [`feedback::write_report`] RTCP of the session's reports.

pub mod authority;
mod clock;
pub mod data;
pub mod dependency_descriptor;
pub mod devices;
mod error;
pub mod feedback;
mod filter;
pub mod flexfec;
pub mod frame_extension;
pub mod framing;
mod guard;
pub mod http;
pub mod ice;
mod identity;
pub mod links;
mod page;
pub mod pairing;
mod peer;
mod private_file;
pub mod red;
pub mod reports;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
mod secrets;
mod sequence;
pub mod socket;
mod srtp;
mod tls;
mod transmit;
pub mod whep;
pub mod whep_client;

pub use data::Delivery;
pub use error::WebrtcError;
pub use identity::{Fingerprint, Identity};
pub use peer::{ClientConfig, CloseReason, Event, HostConfig, Peer};
pub use rtp::{Extensions, RtpHeader, RtpPacket};
pub use sdp::Negotiated;
pub use secrets::Secrets;
pub use sequence::unwrap_number;
pub use srtp::SrtpKeys;
pub use tls::ServerIdentity;
pub use transmit::{Remote, Transmit, Transport};
