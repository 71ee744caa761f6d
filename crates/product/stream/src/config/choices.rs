//! Settings that are words or short texts.

use gameway_codec::encoder::Hardware;
use gameway_control::FeedbackStyle;
use gameway_units::declared::Options;
use gameway_units::{Duration, Ecn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// A controller by name, perhaps with options that it checks itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ControllerConfig {
    /// With its defaults.
    Name(String),
    /// With options.
    Options {
        /// Its name.
        kind: String,
        /// Options by name.
        #[serde(flatten)]
        options: Options,
    },
}

impl ControllerConfig {
    /// That of this name, with its defaults.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::Name(name.to_owned())
    }

    /// Its name, and its options.
    pub(crate) fn parts(&self) -> (&str, Options) {
        match self {
            Self::Name(name) => (name, Options::new()),
            Self::Options { kind, options } => (kind, options.clone()),
        }
    }
}

/// Where pictures come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SourceConfig {
    /// The built-in moving scene.
    #[default]
    Scene,
    /// The screen of an X11 server.
    X11 {
        /// Which one, such as ":0"; that of the environment if not given.
        display: Option<String>,
    },
    /// A screen of Wayland that the desktop's portal shares.
    Portal,
    /// A video file, again and again.
    File {
        /// Which one.
        path: PathBuf,
    },
}

impl FromStr for SourceConfig {
    type Err = Infallible;

    /// Reads "scene", "portal", "x11", "x11:DISPLAY" with or without the colon of ":0", or the path of a file.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.split_once(':') {
            _ if text == "scene" => Self::Scene,
            _ if text == "portal" => Self::Portal,
            _ if text == "x11" => Self::X11 { display: None },
            Some(("x11", display)) => {
                let display = format!(":{}", display.trim_start_matches(':'));
                Self::X11 { display: (display.len() > 1).then_some(display) }
            }
            _ => Self::File { path: text.into() },
        })
    }
}

impl fmt::Display for SourceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scene => f.write_str("scene"),
            Self::Portal => f.write_str("portal"),
            Self::X11 { display: None } => f.write_str("x11"),
            Self::X11 { display: Some(display) } => write!(f, "x11{display}"),
            Self::File { path } => write!(f, "{}", path.display()),
        }
    }
}

/// Width and height of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureSize {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

impl FromStr for PictureSize {
    type Err = String;

    /// Reads "1280x720".
    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once('x').map(|(width, height)| (width.parse(), height.parse()));
        match sides {
            Some((Ok(width), Ok(height))) => Ok(Self { width, height }),
            _ => Err(format!("{text:?} is no size; write it as \"1280x720\"")),
        }
    }
}

impl fmt::Display for PictureSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Where a host listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

/// Where a host listens if nobody says another port.
const PORT: u16 = 8443;
const EVERYWHERE: &str = "0.0.0.0";

impl Default for Listen {
    fn default() -> Self {
        Self(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT))
    }
}

impl Listen {
    /// Splits address and port; either may be left out.
    fn parts(text: &str) -> (&str, Option<&str>) {
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((address, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']'))
        {
            return (address, rest.strip_prefix(':'));
        }
        match text.split_once(':') {
            None if is_port(text) && !text.is_empty() => (EVERYWHERE, Some(text)),
            None => (text, None),
            Some((_, rest)) if rest.contains(':') => (text, None),
            Some(("", port)) => (EVERYWHERE, Some(port)),
            Some((address, port)) => (address, Some(port)),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    /// Reads a port, an address or a name, or both; a name is looked up.
    fn from_str(text: &str) -> Result<Self, String> {
        let hint =
            format!("write PORT, ADDRESS or ADDRESS:PORT, for example {PORT} or 192.0.2.7:{PORT}");
        let (address, port) = Self::parts(text.trim());
        let digits = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        let port = port.map_or(Ok(PORT), str::parse::<u16>);
        let (true, Ok(port)) = (digits, port) else {
            return Err(format!("{text:?} has no port from 0 to {}; {hint}", u16::MAX));
        };
        let found = (address, port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let found = found
            .map_err(|error| format!("{text:?} has no address {address:?} ({error}); {hint}"))?;
        // A host that has both is known by the address of the older version.
        let first = found.iter().min_by_key(|address| address.is_ipv6());
        first
            .map(|address| Self(*address))
            .ok_or_else(|| format!("{text:?} has no address; {hint}"))
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The ECN field with which media packets leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnConfig {
    /// As the controller asks.
    #[default]
    Native,
    /// Not ECN-capable.
    None,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, L4S.
    Ect1,
}

impl EcnConfig {
    /// The field, if the controller asks for `native`.
    #[must_use]
    pub const fn or_native(self, native: Ecn) -> Ecn {
        match self {
            Self::Native => native,
            Self::None => Ecn::NotEct,
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

/// When a client of ours reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportsConfig {
    /// As the controller asks.
    #[default]
    Native,
    /// At each frame's last packet.
    PerFrame,
    /// At this interval.
    Interval(Duration),
}

impl ReportsConfig {
    /// The style, if the controller asks for `native`.
    #[must_use]
    pub fn or_native(self, native: FeedbackStyle) -> FeedbackStyle {
        match self {
            Self::Native => native,
            Self::PerFrame => FeedbackStyle::PerFrame,
            Self::Interval(interval) => FeedbackStyle::Interval(interval),
        }
    }
}

impl FromStr for ReportsConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<Duration>()) {
            ("native", _) => Ok(Self::Native),
            ("per-frame", _) => Ok(Self::PerFrame),
            (_, Ok(interval)) if interval > Duration::ZERO => Ok(Self::Interval(interval)),
            _ => Err(format!("{text:?} is none of native, per-frame and an interval (\"50 ms\")")),
        }
    }
}

impl fmt::Display for ReportsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::PerFrame => f.write_str("per-frame"),
            Self::Interval(interval) => interval.fmt(f),
        }
    }
}

/// Which encoder is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderChoice {
    /// The best in software that this build has.
    #[default]
    Auto,
    /// The first hardware that works here.
    Hardware,
    /// libx264.
    X264,
    /// OpenH264.
    Openh264,
    /// NVIDIA's hardware.
    Nvenc,
    /// Intel's hardware.
    Qsv,
    /// A graphics card by VA-API.
    Vaapi,
    /// AMD's hardware.
    Amf,
    /// The kernel's memory-to-memory encoders.
    V4l2m2m,
}

