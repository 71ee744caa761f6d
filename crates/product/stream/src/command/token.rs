//! The token that a host asks for: made, or kept in a file or in the environment.
//!
//! It is no option: arguments of a program are seen by all users of its machine (ps).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | length of a new one | 16 characters of 64 | 96 bits: 10^18 years at a thousand guesses a second, which no host allows |
//! | characters | letters, digits, `._~-` | those that a link has without escapes (RFC 3986 section 2.3) |

use super::Refusal;
use rustix::rand::{GetRandomFlags, getrandom};
use std::path::Path;

/// The environment's variable that may hold it.
pub const VARIABLE: &str = "GAMEWAY_TOKEN";
/// The option of a file that does.
pub const OPTION: &str = "token-file";

const NEW: usize = 16;
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=128;
const MIN_DIFFERENT: usize = 8;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const MAKE: &str = "head -c 12 /dev/urandom | base64 | tr '+/' '-_'";

/// That of a file, or else of the environment.
pub fn given(file: Option<&Path>) -> Result<Option<String>, Refusal> {
    if let Some(file) = file {
        let name = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| {
            Refusal::new(format!("--{OPTION}: \"{name}\" cannot be read: {error}"))
        })?;
        return checked(text.trim(), &format!("--{OPTION} {name}")).map(Some);
    }
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => checked(&text, VARIABLE).map(Some),
        _ => Ok(None),
    }
}

/// A new one.
pub fn new() -> Result<String, Refusal> {
    let mut bytes = [0; NEW];
    let got = getrandom(&mut bytes, GetRandomFlags::empty());
    match got {
        Ok(NEW) => {
            Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect())
        }
        _ => Err(Refusal::new("the system has no random numbers")),
    }
}

/// Refuses one that can be guessed or that is not for a link; it is not told.
fn checked(token: &str, origin: &str) -> Result<String, Refusal> {
    let mut different = token.as_bytes().to_vec();
    different.sort_unstable();
    different.dedup();
    let plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte));
    if plain && LENGTHS.contains(&token.len()) && different.len() >= MIN_DIFFERENT {
        return Ok(token.to_owned());
    }
    Err(Refusal::new(format!(
        "{origin}: the token must have {} to {} characters, {MIN_DIFFERENT} different ones, letters, digits and ._~- only; make one: {MAKE}",
        LENGTHS.start(),
        LENGTHS.end()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_one_is_good_and_another_each_time() {
        let tokens: std::collections::BTreeSet<String> =
            (0..10).map(|_| new().expect("a token")).collect();
        assert_eq!(tokens.len(), 10);
        assert!(tokens.iter().all(|token| token.len() == NEW));
    }

    #[test]
    fn one_that_can_be_guessed_or_typed_wrong_is_refused_and_not_told() {
        assert!(checked("a-token-of-24-characters", "X").is_ok());
        for token in ["a", "short-token", "aaaaaaaaaaaaaaaaaaaa", "with spaces in its text"] {
            let told = checked(token, "--token-file f").expect_err(token).told;
            assert!(
                told.starts_with("error: --token-file f: the token must have 16 to 128"),
                "{told}"
            );
            assert!(!told.contains(&format!("\"{token}\"")), "{told}");
        }
    }
}
