//! What programs want to be felt on one device: effects that they upload, play and erase.
//!
//! Source: Linux, Documentation/input/ff.rst; a length of 0 is without an end, as ff-memless has it. Effects that play at once add up.

use gameway_input::gamepad::RumbleState;
use gameway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// An effect as it is uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effect {
    pub strong: u16,
    pub weak: u16,
    pub delay: Duration,
    pub length: Duration,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Effects {
    /// With the instant at which each began to play, and how often it is to.
    all: BTreeMap<u16, (Effect, Option<(Instant, i64)>)>,
    /// Of 65535.
    gain: u16,
}

impl Default for Effects {
    fn default() -> Self {
        Self { all: BTreeMap::new(), gain: u16::MAX }
    }
}

impl Effects {
    /// One that plays goes on with what is new of it.
    pub(super) fn upload(&mut self, id: u16, effect: Effect) {
        let playing = self.all.get(&id).and_then(|(_, playing)| *playing);
        self.all.insert(id, (effect, playing));
    }

    pub(super) fn erase(&mut self, id: u16) {
        self.all.remove(&id);
    }

    /// Plays it so many times, or no more.
    pub(super) fn play(&mut self, now: Instant, id: u16, times: i32) {
        if let Some((_, playing)) = self.all.get_mut(&id) {
            *playing = (times > 0).then_some((now, times.into()));
        }
    }

    pub(super) fn set_gain(&mut self, gain: i32) {
        self.gain = gain.clamp(0, u16::MAX.into()) as u16;
    }

    pub(super) fn at(&self, now: Instant) -> RumbleState {
        let (mut strong, mut weak, mut until) = (0_u32, 0_u32, Instant::MAX);
        for (effect, playing) in self.all.values() {
            let Some((began, times)) = *playing else { continue };
            let begin = began.saturating_add(effect.delay);
            let end = if effect.length == Duration::ZERO {
                Instant::MAX
            } else {
                // From the first time on it is felt, the delays between two times, too.
                let once = (effect.delay + effect.length).as_nanos();
                began.saturating_add(Duration::from_nanos(once.saturating_mul(times)))
            };
            if now < begin {
                until = until.min(begin);
            } else if now < end {
                until = until.min(end);
                strong += u32::from(effect.strong);
                weak += u32::from(effect.weak);
            }
        }
        let max = u32::from(u16::MAX);
        let felt = |sum: u32| (sum.min(max) * u32::from(self.gain) / max) as u16;
        RumbleState { strength: (felt(strong), felt(weak)), until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn effect(strong: u16, delay: i64, length: i64) -> Effect {
        let millis = Duration::from_millis;
        Effect { strong, weak: 7, delay: millis(delay), length: millis(length) }
    }

    fn strengths(effects: &Effects, times: &[i64]) -> Vec<u16> {
        times.iter().map(|millis| effects.at(at(*millis)).strength.0).collect()
    }

    #[test]
    fn an_effect_is_felt_while_it_plays() {
        let mut effects = Effects::default();
        effects.upload(3, effect(1_000, 10, 100));
        assert_eq!(effects.at(at(0)), RumbleState { strength: (0, 0), until: Instant::MAX });
        effects.play(at(50), 3, 2);
        assert_eq!(strengths(&effects, &[50, 59, 60, 269, 270]), [0, 0, 1_000, 1_000, 0]);
        assert_eq!(effects.at(at(55)).until, at(60));
        assert_eq!(effects.at(at(100)), RumbleState { strength: (1_000, 7), until: at(270) });
        effects.play(at(100), 3, 0);
        assert_eq!(strengths(&effects, &[100, 150]), [0, 0]);
        effects.play(at(200), 3, 1);
        // What is new of it is felt at once; one that was never uploaded is not.
        effects.upload(3, effect(2_000, 0, 0));
        effects.play(at(200), 4, 1);
        assert_eq!(strengths(&effects, &[200, 1_000_000]), [2_000, 2_000]);
        effects.erase(3);
        assert_eq!(strengths(&effects, &[200]), [0]);
    }

    #[test]
    fn effects_add_up_and_a_gain_makes_all_weaker() {
        let mut effects = Effects::default();
        for id in 0..3 {
            effects.upload(id, effect(30_000, 0, 100 * (i64::from(id) + 1)));
            effects.play(at(0), id, 1);
        }
        assert_eq!(strengths(&effects, &[0, 100, 200, 300]), [65_535, 60_000, 30_000, 0]);
        assert_eq!(effects.at(at(0)).until, at(100));
        effects.set_gain(32_768);
        assert_eq!(strengths(&effects, &[200]), [15_000]);
        effects.set_gain(-1);
        assert_eq!(strengths(&effects, &[200]), [0]);
    }
}
