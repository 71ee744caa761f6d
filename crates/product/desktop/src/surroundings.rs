//! What a program is told of where it runs.
//!
//! Source: X(7), pulseaudio(1); SDL 2's and 3's SDL_hints.h; OpenAL Soft's env-vars.txt. Those two libraries try other sound servers first,
//! such as the desktop's PipeWire, if they are not told. SDL 2 takes the name that SDL 1.2 has for PulseAudio.

use std::ffi::OsString;
use std::path::PathBuf;

/// Screen and sound for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The X11 screen, such as ":7".
    pub display: Option<String>,
    /// The file with its cookie.
    pub authority: Option<PathBuf>,
    /// The sound server, as PulseAudio's clients call it.
    pub sound: Option<String>,
}

impl Surroundings {
    /// Names and values of its environment.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, OsString)> {
        let mut all: Vec<(&str, OsString)> = Vec::new();
        if let Some(display) = &self.display {
            all.push(("DISPLAY", display.into()));
            // Without a name, libwayland tries the desktop's usual one: the program would play there.
            all.push(("WAYLAND_DISPLAY", OsString::new()));
            all.push(("XDG_SESSION_TYPE", "x11".into()));
        }
        all.extend(self.authority.iter().map(|authority| ("XAUTHORITY", authority.into())));
        all.extend(self.sound.iter().map(|sound| ("PULSE_SERVER", sound.into())));
        let drivers = match self.sound {
            Some(_) => ["pulse", "pulseaudio", "pulse"],
            None => ["dummy", "dummy", "null"],
        };
        let names = ["SDL_AUDIODRIVER", "SDL_AUDIO_DRIVER", "ALSOFT_DRIVERS"];
        all.extend(names.into_iter().zip(drivers.map(Into::into)));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_hears_of_what_there_is() {
        let of = |surroundings: &Surroundings, name: &str| {
            let all = surroundings.environment();
            all.into_iter().find(|(own, _)| own == name).map(|(_, value)| value)
        };
        let nothing = Surroundings::default();
        assert_eq!(of(&nothing, "SDL_AUDIODRIVER"), Some("dummy".into()));
        assert_eq!(of(&nothing, "ALSOFT_DRIVERS"), Some("null".into()));
        assert_eq!(nothing.environment().len(), 3);
        let all = Surroundings {
            display: Some(":7".to_owned()),
            authority: Some("cookie".into()),
            sound: Some("unix:socket".to_owned()),
        };
        for (name, value) in [
            ("DISPLAY", ":7"),
            ("WAYLAND_DISPLAY", ""),
            ("XAUTHORITY", "cookie"),
            ("PULSE_SERVER", "unix:socket"),
            ("SDL_AUDIODRIVER", "pulse"),
            ("SDL_AUDIO_DRIVER", "pulseaudio"),
            ("ALSOFT_DRIVERS", "pulse"),
        ] {
            assert_eq!(of(&all, name), Some(value.into()), "{name}");
        }
    }
}
