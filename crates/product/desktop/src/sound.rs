//! A sound server of its own: PulseAudio (Debian: `pulseaudio`), whose only device goes nowhere and has a monitor to capture.
//!
//! Source: pulseaudio(1) and the list of modules of PulseAudio 16. The server reads no configuration and uses nothing of this user's other
//! servers: its files are in a folder of its own. Who connects must be the same user; the kernel says who that is.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | samples | 48 kHz, 16 bits, two channels | what is captured and encoded, so that nothing is resampled on the way |

use crate::DesktopError;
use crate::group::Group;
use crate::server::{Starting, unusable};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, absolute};
use std::process::{Command, Stdio};

const PROGRAM: &str = "pulseaudio";

/// A sound server, until it is dropped.
#[derive(Debug)]
pub struct SoundServer {
    server: Group,
    name: String,
}

impl SoundServer {
    /// Starts one. Its files are in a new folder in `folder`, which must be there.
    ///
    /// # Errors
    /// [`DesktopError`] if PulseAudio is not installed or does not start.
    pub fn start(folder: &Path) -> Result<Self, DesktopError> {
        // The program may be in another folder.
        let folder = absolute(folder).map_err(|error| unusable(PROGRAM, folder, &error))?;
        let own = folder.join("sound");
        let made = DirBuilder::new().mode(0o700).create(&own).or_else(is_there);
        made.map_err(|error| unusable(PROGRAM, &own, &error))?;
        let socket = own.join("socket");
        // The server would cut off a name that is too long.
        SocketAddr::from_pathname(&socket).map_err(|error| unusable(PROGRAM, &socket, &error))?;
        let name = format!("unix:{}", socket.display());
        if socket.to_str().is_none_or(|path| path.contains(char::is_whitespace)) {
            let reason = format!("{name}: its clients take no path with a space");
            return Err(DesktopError::start(PROGRAM, reason));
        }
        let mut command = Command::new(PROGRAM);
        command
            .args("-n --daemonize=no --exit-idle-time=-1 --use-pid-file=no".split(' '))
            .args("--disallow-exit --disallow-module-loading --log-target=stderr".split(' '))
            .arg("--load=module-null-sink sink_name=gameway format=s16le rate=48000 channels=2")
            // Last, so that who can connect finds the device. A name without a folder is one in the first of these folders.
            .arg("--load=module-native-protocol-unix auth-cookie-enabled=0 socket=socket")
            .envs(["PULSE_RUNTIME_PATH", "PULSE_STATE_PATH"].map(|name| (name, &own)))
            // No bus: on the desktop's it would take the name of the desktop's own server.
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .stdout(Stdio::null());
        let packages = "pulseaudio and pulseaudio-utils";
        let starting = Starting::start(&mut command, packages, folder.join("sound.log"))?;
        let (server, _) = starting.ready(|| UnixStream::connect(&socket).ok())?;
        Ok(Self { server, name })
    }

    /// Its name, as PulseAudio's clients take it (`PULSE_SERVER`).
    #[must_use]
    pub fn server(&self) -> &str {
        &self.name
    }

    /// Whether the server runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.server.ending().is_none()
    }
}

/// A folder of a server before is as good as a new one.
fn is_there(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}