impl EncoderChoice {
    /// The hardware that is named, if one is.
    pub(crate) fn hardware(self) -> Option<Hardware> {
        match self {
            Self::Auto | Self::Hardware | Self::X264 | Self::Openh264 => None,
            Self::Nvenc => Some(Hardware::Nvenc),
            Self::Qsv => Some(Hardware::Qsv),
            Self::Vaapi => Some(Hardware::Vaapi),
            Self::Amf => Some(Hardware::Amf),
            Self::V4l2m2m => Some(Hardware::V4l2m2m),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_an_address_or_both_say_where_to_listen() {
        for (text, meant) in [
            ("8443", "0.0.0.0:8443"),
            (":9000", "0.0.0.0:9000"),
            ("127.0.0.1", "127.0.0.1:8443"),
            ("127.0.0.1:9000", "127.0.0.1:9000"),
            ("localhost:9000", "127.0.0.1:9000"),
            ("::1", "[::1]:8443"),
            ("[::1]", "[::1]:8443"),
            ("[::1]:9000", "[::1]:9000"),
            ("[::]:9000", "[::]:9000"),
        ] {
            assert_eq!(text.parse::<Listen>().map(|listen| listen.to_string()), Ok(meant.into()));
        }
        for text in
            ["70000", "127.0.0.1:x", "127.0.0.1:", "[::1]:-1", "[::1]:+1", "256.0.0.1:80", ""]
        {
            let error = text.parse::<Listen>().expect_err(text);
            assert!(error.starts_with(&format!("{text:?} has no ")), "{error}");
            assert!(error.contains("write PORT, ADDRESS or ADDRESS:PORT"), "{error}");
        }
    }

    #[test]
    fn a_source_is_a_scene_a_screen_or_a_file() {
        let screen =
            |display: Option<&str>| SourceConfig::X11 { display: display.map(str::to_owned) };
        for (text, meant) in [
            ("scene", SourceConfig::Scene),
            ("x11", screen(None)),
            ("x11:", screen(None)),
            ("x11:1", screen(Some(":1"))),
            ("x11::1.0", screen(Some(":1.0"))),
            ("portal", SourceConfig::Portal),
            ("./scene", SourceConfig::File { path: "./scene".into() }),
            ("C:/a.mkv", SourceConfig::File { path: "C:/a.mkv".into() }),
        ] {
            assert_eq!(text.parse(), Ok(meant.clone()));
            assert_eq!(meant.to_string().parse(), Ok(meant));
        }
    }

    #[test]
    fn sizes_and_reports_are_read_as_they_are_written() {
        assert_eq!("320x180".parse(), Ok(PictureSize { width: 320, height: 180 }));
        for text in ["large", "320", "320x", "x180", "320x180x3"] {
            let error = text.parse::<PictureSize>().expect_err(text);
            assert!(error.contains("write it as \"1280x720\""), "{error}");
        }
        let interval = ReportsConfig::Interval(Duration::from_millis(50));
        for reports in [ReportsConfig::Native, ReportsConfig::PerFrame, interval] {
            assert_eq!(reports.to_string().parse(), Ok(reports));
        }
        assert!("0 ms".parse::<ReportsConfig>().is_err());
    }
}
