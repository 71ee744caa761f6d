//! A sender and a receiver on the test network, whose path does to each packet what a test says;
//! and a controller that wants what a test says and writes down what it is told.

use gameway_control::{
    FeedbackBatch, FeedbackStyle, FrameId, FrameSent, Pacing, PacketReport, RateController,
    SentPacket, Target,
};
use gameway_media::EncoderModel;
use gameway_session::{
    FeedbackPacket, MediaPacket, Receiver, ReceiverConfig, ReceiverEvent, Sender, SenderConfig,
    SenderEvent,
};
use gameway_testbed::{Fates, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, ReceiverInstant};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

pub const INTERVAL: Duration = Duration::from_nanos(16_666_667);
pub const ONE_WAY: Duration = Duration::from_millis(8);
/// The receiver's clock is ahead: nothing may depend on the two clocks being one.
const CLOCK_OFFSET: i64 = 1_000_000_000_000;

pub fn ms(millis: i64) -> Duration {
    Duration::from_millis(millis)
}

pub fn on_receiver(now: Instant) -> ReceiverInstant {
    ReceiverInstant::from_nanos(now.as_nanos() + CLOCK_OFFSET)
}

pub fn on_sender(now: ReceiverInstant) -> Instant {
    Instant::from_nanos(now.as_nanos() - CLOCK_OFFSET)
}

/// What the controller was told.
#[derive(Debug, Default)]
pub struct Told {
    pub frames: Vec<FrameSent>,
    pub sent: Vec<SentPacket>,
    /// Each batch with bytes in flight after it.
    pub batches: Vec<(Instant, Vec<PacketReport>, Bytes)>,
}

impl Told {
    pub fn reports(&self) -> impl Iterator<Item = &PacketReport> {
        self.batches.iter().flat_map(|(_, reports, _)| reports)
    }
}

/// Wants always the same.
pub struct Scripted {
    pub target: Target,
    /// Whether frames leave while they are being encoded.
    pub in_parts: bool,
    told: Arc<Mutex<Told>>,
}

impl Scripted {
    pub fn new(target: Target) -> (Self, Arc<Mutex<Told>>) {
        let told = Arc::new(Mutex::new(Told::default()));
        (Self { target, in_parts: false, told: Arc::clone(&told) }, told)
    }
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap()
    }
}

impl RateController for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }
    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }
    fn sends_in_parts(&self) -> bool {
        self.in_parts
    }
    fn on_frame(&mut self, _now: Instant, frame: &FrameSent) {
        self.told().frames.push(*frame);
    }
    fn on_sent(&mut self, _now: Instant, packet: &SentPacket) {
        self.told().sent.push(*packet);
    }
    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        self.told().batches.push((now, batch.reports.to_vec(), batch.in_flight));
    }
    fn on_timer(&mut self, _now: Instant) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn target(&self) -> Target {
        self.target
    }
    fn observe(&self, _sink: &mut dyn FnMut(&str, f64)) {}
}

/// 12 Mb/s, spread over 80% of the frame interval: about 21 packets a frame.
pub fn plain_target() -> Target {
    Target::new(Rate::from_mbps(12), Pacing::FrameMultiplier(1.25))
}

/// Sender and receiver, and what was seen of them.
pub struct Ends {
    pub sender: Sender,
    encoder: EncoderModel,
    pub receiver: Receiver,
    pub told: Arc<Mutex<Told>>,
    pub packets: Vec<(Instant, MediaPacket)>,
    pub feedback: Vec<(Instant, FeedbackPacket)>,
    pub sender_events: Vec<SenderEvent>,
    pub receiver_events: Vec<ReceiverEvent>,
}

impl gameway_testbed::Ends for Ends {
    type Down = MediaPacket;
    type Up = FeedbackPacket;

    fn on_down(&mut self, now: Instant, packet: MediaPacket) {
        self.receiver.on_packet(on_receiver(now), &packet, Ecn::Ect1);
    }
    fn on_up(&mut self, now: Instant, report: FeedbackPacket) {
        self.sender.on_feedback(now, &report);
        self.sender.encode_with(now, &mut self.encoder);
    }
    fn next_deadline(&self) -> Option<Instant> {
        let receiver = self.receiver.next_deadline().map(on_sender);
        Instant::first_of([self.sender.next_deadline(), receiver])
    }
    fn on_deadline(&mut self, now: Instant) {
        self.sender.on_deadline(now);
        self.sender.encode_with(now, &mut self.encoder);
    }
    fn poll_down(&mut self, now: Instant) -> Option<MediaPacket> {
        let packet = self.sender.poll_transmit(now)?;
        self.packets.push((now, packet));
        Some(packet)
    }
    fn poll_up(&mut self, now: Instant) -> Option<FeedbackPacket> {
        self.sender_events.extend(std::iter::from_fn(|| self.sender.poll_event()));
        let mut report = FeedbackPacket::default();
        let made = self.receiver.poll_feedback(on_receiver(now), &mut report);
        self.receiver_events.extend(std::iter::from_fn(|| self.receiver.poll_event()));
        made.then(|| {
            self.feedback.push((now, report.clone()));
            report
        })
    }
}

