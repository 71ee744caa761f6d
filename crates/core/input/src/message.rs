//! Messages as bytes, most significant first.
//!
//! Source: this project's own; `docs/wire-protocol.md` shows the layout.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | changes in a message | 32 | a tenth of a second of a person who hammers on all fingers; 162 bytes are one packet |
//! | kind of a character | 16 and its plane | the 17 planes of Unicode have 16 bits each, so that a character is as long as a key |

use crate::{Button, Held, Key, Switch};

const MAGIC: [u8; 2] = *b"GI";
const ACKNOWLEDGED: [u8; 2] = *b"GA";
const VERSION: u8 = 1;
const HEAD: usize = 66;
const CHANGE: usize = 3;
/// Kinds of a change; behind the last one come the planes of characters.
const KEY: u8 = 0;
const BUTTON: u8 = 1;
const PLANE: u8 = 16;
const ACKNOWLEDGEMENT: usize = 11;
/// Flags of a message.
const HAS_PLACE: u8 = 1;
const WANTS_ANSWER: u8 = 2;
/// The most changes in a message.
pub(crate) const MAX_CHANGES: usize = 32;

/// What happens once, and in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A key or button goes down or up.
    Switch {
        /// Which.
        switch: Switch,
        /// Whether it is held now.
        is_held: bool,
    },
    /// A character is typed, whatever the layouts; none that controls, such as a new line.
    Character(char),
}

impl Change {
    fn to_bytes(self) -> [u8; CHANGE] {
        match self {
            Self::Switch { switch: Switch::Key(key), is_held } => {
                [KEY, key.usage(), u8::from(is_held)]
            }
            Self::Switch { switch: Switch::Button(button), is_held } => {
                [BUTTON, button as u8, u8::from(is_held)]
            }
            Self::Character(character) => {
                let [_, plane, high, low] = u32::from(character).to_be_bytes();
                [PLANE + plane, high, low]
            }
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let switch = match bytes[0] {
            KEY => Switch::Key(Key::of_usage(bytes[1])?),
            BUTTON => Switch::Button(Button::numbered(bytes[1])?),
            kind => {
                let plane = kind.checked_sub(PLANE)?;
                let character = u32::from_be_bytes([0, plane, bytes[1], bytes[2]]);
                let character = char::from_u32(character).filter(|one| !one.is_control())?;
                return Some(Self::Character(character));
            }
        };
        (bytes[2] < 2).then_some(Self::Switch { switch, is_held: bytes[2] == 1 })
    }
}

/// Where the pointer is and how far it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pointer {
    /// Its place on the picture, each side from 0 to 65535, once it has one.
    pub place: Option<(u16, u16)>,
    /// All motion that had no place, in pixels of the player's screen to the right and down. It wraps.
    pub moved: (i32, i32),
    /// All turns of the wheel to the right and down, in 1/120 of a notch. It wraps.
    pub turned: (i32, i32),
}

/// All that there is to say of the player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number, from one.
    pub number: u32,
    /// The number of the first of `changes`, or of the next one; from one.
    pub first_change: u32,
    /// Those that are not acknowledged yet, in their order.
    pub changes: Vec<Change>,
    /// What is held after the last change.
    pub held: Held,
    /// The pointer.
    pub pointer: Pointer,
    /// Whether it is to be acknowledged.
    pub wants_answer: bool,
}

