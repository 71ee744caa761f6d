//! An X11 screen of its own: Xvfb (Debian: `xvfb`), without a monitor.
//!
//! Source: Xvfb(1), Xserver(1) of X.Org 21.1. The server writes its display's number when it is ready (`-displayfd`). A server that has
//! to find a number looks in its own network namespace, and takes the socket in `/tmp/.X11-unix` from a server of another namespace
//! that has found the same one. So the number is drawn, above those of desktops.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | displays | 1,000 to 50,999 | ours: servers find numbers from 0 up; X's ports end at 59,535 |

use crate::group::Group;
use crate::server::{Starting, unusable};
use crate::{DesktopError, authority};
use rustix::io::ioctl_fionbio;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io::Read;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};

const PROGRAM: &str = "Xvfb";
const FIRST_DISPLAY: u16 = 1_000;
const DISPLAYS: u16 = 50_000;
/// Coordinates of X11 have 16 bits with a sign.
const MAX_SIDE: u16 = i16::MAX as u16;

/// An X11 screen, until it is dropped.
#[derive(Debug)]
pub struct Screen {
    server: Group,
    display: String,
    authority: PathBuf,
}

impl Screen {
    /// Starts one of 24-bit colour. Its cookie and what the server says are files in `folder`, which must be there.
    ///
    /// # Errors
    /// [`DesktopError`] if Xvfb is not installed or does not start.
    pub fn start(width: u16, height: u16, folder: &Path) -> Result<Self, DesktopError> {
        if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
            let reason = format!("each side has 1 to {MAX_SIDE} pixels, not {width}x{height}");
            return Err(DesktopError::start(PROGRAM, reason));
        }
        // The program may be in another folder.
        let folder = absolute(folder).map_err(|error| unusable(PROGRAM, folder, &error))?;
        let authority = folder.join("screen.authority");
        authority::create(&authority).map_err(|error| unusable(PROGRAM, &authority, &error))?;
        let mut command = Command::new(PROGRAM);
        command
            .arg(drawn_display()?)
            .args("-displayfd 1 -nolisten tcp -noreset".split(' '))
            .args("+extension DAMAGE +extension MIT-SHM +extension XTEST".split(' '))
            .args(["-screen", "0", &format!("{width}x{height}x24"), "-auth"])
            .arg(&authority)
            .stdout(Stdio::piped());
        let mut starting = Starting::start(&mut command, "xvfb", folder.join("screen.log"))?;
        let output = starting.group().output();
        let mut output = output.ok_or_else(|| DesktopError::start(PROGRAM, "no output"))?;
        ioctl_fionbio(&output, true)
            .map_err(|error| DesktopError::start(PROGRAM, error.to_string()))?;
        let mut line = Vec::new();
        let (server, number) = starting.ready(|| {
            // What is there, however little.
            let _ = output.read_to_end(&mut line);
            let number = std::str::from_utf8(&line).ok()?.strip_suffix('\n')?;
            number.parse::<u32>().ok()
        })?;
        Ok(Self { server, display: format!(":{number}"), authority })
    }

    /// Its name, such as ":7".
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The file with its cookie.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// Whether the server runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.server.ending().is_none()
    }
}

/// The name of a display whose number is drawn.
fn drawn_display() -> Result<String, DesktopError> {
    let mut drawn = [0; 2];
    getrandom(&mut drawn, GetRandomFlags::empty())
        .map_err(|error| DesktopError::start(PROGRAM, error.to_string()))?;
    Ok(format!(":{}", FIRST_DISPLAY + u16::from_ne_bytes(drawn) % DISPLAYS))
}
