//! The player: what is requested when, and what becomes of it.
//!
//! Source: dash.js 5.2.1, `ScheduleController` and `StreamProcessor`; the browser's part from XMLHttpRequest
//! and Media Source Extensions.
//! Model: manifest, initialization segment of the first level, then segments, one request at a time. After
//! each the next follows at once while the buffer has room for a whole segment below its target, else it
//! looks again every half second. Before each segment the rules choose the level; a new level needs its
//! initialization segment, which is not kept. A rise replaces what is buffered at a lower level, beginning with the
//! segment on the screen ("fast switch"), and goes on from there segment by segment; what the browser fetched at that
//! level before it has from its cache (RFC 9111), at once. A download that
//! takes too long is abandoned: the browser closes the connection and opens another.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | buffer target | 18 s; at the highest level 30 s, of videos from 10 min on 60 s | `bufferTimeDefault`, `bufferTimeAtTopQuality`, `bufferTimeAtTopQualityLongForm`, `longFormContentDurationThreshold` |
//! | first level | the highest within 1000 kb/s, else the lowest | `DEFAULT_VIDEO_BITRATE` |
//! | playback begins with | the first segment | `initialBufferLevel` is not set |
//! | looks again after | 500 ms | `scheduling.defaultTimeout` |
//! | replaced from | what is on the screen | `StreamProcessor._prepareForFastQualitySwitch`: it means to go 1.5 segments ahead, but the level that it is given never knows its segments' length (`fragmentDuration` is null), and 1.5 times null is 0. Seen in its log, too |
//! | no rise after an abandonment for | 10 s | `abandonLoadTimeout` |
//! | a request fails after, and is repeated after | 20 s, 1 s | `fragmentRequestTimeout`, `retryIntervals` |
//!
//! | Deviation | Why |
//! |---|---|
//! | the cache keeps all that came whole, for ever | a browser's on disk holds some hundred megabytes, and servers let segments be kept |
//! | no throughput is known from an earlier video (`lastBitrateCachingInfo`) | each run is a fresh browser |
//! | what a script does takes no time | some milliseconds per segment are the machine's, not the network's |
//! | a request may fail any number of times; the manifest's after 20 s, too | after the fourth failure dash.js stops, and a viewer would reload; the manifest's 10 s matter on no link that carries video |

mod event;
mod schedule;
mod settings;
#[cfg(test)]
mod tests;
mod transfer;

pub use event::{Action, Event, Fate, Request, RequestKind, Segment};
pub use settings::{HttpCosts, Settings};

use crate::playback::{Appended, Held, Passed, Playback};
use crate::rules::{Rules, Situation, abandon};
use crate::{Presentation, Throughput};
use gameway_units::{Bytes, Duration, Instant};
use schedule::Schedule;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transfer::Transfer;

/// What a player shows of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PlayerState {
    /// How much there is to play.
    pub buffer: Duration,
    /// How much it wants there to be.
    pub buffer_target: Duration,
    /// Its estimate in kb/s; none before the first segment.
    pub throughput_kbps: Option<f64>,
    /// The level that it fetches, from 0.
    pub level: usize,
    /// Whether BOLA chooses, else throughput.
    pub uses_bola: bool,
    /// Whether it waits for data with nothing to show, once playback has begun.
    pub stalled: bool,
}

/// See the module's head.
#[derive(Debug)]
pub struct Player {
    settings: Settings,
    presentation: Presentation,
    throughput: Throughput,
    rules: Rules,
    playback: Playback,
    schedule: Schedule,
    transfer: Option<Transfer>,
    /// What the browser has of it, should it be asked for again.
    cache: BTreeSet<RequestKind>,
    /// Segments that came and whose fate is open, by request.
    open: BTreeMap<u64, Segment>,
    started: Instant,
    /// Since when it stalls.
    stalled: Option<Instant>,
    playing: bool,
    stopped: bool,
    requests: u64,
    connection: u32,
    actions: VecDeque<Action>,
    events: VecDeque<Event>,
}

