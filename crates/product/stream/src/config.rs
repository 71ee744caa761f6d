//! What a host and a client are told when they start: JSON with the keys of this module's structs.

use gameway_codec::encoder::Hardware;
use gameway_experiment::spec::{StreamSpec, Text};
use gameway_units::{Duration, VideoCodec};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What a host is told.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// Where the run's time begins, in nanoseconds of CLOCK_MONOTONIC; now if not given.
    pub epoch_ns: Option<i64>,
    /// When it ends; when somebody stops it if not given.
    pub duration: Option<Text<Duration>>,
    /// The stream: controller, frame rate, bounds, repair, ECN.
    pub stream: StreamSpec,
    /// The address and port of signalling (TCP) and of media (UDP).
    pub listen: SocketAddr,
    /// What a client must know: 16 characters or more, 8 different ones.
    pub token: String,
    /// The names under which browsers reach the host, beside localhost and its addresses.
    #[serde(default)]
    pub names: Vec<String>,
    /// What is streamed.
    #[serde(default)]
    pub source: SourceConfig,
    /// Width and height of the picture.
    #[serde(default = "default_size")]
    pub size: (u32, u32),
    /// Which encoder makes it; one in software is named for H.264, and H.265 has the best there is.
    #[serde(default)]
    pub encoder: EncoderChoice,
    /// Whether the source's sound is streamed, too.
    #[serde(default)]
    pub audio: bool,
    /// Whether frame number, time and input are written into each picture.
    #[serde(default = "yes")]
    pub stamped: bool,
    /// Where the keys of the media go, for a capture to be read: a line a session, `SESSION PROFILE HOST_KEY HOST_SALT
    /// CLIENT_KEY CLIENT_SALT` in hexadecimal. Only for debugging: who has them sees all.
    pub export_keys: Option<PathBuf>,
    /// How often the controller's state is written; 0.5 s if not given.
    pub observe_interval: Option<Text<Duration>>,
    /// Seed of the scene, and of the part of a frame interval by which the first frame is captured later.
    #[serde(default)]
    pub seed: u64,
}

/// Where pictures come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SourceConfig {
    /// The built-in moving scene.
    #[default]
    Scene,
    /// The screen of an X11 server.
    X11 {
        /// Which one, such as ":0"; that of the environment if not given.
        display: Option<String>,
    },
    /// A video file, again and again.
    File {
        /// Which one.
        path: PathBuf,
    },
}

/// Which encoder is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
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

/// What a client is told.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// Where the run's time begins, in nanoseconds of CLOCK_MONOTONIC; now if not given.
    pub epoch_ns: Option<i64>,
    /// When it ends; when somebody stops it if not given.
    pub duration: Option<Text<Duration>>,
    /// The stream's name in tables.
    #[serde(default = "default_stream")]
    pub stream: String,
    /// The host's address of signalling: "http://10.77.0.1:8443/whep".
    pub connect: String,
    /// What the host asks to know.
    pub token: String,
    /// From input to input of the scripted player; none are sent if not given.
    pub input_interval: Option<Text<Duration>>,
    /// How the video is to be coded: h264 or h265.
    #[serde(default)]
    pub codec: Text<VideoCodec>,
    /// Reports as RFC 8888 has them, without finer times of arrival.
    #[serde(default)]
    pub plain_reports: bool,
    /// Where the keys of the media go, for a capture to be read: a line a session, `SESSION PROFILE HOST_KEY HOST_SALT
    /// CLIENT_KEY CLIENT_SALT` in hexadecimal. Only for debugging: who has them sees all.
    pub export_keys: Option<PathBuf>,
}

const fn default_size() -> (u32, u32) {
    (1280, 720)
}

const fn yes() -> bool {
    true
}

fn default_stream() -> String {
    "game".to_owned()
}
