//! One request and its answer so far.

use super::{Fate, Request, Segment};
use crate::rules::abandon::Progress;
use gameway_units::{Bytes, Duration, Instant};

/// dash.js `fragmentRequestTimeout`.
const FAILS_AFTER: Duration = Duration::from_secs(20);
/// dash.js `retryIntervals` of media and initialization segments.
pub(super) const REPEATED_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub request: Request,
    /// When it shall be sent.
    asked: Instant,
    sent: Option<Instant>,
    first_byte: Option<Instant>,
    complete: Option<Instant>,
    received: Bytes,
    cached: bool,
    pub progress: Progress,
}

impl Transfer {
    pub(crate) fn new(request: Request, asked: Instant) -> Self {
        Self {
            request,
            asked,
            sent: None,
            first_byte: None,
            complete: None,
            received: Bytes::ZERO,
            cached: false,
            progress: Progress::default(),
        }
    }

    /// When it is to be sent; once it is, when it fails.
    pub(crate) fn due(&self) -> Instant {
        self.sent.map_or(self.asked, |sent| sent.saturating_add(FAILS_AFTER))
    }

    pub(crate) fn send(&mut self, now: Instant) -> Request {
        self.sent = Some(now);
        self.request
    }

    /// The browser has the answer from before: it takes no time, and nothing comes over the network.
    pub(crate) fn answer_from_cache(&mut self, now: Instant) {
        self.cached = true;
        self.received = self.request.download;
        (self.sent, self.first_byte, self.complete) = (Some(now), Some(now), Some(now));
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    pub(crate) fn sent_at(&self) -> Instant {
        self.sent.unwrap_or(self.asked)
    }

    /// `received` bytes of the answer have arrived. Gives whether a script is told of progress now.
    pub(crate) fn on_received(&mut self, now: Instant, received: Bytes) -> bool {
        let Request { download, body, .. } = self.request;
        self.received = self.received.max(received.min(download));
        if self.received == Bytes::ZERO {
            return false;
        }
        self.first_byte.get_or_insert(now);
        if self.is_complete() {
            self.complete = Some(now);
        }
        let headers = download.saturating_sub(body);
        self.progress.on_received(now, self.received.saturating_sub(headers))
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.received >= self.request.download
    }

    /// All bytes of the answer, and the time from its first to its last: none of one from the cache.
    pub(crate) fn timing(&self) -> Option<(Bytes, Duration)> {
        let time = self.complete?.saturating_since(self.first_byte?);
        Some((self.request.download, time))
    }

    /// As a segment whose fate is open.
    pub(crate) fn segment(&self, index: u64, level: usize) -> Segment {
        let Request { download, body, number, .. } = self.request;
        let received = self.received.saturating_sub(download.saturating_sub(body));
        Segment {
            request: number,
            index,
            level,
            size: body,
            received: if self.cached { Bytes::ZERO } else { received },
            requested: self.sent,
            first_byte: self.first_byte,
            complete: self.complete,
            fate: Fate::Unfinished,
        }
    }
}
