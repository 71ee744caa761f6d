//! When what is requested next.
//!
//! Source: dash.js 5.2.1 `ScheduleController._schedule`, `_shouldBuffer`, `getBufferTarget`;
//! `StreamProcessor.prepareQualityChange`; `AbrController.checkPlaybackQuality`.

use super::{Player, Request, RequestKind, situation, transfer::Transfer};
use gameway_units::{Bytes, Duration, Instant};
use std::collections::BTreeSet;

/// dash.js `scheduling.defaultTimeout`.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// dash.js `abandonLoadTimeout`.
const SETTLES_AFTER: Duration = Duration::from_secs(10);

/// Which segment is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The one behind the last requested.
    Following,
    /// The last requested once more.
    Repeat,
    /// This one, whatever the last was.
    At(u64),
}

/// What is to be done, and what it depends on.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// When it looks whether to request something.
    pub timer: Option<Instant>,
    /// The level in use.
    pub level: usize,
    /// The level of the last initialization segment.
    pub initialized: Option<usize>,
    has_manifest: bool,
    /// Whether the rules are asked before the next request.
    asks_rules: bool,
    /// How long the next segment's request is held back.
    wait: Duration,
    next: Next,
    last: Option<u64>,
    settles: Instant,
    /// Segments that were abandoned: none is twice.
    abandoned: BTreeSet<u64>,
}

impl Schedule {
    pub(crate) fn new(start: Instant, level: usize) -> Self {
        Self {
            timer: Some(start),
            level,
            initialized: None,
            has_manifest: false,
            asks_rules: true,
            wait: Duration::ZERO,
            next: Next::Following,
            last: None,
            settles: Instant::ZERO,
            abandoned: BTreeSet::new(),
        }
    }

    pub(crate) fn is_settled(&self, now: Instant) -> bool {
        now >= self.settles
    }

    pub(crate) fn has_abandoned(&self, index: u64) -> bool {
        self.abandoned.contains(&index)
    }

    pub(crate) fn on_abandoned(&mut self, now: Instant, index: u64, instead: usize) {
        self.abandoned.insert(index);
        self.settles = now.saturating_add(SETTLES_AFTER);
        self.level = instead;
        self.next = Next::Repeat;
        self.asks_rules = false;
        self.timer = Some(now);
    }

    fn next_index(&self) -> u64 {
        match (self.next, self.last) {
            (Next::At(index), _) => index,
            (Next::Repeat, Some(last)) => last,
            (_, last) => last.map_or(0, |last| last + 1),
        }
    }
}

impl Player {
    /// The timer has come.
    pub(super) fn look(&mut self, now: Instant) {
        self.schedule.timer = None;
        if !self.schedule.has_manifest {
            self.schedule.has_manifest = true;
            let size = self.settings.http.manifest;
            return self.request(now, RequestKind::Manifest, size);
        }
        if self.schedule.initialized.is_some() && !self.has_room(now) {
            self.schedule.timer = Some(now.saturating_add(LOOK_AGAIN));
        } else if !self.schedule.asks_rules || !self.check_quality(now) {
            self.request_next(now);
        }
    }

    pub(super) fn buffer_target(&self) -> Duration {
        let is_long =
            self.presentation.duration().is_none_or(|length| length >= self.settings.long_video);
        match self.schedule.level == self.presentation.ladder().top() {
            false => self.settings.buffer_target,
            true if is_long => self.settings.long_buffer_target,
            true => self.settings.top_buffer_target,
        }
    }

    /// Whether a whole segment still fits below the target; a target below a segment is for any.
    fn has_room(&self, now: Instant) -> bool {
        let (target, segment) = (self.buffer_target(), self.presentation.segment());
        let more = if target <= segment { Duration::ZERO } else { segment };
        self.playback.level(now).saturating_add(more) < target
    }

    /// Asks the rules. Whether the level changes.
    fn check_quality(&mut self, now: Instant) -> bool {
        let decision = self.rules.decide(&situation(
            now,
            &self.presentation,
            &self.throughput,
            &self.playback,
            &self.schedule,
        ));
        if let Some(wait) = decision.wait {
            self.schedule.wait = wait;
        }
        let Some(level) = decision.level.filter(|level| *level != self.schedule.level) else {
            return false;
        };
        if level > self.schedule.level && !self.schedule.is_settled(now) {
            return false;
        }
        self.change_level(now, level);
        true
    }

    fn change_level(&mut self, now: Instant, level: usize) {
        self.schedule.level = level;
        self.rules.bola.on_quality_change(level);
        let from = self.playback.position(now);
        let buffered_lower = self.playback.held_at(from).is_some_and(|held| held.level < level);
        if self.settings.fast_switch && buffered_lower && self.schedule.is_settled(now) {
            self.schedule.next = Next::At(self.presentation.segment_at(from));
        }
        self.schedule.asks_rules = false;
        self.schedule.timer = Some(now);
    }

    fn request_next(&mut self, now: Instant) {
        let level = self.schedule.level;
        if self.schedule.initialized != Some(level) {
            self.schedule.asks_rules = false;
            let size = self.settings.http.initialization;
            return self.request(now, RequestKind::Initialization { level }, size);
        }
        let index = self.schedule.next_index();
        if self.presentation.segments().is_some_and(|count| index >= count) {
            return;
        }
        self.schedule.asks_rules = true;
        self.schedule.next = Next::Following;
        self.schedule.last = Some(index);
        let wait = std::mem::take(&mut self.schedule.wait);
        let size = self.presentation.size(level, index);
        self.request(now.saturating_add(wait), RequestKind::Segment { index, level }, size);
    }

    pub(super) fn request(&mut self, at: Instant, kind: RequestKind, body: Bytes) {
        let http = self.settings.http;
        let request = Request {
            number: self.requests,
            connection: self.connection,
            kind,
            upload: http.request,
            body,
            download: body.saturating_add(http.response),
        };
        self.requests += 1;
        self.transfer = Some(Transfer::new(request, at));
    }
}
