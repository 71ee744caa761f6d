//! What page and host say to each other of the delay from an input to its picture, as bytes, most significant first.
//!
//! Source: this project's own; `docs/wire-protocol.md` shows the layout.

use gameway_units::Instant;

/// The label of the data channel: unordered, and not repeated by the transport.
pub const CHANNEL: &str = "photon";
const ASKED: [u8; 2] = *b"GQ";
const TOLD: [u8; 2] = *b"GT";
const VERSION: u8 = 1;
const QUESTION: usize = 20;
const HEAD: usize = 28;
const TIMES: usize = 9;
/// Flags of an answer.
const HAS_TIMES: u8 = 1;
const IS_FIRST: u8 = 2;

/// What a page asks: the host's time, and what it knows of an input and of the picture that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The page's time, which comes back.
    pub page_time: u64,
    /// The number of the input's change ([`gameway_input`]); zero is none.
    pub change: u32,
    /// The time stamp of the picture on the wire.
    pub timestamp: u32,
}

/// When what happened between an input's arrival and the departure of its picture, in the order in which it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The input's message had arrived.
    pub arrived: Instant,
    /// It was handed to the screen's server.
    pub injected: Instant,
    /// The program had it.
    pub got: Instant,
    /// The program's answer was on the screen.
    pub drawn: Instant,
    /// The capture of the picture that shows it began.
    pub began: Instant,
    /// The picture was captured.
    pub captured: Instant,
    /// It was encoded, all of it.
    pub encoded: Instant,
    /// Its first packet had left.
    pub first_sent: Instant,
    /// Its last packet had left.
    pub sent: Instant,
}

/// What the host answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Of the question; zero in the greeting.
    pub page_time: u64,
    /// The host's time when it had the question.
    pub host_time: Instant,
    /// Of the question.
    pub change: u32,
    /// Of the question.
    pub timestamp: u32,
    /// What is known of it, once all is.
    pub times: Option<Times>,
    /// Whether no picture before it shows the input.
    pub is_first: bool,
}

impl Question {
    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; QUESTION] = bytes.try_into().ok()?;
        let known = bytes[..2] == ASKED && bytes[2] == VERSION && bytes[3] == 0;
        known.then(|| Self {
            page_time: long(bytes, 4),
            change: word(bytes, 12),
            timestamp: word(bytes, 16),
        })
    }

    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [&ASKED[..], &[VERSION, 0]].concat();
        bytes.extend(self.page_time.to_be_bytes());
        bytes.extend(self.change.to_be_bytes());
        bytes.extend(self.timestamp.to_be_bytes());
        bytes
    }
}

impl Times {
    fn to_array(self) -> [Instant; TIMES] {
        let Self { arrived, injected, got, drawn, began, captured, encoded, first_sent, sent } =
            self;
        [arrived, injected, got, drawn, began, captured, encoded, first_sent, sent]
    }
}

impl Answer {
    /// As it is sent: times in microseconds.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let has_times = if self.times.is_some() { HAS_TIMES } else { 0 };
        let is_first = if self.is_first { IS_FIRST } else { 0 };
        let mut bytes = [&TOLD[..], &[VERSION, has_times | is_first]].concat();
        bytes.extend(self.page_time.to_be_bytes());
        bytes.extend(micros(self.host_time).to_be_bytes());
        bytes.extend(self.change.to_be_bytes());
        bytes.extend(self.timestamp.to_be_bytes());
        let times = self.times.iter().flat_map(|times| times.to_array());
        bytes.extend(times.flat_map(|time| micros(time).to_be_bytes()));
        bytes
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let flags = head[3];
        let size = if flags & HAS_TIMES == 0 { 0 } else { 8 * TIMES };
        let known = head[..2] == TOLD && head[2] == VERSION && flags & !(HAS_TIMES | IS_FIRST) == 0;
        if !known || rest.len() != size {
            return None;
        }
        let time = |bytes: &[u8], at: usize| {
            Instant::from_nanos((long(bytes, at) as i64).saturating_mul(1_000))
        };
        let times = (size > 0).then(|| Times {
            arrived: time(rest, 0),
            injected: time(rest, 8),
            got: time(rest, 16),
            drawn: time(rest, 24),
            began: time(rest, 32),
            captured: time(rest, 40),
            encoded: time(rest, 48),
            first_sent: time(rest, 56),
            sent: time(rest, 64),
        });
        Some(Self {
            page_time: long(head, 4),
            host_time: time(head, 12),
            change: word(head, 20),
            timestamp: word(head, 24),
            times,
            is_first: flags & IS_FIRST != 0,
        })
    }
}

fn micros(time: Instant) -> i64 {
    time.as_nanos().div_euclid(1_000)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) << 32 | u64::from(word(bytes, at + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes to which the page's tests hold as well.
    const VECTORS: &str = include_str!("../tests/photon.json");

    fn hexadecimal(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn at(micros: i64) -> Instant {
        Instant::from_nanos(1_000 * micros)
    }

    fn times(first: i64) -> Times {
        Times {
            arrived: at(first),
            injected: at(first + 1),
            got: at(first + 2),
            drawn: at(first + 3),
            began: at(first + 4),
            captured: at(first + 5),
            encoded: at(first + 6),
            first_sent: at(first + 7),
            sent: at(first + 8),
        }
    }

    #[test]
    fn bytes_are_those_that_the_page_knows() {
        let vectors: serde_json::Value = serde_json::from_str(VECTORS).expect("JSON");
        let question = Question { page_time: 1_500, change: 7, timestamp: 0xFFFE_FDFC };
        assert_eq!(vectors["question"], hexadecimal(&question.to_bytes()));
        let answer = Answer {
            page_time: 1_500,
            host_time: at(-2),
            change: 7,
            timestamp: 0xFFFE_FDFC,
            times: Some(times(1_000_000)),
            is_first: true,
        };
        assert_eq!(vectors["answer"], hexadecimal(&answer.to_bytes()));
        let unknown = Answer { times: None, is_first: false, ..answer };
        assert_eq!(vectors["unknown"], hexadecimal(&unknown.to_bytes()));
    }

    proptest! {
        #[test]
        fn what_is_told_is_heard(
            numbers: (u64, u32, u32), time in -(1_i64 << 50)..1 << 50, has_times: bool, is_first: bool,
        ) {
            let (page_time, change, timestamp) = numbers;
            let question = Question { page_time, change, timestamp };
            prop_assert_eq!(Question::parse(&question.to_bytes()), Some(question));
            let times = has_times.then(|| times(time));
            let host_time = at(time);
            let answer = Answer { page_time, host_time, change, timestamp, times, is_first };
            prop_assert_eq!(Answer::parse(&answer.to_bytes()), Some(answer));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            for head in [&b""[..], b"GQ\x01\0", b"GT\x01\x01", b"GT\x01\x02"] {
                let bytes = [head, &bytes].concat();
                if let Some(question) = Question::parse(&bytes) {
                    prop_assert_eq!(question.to_bytes(), bytes.clone());
                }
                let _ = Answer::parse(&bytes);
            }
        }
    }
}
