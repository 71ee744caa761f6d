//! Pairing: a code that a person reads off the host and types on a new device lets it in. No sockets here; time is an
//! argument, and all that is drawn comes of the [`Secrets`] that a driver hands in.
//!
//! A code is short, so that it can be typed, and therefore good for little: the first device that types it uses it up, and
//! each wrong one brings its end nearer. What a device gets for it is long ([`Pairing::new_key`]).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | digits | 6 | five tries find one in 200 000 |
//! | good for | 120 s | to walk to another room and type |
//! | wrong tries | 5, of all sources | slips of one person; a code that has had them is never good again |
//! | wrong codes of all sources | 20, then one a minute | [`crate::guard::WrongCodes`]; a day of guessing finds one with 0.15 % |
//! | key of a device | 24 characters of 64 | 144 bits |

use crate::guard::WrongCodes;
use crate::secrets::Secrets;
use gameway_units::{Duration, Instant};
use subtle::ConstantTimeEq;

/// Digits of a code.
pub const DIGITS: usize = 6;
const CODES: u32 = 1_000_000;
const GOOD_FOR: Duration = Duration::from_secs(120);
const WRONG_TRIES: u32 = 5;

/// What becomes of a code that somebody has typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// It is the one, which is used up now.
    Right,
    /// It is not; so many tries are left.
    Wrong(u32),
    /// No code is good: the last one is used up, too old, or had too many wrong tries, of which this may be the last.
    NoneIsGood,
    /// Too many wrong codes came from all sources: this one was not looked at.
    Wait(Duration),
    /// These are no six digits.
    Unreadable,
}

#[derive(Debug)]
struct Code {
    digits: [u8; DIGITS],
    made: Instant,
    wrong: u32,
}

/// The code that is good, if one is.
#[derive(Debug)]
pub struct Pairing {
    secrets: Secrets,
    code: Option<Code>,
    wrong: WrongCodes,
}

impl Pairing {
    /// Without a code as yet.
    #[must_use]
    pub fn new(secrets: Secrets) -> Self {
        Self { secrets, code: None, wrong: WrongCodes::default() }
    }

    /// Somebody wants to pair a device: a new code to be shown, unless the last one is still good.
    pub fn want(&mut self, now: Instant) -> Option<String> {
        self.forget_old(now);
        if self.code.is_some() {
            return None;
        }
        let text = format!("{:0DIGITS$}", self.draw());
        let mut digits = [0; DIGITS];
        digits.copy_from_slice(text.as_bytes());
        self.code = Some(Code { digits, made: now, wrong: 0 });
        Some(text)
    }

    /// Somebody has typed this.
    pub fn attempt(&mut self, now: Instant, typed: &[u8]) -> Attempt {
        if typed.len() != DIGITS || !typed.iter().all(u8::is_ascii_digit) {
            return Attempt::Unreadable;
        }
        self.forget_old(now);
        if let Some(wait) = self.wrong.wait(now) {
            return Attempt::Wait(wait);
        }
        let Some(code) = &mut self.code else { return Attempt::NoneIsGood };
        if code.digits.ct_eq(typed).into() {
            self.code = None;
            return Attempt::Right;
        }
        self.wrong.count(now);
        code.wrong += 1;
        if code.wrong < WRONG_TRIES {
            return Attempt::Wrong(WRONG_TRIES - code.wrong);
        }
        self.code = None;
        Attempt::NoneIsGood
    }

    /// A key for a device.
    pub fn new_key(&mut self) -> String {
        self.secrets.word_for_links::<24>()
    }

    fn forget_old(&mut self, now: Instant) {
        self.code.take_if(|code| now >= code.made.saturating_add(GOOD_FOR));
    }

