//! Characters typed on an X11 screen, whatever its layout.
//!
//! Source: X Window System Protocol, appendix A (keysyms: Latin 1 has its own codes, all else is 0x01000000 and its code point) and
//! ChangeKeyboardMapping; The X Keyboard Extension protocol 1.0, sections 12 (key types: which modifiers give which level) and 16.3.4
//! (LatchLockState).
//! Model: a character that the layout has is its key, with the modifiers and the group of its level locked for the moment, so that
//! neither Caps Lock nor another group gets in its way. Any other one is bound to a spare keycode, on which the layout has nothing, and
//! pressed there. What is held by the player and modifies, such as Shift, is up for the moment. Afterwards locks, group and what was held
//! are as before.
//!
//! A program that is told of another mapping asks the server for it later than it is told, so a spare keycode keeps its character for a
//! while: [`Typing::is_ready`] says whether one is there for the next. The one that was used longest ago is taken. All are empty again
//! after a while without text, and at the end.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | a spare keycode stays as it is | 500 ms | a program that hangs for less has asked by then |
//! | spare keycodes are empty again after | 2 s | a pause of who types; a layout that another program saves is not ours |
//! | spare keycodes | 24 at most | as many different characters in 500 ms; others may want some, too |

use gameway_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::error::Error;
use x11rb::connection::RequestConnection as _;
use x11rb::protocol::xkb::{
    self, ConnectionExt as _, EventType, GetMapRequest, GetStateReply, KeySymMap, KeyType, MapPart,
    SelectEventsAux,
};
use x11rb::protocol::xproto::{
    ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, Keycode, Keysym, ModMask, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

const STAYS: Duration = Duration::from_millis(500);
const EMPTY_AFTER: Duration = Duration::from_secs(2);
const MAX_SPARE: usize = 24;
/// The keysym of a code point beyond Latin 1 is behind this.
const UNICODE: Keysym = 0x0100_0000;
const NO_SYMBOL: Keysym = 0;
const CORE: u16 = 256;
/// The modifiers; Num Lock is the second of the five without a name, as everywhere, and does not change what letters are.
const MODIFIERS: u8 = 0xff;
const LOCK: u8 = 1 << 1;
const CONTROL: u8 = 1 << 2;
const NUM_LOCK: u8 = 1 << 4;

/// What is on a key, and its keycode.
type Key<'map> = (&'map KeySymMap, Keycode);

/// Where the layout has a keysym.
#[derive(Debug, Clone, Copy)]
struct Place {
    keycode: Keycode,
    group: u8,
    /// The modifiers of its level, of those that choose one.
    modifiers: u8,
    chosen_by: u8,
}

#[derive(Debug)]
struct SpareKeycode {
    keycode: Keycode,
    /// What is bound to it, and when that was pressed last.
    bound: Option<(Keysym, Instant)>,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Typing {
    places: BTreeMap<Keysym, Place>,
    /// Keycodes that modify while they are held.
    modifiers: Vec<Keycode>,
    spare: Vec<SpareKeycode>,
    /// Somebody has set another layout.
    is_stale: bool,
    untyped: Vec<char>,
}

impl Typing {
    /// `own` are the keycodes of places, which are never spare.
    pub(crate) fn new(
        connection: &RustConnection,
        own: &[Keycode],
    ) -> Result<Self, Box<dyn Error>> {
        let wanted = EventType::MAP_NOTIFY | EventType::NEW_KEYBOARD_NOTIFY;
        let (nothing, syms) = (EventType::from(0_u16), MapPart::KEY_SYMS | MapPart::KEY_TYPES);
        let details = SelectEventsAux::new();
        connection.xkb_select_events(CORE, nothing, wanted, syms, syms, &details)?;
        Self::read(connection, own, Vec::new())
    }

