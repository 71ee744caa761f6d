//! Reports of single frames, which a browser's page sends over a data channel named `frames` (unordered, sent
//! once): browsers report on transport every 60 ms or so, a page knows of each frame.
//!
//! ```text
//! "GF" | version = 1 | number of records | page's time in µs (64 bits)         12 bytes, big endian
//! each: kind | flags | 0 | RTP timestamp | time in µs (64) | detail | missed    24 bytes
//! ```
//!
//! Kind 1: the frame was received, at `time` its last packet came; detail is its size; flag 1 marks a key frame.
//! Kind 2: the frame is presented, `time` is when it is expected on the screen; detail is microseconds of decoding;
//! flag 2 says that the page decodes frames itself, so that the browser's decoder gets none. Missed are pictures since the one before
//! that went to the screen, too, without the browser telling the page of each.
//! Kind 3: frames arrive, but the decoder still waits for a key frame; browsers ask for it by RTCP after seconds only.
//! Kind 4: no frame; the page asks what was sent so far.
//! Times are on the page's own clock, from its own zero. Pages do not learn when a frame's first packet came.

use crate::error::WebrtcError;
use gameway_units::{Duration, ReceiverInstant};

/// The data channel's label.
pub const LABEL: &str = "frames";
const HEAD: usize = 12;
const RECORD: usize = 24;
/// A year: a page is not older.
const MAX_TIME_US: u64 = 366 * 86_400 * 1_000_000;

/// What happened to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameNews {
    /// All of it has arrived.
    Received {
        /// Its encoded size in bytes.
        size: u32,
        /// Whether it is a key frame.
        key_frame: bool,
    },
    /// It goes to the screen.
    Presented {
        /// How long decoding took.
        decoding: Duration,
        /// The page decodes, not the browser.
        by_page: bool,
        /// Pictures before it that went to the screen since the one that was told of.
        missed: u32,
    },
    /// Nothing can be decoded: a key frame, please.
    KeyFrameNeeded,
    /// What was sent so far, please: the sums from which the page's opinion score is made.
    CountsWanted,
}

/// News of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRecord {
    /// Which frame: the timestamp of its RTP packets.
    pub rtp_timestamp: u32,
    /// When.
    pub time: ReceiverInstant,
    /// What.
    pub news: FrameNews,
}

/// A message of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameReports {
    /// When it was made.
    pub generated: ReceiverInstant,
    /// News of frames.
    pub records: Vec<FrameRecord>,
}

fn malformed(problem: &'static str) -> WebrtcError {
    WebrtcError::Malformed { packet: "frame report", problem }
}

impl FrameReports {
    /// Reads a message.
    ///
    /// # Errors
    /// If it is not of this format and version, or its length is not its records', or a time is not plausible.
    pub fn parse(bytes: &[u8]) -> Result<Self, WebrtcError> {
        let (head, records) =
            bytes.split_at_checked(HEAD).ok_or_else(|| malformed("shorter than its head"))?;
        if head[..3] != *b"GF\x01" {
            return Err(malformed("does not begin with GF and version 1"));
        }
        if records.len() != RECORD * usize::from(head[3]) {
            return Err(malformed("its length is not that of its records"));
        }
        let records: Result<_, _> = records.chunks_exact(RECORD).map(record).collect();
        Ok(Self { generated: time(&head[4..12])?, records: records? })
    }

    /// As a page writes it; at most 255 records are taken.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.records.len().min(255);
        let mut bytes = b"GF\x01".to_vec();
        bytes.push(count as u8);
        bytes.extend(microseconds(self.generated));
        for record in &self.records[..count] {
            let (kind, flags, detail, missed) = match record.news {
                FrameNews::Received { size, key_frame } => (1, u8::from(key_frame), size, 0),
                FrameNews::Presented { decoding, by_page, missed } => {
                    (2, u8::from(by_page) << 1, (decoding.as_nanos() / 1_000) as u32, missed)
                }
                FrameNews::KeyFrameNeeded => (3, 0, 0, 0),
                FrameNews::CountsWanted => (4, 0, 0, 0),
            };
            bytes.extend([kind, flags, 0, 0]);
            bytes.extend(record.rtp_timestamp.to_be_bytes());
            bytes.extend(microseconds(record.time));
            bytes.extend(detail.to_be_bytes());
            bytes.extend(missed.to_be_bytes());
        }
        bytes
    }
}

fn microseconds(time: ReceiverInstant) -> [u8; 8] {
    (time.as_nanos().max(0) as u64 / 1_000).to_be_bytes()
}

fn time(bytes: &[u8]) -> Result<ReceiverInstant, WebrtcError> {
    let micros = bytes.try_into().map(u64::from_be_bytes).unwrap_or(u64::MAX);
    if micros > MAX_TIME_US {
        return Err(malformed("a time of more than a year"));
    }
    Ok(ReceiverInstant::from_nanos(micros as i64 * 1_000))
}

fn record(bytes: &[u8]) -> Result<FrameRecord, WebrtcError> {
    let word =
        |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let detail = word(16);
    let news = match bytes[0] {
        1 => FrameNews::Received { size: detail, key_frame: bytes[1] & 1 != 0 },
        2 => FrameNews::Presented {
            decoding: Duration::from_micros(i64::from(detail)),
            by_page: bytes[1] & 2 != 0,
            missed: word(20),
        },
        3 => FrameNews::KeyFrameNeeded,
        4 => FrameNews::CountsWanted,
        _ => return Err(malformed("a kind that is not 1 to 4")),
    };
    Ok(FrameRecord { rtp_timestamp: word(4), time: time(&bytes[8..16])?, news })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> FrameReports {
        let at = ReceiverInstant::from_nanos;
        let received = FrameNews::Received { size: 20_000, key_frame: true };
        let presented = FrameNews::Presented {
            decoding: Duration::from_micros(2_500),
            by_page: true,
            missed: 3,
        };
        FrameReports {
            generated: at(9_000_000),
            records: vec![
                FrameRecord { rtp_timestamp: 0xFFFF_FFFF, time: at(7_000_000), news: received },
                FrameRecord { rtp_timestamp: 1_499, time: at(8_000_000), news: presented },
                FrameRecord { rtp_timestamp: 0, time: at(0), news: FrameNews::KeyFrameNeeded },
                FrameRecord { rtp_timestamp: 0, time: at(0), news: FrameNews::CountsWanted },
            ],
        }
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        assert_eq!(FrameReports::parse(&message().to_bytes()).unwrap(), message());
    }

    #[test]
    fn bad_messages_are_refused_with_a_reason() {
        let good = message().to_bytes();
        let changed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            FrameReports::parse(&bytes).unwrap_err().to_string()
        };
        assert!(changed(0, b'X').contains("GF"));
        assert!(changed(2, 2).contains("version 1"));
        assert!(changed(3, 5).contains("length"));
        assert!(changed(4, 0xFF).contains("year"));
        assert!(changed(12, 7).contains("kind"));
        assert!(changed(20, 0x80).contains("year"));
        for length in 0..good.len() {
            assert!(FrameReports::parse(&good[..length]).is_err());
        }
    }
}