impl Player {
    /// A player that asks for the manifest at `start`.
    #[must_use]
    pub fn new(settings: Settings, presentation: Presentation, start: Instant) -> Self {
        let ladder = presentation.ladder();
        let first = ladder.max_within(settings.initial_bitrate.as_bps_f64() / 1e3);
        Self {
            throughput: Throughput::default(),
            rules: Rules::new(settings.strategy, ladder, settings.buffer_target),
            playback: Playback::new(presentation.segment(), presentation.segments()),
            schedule: Schedule::new(start, first),
            transfer: None,
            cache: BTreeSet::new(),
            open: BTreeMap::new(),
            started: start,
            stalled: None,
            playing: false,
            stopped: false,
            requests: 0,
            connection: 0,
            actions: VecDeque::new(),
            events: VecDeque::new(),
            settings,
            presentation,
        }
    }

    /// When it wants [`Player::on_deadline`].
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.stopped {
            return None;
        }
        let transfer = self.transfer.as_ref().map(Transfer::due);
        [self.playback.next_deadline(), self.schedule.timer, transfer].into_iter().flatten().min()
    }

    /// Time has passed.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.stopped {
            return;
        }
        self.play(now);
        self.send_or_give_up(now);
        while self.schedule.timer.is_some_and(|timer| timer <= now) {
            self.look(now);
            self.send_or_give_up(now);
        }
    }

    fn send_or_give_up(&mut self, now: Instant) {
        let Some(transfer) = self.transfer.as_mut().filter(|transfer| transfer.due() <= now) else {
            return;
        };
        if !transfer.is_sent() && self.cache.contains(&transfer.request.kind) {
            transfer.answer_from_cache(now);
            self.complete(now);
        } else if !transfer.is_sent() {
            self.actions.push_back(Action::Send(transfer.send(now)));
        } else if let Some(failed) = self.close(now, Fate::TimedOut(now)) {
            let request = failed.request;
            self.request(now.saturating_add(transfer::REPEATED_AFTER), request.kind, request.body);
        }
    }

    /// `received` bytes of the answer to the present request have arrived, headers included. What comes after an
    /// abandonment must not be told.
    pub fn on_received(&mut self, now: Instant, received: Bytes) {
        self.on_deadline(now);
        let Some(transfer) = self.transfer.as_mut().filter(|it| it.is_sent()) else { return };
        let reported = transfer.on_received(now, received);
        if transfer.is_complete() {
            self.complete(now);
        } else if reported {
            self.abandon_if_slow(now);
        }
        self.on_deadline(now);
    }

    /// It is closed: nothing more is fetched or shown.
    pub fn stop(&mut self, now: Instant) {
        if self.stopped {
            return;
        }
        self.play(now);
        if let Some(transfer) = self.transfer.take() {
            self.settle_transfer(&transfer, Fate::Unfinished);
            self.actions.push_back(Action::Close);
        }
        self.end_stall(now);
        let waiting: Vec<u64> = self.playback.waiting().map(|held| held.request).collect();
        for request in waiting {
            self.settle(request, Fate::Buffered);
        }
        self.stopped = true;
    }

    /// What the driver shall do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Where it stands; call [`Player::on_deadline`] before.
    #[must_use]
    pub fn state(&self, now: Instant) -> PlayerState {
        PlayerState {
            buffer: self.playback.level(now),
            buffer_target: self.buffer_target(),
            throughput_kbps: self.throughput.average(),
            level: self.schedule.level,
            uses_bola: self.rules.uses_bola(),
            stalled: self.stalled.is_some(),
        }
    }

    /// Whether the whole video was shown, or it was stopped.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stopped || self.playback.has_ended()
    }

    fn play(&mut self, now: Instant) {
        while let Some(passed) = self.playback.advance(now) {
            match passed {
                Passed::Displayed { at, held } => self.settle(held.request, Fate::Displayed(at)),
                Passed::Empty => self.rules.bola.on_empty(),
                Passed::Stalled { at } => {
                    self.stalled = Some(at);
                    self.events.push_back(Event::Stalled { at });
                }
                Passed::Ended { at } => self.events.push_back(Event::Ended { at }),
            }
        }
    }

    /// The present request has its whole answer.
    fn complete(&mut self, now: Instant) {
        let Some(transfer) = self.transfer.take() else { return };
        self.cache.insert(transfer.request.kind);
        match transfer.request.kind {
            RequestKind::Manifest => {}
            RequestKind::Initialization { level } => self.schedule.initialized = Some(level),
            RequestKind::Segment { index, level } => {
                self.learn(now, &transfer, index, level);
                self.append(
                    now,
                    &transfer,
                    Held { index, level, request: transfer.request.number },
                );
            }
        }
        self.schedule.timer = Some(now);
    }

    fn learn(&mut self, now: Instant, transfer: &Transfer, index: u64, level: usize) {
        if let Some((amount, time)) = transfer.timing() {
            self.throughput.on_sample(amount, time);
        }
        self.rules.on_buffer_level(self.playback.level(now));
        self.rules.bola.on_request_over(transfer.sent_at(), now);
        let situation =
            situation(now, &self.presentation, &self.throughput, &self.playback, &self.schedule);
        self.rules.bola.on_segment(&situation, index, level);
    }

    fn append(&mut self, now: Instant, transfer: &Transfer, held: Held) {
        self.open.insert(held.request, transfer.segment(held.index, held.level));
        match self.playback.append(now, held) {
            Appended::Grown => self.begin_or_resume(now),
            Appended::Replaced(old) => self.settle(old.request, Fate::Replaced(now)),
            Appended::TooLate => self.settle(held.request, Fate::TooLate),
        }
        self.play(now);
        self.rules.on_appended();
        self.rules.on_buffer_level(self.playback.level(now));
    }

    /// There is something to play: playback begins, or goes on if it stood still.
    fn begin_or_resume(&mut self, now: Instant) {
        if !self.playing {
            self.playing = true;
            let delay = now.saturating_since(self.started);
            self.events.push_back(Event::Started { at: now, delay });
        }
        self.end_stall(now);
    }

    fn end_stall(&mut self, now: Instant) {
        if let Some(since) = self.stalled.take() {
            let lasted = now.saturating_since(since);
            self.events.push_back(Event::Resumed { at: now, lasted });
        }
    }

    fn abandon_if_slow(&mut self, now: Instant) {
        let Some(transfer) = &self.transfer else { return };
        let RequestKind::Segment { index, level } = transfer.request.kind else { return };
        let loading =
            abandon::Loading { level, size: transfer.request.body, progress: transfer.progress };
        let buffer = self.playback.level(now);
        if buffer > self.settings.buffer_target || self.schedule.has_abandoned(index) {
            return;
        }
        let instead = abandon::decide(&loading, &self.presentation, self.schedule.level);
        if let Some(instead) = instead.filter(|instead| *instead != self.schedule.level) {
            self.abandon(now, index, instead);
        }
    }

    fn abandon(&mut self, now: Instant, index: u64, instead: usize) {
        self.rules.on_abandoned();
        self.rules.bola.on_quality_change(instead);
        let _ = self.close(now, Fate::Abandoned(now));
        self.rules.bola.on_abandoned(self.playback.level(now));
        self.schedule.on_abandoned(now, index, instead);
    }

    /// Gives the present request up, and the connection with it; what came of it is a sample.
    fn close(&mut self, now: Instant, fate: Fate) -> Option<Transfer> {
        let transfer = self.transfer.take()?;
        if let RequestKind::Segment { .. } = transfer.request.kind {
            if let Some((amount, time)) = transfer.progress.sample() {
                self.throughput.on_sample(amount, time);
            }
            self.rules.bola.on_request_over(transfer.sent_at(), now);
        }
        self.settle_transfer(&transfer, fate);
        self.actions.push_back(Action::Close);
        self.connection += 1;
        Some(transfer)
    }

    fn settle_transfer(&mut self, transfer: &Transfer, fate: Fate) {
        if let RequestKind::Segment { index, level } = transfer.request.kind {
            let segment = Segment { fate, ..transfer.segment(index, level) };
            self.events.push_back(Event::Segment(segment));
        }
    }

    fn settle(&mut self, request: u64, fate: Fate) {
        if let Some(segment) = self.open.remove(&request) {
            self.events.push_back(Event::Segment(Segment { fate, ..segment }));
        }
    }
}

/// What the rules look at.
fn situation<'a>(
    now: Instant,
    presentation: &'a Presentation,
    throughput: &'a Throughput,
    playback: &Playback,
    schedule: &Schedule,
) -> Situation<'a> {
    Situation {
        now,
        ladder: presentation.ladder(),
        segment: presentation.segment(),
        buffer: playback.level(now),
        empty: playback.is_empty(),
        throughput,
        current: schedule.level,
        settled: schedule.is_settled(now),
    }
}
