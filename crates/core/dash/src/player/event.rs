//! What a player asks for and tells.

use gameway_units::{Bytes, Duration, Instant};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// The manifest.
    Manifest,
    /// What a decoder needs before segments of a level.
    Initialization {
        /// From 0, the lowest.
        level: usize,
    },
    /// A piece of the video.
    Segment {
        /// Its place in the video, from 0.
        index: u64,
        /// From 0, the lowest.
        level: usize,
    },
}

/// A request over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Numbers rise from 0; those that the browser's cache answers are not sent.
    pub number: u64,
    /// The connection that it goes over, from 0; one more after each [`Action::Close`].
    pub connection: u32,
    /// For what.
    pub kind: RequestKind,
    /// Bytes of the request.
    pub upload: Bytes,
    /// Bytes of the answer's body.
    pub body: Bytes,
    /// Bytes of the answer, headers and body.
    pub download: Bytes,
}

/// What the driver shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send it; open its connection before if it is a new one.
    Send(Request),
    /// Close the connection, whatever is under way on it.
    Close,
}

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It came on the screen.
    Displayed(Instant),
    /// Another level took its place in the buffer.
    Replaced(Instant),
    /// It should have replaced one that was on the screen by then.
    TooLate,
    /// Its download was given up.
    Abandoned(Instant),
    /// Its request failed for its age, and is repeated.
    TimedOut(Instant),
    /// It was in the buffer at the end.
    Buffered,
    /// It was being fetched at the end.
    Unfinished,
}

/// A segment's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// Its request.
    pub request: u64,
    /// Its place in the video, from 0.
    pub index: u64,
    /// From 0, the lowest.
    pub level: usize,
    /// Bytes of its body.
    pub size: Bytes,
    /// Those that came; none if the browser had it in its cache.
    pub received: Bytes,
    /// When it was asked for; none if the end came before.
    pub requested: Option<Instant>,
    /// When the answer began to come.
    pub first_byte: Option<Instant>,
    /// When all was there.
    pub complete: Option<Instant>,
    /// What became of it.
    pub fate: Fate,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Playback began.
    Started {
        /// When.
        at: Instant,
        /// Time since the player began.
        delay: Duration,
    },
    /// Nothing is left to show: an interruption begins.
    Stalled {
        /// When.
        at: Instant,
    },
    /// An interruption is over, or the player was stopped in it.
    Resumed {
        /// When.
        at: Instant,
        /// How long it was.
        lasted: Duration,
    },
    /// The fate of a segment is known.
    Segment(Segment),
    /// All was shown.
    Ended {
        /// When.
        at: Instant,
    },
}
