//! An X11 screen of its own: Xvfb (Debian: `xvfb`), without a monitor.
//!
//! Source: Xvfb(1), Xserver(1) of X.Org 21.1. The server finds a display's number that is free and writes it when it is ready (`-displayfd`).

use crate::group::Group;
use crate::server::{Starting, unusable};
use crate::{DesktopError, authority};
use rustix::io::ioctl_fionbio;
use std::io::Read;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};

const PROGRAM: &str = "Xvfb";
/// Coordinates of X11 have 16 bits with a sign.
const MOST: u16 = i16::MAX as u16;

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
        if !(1..=MOST).contains(&width) || !(1..=MOST).contains(&height) {
            let reason = format!("each side has 1 to {MOST} pixels, not {width}x{height}");
            return Err(DesktopError::start(PROGRAM, reason));
        }
        // The program may be in another folder.
        let folder = absolute(folder).map_err(|error| unusable(PROGRAM, folder, &error))?;
        let authority = folder.join("screen.authority");
        authority::create(&authority).map_err(|error| unusable(PROGRAM, &authority, &error))?;
        let mut command = Command::new(PROGRAM);
        command
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
