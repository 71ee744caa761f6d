//! What host and our own client say to each other beside media, over data channels.
//!
//! | channel | delivery | from | message |
//! |---|---|---|---|
//! | `control` | reliable | host | JSON: how to report, how often frames come; why the host ends the stream |
//! | `input` | unordered, not repeated | client, and answers | [`gameway_input`]: what the player does |

use gameway_control::FeedbackStyle;
use gameway_units::Duration;

/// What a client is told when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Which stay of a client this is at the host, from zero.
    pub session: u32,
    /// Time from frame to frame.
    pub frame_interval_ns: i64,
    /// From report to report; one a frame if not given.
    pub report_interval_ns: Option<i64>,
}

/// Longest interval that a client believes.
const MAX_NS: i64 = 10_000_000_000;

impl Hello {
    /// The channel on which it is said.
    pub const CHANNEL: &str = "control";

    /// For a client that is to report in this style.
    #[must_use]
    pub fn new(session: u32, frame_interval: Duration, style: FeedbackStyle) -> Self {
        let report_interval_ns = match style {
            FeedbackStyle::PerFrame => None,
            FeedbackStyle::Interval(interval) => Some(interval.as_nanos()),
        };
        Self { session, frame_interval_ns: frame_interval.as_nanos(), report_interval_ns }
    }

    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let hello: Self = serde_json::from_slice(bytes).ok()?;
        let sane = |nanos: i64| (1..=MAX_NS).contains(&nanos);
        let fine = sane(hello.frame_interval_ns) && hello.report_interval_ns.is_none_or(sane);
        fine.then_some(hello)
    }

    /// When the client is to report.
    #[must_use]
    pub fn style(&self) -> FeedbackStyle {
        match self.report_interval_ns {
            Some(nanos) => FeedbackStyle::Interval(Duration::from_nanos(nanos)),
            None => FeedbackStyle::PerFrame,
        }
    }
}

/// Why the host ends a stay. A browser's page gets the same on its channel `frames`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goodbye {
    /// In words.
    pub ended: String,
}

/// The longest reason that is believed, in bytes.
const MAX_REASON: usize = 200;

impl Goodbye {
    /// For this reason.
    #[must_use]
    pub fn new(why: &str) -> Self {
        Self { ended: why.to_owned() }
    }

    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// As it was received; `None` if it is none. It is for a terminal: other characters than letters are none of it.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let farewell: Self = serde_json::from_slice(bytes).ok()?;
        let plain = !farewell.ended.chars().any(char::is_control);
        (plain && farewell.ended.len() <= MAX_REASON).then_some(farewell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_comes_back_as_it_was_said() {
        for report_interval_ns in [None, Some(50_000_000)] {
            let hello = Hello { session: 3, frame_interval_ns: 16_666_667, report_interval_ns };
            assert_eq!(Hello::parse(&hello.to_bytes()), Some(hello));
        }
        let refused = [
            &b"{}"[..],
            b"\xff",
            br#"{"session": 0, "frame_interval_ns": 0, "report_interval_ns": null}"#,
            br#"{"session": 0, "frame_interval_ns": 5, "report_interval_ns": -1}"#,
            br#"{"session": 0, "frame_interval_ns": 5, "report_interval_ns": null, "more": 1}"#,
        ];
        for bytes in refused {
            assert_eq!(Hello::parse(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_farewell_comes_back_as_it_was_said_and_moves_no_terminal() {
        let farewell = Goodbye::new("192.0.2.9 took over");
        assert_eq!(Goodbye::parse(&farewell.to_bytes()), Some(farewell));
        for bytes in [&b"{}"[..], br#"{"ended": "\u001b[2J"}"#, br#"{"ended": "a", "more": 1}"#] {
            assert_eq!(Goodbye::parse(bytes), None, "{bytes:?}");
        }
        assert_eq!(Goodbye::parse(&Goodbye::new(&"a".repeat(201)).to_bytes()), None);
    }
}
