//! A client's stay at a host, sans-IO: packets become frames to decode, and reports go back.
//!
//! The stream's receiver is the simulator's; here its packets are read from RTP, its reports become RFC 8888
//! and a picture loss indication, and the payloads of frames are kept until they are to be decoded.

use crate::client::sound_inbox::{Play, SoundCounts, SoundInbox};
use crate::control::{Goodbye, Hello};
use crate::inbox::{Inbox, IncomingFrame};
use gameway_codec::decoder;
use gameway_codec::payload;
use gameway_control::{FeedbackStyle, FrameId};
use gameway_input::{Acknowledgement, Key, Player, Switch};
use gameway_session::{FeedbackPacket, MediaPacket, Receiver, ReceiverConfig, ReceiverEvent};
use gameway_units::{Instant, ReceiverInstant};
use gameway_webrtc::feedback;
use gameway_webrtc::frame_extension::MediaPacketReader;
use gameway_webrtc::{
    CloseReason, Delivery, Event, Extensions, Peer, RtpHeader, Transmit, WebrtcError,
};

/// What the scripted player presses.
const SCRIPTED_KEY: &str = "Space";
/// Our number in reports; a host has one client.
const REPORTER_SSRC: u32 = 1;

/// What a session tells its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// Media may flow.
    Connected,
    /// The host counts this stay so.
    Session(u32),
    /// Enough packets of a frame arrived.
    Complete(FrameId, Instant),
    /// Whole slices of a frame are there, the next in order; more will come.
    Begin(FrameId, Vec<Vec<u8>>),
    /// A frame is to be decoded: the rest of it, if it was begun.
    Decode(FrameId, IncomingFrame),
    /// A frame will not be decoded; so many packets of it arrived.
    GivenUp(FrameId, u16),
    /// Sound is to be decoded, or concealed.
    Sound(Play),
    /// A key frame was asked for.
    KeyFrameRequested(Instant),
    /// A frame was asked for that refers to one which was shown.
    ReferenceRequested(Instant),
    /// The picture stood still for longer than the stall limit, and moves again.
    Stall(Instant, gameway_units::Duration),
    /// The host ends the stream, for this reason.
    Goodbye(String),
    /// It is over.
    Closed(CloseReason),
}

/// See the module's head.
pub struct ClientSession {
    peer: Peer,
    receiver: Receiver,
    reader: MediaPacketReader,
    inbox: Inbox,
    /// The frame that was decoded last.
    decoded: Option<FrameId>,
    sound: SoundInbox,
    report: FeedbackPacket,
    input_channel: u16,
    player: Player,
    events: Vec<ClientEvent>,
}

/// Time of this machine as the receiver's own.
fn own(now: Instant) -> ReceiverInstant {
    ReceiverInstant::from_nanos(now.as_nanos())
}

fn ours(at: ReceiverInstant) -> Instant {
    Instant::from_nanos(at.as_nanos())
}

