//! One client's stay at the host, sans-IO: what arrives for it, and the packets that leave for it.
//!
//! ```text
//! Sender ─► EncodeRequest ─► (encoding thread) ─► OutgoingFrame ─► Outbox
//!    │                                                               │ payload
//!    └──── pacer: MediaPacket ──────────────────────────────────────►┴─► RTP ─► Peer ─► datagrams
//!    ▲                                                                             │
//!    └──────────────── FeedbackPacket ◄── RFC 8888, transport-wide, PLI ◄── RTCP ◄─┘
//! ```
//!
//! Sound does not wait: its packets pass the pacer ahead of frames, since 10 ms more are heard sooner than seen, and since
//! one takes the time of a seventh of a video packet. What it takes on the wire is off each frame's budget, so that both
//! together are what the controller's target covers. It has numbers of its own and is in no report: the numbers
//! that reports and controllers go by are those of video packets.
//!
//! A browser is asked for a report as our own client makes them by itself: [`crate::host::requests`]. The page of one that
//! cannot be asked tells of each frame as soon as it is whole: [`crate::host::page`].
//!
//! The sender begins when the client can be told how to report: our own client when it has opened its control
//! channel, a browser when it is connected.
//!
//! # When nothing is heard of packets
//! RTP numbers packets with 16 bits, and SRTP's receiver counts how often they wrapped (RFC 3711 section 3.3.1): after a gap of
//! half of them it guesses wrong for ever, our own client as browsers. So when as many as half of that are
//! unreported, only a packet now and then leaves, until a report comes.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | most unreported | 16384 | a quarter of the numbers: 3 s at 60 Mb/s; in flight are at most a few thousand |
//! | interval while held | 100 ms | a report is back so much later than it could be |

mod clipboard;
mod counts_out;
mod frame_numbers;
mod handover;
mod inputs;
mod page_in;
mod parity;
mod photon_out;
mod send;
mod shape_out;
mod sound_out;

use self::clipboard::ClipboardLink;
pub use self::clipboard::ClipboardRequest;
use self::counts_out::CountsOut;
use self::frame_numbers::FrameNumbers;
use self::inputs::Inputs;
use self::parity::{ParityOut, code};
use self::shape_out::ShapeOut;
use self::sound_out::SoundOut;
use crate::control::{Goodbye, Hello};
use crate::host::encoding::{Job, Made, Part};
use crate::host::page::{PageCounts, PageReports};
use crate::host::photon::Photon;
use crate::host::receiver_clock::ReceiverClock;
use crate::host::requests::ReportRequests;
use crate::host::sender_reports::SenderReports;
use crate::host::terms::Terms;
use crate::outbox::{Outbox, OutgoingFrame};
use crate::photon;
use gameway_control::{FrameId, SequenceNumber};
use gameway_media::Overhead;
use gameway_session::{RepairCode, Sender, SenderConfig, SenderEvent};
use gameway_units::{Bytes, Duration, Ecn, Instant, Repair};
use gameway_webrtc::feedback::{ReportReader, frames};
use gameway_webrtc::reports::{self, ReferenceTime};
use gameway_webrtc::rtcp;
use gameway_webrtc::socket::Received;
use gameway_webrtc::{CloseReason, Event, Peer, Remote, Transmit};

/// The most that RTP padding can be (RFC 3550 section 5.1): all that a browser takes.
const BROWSER_PADDING: Bytes = Bytes::new(255);
/// libwebrtc looks so often which packets to ask for again (`NackRequester`, `kUpdateInterval`).
const BROWSER_REQUEST_INTERVAL: Duration = Duration::from_millis(20);
const MAX_UNREPORTED: u64 = 16_384;
const HELD_INTERVAL: Duration = Duration::from_millis(100);

/// What a session tells its driver.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// Its stream begins.
    Began,
    /// What a browser's page tells of a frame.
    Page(frames::FrameRecord),
    /// A browser shows a frame.
    Shown {
        /// Which one.
        frame: FrameId,
        /// When its last packet had arrived, if that is known.
        complete: Option<Instant>,
        /// When it went to the screen.
        shown: Instant,
    },
    /// A frame's or the stream's progress.
    Sender(SenderEvent),
    /// It is over.
    Closed(CloseReason),
}

