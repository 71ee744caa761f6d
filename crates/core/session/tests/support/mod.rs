//! A sender and a receiver joined by a path that does to each packet what a test says, in virtual time;
//! and a controller that wants what a test says and writes down what it is told.

#![allow(dead_code, reason = "not every test file needs all of it")]

use gameway_control::{
    FeedbackBatch, FeedbackStyle, FrameId, FrameSent, Pacing, PacketReport, RateController,
    SentPacket, Target,
};
use gameway_media::EncoderModel;
use gameway_session::{
    FeedbackPacket, MediaPacket, Receiver, ReceiverConfig, ReceiverEvent, Sender, SenderConfig,
    SenderEvent,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, ReceiverInstant};
use std::collections::BTreeMap;
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

/// Something under way.
enum Flying {
    Media(MediaPacket),
    Feedback(FeedbackPacket),
}

/// What becomes of a packet: an entry for each copy that arrives, with its extra delay.
pub type Fate = Vec<Duration>;
/// Decides it.
pub type MediaFate = Box<dyn FnMut(Instant, &MediaPacket) -> Fate>;
/// Decides it for reports.
pub type FeedbackFate = Box<dyn FnMut(Instant, &FeedbackPacket) -> Fate>;

pub fn arrives() -> Fate {
    vec![Duration::ZERO]
}
pub fn lost() -> Fate {
    Vec::new()
}

/// The loop: sender, path there, receiver, path back.
pub struct Loop {
    pub sender: Sender,
    encoder: EncoderModel,
    pub receiver: Receiver,
    pub told: Arc<Mutex<Told>>,
    pub now: Instant,
    pub one_way: Duration,
    flying: BTreeMap<(Instant, u64), Flying>,
    launched: u64,
    pub media_fate: MediaFate,
    pub feedback_fate: FeedbackFate,
    pub packets: Vec<(Instant, MediaPacket)>,
    pub feedback: Vec<(Instant, FeedbackPacket)>,
    pub sender_events: Vec<SenderEvent>,
    pub receiver_events: Vec<ReceiverEvent>,
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
        Self { told, ..Self::controlled(Box::new(controller), style, config) }
    }

    /// With a controller that writes nothing down.
    pub fn controlled(
        controller: Box<dyn RateController>,
        style: FeedbackStyle,
        config: SenderConfig,
    ) -> Self {
        Self {
            sender: Sender::new(config, controller),
            encoder: EncoderModel::steady(INTERVAL),
            receiver: Receiver::new(ReceiverConfig::new(style)),
            told: Arc::default(),
            now: Instant::ZERO,
            one_way: ONE_WAY,
            flying: BTreeMap::new(),
            launched: 0,
            media_fate: Box::new(|_, _| arrives()),
            feedback_fate: Box::new(|_, _| arrives()),
            packets: Vec::new(),
            feedback: Vec::new(),
            sender_events: Vec::new(),
            receiver_events: Vec::new(),
        }
    }

    pub fn plain() -> Self {
        Self::new(plain_target(), FeedbackStyle::PerFrame, |_| {})
    }

    /// Runs so long, then stops the sender and lets everything under way arrive.
    pub fn run(&mut self, span: Duration) {
        self.run_until(self.now + span);
        self.sender.stop(self.now);
        self.run_until(self.now + Duration::from_secs(5));
    }

    pub fn run_until(&mut self, end: Instant) {
        loop {
            let flying = self.flying.keys().next().map(|&(at, _)| at);
            let receiver = self.receiver.next_deadline().map(on_sender);
            let next = [flying, self.sender.next_deadline(), receiver].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
            assert!(next >= self.now || receiver != Some(next), "a deadline in the past: {next}");
            self.now = self.now.max(next);
            self.step();
        }
        self.now = end;
    }

    fn step(&mut self) {
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Flying::Media(packet) => {
                    self.receiver.on_packet(on_receiver(self.now), &packet, Ecn::Ect1);
                }
                Flying::Feedback(report) => self.sender.on_feedback(self.now, &report),
            }
            self.pump();
        }
        self.sender.on_deadline(self.now);
        self.sender.encode_with(self.now, &mut self.encoder);
        self.pump();
    }

    fn pump(&mut self) {
        while let Some(packet) = self.sender.poll_transmit(self.now) {
            self.packets.push((self.now, packet));
            let fate = (self.media_fate)(self.now, &packet);
            for extra in fate {
                self.launch(extra, Flying::Media(packet));
            }
        }
        let mut report = FeedbackPacket::default();
        while self.receiver.poll_feedback(on_receiver(self.now), &mut report) {
            self.feedback.push((self.now, report.clone()));
            let fate = (self.feedback_fate)(self.now, &report);
            for extra in fate {
                self.launch(extra, Flying::Feedback(report.clone()));
            }
        }
        self.sender_events.extend(std::iter::from_fn(|| self.sender.poll_event()));
        self.receiver_events.extend(std::iter::from_fn(|| self.receiver.poll_event()));
    }

    fn launch(&mut self, extra: Duration, what: Flying) {
        self.launched += 1;
        self.flying.insert((self.now + self.one_way + extra, self.launched), what);
    }

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