    /// Reads the layout; `bound` are spare keycodes with what was bound to them.
    fn read(
        connection: &RustConnection,
        own: &[Keycode],
        mut bound: Vec<SpareKeycode>,
    ) -> Result<Self, Box<dyn Error>> {
        let full = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP;
        let all = GetMapRequest { device_spec: CORE, full, ..GetMapRequest::default() };
        let answer = connection.send_trait_request_with_reply(all)?.reply()?;
        let first = answer.first_key_sym;
        let modifying = answer.map.modmap_rtrn.as_deref().unwrap_or_default();
        let is_free = |keycode: &Keycode| {
            !own.contains(keycode) && modifying.iter().all(|one| one.keycode != *keycode)
        };
        let mut keys: Vec<Key<'_>> =
            answer.map.syms_rtrn.iter().flatten().zip(first..=Keycode::MAX).collect();
        // Another layout takes all keys, a change of one key leaves those that are ours.
        let is_ours = |spare: &SpareKeycode| {
            let ours = spare.bound.map(|(keysym, _)| keysym);
            keys.iter().any(|(key, keycode)| {
                *keycode == spare.keycode && key.syms.iter().all(|one| Some(*one) == ours)
            })
        };
        bound.retain(is_ours);
        keys.retain(|(_, keycode)| bound.iter().all(|spare| spare.keycode != *keycode));
        let empty = keys
            .iter()
            .filter(|(key, _)| key.syms.iter().all(|keysym| *keysym == NO_SYMBOL))
            .map(|(_, keycode)| *keycode)
            .filter(is_free);
        // The highest first: those of real keyboards are the lower ones.
        let spare = empty.rev().map(|keycode| SpareKeycode { keycode, bound: None });
        let spare = bound.into_iter().chain(spare).take(MAX_SPARE).collect();
        // By what is on them: one that another key stands for, as AltGr, is not in the server's table of modifiers.
        let modifiers = keys
            .iter()
            .filter(|(key, _)| key.syms.iter().any(|keysym| is_modifier(*keysym)))
            .map(|(_, keycode)| *keycode)
            .collect();
        let types = answer.map.types_rtrn.as_deref().unwrap_or_default();
        let places = places(types, &keys);
        Ok(Self { places, modifiers, spare, is_stale: false, untyped: Vec::new() })
    }

    /// The mapping of these keys is another one than before, or of all.
    pub(crate) fn on_mapping(&mut self, keys: Option<(Keycode, u8)>) {
        let is_own = |spare: &SpareKeycode| keys == Some((spare.keycode, 1));
        self.is_stale |= !self.spare.iter().any(is_own);
    }

    /// Whether this may be typed now without taking a keycode from a character that a program may not have looked up yet.
    pub(crate) fn is_ready(&self, now: Instant, character: char) -> bool {
        let keysym = keysym_of(character);
        let is_there = |spare: &SpareKeycode| match spare.bound {
            Some((bound, used)) => bound == keysym || used.saturating_add(STAYS) <= now,
            None => true,
        };
        self.is_stale
            || self.places.contains_key(&keysym)
            || self.spare.is_empty()
            || self.spare.iter().any(is_there)
    }

    /// Characters for which there was no keycode, each once.
    pub(crate) fn untyped(&self) -> &[char] {
        &self.untyped
    }

    /// Types it; `held` are the keycodes that the player holds, `own` as in [`Self::new`].
    pub(crate) fn type_character(
        &mut self,
        connection: &RustConnection,
        root: Window,
        now: Instant,
        (held, own): (&[Keycode], &[Keycode]),
        character: char,
    ) -> Result<(), Box<dyn Error>> {
        if self.is_stale {
            let (untyped, mut spare) =
                (std::mem::take(&mut self.untyped), std::mem::take(&mut self.spare));
            spare.retain(|spare| spare.bound.is_some());
            *self = Self { untyped, ..Self::read(connection, own, spare)? };
        }
        let keysym = keysym_of(character);
        let place = match self.places.get(&keysym) {
            Some(place) => *place,
            None => match self.bind(connection, now, keysym)? {
                Some(keycode) => Place { keycode, group: 0, modifiers: 0, chosen_by: 0 },
                None => {
                    if !self.untyped.contains(&character) {
                        self.untyped.push(character);
                    }
                    return Ok(());
                }
            },
        };
        let lifted: Vec<Keycode> = held
            .iter()
            .copied()
            .filter(|one| self.modifiers.contains(one) || *one == place.keycode)
            .collect();
        press(connection, root, place, &lifted)
    }