    /// A number below a million, each as likely as any other: numbers above the last whole million are drawn again.
    fn draw(&mut self) -> u32 {
        loop {
            let number = self.secrets.number();
            if number < u32::MAX - u32::MAX % CODES {
                return number % CODES;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn pairing(seed: u8) -> (Pairing, String) {
        let mut pairing = Pairing::new(Secrets::new([seed; 32]));
        let code = pairing.want(at(0)).expect("the first one");
        (pairing, code)
    }

    /// A code that is not this one.
    fn other(code: &str, number: u32) -> String {
        let code: u32 = code.parse().expect("digits");
        format!("{:06}", (code + 1 + number % (CODES - 1)) % CODES)
    }

    #[test]
    fn a_code_is_good_once() {
        let (mut pairing, code) = pairing(1);
        assert_eq!(pairing.want(at(1)), None, "it is still good");
        assert_eq!(pairing.attempt(at(119), code.as_bytes()), Attempt::Right);
        assert_eq!(pairing.attempt(at(119), code.as_bytes()), Attempt::NoneIsGood);
        let next = pairing.want(at(119)).expect("a new one");
        assert_ne!(next, code);
        assert_eq!(pairing.attempt(at(119), code.as_bytes()), Attempt::Wrong(4));
    }

    #[test]
    fn a_code_is_good_for_two_minutes() {
        let (mut pairing, code) = pairing(2);
        assert_eq!(pairing.attempt(at(120), code.as_bytes()), Attempt::NoneIsGood);
        assert!(pairing.want(at(120)).is_some());
    }

    #[test]
    fn the_fifth_wrong_try_ends_a_code() {
        let (mut pairing, code) = pairing(3);
        for left in [4, 3, 2, 1] {
            let wrong = other(&code, left);
            assert_eq!(pairing.attempt(at(1), wrong.as_bytes()), Attempt::Wrong(left));
        }
        assert_eq!(pairing.attempt(at(1), other(&code, 7).as_bytes()), Attempt::NoneIsGood);
        assert_eq!(pairing.attempt(at(1), code.as_bytes()), Attempt::NoneIsGood);
    }

    #[test]
    fn what_are_no_six_digits_is_no_try() {
        let (mut pairing, code) = pairing(4);
        for typed in ["", "12345", "1234567", "12345x", " 12345", "+12345", "１２"] {
            assert_eq!(pairing.attempt(at(1), typed.as_bytes()), Attempt::Unreadable, "{typed}");
        }
        assert_eq!(pairing.attempt(at(1), code.as_bytes()), Attempt::Right);
    }

    #[test]
    fn who_guesses_for_a_day_is_heard_1460_times() {
        let (mut pairing, mut code) = pairing(5);
        let mut heard = 0;
        for second in 0..86_400 {
            code = pairing.want(at(second)).unwrap_or(code);
            match pairing.attempt(at(second), other(&code, 3).as_bytes()) {
                Attempt::Wrong(_) | Attempt::NoneIsGood => heard += 1,
                Attempt::Wait(_) => {}
                answer => panic!("{answer:?}"),
            }
        }
        assert!((1_455..=1_461).contains(&heard), "{heard}");
    }

    #[test]
    fn each_digit_is_as_likely_as_any_other_at_each_place() {
        let mut pairing = Pairing::new(Secrets::new([6; 32]));
        let mut counts = [[0_u32; 10]; DIGITS];
        for _ in 0..20_000 {
            let code = format!("{:06}", pairing.draw());
            for (place, digit) in code.bytes().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        // 2 000 each; five standard deviations are 212.
        let all = counts.iter().flatten();
        assert!(all.clone().all(|count| (1_788..=2_212).contains(count)), "{counts:?}");
    }

    #[test]
    fn keys_differ_and_need_no_escapes() {
        let (mut pairing, _) = pairing(7);
        let (one, two) = (pairing.new_key(), pairing.new_key());
        assert_ne!(one, two);
        let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
        assert!(one.len() == 24 && one.bytes().all(plain), "{one}");
    }

    proptest! {
        /// Whatever people type and whenever: a code lets one device in, before its time is over and before five wrong tries.
        #[test]
        fn a_code_is_never_good_longer_than_it_may(
            seed in any::<u8>(),
            steps in prop::collection::vec((0..90_i64, 0..4_u32, any::<u32>()), 1..80),
        ) {
            let (mut pairing, mut code) = pairing(seed);
            let (mut now, mut made, mut wrong, mut used) = (0, 0, 0, false);
            for (passed, kind, number) in steps {
                now += passed;
                let is_good = !used && wrong < WRONG_TRIES && now < made + 120;
                if kind == 0 {
                    let next = pairing.want(at(now));
                    prop_assert_eq!(next.is_none(), is_good);
                    if let Some(next) = next {
                        (code, made, wrong, used) = (next, now, 0, false);
                    }
                    continue;
                }
                let typed = if kind == 1 { code.clone() } else { other(&code, number) };
                match pairing.attempt(at(now), typed.as_bytes()) {
                    Attempt::Right => {
                        prop_assert!(is_good && kind == 1);
                        used = true;
                    }
                    Attempt::Wrong(left) => {
                        wrong += 1;
                        prop_assert!(is_good && kind != 1 && left == WRONG_TRIES - wrong && left > 0);
                    }
                    Attempt::NoneIsGood if is_good => {
                        wrong += 1;
                        prop_assert!(kind != 1 && wrong == WRONG_TRIES);
                    }
                    Attempt::NoneIsGood | Attempt::Wait(_) => {}
                    Attempt::Unreadable => prop_assert!(false, "six digits"),
                }
            }
        }
    }
}