/// The loop: sender, path there, receiver, path back.
pub struct Loop(Testbed<Ends, Fates<MediaPacket, FeedbackPacket>>);

impl Deref for Loop {
    type Target = Testbed<Ends, Fates<MediaPacket, FeedbackPacket>>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Loop {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Loop {
    pub fn new(
        target: Target,
        style: FeedbackStyle,
        configure: impl FnOnce(&mut SenderConfig),
    ) -> Self {
        let (controller, told) = Scripted::new(target);
        let mut config = SenderConfig::new(Instant::ZERO, INTERVAL);
        configure(&mut config);
        let mut stream = Self::controlled(Box::new(controller), style, config);
        stream.told = told;
        stream
    }

    /// With a controller that writes nothing down.
    pub fn controlled(
        controller: Box<dyn RateController>,
        style: FeedbackStyle,
        config: SenderConfig,
    ) -> Self {
        let ends = Ends {
            encoder: EncoderModel::steady(INTERVAL),
            receiver: Receiver::new(ReceiverConfig {
                repair: config.repair,
                ..ReceiverConfig::new(style)
            }),
            sender: Sender::new(config, controller),
            told: Arc::default(),
            packets: Vec::new(),
            feedback: Vec::new(),
            sender_events: Vec::new(),
            receiver_events: Vec::new(),
        };
        Self(Testbed::new(Fates::new(ONE_WAY), vec![ends]))
    }

    pub fn plain() -> Self {
        Self::new(plain_target(), FeedbackStyle::PerFrame, |_| {})
    }

    /// Runs so long, then stops the sender and lets everything under way arrive.
    pub fn run(&mut self, span: Duration) {
        self.run_for(span);
        let now = self.now;
        self.sender.stop(now);
        self.run_for(Duration::from_secs(5));
    }
}

impl Ends {
    /// When each frame was captured.
    pub fn captured(&self) -> BTreeMap<FrameId, Instant> {
        let encoded = self.sender_events.iter().filter_map(|event| match *event {
            SenderEvent::FrameEncoded { frame, captured, .. } => Some((frame, captured)),
            _ => None,
        });
        encoded.collect()
    }

    /// When each frame that the player saw was shown.
    pub fn shown(&self) -> BTreeMap<FrameId, Instant> {
        let shown = self.receiver_events.iter().filter_map(|event| match *event {
            ReceiverEvent::FrameShown { frame, at } => Some((frame, on_sender(at))),
            _ => None,
        });
        shown.collect()
    }

    pub fn key_frames(&self) -> Vec<FrameId> {
        let encoded = self.sender_events.iter().filter_map(|event| match *event {
            SenderEvent::FrameEncoded { frame, key_frame: true, .. } => Some(frame),
            _ => None,
        });
        encoded.collect()
    }

    pub fn requests(&self) -> usize {
        let request =
            |event: &&ReceiverEvent| matches!(event, ReceiverEvent::KeyFrameRequested { .. });
        self.receiver_events.iter().filter(request).count()
    }

    /// Every frame number that was decided, in the order in which that happened.
    pub fn decided(&self) -> Vec<u64> {
        let range = |event: &ReceiverEvent| match *event {
            ReceiverEvent::FrameShown { frame, .. } => Some(frame.0..=frame.0),
            ReceiverEvent::FramesLost { first, last, .. }
            | ReceiverEvent::FramesUndecodable { first, last, .. } => Some(first.0..=last.0),
            _ => None,
        };
        self.receiver_events.iter().filter_map(range).flatten().collect()
    }

    /// Every encoded frame was decided exactly once, but for those at the end that nothing told of.
    pub fn assert_frames_conserved(&self) {
        let decided = self.decided();
        let undecided_from = self.receiver.next_undecided().0;
        assert_eq!(decided, (0..undecided_from).collect::<Vec<_>>());
        assert!(undecided_from <= self.captured().len() as u64);
    }
}
