//! Keys of the media, written for a capture to be read. Only for debugging: who has the file sees all.
//!
//! One line a session, words between single spaces:
//!
//! ```text
//! SESSION PROFILE HOST_KEY HOST_SALT CLIENT_KEY CLIENT_SALT
//! 0 SRTP_AEAD_AES_128_GCM 30b2... 91c7... 5d00... e1f4...
//! ```
//!
//! Profiles are named as in RFC 5764 section 4.1.2 and RFC 7714 section 14.2; keys and salts are the master ones that DTLS
//! exported, in hexadecimal. libsrtp takes key and salt of a direction as one string of bytes.

use crate::StreamError;
use crate::error::system;
use gameway_webrtc::SrtpKeys;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Readable by its owner only.
const MODE: u32 = 0o600;

/// The file that sessions' keys are added to.
#[derive(Debug)]
pub(crate) struct KeyFile {
    file: File,
    name: String,
}

impl KeyFile {
    /// An empty one.
    pub(crate) fn create(path: &Path) -> Result<Self, StreamError> {
        let name = format!("keys to {}", path.display());
        let options =
            OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(path);
        Ok(Self { file: options.map_err(system(name.clone()))?, name })
    }

    /// Adds a session; `is_host` says whose keys are the local ones.
    pub(crate) fn add(
        &mut self,
        session: u32,
        keys: &SrtpKeys,
        is_host: bool,
    ) -> Result<(), StreamError> {
        let line = line(session, keys, is_host);
        self.file.write_all(line.as_bytes()).map_err(system(self.name.clone()))
    }
}

fn line(session: u32, keys: &SrtpKeys, is_host: bool) -> String {
    let (host, client) =
        if is_host { (&keys.local, &keys.remote) } else { (&keys.remote, &keys.local) };
    let words = [&host.0, &host.1, &client.0, &client.1].map(|bytes| hexadecimal(bytes));
    format!("{session} {} {}\n", keys.profile, words.join(" "))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_write_the_same_line() {
        let (host, client) = ((vec![1, 0xAB], vec![2]), (vec![3, 4], vec![5]));
        let profile = "SRTP_AEAD_AES_128_GCM";
        let of_host = SrtpKeys { profile, local: host.clone(), remote: client.clone(), tag: 16 };
        let of_client = SrtpKeys { profile, local: client, remote: host, tag: 16 };
        assert_eq!(line(7, &of_host, true), "7 SRTP_AEAD_AES_128_GCM 01ab 02 0304 05\n");
        assert_eq!(line(7, &of_client, false), line(7, &of_host, true));
    }
}