/// See the module's head.
pub struct Session {
    number: u32,
    peer: Peer,
    terms: Option<Terms>,
    sender: Option<Sender>,
    outbox: Outbox,
    reports: ReportReader,
    /// For a browser that can be asked for reports.
    requests: Option<ReportRequests>,
    ecn: Ecn,
    mtu: Option<Bytes>,
    overhead: Overhead,
    newest_sent: SequenceNumber,
    /// When that left.
    last_sent: Instant,
    sound: SoundOut,
    parity: ParityOut,
    numbers: FrameNumbers,
    sender_reports: SenderReports,
    counts: CountsOut,
    page: PageReports,
    /// The clocks of a browser's page and of its reports.
    page_clock: ReceiverClock,
    report_clock: ReceiverClock,
    inputs: Inputs,
    /// Whether it may use the clipboard, and what it does with it.
    shares: bool,
    clipboard: ClipboardLink,
    /// Whether a browser is told that it may play.
    plays: bool,
    shape: ShapeOut,
    /// If a test card is played.
    photon: Option<Photon>,
    /// On which the client is told why it ends.
    farewell: Option<u16>,
    /// One past the newest packet that a report told of.
    reported_end: u64,
    events: Vec<SessionEvent>,
}

impl Session {
    /// A stay that begins with this peer.
    #[must_use]
    pub fn new(number: u32, peer: Peer, terms: Terms) -> Self {
        Self {
            number,
            peer,
            ecn: terms.ecn,
            mtu: terms.mtu,
            plays: terms.plays,
            shares: terms.plays && terms.clipboard,
            clipboard: ClipboardLink::default(),
            photon: terms.card.then(Photon::default),
            overhead: Overhead::default(),
            terms: Some(terms),
            sender: None,
            outbox: Outbox::default(),
            reports: ReportReader::default(),
            requests: None,
            newest_sent: SequenceNumber(0),
            last_sent: Instant::ZERO,
            sound: SoundOut::default(),
            parity: ParityOut::default(),
            numbers: FrameNumbers::default(),
            sender_reports: SenderReports::default(),
            counts: CountsOut::default(),
            page: PageReports::default(),
            page_clock: ReceiverClock::default(),
            report_clock: ReceiverClock::default(),
            inputs: Inputs::default(),
            shape: ShapeOut::default(),
            farewell: None,
            reported_end: 0,
            events: Vec::new(),
        }
    }

    /// Its number, from zero.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its peer, for datagrams.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// Whether a datagram is for this session and no other.
    #[must_use]
    pub fn peer_claims(&self, from: Remote, bytes: &[u8]) -> bool {
        self.peer.claims(from, bytes)
    }

    /// From where its client has proven itself.
    #[must_use]
    pub fn accepted(&self) -> Vec<Remote> {
        self.peer.accepted()
    }

