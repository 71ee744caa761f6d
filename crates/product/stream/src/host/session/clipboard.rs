//! The clipboard's text between a page that plays and the screen that is played.
//!
//! A text leaves beside what the controller allows, so it is paced. One is on its way at a time: what is asked for meanwhile is not answered.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | from part to part | 20 ms | 16 KiB then take 6.6 Mb/s, and the longest text 1.3 s |

use super::Session;
use gameway_input::clipboard::{Assembly, Message, Outcome, parts};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// What a player wants of the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClipboardRequest {
    /// Its text.
    Read,
    /// That this text is in it.
    Give(String),
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct ClipboardLink {
    /// The page's channel, once it is open.
    channel: Option<u16>,
    assembly: Assembly,
    /// Not looked at yet; the newest counts.
    request: Option<ClipboardRequest>,
    /// A wish was looked at, and its answer has not left.
    is_answering: bool,
    answer: VecDeque<Message>,
    next: Instant,
}

impl ClipboardLink {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        (!self.answer.is_empty()).then_some(self.next)
    }

    /// What is answered leaves from now on.
    fn answer(&mut self, now: Instant, told: impl IntoIterator<Item = Message>) {
        self.answer.extend(told);
        self.next = self.next.max(now);
    }

    fn on_message(&mut self, now: Instant, message: Message) {
        match message {
            Message::Ask if !self.is_answering => self.request = Some(ClipboardRequest::Read),
            Message::Part(part) => match self.assembly.on_part(&part) {
                Some(Ok(text)) if !self.is_answering => {
                    self.request = Some(ClipboardRequest::Give(text))
                }
                Some(Err(outcome)) if !self.is_answering => {
                    self.is_answering = true;
                    self.answer(now, [Message::Outcome(outcome)]);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// What is to leave now, if anything is.
    fn take(&mut self, now: Instant) -> Option<Message> {
        if now < self.next {
            return None;
        }
        let message = self.answer.pop_front()?;
        self.next = now.saturating_add(MIN_INTERVAL);
        self.is_answering = !self.answer.is_empty();
        Some(message)
    }
}

impl Session {
    /// What the player wants of the clipboard; to be answered by [`Self::answer_clipboard`].
    pub fn poll_clipboard_request(&mut self) -> Option<ClipboardRequest> {
        let request = self.clipboard.request.take()?;
        self.clipboard.is_answering = true;
        Some(request)
    }

    /// The text that was asked for, or what became of it. Who has asked for nothing is told nothing.
    pub fn answer_clipboard(&mut self, now: Instant, answer: Result<&str, Outcome>) {
        if !self.clipboard.is_answering || !self.clipboard.answer.is_empty() {
            return;
        }
        match answer.map(parts) {
            Ok(Some(parts)) => self.clipboard.answer(now, parts),
            Ok(None) => self.clipboard.answer(now, [Message::Outcome(Outcome::TooLong)]),
            Err(outcome) => self.clipboard.answer(now, [Message::Outcome(outcome)]),
        }
    }

    /// The page has opened its channel.
    pub(super) fn offer_clipboard(&mut self, now: Instant, channel: u16) {
        self.clipboard = ClipboardLink { channel: Some(channel), ..ClipboardLink::default() };
        // A channel that is gone again leaves nobody to tell.
        let _ = self.peer.send_data(now, channel, &Message::Offer.to_bytes());
    }

    pub(super) fn on_clipboard(&mut self, now: Instant, channel: u16, bytes: &[u8]) {
        if self.clipboard.channel == Some(channel)
            && let Some(message) = Message::parse(bytes)
        {
            self.clipboard.on_message(now, message);
        }
    }

    /// Lets the next part leave, if it is due.
    pub(super) fn send_clipboard(&mut self, now: Instant) {
        let Some(channel) = self.clipboard.channel else { return };
        if let Some(message) = self.clipboard.take(now)
            && self.peer.send_data(now, channel, &message.to_bytes()).is_err()
        {
            // What finds no room leaves the next time.
            self.clipboard.answer.push_front(message);
            self.clipboard.is_answering = true;
        }
    }
}