impl ClientSession {
    /// A stay that begins with this peer, whose offer is on its way.
    ///
    /// # Errors
    /// If the peer takes no channels.
    pub fn new(mut peer: Peer) -> Result<Self, WebrtcError> {
        peer.open_channel(Hello::CHANNEL, Delivery::RELIABLE)?;
        let input_channel = peer.open_channel(gameway_input::CHANNEL, Delivery::UNRELIABLE)?;
        Ok(Self {
            peer,
            receiver: Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame)),
            reader: MediaPacketReader::default(),
            inbox: Inbox::default(),
            decoded: None,
            sound: SoundInbox::default(),
            report: FeedbackPacket::default(),
            input_channel,
            player: Player::default(),
            events: Vec::new(),
        })
    }

    /// Its peer, for datagrams.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// Handles what the peer has to say, and reports; to be called after datagrams.
    pub fn advance(&mut self, now: Instant) {
        while let Some(event) = self.peer.poll_event() {
            self.on_event(event);
        }
        self.tell_input(now);
        self.report(now);
        self.drain(now);
        let sound = &mut self.sound;
        self.events.extend(std::iter::from_fn(|| sound.poll(now)).map(ClientEvent::Sound));
    }

    /// What is due is done.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.peer.next_deadline().is_some_and(|due| due <= now) {
            self.peer.handle_timeout(now);
        }
        self.advance(now);
    }

    /// When [`Self::on_deadline`] is due next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let receiver = self.receiver.next_deadline().map(ours);
        let sound = self.sound.next_deadline();
        let player = self.player.next_deadline().filter(|_| self.peer.is_connected());
        [receiver, sound, player, self.peer.next_deadline()].into_iter().flatten().min()
    }

    /// The scripted player presses its key, or releases it; the number of this change.
    pub fn input(&mut self, now: Instant) -> Option<u32> {
        let key = Switch::Key(Key::named(SCRIPTED_KEY)?);
        let number = self.player.press(key).or_else(|| self.player.release(key));
        self.tell_input(now);
        number
    }

    fn tell_input(&mut self, now: Instant) {
        if self.peer.is_connected()
            && let Some(message) = self.player.poll(now)
        {
            // Not sent is lost: it is repeated.
            let _ = self.peer.send_data(now, self.input_channel, &message.to_bytes());
        }
    }

    /// What became of packets of sound.
    #[must_use]
    pub fn sound_counts(&self) -> SoundCounts {
        self.sound.counts()
    }

    /// A frame could not be decoded.
    pub fn on_undecodable(&mut self, now: Instant) {
        self.receiver.on_undecodable(own(now));
        self.advance(now);
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.peer.poll_transmit()
    }

    /// What happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<ClientEvent> {
        std::mem::take(&mut self.events)
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => {
                if self.peer.negotiated().nack {
                    self.receiver.ask_for_missing();
                }
                if decoder::passes_over(self.peer.negotiated().video_codec) {
                    self.receiver.tell_what_was_shown();
                }
                self.events.push(ClientEvent::Connected);
            }
            Event::Rtp { header, extensions, payload, ecn, arrival } => {
                let negotiated = self.peer.negotiated();
                if self.sound.take(negotiated, &header, &payload, arrival) {
                    return;
                }
                let Some((packet, payload)) = self.of_video(&header, &extensions, &payload) else {
                    return;
                };
                self.inbox.put(&packet, payload.to_vec());
                self.receiver.on_packet(own(arrival), &packet, ecn);
                self.drain(arrival);
                self.begin(&packet);
            }
            Event::Data { label, bytes, .. } if label == Hello::CHANNEL => {
                if let Some(hello) = Hello::parse(&bytes) {
                    self.receiver.report_as(hello.style());
                    self.events.push(ClientEvent::Session(hello.session));
                } else if let Some(farewell) = Goodbye::parse(&bytes) {
                    self.events.push(ClientEvent::Goodbye(farewell.ended));
                }
            }
            Event::Data { label, bytes, .. } if label == gameway_input::CHANNEL => {
                if let Some(answer) = Acknowledgement::parse(&bytes) {
                    self.player.on_acknowledgement(&answer);
                }
            }
            Event::Closed(reason) => self.events.push(ClientEvent::Closed(reason)),
            _ => {}
        }
    }

    /// The packet of a frame that an RTP packet carries, and its payload.
    fn of_video<'a>(
        &mut self,
        header: &RtpHeader,
        extensions: &Extensions,
        payload: &'a [u8],
    ) -> Option<(MediaPacket, &'a [u8])> {
        let (frame, terms) = (extensions.frame?, self.peer.negotiated());
        if terms.nack && header.ssrc == terms.rtx_ssrc {
            return self.reader.read_again(&frame, payload);
        }
        let own = header.ssrc == terms.video_ssrc && frame.again.is_none();
        own.then(|| (self.reader.read(header.sequence_number, &frame, payload.len()), payload))
    }

    /// What is there of the frame that is decoded next is decoded while the rest is on its way.
    fn begin(&mut self, packet: &MediaPacket) {
        let frame = packet.frame;
        let follows = self.decoded.is_some_and(|decoded| frame.0 == decoded.0 + 1);
        let decodable = packet.key_frame || follows && packet.refers_back == 1;
        if packet.is_of_frame() && decodable && frame == self.receiver.next_undecided() {
            let codec = self.peer.negotiated().video_codec;
            let slices = self.inbox.give(frame, |payload| payload::ends_unit(codec, payload));
            if !slices.is_empty() {
                self.events.push(ClientEvent::Begin(frame, slices));
            }
        }
    }

    fn report(&mut self, now: Instant) {
        while self.receiver.poll_feedback(own(now), &mut self.report) {
            let terms = self.peer.negotiated();
            let compounds = feedback::write_report(&self.report, REPORTER_SSRC, terms);
            for compound in compounds.into_iter().flatten() {
                // What cannot be sent is lost, as on the way.
                let _ = self.peer.send_rtcp(&compound);
            }
        }
    }

    fn drain(&mut self, now: Instant) {
        while let Some(event) = self.receiver.poll_event() {
            let event = match event {
                ReceiverEvent::FrameComplete { frame, at } => {
                    ClientEvent::Complete(frame, ours(at))
                }
                ReceiverEvent::FrameShown { frame, .. } => {
                    self.decoded = Some(frame);
                    ClientEvent::Decode(frame, self.inbox.take(frame))
                }
                ReceiverEvent::FramesLost { first, last, .. }
                | ReceiverEvent::FramesUndecodable { first, last, .. } => {
                    // Those that no packet told of are not worth a row each.
                    let first = first.0.max(last.0.saturating_sub(crate::inbox::WINDOW));
                    for frame in (first..last.0).map(FrameId) {
                        let received = self.inbox.give_up(frame);
                        self.events.push(ClientEvent::GivenUp(frame, received));
                    }
                    ClientEvent::GivenUp(last, self.inbox.give_up(last))
                }
                ReceiverEvent::KeyFrameRequested { newest_shown: None, .. } => {
                    ClientEvent::KeyFrameRequested(now)
                }
                ReceiverEvent::KeyFrameRequested { .. } => ClientEvent::ReferenceRequested(now),
                ReceiverEvent::Stall { at, pause } => ClientEvent::Stall(ours(at), pause),
            };
            self.events.push(event);
        }
    }
}