    /// Its sender, once it has begun.
    #[must_use]
    pub fn sender(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// Ends the stay; the client is told why, if it is still there. Send what [`Self::poll_transmit`] gives.
    pub fn end(&mut self, now: Instant, why: &str) {
        if let Some(channel) = self.farewell {
            // A channel that is gone again leaves nobody to tell.
            let _ = self.peer.send_data(now, channel, &Goodbye::new(why).to_bytes());
        }
        self.peer.close(now);
        self.inputs.end();
        self.clipboard = ClipboardLink::default();
    }

    /// Handles a datagram that is for it.
    pub fn handle(&mut self, datagram: &Received<'_>) {
        let Received { to, ecn, arrival, bytes, .. } = *datagram;
        self.peer.handle_datagram(arrival, datagram.remote(), to, ecn, bytes);
        self.advance(arrival);
    }

    /// Handles what the peer has to say; to be called after datagrams and timeouts.
    pub fn advance(&mut self, now: Instant) {
        while let Some(event) = self.peer.poll_event() {
            self.on_event(now, event);
        }
    }

    /// What is due is done; poll for jobs and datagrams afterwards.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.peer.next_deadline().is_some_and(|due| due <= now) {
            self.peer.handle_timeout(now);
            self.advance(now);
        }
        if let Some(sender) = &mut self.sender {
            sender.on_deadline(now);
        }
        self.inputs.on_deadline(now);
        self.send_clipboard(now);
    }

    /// When [`Self::on_deadline`] and [`Self::transmit`] are due next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let mut sender = self.sender.as_ref().and_then(Sender::next_deadline);
        if self.is_held() {
            sender = sender.map(|due| due.max(self.last_sent.saturating_add(HELD_INTERVAL)));
        }
        let (peer, inputs) = (self.peer.next_deadline(), self.inputs.next_deadline());
        let clipboard = self.clipboard.next_deadline();
        [sender, self.solicit_due(), peer, inputs, clipboard].into_iter().flatten().min()
    }

    /// When a browser is to be asked for a report that the sender waits for.
    fn solicit_due(&self) -> Option<Instant> {
        self.sender.as_ref().filter(|sender| sender.is_blocked())?;
        self.requests.as_ref()?.due_when_blocked()
    }

    /// Something was drawn that is to be captured.
    pub fn on_drawn(&mut self, now: Instant) {
        if let Some(sender) = &mut self.sender {
            sender.on_drawn(now);
        }
    }

    /// A frame to make now, if there is one.
    pub fn poll_job(&mut self) -> Option<Job> {
        let request = self.sender.as_mut()?.poll_encode()?;
        let (negotiated, overhead) = (self.peer.negotiated(), self.overhead);
        let (codec, format) = (negotiated.video_codec, negotiated.video_format);
        let request = self.numbers.within_wrap(codec, request);
        let code = code(negotiated);
        let input = self.inputs.program.newest_change();
        let session = self.number;
        Some(Job { session, codec, format, request, input, hand: None, code, overhead })
    }

    /// A frame of this session is made, or a part of it, or could not be; why, if it could not.
    pub fn on_made(&mut self, now: Instant, made: Made) -> Option<String> {
        let sender = self.sender.as_mut()?;
        if let (Some(photon), Some(watched)) = (&mut self.photon, made.watched) {
            photon.on_made(made.frame, made.timestamp, watched);
        }
        match made.result {
            Ok(Part { payloads, train }) => {
                self.numbers.on_made(made.frame, made.key_frame);
                let (frame, timestamp) = (made.frame, made.timestamp);
                let sizes: Vec<u16> = payloads.iter().map(|one| one.len() as u16).collect();
                self.outbox.put(OutgoingFrame { frame, timestamp, payloads });
                match train {
                    Some(train) => sender.on_encoded(now, &train, made.key_frame),
                    None => sender.on_encoded_part(now, &sizes, made.key_frame),
                }
                None
            }
            Err(why) => {
                sender.on_encoder_failed(now);
                Some(why)
            }
        }
    }

    /// Captures no more frames; what waits still leaves.
    pub fn stop(&mut self, now: Instant) {
        self.end_sound();
        if let Some(sender) = &mut self.sender {
            sender.stop(now);
        }
    }

    /// Hands the packets that are due to the peer; `late` is told when each was due.
    pub fn transmit(&mut self, now: Instant, mut late: impl FnMut(Instant)) {
        while self.may_send(now)
            && let Some(packet) = self.sender.as_mut().and_then(|sender| sender.poll_transmit(now))
        {
            if let Some(sender) = self.sender.as_ref().filter(|_| !self.is_held()) {
                late(sender.last_due());
            }
            self.send(now, &packet);
            self.counts.on_packet(&packet);
            self.note_leaving(&packet);
        }
        if self.solicit_due().is_some_and(|due| due <= now)
            && let Some(packet) = self.sender.as_mut().map(|sender| sender.solicit(now))
        {
            self.send(now, &packet);
        }
        if let Some(sender) = &mut self.sender {
            while let Some(event) = sender.poll_event() {
                self.counts.on(&event);
                self.events.push(SessionEvent::Sender(event));
            }
        }
    }

    fn may_send(&self, now: Instant) -> bool {
        !self.is_held() || now >= self.last_sent.saturating_add(HELD_INTERVAL)
    }

    /// Whether too much is unreported; of a client that never reports nothing can be said.
    fn is_held(&self) -> bool {
        let terms = self.peer.negotiated();
        let reports = terms.congestion_control || terms.transport_cc;
        reports && self.newest_sent.0.saturating_sub(self.reported_end) >= MAX_UNREPORTED
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.peer.poll_transmit()
    }

    /// What a browser's page has told.
    #[must_use]
    pub fn page_counts(&self) -> PageCounts {
        self.page.counts
    }

    /// By how much the clock of a browser's reports is ahead of its page's, once that is known.
    #[must_use]
    pub fn page_offset(&self) -> Option<Duration> {
        self.page.offset()
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<SessionEvent> {
        std::mem::take(&mut self.events)
    }

    fn on_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Connected if self.peer.negotiated().frame.is_none() => self.begin(now),
            Event::ChannelOpened { channel, label } if label == frames::LABEL => {
                self.farewell = Some(channel);
            }
            Event::ChannelOpened { channel, label } if label == photon::CHANNEL => {
                self.greet_photon(now, channel);
            }
            Event::ChannelOpened { channel, label } if label == Hello::CHANNEL => {
                self.farewell = Some(channel);
                if let Some(terms) = &self.terms {
                    let hello = terms.hello.to_bytes();
                    // A channel that is gone again leaves nobody to tell.
                    let _ = self.peer.send_data(now, channel, &hello);
                }
                self.begin(now);
            }
            Event::ChannelOpened { channel, label } if self.plays => {
                self.on_input_channel(now, channel, &label);
            }
            Event::Rtcp { bytes, arrival } => {
                self.on_rtcp(now, &bytes);
                self.answer_reference_time(now, &bytes, arrival);
            }
            Event::Data { label, bytes, channel } => self.on_data(now, channel, &label, &bytes),
            Event::Closed(reason) => {
                self.sender = None;
                self.inputs.end();
                self.clipboard = ClipboardLink::default();
                self.events.push(SessionEvent::Closed(reason));
            }
            _ => {}
        }
    }

    fn on_data(&mut self, now: Instant, channel: u16, label: &str, bytes: &[u8]) {
        match label {
            gameway_input::CHANNEL if self.plays => self.on_input(now, channel, bytes),
            gameway_input::clipboard::CHANNEL => self.on_clipboard(now, channel, bytes),
            photon::CHANNEL => self.on_question(now, channel, bytes),
            frames::LABEL => self.on_page(now, bytes),
            _ => {}
        }
    }

    fn begin(&mut self, now: Instant) {
        let Some(terms) = self.terms.take() else { return };
        let negotiated = self.peer.negotiated();
        let again = if negotiated.nack { negotiated.overhead_again() } else { 0 };
        let packet = self.peer.overhead().unwrap_or_default();
        let code = code(negotiated);
        self.overhead = crate::overhead(packet as u64, code, again as u64, self.mtu);
        let mut config = SenderConfig::new(terms.start.max(now), terms.frame_interval);
        config.code = code;
        if code != RepairCode::None {
            config.repair_share = terms.repair_share;
        }
        config.overhead = self.overhead;
        config.repair = match terms.repair {
            Repair::Adaptive(goal) if !negotiated.nack => Repair::Fec(goal.share),
            Repair::Nack | Repair::Libwebrtc if !negotiated.nack => Repair::None,
            repair => repair,
        };
        config.recovery = terms.recovery;
        config.ladder = terms.ladder;
        if config.repair.sends_again() {
            self.outbox.keep_left();
        }
        config.circuit_breaker = terms.circuit_breaker;
        if negotiated.probe.is_none() {
            config.padding = BROWSER_PADDING;
        }
        self.requests =
            negotiated.reports_on_request.then(|| ReportRequests::new(terms.hello.style()));
        // A browser waits for three seconds before it asks (libwebrtc: the longest wait for a frame), its page for a part of one.
        if negotiated.frame.is_none() {
            config.key_frame_on_loss = true;
            config.request_interval = BROWSER_REQUEST_INTERVAL;
        }
        if terms.audio && negotiated.audio.is_some() {
            self.sound =
                SoundOut::new(config.start, self.peer.audio_overhead().unwrap_or_default());
            config.reserved_rate = self.sound.wire_rate();
        }
        self.sender = Some(Sender::new(config, terms.controller));
        self.events.push(SessionEvent::Began);
    }

    fn on_rtcp(&mut self, now: Instant, compound: &[u8]) {
        let Some(sender) = &mut self.sender else { return };
        let terms = self.peer.negotiated();
        let told = |packet| reports::round_trip(&packet, terms.video_ssrc, now);
        if let Some(round_trip) = rtcp::packets(compound).find_map(told) {
            sender.on_round_trip(now, round_trip);
            self.page_clock.on_round_trip(now, round_trip);
            self.report_clock.on_round_trip(now, round_trip);
        }
        for feedback in self.reports.read(compound, terms, self.newest_sent) {
            let Some(feedback) = self.page.heeded(feedback) else { continue };
            let end = feedback.base.0.saturating_add(feedback.packets.len() as u64);
            self.reported_end = self.reported_end.max(end.min(self.newest_sent.0 + 1));
            self.page.on_report(&feedback);
            if !feedback.packets.is_empty() {
                self.report_clock.on_message(now, feedback.generated);
            }
            if feedback.only_asks() {
                sender.on_asked(now, &feedback.asked, feedback.newest_shown);
            } else if feedback.packets.is_empty() {
                sender.on_key_frame_request(now, feedback.newest_shown);
            } else {
                sender.on_feedback(now, &feedback);
            }
        }
    }

    /// A receiver that says its time knows the round trip by the answer. One for each datagram.
    fn answer_reference_time(&mut self, now: Instant, compound: &[u8], arrival: Instant) {
        let told = rtcp::packets(compound).find_map(|packet| ReferenceTime::of(&packet));
        let ssrc = self.peer.negotiated().video_ssrc;
        let answer = told.map(|told| told.answer(ssrc, now.saturating_since(arrival)));
        if let Some(Ok(bytes)) = answer {
            // Not sent is lost: the receiver says its time again.
            let _ = self.peer.send_rtcp(&bytes);
        }
    }
}
