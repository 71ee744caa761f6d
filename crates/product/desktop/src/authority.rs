//! Files of cookies that X servers ask for.
//!
//! Source: Xau(3) of libXau 1.0 and `Xauth.h`: entries of a family, an address, a display's number, the name of a method and its data.
//! The family has 16 bits, all others are a length of 16 bits and so many bytes, most significant first.

use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The method that all servers know: 128 bits that both know.
pub(crate) const METHOD: &[u8] = b"MIT-MAGIC-COOKIE-1";
/// The family of entries for every address.
const ANY: u16 = 65_535;
const COOKIE: usize = 16;

/// Writes a file with a new cookie, for any display, that only this user can read.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    let mut cookie = [0; COOKIE];
    // The kernel gives that much at once, or waits until it has it.
    getrandom(&mut cookie, GetRandomFlags::empty())?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&entry(ANY, [b"", b"", METHOD, &cookie]))
}

fn entry(family: u16, fields: [&[u8]; 4]) -> Vec<u8> {
    let mut bytes = family.to_be_bytes().to_vec();
    for field in fields {
        bytes.extend((field.len() as u16).to_be_bytes());
        bytes.extend(field);
    }
    bytes
}

/// The cookie in these bytes for a display at an address, if they have one.
#[cfg(feature = "x11")]
pub(crate) fn cookie_for(
    mut bytes: &[u8],
    is_here: impl Fn(u16, &[u8]) -> bool,
    display: u16,
) -> Option<Vec<u8>> {
    let display = display.to_string();
    loop {
        let family = u16::from_be_bytes(bytes.split_off(..2)?.try_into().ok()?);
        let mut field = || {
            let length = u16::from_be_bytes(bytes.split_off(..2)?.try_into().ok()?);
            bytes.split_off(..usize::from(length))
        };
        let (address, number, method, data) = (field()?, field()?, field()?, field()?);
        let is_here = family == ANY || is_here(family, address);
        let is_it = number.is_empty() || number == display.as_bytes();
        if is_here && is_it && method == METHOD {
            return Some(data.to_vec());
        }
    }
}

#[cfg(all(test, feature = "x11"))]
mod tests {
    use super::*;

    const LOCAL: u16 = 256;

    fn here(family: u16, address: &[u8]) -> bool {
        (family, address) == (LOCAL, b"host")
    }

    #[test]
    fn the_cookie_is_that_of_the_display() {
        let mut file = entry(LOCAL, [b"other", b"7", METHOD, b"a"]);
        file.extend(entry(LOCAL, [b"host", b"8", METHOD, b"b"]));
        file.extend(entry(LOCAL, [b"host", b"7", b"XDM-AUTHORIZATION-1", b"c"]));
        file.extend(entry(LOCAL, [b"host", b"7", METHOD, b"d"]));
        assert_eq!(cookie_for(&file, here, 7).as_deref(), Some(&b"d"[..]));
        assert_eq!(cookie_for(&file, here, 8).as_deref(), Some(&b"b"[..]));
        assert_eq!(cookie_for(&file, here, 9), None);
        file.extend(entry(ANY, [b"", b"", METHOD, b"e"]));
        assert_eq!(cookie_for(&file, here, 9).as_deref(), Some(&b"e"[..]));
        assert_eq!(cookie_for(&file[..file.len() - 1], here, 9), None);
    }
}