    /// When spare keycodes are to be given back.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let newest = self.spare.iter().filter_map(|spare| spare.bound).map(|(_, used)| used).max();
        newest.map(|used| used.saturating_add(EMPTY_AFTER))
    }

    /// Gives them back, if that is due.
    pub(crate) fn on_deadline(
        &mut self,
        connection: &RustConnection,
        now: Instant,
    ) -> Result<(), Box<dyn Error>> {
        match self.next_deadline() {
            Some(due) if due <= now => self.empty(connection),
            _ => Ok(()),
        }
    }

    /// Gives them back at once.
    pub(crate) fn empty(&mut self, connection: &RustConnection) -> Result<(), Box<dyn Error>> {
        for spare in self.spare.iter_mut().filter(|spare| spare.bound.is_some()) {
            connection.change_keyboard_mapping(1, spare.keycode, 1, &[NO_SYMBOL])?;
            spare.bound = None;
        }
        Ok(())
    }

    /// The spare keycode of this keysym, if there is any at all.
    fn bind(
        &mut self,
        connection: &RustConnection,
        now: Instant,
        keysym: Keysym,
    ) -> Result<Option<Keycode>, Box<dyn Error>> {
        let is_bound = |spare: &SpareKeycode| spare.bound.is_some_and(|(bound, _)| bound == keysym);
        let at = self.spare.iter().position(is_bound);
        let oldest = |at: &usize| self.spare[*at].bound.map(|(_, used)| used);
        let Some(at) = at.or_else(|| (0..self.spare.len()).min_by_key(oldest)) else {
            return Ok(None);
        };
        let spare = &mut self.spare[at];
        if spare.bound.is_none_or(|(bound, _)| bound != keysym) {
            // Alone, an upper-case letter would be that of Shift, and its lower case the other one (X Window System Protocol, section 5).
            connection.change_keyboard_mapping(1, spare.keycode, 2, &[keysym, keysym])?;
        }
        spare.bound = Some((keysym, now));
        Ok(Some(spare.keycode))
    }
}

/// Presses and releases a key, with the modifiers of its level and no others.
fn press(
    connection: &RustConnection,
    root: Window,
    place: Place,
    lifted: &[Keycode],
) -> Result<(), Box<dyn Error>> {
    let fake = |kind: u8, keycode: Keycode| {
        connection.xtest_fake_input(kind, keycode, x11rb::CURRENT_TIME, root, 0, 0, 0).map(drop)
    };
    let before = connection.xkb_get_state(CORE)?.reply()?;
    let changes = !lifted.is_empty() || !fits(&before, place);
    if changes {
        lifted.iter().try_for_each(|keycode| fake(KEY_RELEASE_EVENT, *keycode))?;
        lock(connection, place.modifiers, place.group.into())?;
    }
    fake(KEY_PRESS_EVENT, place.keycode)?;
    fake(KEY_RELEASE_EVENT, place.keycode)?;
    if changes {
        lock(connection, u16::from(before.locked_mods) as u8, before.locked_group)?;
        lifted.iter().try_for_each(|keycode| fake(KEY_PRESS_EVENT, *keycode))?;
    }
    Ok(())
}