impl Message {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + CHANGE * self.changes.len());
        bytes.extend(MAGIC);
        bytes.extend([VERSION, self.changes.len() as u8]);
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(self.first_change.to_be_bytes());
        bytes.extend(self.held.keys);
        let has_place = if self.pointer.place.is_some() { HAS_PLACE } else { 0 };
        let wants_answer = if self.wants_answer { WANTS_ANSWER } else { 0 };
        bytes.extend([self.held.buttons, has_place | wants_answer]);
        let (x, y) = self.pointer.place.unwrap_or_default();
        bytes.extend([x, y].map(u16::to_be_bytes).concat());
        let (moved, turned) = (self.pointer.moved, self.pointer.turned);
        bytes.extend([moved.0, moved.1, turned.0, turned.1].map(i32::to_be_bytes).concat());
        bytes.extend(self.changes.iter().flat_map(|change| change.to_bytes()));
        bytes
    }

    /// As it was received; `None` if it is none. Keys and buttons that are unknown are not held.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, changes) = bytes.split_at_checked(HEAD)?;
        let fits = head[..2] == MAGIC && head[2] == VERSION;
        let count = usize::from(head[3]);
        if !fits || count > MAX_CHANGES || changes.len() != CHANGE * count {
            return None;
        }
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (number, first_change) = (word(4), word(8));
        if number == 0 || first_change == 0 || first_change.checked_add(count as u32).is_none() {
            return None;
        }
        let mut keys = [0; 32];
        keys.copy_from_slice(&head[12..44]);
        let flags = head[45];
        if flags & !(HAS_PLACE | WANTS_ANSWER) != 0 {
            return None;
        }
        let place = (flags & HAS_PLACE != 0).then(|| (half(46), half(48)));
        Some(Self {
            number,
            first_change,
            changes: changes.chunks_exact(CHANGE).map(Change::parse).collect::<Option<_>>()?,
            held: Held::known(keys, head[44]),
            pointer: Pointer {
                place,
                moved: (word(50) as i32, word(54) as i32),
                turned: (word(58) as i32, word(62) as i32),
            },
            wants_answer: flags & WANTS_ANSWER != 0,
        })
    }
}

/// What the program's end has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number of the first change that it has not.
    pub next_change: u32,
    /// The number of the newest message.
    pub message: u32,
}

