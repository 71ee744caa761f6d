//! The clipboard's text between the player's device and the program's screen, as bytes, most significant first.
//!
//! Source: this project's own; `docs/wire-protocol.md` shows the layout.
//! Model: nothing goes by itself. The player's end asks for the text, or gives one; the program's end answers each, with the text or with an
//! [`Outcome`]. A text goes in parts on a channel that keeps their order and loses none. Neither end keeps more than one text of the other's.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | longest text | 1 MiB in UTF-8 | a book; what a data channel may have waiting |
//! | bytes of a part | 16 KiB | every browser takes messages of 64 KiB; a smaller part delays others on the wire for less |

const MAGIC: [u8; 2] = *b"GC";
const VERSION: u8 = 1;
const HEAD: usize = 4;
const PART_HEAD: usize = 12;
const PART: usize = 16_384;
/// The longest text, in bytes of UTF-8.
pub const MAX_TEXT: usize = 1 << 20;
/// The label of the data channel: in order, and repeated until it arrives.
pub const CHANNEL: &str = "clipboard";

/// What became of what the player's end wanted, where it is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// The program can paste the text that was given.
    Taken = 0,
    /// Nobody has put text there.
    Nothing = 1,
    /// It is longer than [`MAX_TEXT`].
    TooLong = 2,
    /// It is no UTF-8.
    NoText = 3,
    /// The program that has it does not give it.
    NoAnswer = 4,
    /// There is no clipboard any more.
    Gone = 5,
}

impl Outcome {
    const ALL: [Self; 6] =
        [Self::Taken, Self::Nothing, Self::TooLong, Self::NoText, Self::NoAnswer, Self::Gone];
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Bytes of the whole text.
    pub total: u32,
    /// Bytes ahead of this part.
    pub offset: u32,
    /// Its own: none only of an empty text.
    pub bytes: Vec<u8>,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The program's end: there is a clipboard, and this player may use it.
    Offer,
    /// The player's end wants its text.
    Ask,
    /// Of the text that is asked for, or given.
    Part(Part),
    /// The program's end.
    Outcome(Outcome),
}

impl Message {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = |kind: u8| [&MAGIC[..], &[VERSION, kind]].concat();
        match self {
            Self::Offer => head(0),
            Self::Ask => head(1),
            Self::Part(Part { total, offset, bytes }) => {
                [&head(2)[..], &total.to_be_bytes(), &offset.to_be_bytes(), bytes].concat()
            }
            Self::Outcome(outcome) => [&head(3)[..], &[*outcome as u8]].concat(),
        }
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        if head[..2] != MAGIC || head[2] != VERSION {
            return None;
        }
        match (head[3], rest) {
            (0, []) => Some(Self::Offer),
            (1, []) => Some(Self::Ask),
            (2, _) => Part::parse(bytes).map(Self::Part),
            (3, [outcome]) => Outcome::ALL.get(usize::from(*outcome)).copied().map(Self::Outcome),
            _ => None,
        }
    }
}

impl Part {
    fn parse(message: &[u8]) -> Option<Self> {
        let (head, bytes) = message.split_at_checked(PART_HEAD)?;
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (total, offset) = (word(4), word(8));
        let end = offset.checked_add(u32::try_from(bytes.len()).ok()?)?;
        let fits = end <= total && bytes.len() <= PART && (!bytes.is_empty() || total == 0);
        fits.then(|| Self { total, offset, bytes: bytes.to_vec() })
    }
}

/// A text in its parts; `None` if it is longer than [`MAX_TEXT`].
pub fn parts(text: &str) -> Option<impl Iterator<Item = Message>> {
    let total = u32::try_from(text.len()).ok().filter(|_| text.len() <= MAX_TEXT)?;
    let pieces = (0..text.len().max(1)).step_by(PART).map(move |offset| {
        let end = text.len().min(offset + PART);
        let bytes = text.as_bytes()[offset..end].to_vec();
        Message::Part(Part { total, offset: offset as u32, bytes })
    });
    Some(pieces)
}

/// Puts a text together again.
#[derive(Debug, Clone, Default)]
pub struct Assembly {
    /// Of the text that has begun.
    total: Option<u32>,
    bytes: Vec<u8>,
}

impl Assembly {
    /// A part has come; the text, once it is whole, or why there is none. The first part of a text gives up the one before.
    pub fn on_part(&mut self, part: &Part) -> Option<Result<String, Outcome>> {
        if part.offset == 0 {
            *self = Self { total: Some(part.total), bytes: Vec::new() };
            if part.total as usize > MAX_TEXT {
                self.total = None;
                return Some(Err(Outcome::TooLong));
            }
        }
        // The rest of one that was refused says nothing more.
        let total = self.total?;
        if total != part.total || part.offset as usize != self.bytes.len() {
            *self = Self::default();
            return Some(Err(Outcome::NoText));
        }
        self.bytes.extend(&part.bytes);
        if self.bytes.len() < total as usize {
            return None;
        }
        self.total = None;
        let whole = String::from_utf8(std::mem::take(&mut self.bytes));
        Some(whole.map_err(|_| Outcome::NoText))
    }

