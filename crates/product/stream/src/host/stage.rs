//! A screen, a sound server and a program of a host's own: what it streams when somebody plays.

use crate::StreamError;
use crate::config::PictureSize;
use crate::error::system;
use gameway_desktop::{DesktopError, KeptProgram, News, Screen, SoundServer, Surroundings};
use gameway_units::{Duration, Instant};
use rustix::rand::{GetRandomFlags, getrandom};
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// From look to look: the program's pipe takes what it says meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// See the module's head. When it is dropped the program ends first, then what it uses.
#[derive(Debug)]
pub struct Stage {
    program: KeptProgram,
    _sound: Option<SoundServer>,
    screen: Screen,
    surroundings: Surroundings,
    /// When it was looked at last.
    looked: Instant,
    _folder: Folder,
}

/// What became of a program, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageNews {
    /// It goes on.
    Note(String),
    /// It is over, for this reason.
    Ended(String),
}

impl Stage {
    /// Starts a screen of this size, sound if it is asked for, and the program, which may have files in the folder that it is told of;
    /// `note` is told what is missing and can be done without.
    ///
    /// # Errors
    /// What is missing, or that the program does not start.
    pub fn start(
        size: PictureSize,
        audio: bool,
        command: impl FnOnce(&Path) -> std::io::Result<Vec<OsString>>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, StreamError> {
        let folder = Folder::make()?;
        let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
        let screen = Screen::start(side(size.width), side(size.height), &folder.0);
        let screen = screen.map_err(|error| refused(&error))?;
        let sound = match audio.then(|| SoundServer::start(&folder.0)) {
            Some(Ok(sound)) => Some(sound),
            Some(Err(error)) => {
                note(&format!("note: no sound: {error}"));
                None
            }
            None => None,
        };
        let command = command(&folder.0).map_err(system("the program's settings"))?;
        let surroundings = Surroundings {
            display: Some(screen.display().to_owned()),
            authority: Some(screen.authority().to_owned()),
            sound: sound.as_ref().map(|sound| sound.server().to_owned()),
        };
        let program = KeptProgram::start(command, surroundings.environment());
        let program = program.map_err(|error| refused(&error))?;
        let looked = Instant::ZERO;
        Ok(Self { program, _sound: sound, screen, surroundings, looked, _folder: folder })
    }

    /// Where the program runs.
    #[must_use]
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// What has happened, if anything has. However often it is asked, it looks ten times a second: each look asks the system.
    pub fn poll(&mut self, now: Instant) -> Option<StageNews> {
        if now < self.looked.saturating_add(LOOK) {
            return None;
        }
        self.looked = now;
        if !self.screen.runs() {
            return Some(StageNews::Ended("the screen has ended".to_owned()));
        }
        Some(match self.program.poll(now)? {
            News::Crashed { reason, .. } => {
                StageNews::Note(format!("the program is started again: {reason}"))
            }
            News::Started => StageNews::Note("the program runs again".to_owned()),
            News::Ended { reason } => StageNews::Ended(format!("the program: {reason}")),
        })
    }
}

fn refused(error: &DesktopError) -> StreamError {
    StreamError::Config { field: "command", why: error.to_string() }
}

/// A folder that nobody else reads, which goes with who has it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn make() -> Result<Self, StreamError> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let parent = runtime.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
        let mut bytes = [0; 8];
        let number = match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(8) => u64::from_ne_bytes(bytes),
            _ => u64::from(std::process::id()),
        };
        let path = parent.join(format!("gameway-{number:016x}"));
        // It must not be there yet: another user could have put a link there.
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|source| {
            StreamError::System {
                what: format!("a folder for the screen in {}", shown(&parent)),
                source,
            }
        })?;
        Ok(Self(path))
    }

    #[cfg(any(test, feature = "cli"))]
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is empty or small, and the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shown(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