impl Acknowledgement {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let (next, message) = (self.next_change.to_be_bytes(), self.message.to_be_bytes());
        [&ACKNOWLEDGED[..], &[VERSION], &next, &message].concat()
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let fits =
            bytes.len() == ACKNOWLEDGEMENT && bytes[..2] == ACKNOWLEDGED && bytes[2] == VERSION;
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        fits.then(|| Self { next_change: word(3), message: word(7) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn switches() -> impl Strategy<Value = Switch> {
        prop_oneof![
            (0..crate::KEYS.len()).prop_map(|place| Switch::Key(crate::KEYS[place].key)),
            (0..5_u8).prop_map(|number| Switch::Button(Button::ALL[usize::from(number)])),
        ]
    }

    fn changes() -> impl Strategy<Value = Change> {
        let switch = (switches(), any::<bool>());
        prop_oneof![
            switch.prop_map(|(switch, is_held)| Change::Switch { switch, is_held }),
            any::<char>().prop_filter("text", |one| !one.is_control()).prop_map(Change::Character),
        ]
    }

    proptest! {
        #[test]
        fn messages_come_back(
            (number, first_change) in (1..u32::MAX, 1..1_000_000_u32),
            changes in prop::collection::vec(changes(), 0..=MAX_CHANGES),
            held in prop::collection::vec(switches(), 0..8),
            place in prop::option::of(any::<(u16, u16)>()),
            (moved, turned) in any::<((i32, i32), (i32, i32))>(),
            wants_answer in any::<bool>(),
        ) {
            let mut state = Held::default();
            held.into_iter().for_each(|switch| { state.set(switch, true); });
            let pointer = Pointer { place, moved, turned };
            let message = Message { number, first_change, changes, held: state, pointer, wants_answer };
            prop_assert_eq!(Message::parse(&message.to_bytes()), Some(message));
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_whole(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(message) = Message::parse(&bytes) {
                prop_assert_eq!(Message::parse(&message.to_bytes()), Some(message));
            }
        }
    }

    /// The bytes of docs/wire-protocol.md, by hand: the page's script makes the same.
    #[test]
    fn the_layout_is_as_documented() {
        let key = Switch::Key(Key::named("KeyW").expect("a key"));
        let mut held = Held::default();
        held.set(key, true);
        held.set(Switch::Button(Button::Right), true);
        let pointer = Pointer { place: Some((1, 65_535)), moved: (-1, 2), turned: (0, -120) };
        let changes = vec![
            Change::Switch { switch: key, is_held: true },
            Change::Character('ž'),
            Change::Character('🎮'),
        ];
        let message =
            Message { number: 5, first_change: 9, changes, held, pointer, wants_answer: true };
        let bytes = message.to_bytes();
        let mut expected = b"GI\x01\x03\0\0\0\x05\0\0\0\x09".to_vec();
        // KeyW is usage 26: bit 2 of the fourth byte.
        expected.extend([0, 0, 0, 4].into_iter().chain([0; 28]).chain([4, 3, 0, 1, 0xff, 0xff]));
        expected.extend(b"\xff\xff\xff\xff\0\0\0\x02\0\0\0\0\xff\xff\xff\x88");
        // U+017E, and U+1F3AE of plane 1.
        expected.extend([0, 26, 1, 16, 0x01, 0x7e, 17, 0xf3, 0xae]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let message = Message {
            number: 1,
            first_change: 1,
            changes: vec![Change::Switch { switch: Switch::Button(Button::Left), is_held: true }],
            held: Held::default(),
            pointer: Pointer::default(),
            wants_answer: false,
        };
        let good = message.to_bytes();
        assert!(Message::parse(&good).is_some());
        for (at, byte) in [
            (0, b'X'),
            (2, 2),
            (3, 0),
            (3, 33),
            (7, 0),
            (11, 0),
            (45, 4),
            (66, 2),
            (67, 5),
            (68, 2),
        ] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Message::parse(&bad), None, "{byte} at {at}");
        }
        // Half of a pair (UTF-16), what controls, and a plane that is none.
        for character in [[16, 0xd8, 0], [16, 0, 10], [16, 0, 0x85], [33, 0, 0], [15, 0, 65]] {
            let bad = [&good[..HEAD], &character].concat();
            assert_eq!(Message::parse(&bad), None, "{character:?}");
        }
        assert_eq!(Message::parse(&good[..good.len() - 1]), None);
        assert_eq!(Message::parse(&[good.clone(), vec![0]].concat()), None);
        let mut unknown = good;
        (unknown[12], unknown[44]) = (0xff, 0xff);
        let held = Message::parse(&unknown).expect("a message").held;
        // Of usages 0 to 7 only 4 to 7 are keys, and there are five buttons.
        assert_eq!(held.iter().count(), 4 + 5);
    }

    #[test]
    fn acknowledgements_come_back() {
        let one = Acknowledgement { next_change: 513, message: 7 };
        assert_eq!(one.to_bytes(), b"GA\x01\0\0\x02\x01\0\0\0\x07");
        assert_eq!(Acknowledgement::parse(&one.to_bytes()), Some(one));
        for bad in [
            &b"GA\x01\0\0\x02\0\0\0\0"[..],
            b"GA\x02\0\0\x02\x01\0\0\0\x07",
            b"GI\x01\0\0\x02\x01\0\0\0\x07",
        ] {
            assert_eq!(Acknowledgement::parse(bad), None);
        }
    }

    #[test]
    fn a_message_has_32_changes_at_most_and_none_beyond_the_last_number() {
        let change = Change::Character('a');
        let is_taken = |first_change, count| {
            let changes = vec![change; count];
            let (held, pointer) = (Held::default(), Pointer::default());
            let message =
                Message { number: 1, first_change, changes, held, pointer, wants_answer: true };
            Message::parse(&message.to_bytes()).is_some()
        };
        assert!(is_taken(1, 32) && !is_taken(1, 33));
        // The number behind the last change is told, too.
        assert!(is_taken(u32::MAX - 1, 1) && !is_taken(u32::MAX, 1));
    }
}
