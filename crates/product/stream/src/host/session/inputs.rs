//! What the player does to the program, on its way in, and what gamepads are to be felt like, on its way out.
//!
//! Rumble is 10 bytes and leaves beside what the controller allows. Each message says for how long, so that a connection that is lost
//! leaves nothing rumbling; what goes on for longer is said again in time.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | least time between two of a gamepad | 20 ms | motors take longer to turn faster |
//! | longest | 1 s | what is felt of a program whose host is gone |
//! | said again | 250 ms before | a round trip, and a message that is lost once |

use super::Session;
use gameway_input::gamepad::{
    Answer, Message as GamepadMessage, Missing, PADS, RUMBLE_CHANNEL, Rumble, RumbleState,
};
use gameway_input::{Acknowledgement, Action, Message, Program, gamepad};
use gameway_units::{Duration, Instant};

const MIN_INTERVAL: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(1_000);
const AGAIN: Duration = Duration::from_millis(250);

/// What the player is told of rumble.
#[derive(Debug, Default)]
struct RumbleOut {
    /// The page's channel, once it is open.
    channel: Option<u16>,
    /// What was said last of each gamepad, until when that holds, and when the next may be said.
    said: [Option<(RumbleState, Instant)>; PADS],
}

impl RumbleOut {
    /// What is to be said now, if anything is.
    fn take(&mut self, now: Instant, pad: usize, felt: RumbleState) -> Option<Rumble> {
        let (before, next) = match self.said[pad] {
            Some((before, next)) => (before, next),
            None => (RumbleState { strength: (0, 0), until: now }, now),
        };
        // What was said for a time is over after it.
        let before_strength = if before.until <= now { (0, 0) } else { before.strength };
        // So is what a program wants for a time.
        let strength = if felt.until <= now { (0, 0) } else { felt.strength };
        let ends = felt.until.min(now.saturating_add(LONGEST));
        let goes_on = strength != (0, 0) && before.until < ends.min(now.saturating_add(AGAIN));
        if now < next || (strength == before_strength && !goes_on) {
            return None;
        }
        let nanos = ends.saturating_since(now).as_nanos();
        let millis = if strength == (0, 0) { 0 } else { nanos.div_euclid(1_000_000).max(1) as u16 };
        let until = if millis == 0 { now } else { ends };
        self.said[pad] = Some((RumbleState { strength, until }, now.saturating_add(MIN_INTERVAL)));
        let (strong, weak) = strength;
        Some(Rumble { pad, strong, weak, millis })
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) program: Program,
    pub(super) gamepads: gamepad::Program,
    /// What the player is told of gamepads.
    missing: Missing,
    rumble: RumbleOut,
}

impl Inputs {
    /// The player is gone, or another one has come.
    pub(super) fn end(&mut self) {
        self.program.end();
        self.gamepads.remove_all();
    }

    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.program.on_deadline(now);
        self.gamepads.on_deadline(now);
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let both = [self.program.next_deadline(), self.gamepads.next_deadline()];
        both.into_iter().flatten().min()
    }
}

