//! Secrets of one session: names and passwords of ICE, transaction numbers, stream numbers.
//!
//! All are HMAC-SHA-256 of a label and a count under 32 random bytes that the driver hands in
//! ([`Secrets::from_system`]), so that the core draws nothing itself. (DTLS and SCTP draw their own
//! numbers from the system.)

use aws_lc_rs::{hmac, rand};
use std::fmt;

/// Letters of ICE names and passwords (RFC 8839 section 5.4: ice-char).
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A source of secrets.
pub struct Secrets {
    key: hmac::Key,
    count: u64,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets(..)")
    }
}

impl Secrets {
    /// From 32 bytes that nobody else knows.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &seed), count: 0 }
    }

    /// From the system's random numbers; for drivers.
    ///
    /// # Panics
    /// If the system has none, on which no connection is safe.
    #[must_use]
    pub fn from_system() -> Self {
        let mut seed = [0; 32];
        rand::fill(&mut seed).expect("the system gives random numbers");
        Self::new(seed)
    }

    /// The next secret bytes, at most 32.
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        self.count += 1;
        let digest = hmac::sign(&self.key, &self.count.to_be_bytes());
        let mut bytes = [0; N];
        bytes.copy_from_slice(&digest.as_ref()[..N]);
        bytes
    }

    /// The next word of `N` letters, six bits each.
    pub(crate) fn word<const N: usize>(&mut self) -> String {
        self.bytes::<N>().iter().map(|byte| char::from(LETTERS[usize::from(byte & 63)])).collect()
    }

    /// The next word of letters that a link or a header has without escapes: the same alphabet, as RFC 4648 section 5 has it.
    pub(crate) fn word_for_links<const N: usize>(&mut self) -> String {
        self.word::<N>().replace('/', "_").replace('+', "-")
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_from_each_other_and_repeat_with_their_seed() {
        let mut one = Secrets::new([7; 32]);
        let mut same = Secrets::new([7; 32]);
        let mut other = Secrets::new([8; 32]);
        let (first, second) = (one.word::<24>(), one.word::<24>());
        assert_ne!(first, second);
        assert_eq!(first, same.word::<24>());
        assert_ne!(first, other.word::<24>());
        assert!(first.bytes().all(|letter| LETTERS.contains(&letter)));
    }
}