/// Whether a key gives this place's keysym as modifiers and group are.
fn fits(state: &GetStateReply, place: Place) -> bool {
    let minded = MODIFIERS & !NUM_LOCK | place.chosen_by;
    u16::from(state.mods) as u8 & minded == place.modifiers && u8::from(state.group) == place.group
}

fn lock(
    connection: &RustConnection,
    modifiers: u8,
    group: xkb::Group,
) -> Result<(), Box<dyn Error>> {
    let (all, none) = (ModMask::from(MODIFIERS), ModMask::from(0_u16));
    let modifiers = ModMask::from(modifiers);
    connection.xkb_latch_lock_state(CORE, all, modifiers, true, group, none, false, 0)?;
    Ok(())
}

/// The layout's place of each keysym: of its first group that has it, on the lowest level.
fn places(types: &[KeyType], keys: &[Key<'_>]) -> BTreeMap<Keysym, Place> {
    let mut found = BTreeMap::new();
    for (group, level) in (0..4_u8).flat_map(|group| (0..8_u8).map(move |level| (group, level))) {
        for &(key, keycode) in keys {
            let at = usize::from(group) * usize::from(key.width) + usize::from(level);
            let there = group < key.group_info & 15 && level < key.width;
            let kind = types.get(usize::from(key.kt_index[usize::from(group)]));
            let (Some(keysym), Some(kind)) = (key.syms.get(at).filter(|_| there), kind) else {
                continue;
            };
            if let Some(modifiers) = modifiers_of(kind, level) {
                let chosen_by = u16::from(kind.mods_mask) as u8;
                let place = Place { keycode, group, modifiers, chosen_by };
                found.entry(*keysym).or_insert(place);
            }
        }
    }
    found.remove(&NO_SYMBOL);
    found
}

/// By which modifiers a level is chosen; not by Control, with which no program takes text.
fn modifiers_of(kind: &KeyType, level: u8) -> Option<u8> {
    if level == 0 {
        return Some(0);
    }
    let entries = kind.map.iter().filter(|entry| entry.active && entry.level == level);
    let masks = entries.map(|entry| u16::from(entry.mods_mask) as u8);
    // The fewest first, and Caps Lock last.
    masks.filter(|mask| mask & CONTROL == 0).min_by_key(|mask| (mask & LOCK, mask.count_ones()))
}

/// Whether a key with this keysym modifies while it is held; one that locks, such as Caps Lock, does not.
fn is_modifier(keysym: Keysym) -> bool {
    let is_of_keyboards = matches!(keysym, 0xffe1..=0xffe4 | 0xffe7..=0xffee | 0xff7e);
    // Those of ISO 9995: levels two, three and five.
    is_of_keyboards || matches!(keysym, 0xfe02..=0xfe04 | 0xfe11..=0xfe12)
}

fn keysym_of(character: char) -> Keysym {
    match u32::from(character) {
        latin @ (0x20..=0x7e | 0xa0..=0xff) => latin,
        other => UNICODE + other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x11rb::protocol::xkb::KTMapEntry;

    #[test]
    fn keysyms_are_those_of_the_protocol() {
        for (character, keysym) in
            [('a', 0x61), ('ü', 0xfc), ('ž', 0x0100_017e), ('🎮', 0x0101_f3ae), ('€', 0x0100_20ac)]
        {
            assert_eq!(keysym_of(character), keysym, "{character}");
        }
    }

    #[test]
    fn a_level_is_chosen_without_control_and_rather_without_caps_lock() {
        let entry = |mask: u8, level, active| KTMapEntry {
            active,
            mods_mask: mask.into(),
            level,
            ..KTMapEntry::default()
        };
        let map = vec![entry(2, 1, true), entry(1, 1, true), entry(4, 2, true), entry(8, 3, false)];
        let kind = KeyType { map, ..KeyType::default() };
        let chosen = [0, 1, 2, 3].map(|level| modifiers_of(&kind, level));
        assert_eq!(chosen, [Some(0), Some(1), None, None]);
    }
}
