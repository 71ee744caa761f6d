//! Messages of gamepads as bytes, most significant first.
//!
//! Source: this project's own; `docs/wire-protocol.md` shows the layout.

use super::{AXES, BUTTONS, PADS};

const MAGIC: [u8; 2] = *b"GG";
const ANSWER: [u8; 2] = *b"GH";
const VERSION: u8 = 1;
const HEAD: usize = 8;
const PAD: usize = BUTTONS + 2 + 2 * AXES;
const ANSWER_LENGTH: usize = 8;
/// Flags of a message: a bit for each gamepad that is there, the lowest first, and this one.
const WANTS_ANSWER: u8 = 0x80;
const THERE: u8 = (1 << PADS) - 1;

/// What there is to say of one gamepad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// How often each button has gone down or up in all; odd is held. It wraps.
    pub changes: [u8; BUTTONS],
    /// How far the left and the right trigger are pulled.
    pub triggers: [u8; 2],
    /// The left stick to the right and down, then the right one; at rest 0.
    pub axes: [i16; AXES],
}

/// All that there is to say of the player's gamepads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its number, from one.
    pub number: u32,
    /// Those that are there.
    pub pads: [Option<State>; PADS],
    /// Whether it is to be answered.
    pub wants_answer: bool,
}

impl Message {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + PAD * PADS);
        let there = (0..PADS).filter(|pad| self.pads[*pad].is_some()).map(|pad| 1 << pad);
        let flags =
            there.fold(if self.wants_answer { WANTS_ANSWER } else { 0 }, |all, bit| all | bit);
        bytes.extend(MAGIC);
        bytes.extend([VERSION, flags]);
        bytes.extend(self.number.to_be_bytes());
        for state in self.pads.iter().flatten() {
            bytes.extend(state.changes);
            bytes.extend(state.triggers);
            bytes.extend(state.axes.map(i16::to_be_bytes).concat());
        }
        bytes
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, states) = bytes.split_at_checked(HEAD)?;
        let flags = head[3];
        let number = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let fits = head[..2] == MAGIC && head[2] == VERSION && flags & !(WANTS_ANSWER | THERE) == 0;
        if !fits || number == 0 || states.len() != PAD * (flags & THERE).count_ones() as usize {
            return None;
        }
        let mut states = states.chunks_exact(PAD).map(state);
        let pads =
            std::array::from_fn(|pad| if flags & 1 << pad == 0 { None } else { states.next() });
        Some(Self { number, pads, wants_answer: flags & WANTS_ANSWER != 0 })
    }
}

fn state(bytes: &[u8]) -> State {
    let axis = |axis: usize| BUTTONS + 2 + 2 * axis;
    State {
        changes: std::array::from_fn(|button| bytes[button]),
        triggers: [bytes[BUTTONS], bytes[BUTTONS + 1]],
        axes: std::array::from_fn(|one| {
            i16::from_be_bytes([bytes[axis(one)], bytes[axis(one) + 1]])
        }),
    }
}

/// What is missing for gamepads at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Missing {
    /// Nothing: programs have them.
    #[default]
    Nothing = 0,
    /// A use: what is played takes none.
    Use = 1,
    /// Devices for programs: `/dev/uinput` is missing or closed.
    Devices = 2,
}

/// What the program's end has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Whether gamepads are of use, or why not.
    pub missing: Missing,
    /// The number of the newest message.
    pub message: u32,
}

impl Answer {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        [&ANSWER[..], &[VERSION, self.missing as u8], &self.message.to_be_bytes()].concat()
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != ANSWER_LENGTH || bytes[..2] != ANSWER || bytes[2] != VERSION {
            return None;
        }
        let lacks = [Missing::Nothing, Missing::Use, Missing::Devices];
        let missing = lacks.into_iter().find(|missing| *missing as u8 == bytes[3])?;
        let message = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        Some(Self { missing, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn states() -> impl Strategy<Value = State> {
        any::<([u8; BUTTONS], [u8; 2], [i16; AXES])>().prop_map(|(changes, triggers, axes)| State {
            changes,
            triggers,
            axes,
        })
    }

    proptest! {
        #[test]
        fn messages_come_back(
            number in 1..=u32::MAX,
            pads in prop::array::uniform4(prop::option::of(states())),
            wants_answer in any::<bool>(),
        ) {
            let message = Message { number, pads, wants_answer };
            let bytes = message.to_bytes();
            prop_assert_eq!(Message::parse(&bytes), Some(message));
            prop_assert_eq!(Message::parse(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(Message::parse(&[&bytes[..], &[0]].concat()), None);
            // An end that knows keys alone refuses it, and the other way round.
            prop_assert_eq!(crate::Message::parse(&bytes), None);
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_whole(flags in any::<u8>(), rest in prop::collection::vec(any::<u8>(), 0..120)) {
            let bytes = [&b"GG\x01"[..], &[flags], &rest].concat();
            if let Some(message) = Message::parse(&bytes) {
                prop_assert_eq!(message.to_bytes(), bytes);
            }
            if let Some(answer) = Answer::parse(&rest) {
                prop_assert_eq!(answer.to_bytes(), rest);
            }
        }
    }

    /// The bytes of docs/wire-protocol.md, by hand: the page's script makes the same.
    #[test]
    fn the_layout_is_as_documented() {
        let mut state =
            State { triggers: [1, 255], axes: [-32_767, 32_767, 0, -1], ..State::default() };
        (state.changes[0], state.changes[16]) = (3, 2);
        let message =
            Message { number: 258, pads: [None, Some(state), None, None], wants_answer: true };
        let mut expected = b"GG\x01\x82\0\0\x01\x02\x03".to_vec();
        expected.extend([0; 15]);
        expected.extend(b"\x02\x01\xff\x80\x01\x7f\xff\0\0\xff\xff");
        assert_eq!(message.to_bytes(), expected);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let pads = [Some(State::default()), None, None, None];
        let good = Message { number: 1, pads, wants_answer: false }.to_bytes();
        assert_eq!(good[..HEAD], *b"GG\x01\x01\0\0\0\x01");
        assert!(Message::parse(&good).is_some());
        // Flags: one that there is not, another gamepad, and none.
        for (at, byte) in
            [(0, b'X'), (1, b'X'), (2, 2), (3, 0x11), (3, 0x21), (3, 0x41), (3, 3), (3, 0), (7, 0)]
        {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Message::parse(&bad), None, "{byte} at {at}");
        }
        assert_eq!(Message::parse(&good[..HEAD - 1]), None);
    }
}