impl Session {
    /// What the player does to the program next; everything that is held goes up when the stay ends.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.inputs.program.poll()
    }

    /// What [`Self::poll_action`] gives.
    #[must_use]
    pub fn peek_action(&self) -> Option<&Action> {
        self.inputs.program.peek()
    }

    /// What the player does to a gamepad next; all of them go when the stay ends.
    pub fn poll_gamepad(&mut self) -> Option<gamepad::Action> {
        self.inputs.gamepads.poll()
    }

    /// What the player is told of gamepads from now on.
    pub fn set_missing(&mut self, missing: Missing) {
        self.inputs.missing = missing;
    }

    /// What each gamepad is to be felt like, if it is there. To be called again and again.
    pub fn rumble(&mut self, now: Instant, pads: [Option<RumbleState>; PADS]) {
        let Some(channel) = self.inputs.rumble.channel else { return };
        for (pad, felt) in pads.into_iter().enumerate() {
            let felt = felt.unwrap_or(RumbleState { strength: (0, 0), until: now });
            if let Some(rumble) = self.inputs.rumble.take(now, pad, felt)
                && self.peer.send_data(now, channel, &rumble.to_bytes()).is_err()
            {
                // What finds no room leaves the next time.
                self.inputs.rumble.said[pad] = None;
            }
        }
    }

    /// The player has opened one of its channels.
    pub(super) fn on_input_channel(&mut self, now: Instant, channel: u16, label: &str) {
        match label {
            gameway_input::CHANNEL => {
                self.answer_input(now, channel, self.inputs.program.acknowledgement());
            }
            gameway_input::clipboard::CHANNEL if self.shares => self.offer_clipboard(now, channel),
            gameway_input::SHAPE_CHANNEL => self.shape.open(channel),
            RUMBLE_CHANNEL => {
                self.inputs.rumble = RumbleOut { channel: Some(channel), ..RumbleOut::default() };
            }
            _ => {}
        }
    }

    /// The player does something.
    pub(super) fn on_input(&mut self, now: Instant, channel: u16, message: &[u8]) {
        if let Some(message) = Message::parse(message) {
            if let Some(photon) = &mut self.photon {
                photon.on_input(now, &message, self.inputs.program.acknowledgement().next_change);
            }
            if let Some(answer) = self.inputs.program.on_message(now, &message) {
                self.answer_input(now, channel, answer);
            }
        } else if let Some(message) = GamepadMessage::parse(message)
            && let Some(message) = self.inputs.gamepads.on_message(now, &message)
        {
            let answer = Answer { missing: self.inputs.missing, message };
            // Not sent is lost: the player asks again.
            let _ = self.peer.send_data(now, channel, &answer.to_bytes());
        }
    }

    fn answer_input(&mut self, now: Instant, channel: u16, answer: Acknowledgement) {
        // As above.
        let _ = self.peer.send_data(now, channel, &answer.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// What is said of a gamepad that is asked about each millisecond.
    fn said(
        out: &mut RumbleOut,
        span: std::ops::Range<i64>,
        felt: RumbleState,
    ) -> Vec<(i64, u16, u16)> {
        let take =
            |millis| out.take(at(millis), 1, felt).map(|one| (millis, one.strong, one.millis));
        span.filter_map(take).collect()
    }

    #[test]
    fn a_rumble_is_said_once_with_its_length_and_a_stop_at_once() {
        let mut out = RumbleOut::default();
        let silent = RumbleState { strength: (0, 0), until: Instant::MAX };
        let strong = RumbleState { strength: (9, 1), until: at(700) };
        assert_eq!(said(&mut out, 0..100, silent), []);
        assert_eq!(said(&mut out, 100..300, strong), [(100, 9, 600)]);
        assert_eq!(said(&mut out, 300..400, silent), [(300, 0, 0)]);
        // One that has ended by its length needs no word.
        assert_eq!(said(&mut out, 400..700, strong), [(400, 9, 300)]);
        assert_eq!(said(&mut out, 700..1_000, silent), []);
        assert_eq!(out.take(at(1_000), 1, strong), None, "it is over");
    }

    #[test]
    fn what_has_no_end_is_said_again_in_time() {
        let mut out = RumbleOut::default();
        let endless = RumbleState { strength: (9, 0), until: Instant::MAX };
        let times: Vec<i64> = said(&mut out, 0..2_000, endless).iter().map(|one| one.0).collect();
        assert_eq!(times, [0, 751, 1_502]);
    }

    #[test]
    fn of_rumbles_that_come_faster_the_newest_is_said() {
        let mut out = RumbleOut::default();
        let mut told = Vec::new();
        for millis in 0..50 {
            let felt = RumbleState { strength: (millis as u16 + 1, 0), until: at(5_000) };
            told.extend(out.take(at(millis), 0, felt).map(|one| (millis, one.strong, one.millis)));
        }
        assert_eq!(told, [(0, 1, 1_000), (20, 21, 1_000), (40, 41, 1_000)]);
        assert_eq!(told.len(), 3);
    }
}