    /// How many bytes are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What comes of a text that is sent in its parts.
    fn sent(text: &str) -> Option<Result<String, Outcome>> {
        let mut assembly = Assembly::default();
        let mut found = None;
        for message in parts(text)? {
            assert_eq!(found, None, "it was whole before its last part");
            let Some(Message::Part(part)) = Message::parse(&message.to_bytes()) else {
                panic!("{message:?}");
            };
            found = assembly.on_part(&part);
        }
        assert_eq!(assembly.kept(), 0);
        found
    }

    proptest! {
        #[test]
        fn texts_come_back(text in ".{0,40}", times in 0..2_000_usize) {
            let text = text.repeat(times);
            let expected = (text.len() <= MAX_TEXT).then_some(Ok(text.clone()));
            prop_assert_eq!(sent(&text), expected);
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_whole(
            kind in 0..5_u8,
            numbers in (0..30_u32, 0..30_u32),
            rest in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let numbers = [numbers.0, numbers.1].map(u32::to_be_bytes).concat();
            for rest in [&[&numbers[..], &rest].concat()[..], &rest] {
                let bytes = [&b"GC\x01"[..], &[kind], rest].concat();
                if let Some(message) = Message::parse(&bytes) {
                    prop_assert_eq!(message.to_bytes(), bytes);
                }
            }
        }
    }

    #[test]
    fn the_longest_text_passes_and_no_longer_one() {
        let longest = "a".repeat(MAX_TEXT);
        assert!(sent(&longest).is_some_and(|found| found == Ok(longest.clone())));
        assert!(parts(&(longest + "a")).is_none());
        let mut assembly = Assembly::default();
        let part = |total, offset| Part { total, offset, bytes: vec![b'a'; PART] };
        let too_long = MAX_TEXT as u32 + 1;
        assert_eq!(assembly.on_part(&part(too_long, 0)), Some(Err(Outcome::TooLong)));
        assert_eq!(assembly.on_part(&part(too_long, PART as u32)), None, "it was refused");
        assert_eq!(assembly.kept(), 0);
    }

    #[test]
    fn what_is_not_one_text_is_refused() {
        let part = |total, offset, bytes: &[u8]| Part { total, offset, bytes: bytes.to_vec() };
        let mut assembly = Assembly::default();
        assert_eq!(assembly.on_part(&part(4, 0, b"ab")), None);
        assert_eq!(assembly.on_part(&part(4, 3, b"d")), Some(Err(Outcome::NoText)), "a gap");
        assert_eq!(assembly.on_part(&part(4, 0, b"ab")), None);
        assert_eq!(assembly.on_part(&part(5, 2, b"c")), Some(Err(Outcome::NoText)), "another one");
        assert_eq!(assembly.on_part(&part(2, 0, &[0xc3, 0x28])), Some(Err(Outcome::NoText)));
        // One that begins anew gives up the one before.
        assert_eq!(assembly.on_part(&part(4, 0, b"ab")), None);
        assert_eq!(assembly.kept(), 2);
        assert_eq!(assembly.on_part(&part(1, 0, b"x")), Some(Ok("x".to_owned())));
        assert_eq!(assembly.on_part(&part(0, 0, b"")), Some(Ok(String::new())));
    }

    /// The bytes of docs/wire-protocol.md, by hand.
    #[test]
    fn the_layout_is_as_documented() {
        let part = |total, offset, bytes: &[u8]| {
            Message::Part(Part { total, offset, bytes: bytes.to_vec() })
        };
        for (message, bytes) in [
            (Message::Offer, &b"GC\x01\x00"[..]),
            (Message::Ask, b"GC\x01\x01"),
            (part(0x0001_0203, 0x0405, b"ab"), b"GC\x01\x02\x00\x01\x02\x03\x00\x00\x04\x05ab"),
            (part(0, 0, b""), b"GC\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00"),
            (Message::Outcome(Outcome::Taken), b"GC\x01\x03\x00"),
            (Message::Outcome(Outcome::TooLong), b"GC\x01\x03\x02"),
            (Message::Outcome(Outcome::Gone), b"GC\x01\x03\x05"),
        ] {
            assert_eq!(message.to_bytes(), bytes);
            assert_eq!(Message::parse(bytes), Some(message));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bytes in [
            &b"GC\x01"[..],
            b"GI\x01\x00",
            b"XC\x01\x00",
            b"GC\x02\x00",
            b"GC\x01\x04",
            // More than there is to say, and less.
            b"GC\x01\x00\x00",
            b"GC\x01\x01\x00",
            b"GC\x01\x03",
            b"GC\x01\x03\x06",
            b"GC\x01\x03\x00\x00",
            b"GC\x01\x02\x00\x00\x00\x00\x00\x00\x00",
        ] {
            assert_eq!(Message::parse(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_part_is_within_its_text_and_no_longer_than_a_part_may_be() {
        let is_taken = |total, offset, length| {
            let part = Part { total, offset, bytes: vec![b'a'; length] };
            Message::parse(&Message::Part(part).to_bytes()).is_some()
        };
        assert!(is_taken(3, 1, 2) && !is_taken(3, 1, 3), "it ends with the text");
        assert!(is_taken(u32::MAX, u32::MAX - 1, 1) && !is_taken(u32::MAX, u32::MAX, 1));
        assert!(is_taken(20_000, 0, 16_384) && !is_taken(20_000, 0, 16_385), "16 KiB at most");
        assert!(is_taken(0, 0, 0), "an empty text has one part, which is empty");
        assert!(!is_taken(1, 0, 0) && !is_taken(1, 1, 0), "others have something to say");
    }
}
