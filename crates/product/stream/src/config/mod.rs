//! What a host and a client are told when they start: each setting with its unit, bounds, default and sentence.
//!
//! Programs read it from JSON, and the command line has its options from it ([`gameway_units::declared`]).

mod choices;
mod streamed;

pub use choices::{
    ControllerConfig, EcnConfig, EncoderChoice, Listen, PictureSize, ReportsConfig, SourceConfig,
};

use crate::StreamError;
use gameway_control::{Controllers, RateController, RateLimits};
use gameway_desktop::Surroundings;
use gameway_media::rate_control::check_bitrates;
use gameway_media::{HEADER, LadderConfig, Overhead};
use gameway_units::declared::{self, as_text};
use gameway_units::{
    Bytes, Content, Duration, Ladder, Rate, Ratio, Recovery, Repair, RepairGoal, VideoCodec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// What a host is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HostConfig {
    /// The stream's name in tables.
    #[default = "game"]
    pub name: String,
    /// The rate controller: pudica, gcc, scream, ...
    #[default(ControllerConfig::named("pudica"))]
    pub controller: ControllerConfig,
    /// `scene` (built in), `x11` or `x11:DISPLAY` (a screen), `portal` (a screen of Wayland, which the desktop asks for), or a video file.
    #[serde(with = "as_text")]
    #[schemars(with = "String")]
    #[default(SourceConfig::Scene)]
    pub source: SourceConfig,
    /// Of the picture, in pixels.
    #[serde(with = "as_text")]
    #[schemars(with = "String")]
    #[default(PictureSize { width: 1280, height: 720 })]
    pub size: PictureSize,
    /// Frames per second.
    #[schemars(range(min = 1, max = 1000))]
    #[default = 60]
    pub frame_rate: u32,
    /// The least bitrate on the wire, with headers and repair.
    #[default(Rate::from_mbps(1))]
    pub min_bitrate: Rate,
    /// The bitrate before anything is known of the network.
    #[default(Rate::from_mbps(5))]
    pub start_bitrate: Rate,
    /// The greatest bitrate on the wire.
    #[default(Rate::from_mbps(40))]
    pub max_bitrate: Rate,
    /// Repair packets as a share of media packets, whatever is lost; a browser has them with `adaptive` and `fec` alone.
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
    pub fec: Ratio,
    /// What is done about losses: `adaptive`, the cheapest mix of repair packets and of sending again what the client asks for; `nack`,
    /// the latter alone; `fec`, the former alone; or `none`.
    #[default(Repair::Adaptive(RepairGoal::default()))]
    pub repair: Repair,
    /// What follows a frame that the client has given up: `reference`, one that refers to a frame which the client has, if the encoder
    /// keeps one; or `key-frame`.
    #[default(Recovery::Reference)]
    pub recovery: Recovery,
    /// What of the picture becomes less while the bitrate does not do for all of it: `size`, `frame-rate`, `both`, or `none`. Browsers
    /// and our client show it as large as before.
    #[default(Ladder::Both)]
    pub ladder: Ladder,
    /// How hard its pictures are to encode, for the ladder: `low`, flat surfaces, takes less only where that is better for all; `medium`;
    /// or `high`, fine textures and noise.
    #[default(Content::Low)]
    pub content: Content,
    /// No lower picture than this, in pixels.
    #[default = 360]
    pub min_height: u32,
    /// No fewer frames per second than this.
    #[schemars(range(min = 1, max = 1000))]
    #[default = 30]
    pub min_frame_rate: u32,
    /// Whether a stream that mostly loses, or of which no reports come, falls to its least bitrate and at last ends (RFC 8083).
    #[default = true]
    pub circuit_breaker: bool,
    /// The most that a packet has on the wire.
    #[schemars(extend("x-none" = "payloads of 1200 B", "x-min" = "256 B", "x-max" = "1500 B"))]
    pub mtu: Option<Bytes>,
    /// The ECN field of media packets.
    #[default(EcnConfig::Native)]
    pub ecn: EcnConfig,
    /// When a client of ours reports: `native` (as the controller asks), `per-frame`, or an interval.
    #[serde(with = "as_text")]
    #[schemars(with = "String")]
    #[default(ReportsConfig::Native)]
    pub reports: ReportsConfig,
    /// When the first frame is captured, after the epoch.
    pub start: Duration,
    /// When the last one is.
    #[schemars(extend("x-none" = "when the host ends"))]
    pub stop: Option<Duration>,
    /// Port, address or ADDRESS:PORT, for HTTP by TCP and for media by UDP.
    #[serde(with = "as_text")]
    #[schemars(with = "String")]
    pub listen: Listen,
    /// What a client must know that is no paired device: 16 characters or more, 8 different ones.
    pub token: String,
    /// Where the devices are kept that are let in by a key of their own.
    #[schemars(extend("x-none" = "devices are not paired"))]
    pub devices: Option<PathBuf>,
    /// Where the user's permission to capture a screen of Wayland is kept.
    #[schemars(extend("x-none" = "the user is asked at each start"))]
    pub screen_permission: Option<PathBuf>,
    /// A certificate (PEM) for HTTPS.
    #[schemars(extend("x-none" = "plain HTTP"))]
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    #[schemars(extend("x-none" = "plain HTTP"))]
    pub certificate_key: Option<PathBuf>,
    /// The names under which browsers reach the host, beside localhost and its addresses.
    pub names: Vec<String>,
    /// Where browsers open the page, if not at the addresses at which the host listens: where something in front of it hands on.
    pub addresses: Vec<IpAddr>,
    /// The same for media: where clients send it.
    pub media_addresses: Vec<IpAddr>,
    /// Whether media may come by TCP, too, to the page's port, for a browser whom UDP does not reach. Not where something in front hands on
    /// media.
    #[default = true]
    pub tcp: bool,
    /// Whether the router is asked to hand on this port from the internet (PCP, NAT-PMP, UPnP) while the host runs: anyone can open
    /// the page then.
    pub map_ports: bool,
    /// A STUN server, HOST:PORT: it is asked under which address others see this machine, and so are browsers.
    #[schemars(extend("x-none" = "nobody is asked"))]
    pub stun: Option<String>,
    /// A TURN server, turn:HOST:PORT or turns:HOST:PORT, that hands on media where nothing goes straight.
    #[schemars(extend("x-none" = "none"))]
    pub turn: Option<String>,
    /// What that server wants to know: a file with USER:PASSWORD, or with the secret alone that it shares with this host.
    #[schemars(extend("x-none" = "nothing"))]
    pub turn_credentials: Option<PathBuf>,
    /// Where a lab behind the host listens (a Unix socket), which the page shows and steers.
    #[schemars(extend("x-none" = "no lab"))]
    pub lab: Option<PathBuf>,
    /// Where a monitor such as Prometheus asks for figures at /metrics (ADDRESS:PORT), by plain HTTP and without a token.
    #[schemars(extend("x-none" = "nowhere"))]
    pub metrics: Option<SocketAddr>,
    /// `auto`: software; `hardware`: what works; or one by name. H.265 has the best there is.
    #[default(EncoderChoice::Auto)]
    pub encoder: EncoderChoice,
    /// The scene's beeps, the file's sound, or what PulseAudio plays (needs parec).
    #[default = true]
    pub audio: bool,
    /// Whether who has the stream plays, too: keys, mouse and wheel go to the screen, or move a marker in the scene.
    pub input: bool,
    /// How many may watch beside the client that plays; each has an encoder of its own.
    #[schemars(range(max = 8))]
    pub watchers: u32,
    /// Whether who plays may copy text from the screen's clipboard and paste text into it, each time by an act of their own.
    #[default = true]
    pub clipboard: bool,
    /// Whether frame number, time and input are written into each picture.
    #[default = true]
    pub stamped: bool,
    /// How often the controller's state is told.
    #[schemars(extend("x-min" = "1 ms"))]
    #[default(Duration::from_millis(500))]
    pub observe_interval: Duration,
    /// How often tables are written down, in pieces that can be read at once.
    #[schemars(extend("x-none" = "at the end, whole tables", "x-min" = "1 s"))]
    pub keep_interval: Option<Duration>,
    /// Seed of the scene.
    pub seed: u64,
    /// Where the keys of the media go, for a capture to be read: a line a session, `SESSION PROFILE HOST_KEY HOST_SALT
    /// CLIENT_KEY CLIENT_SALT` in hexadecimal. Only for debugging: who has them sees all.
    #[schemars(extend("x-none" = "nowhere"))]
    pub export_keys: Option<PathBuf>,
    /// Where time begins, in nanoseconds of CLOCK_MONOTONIC.
    #[schemars(extend("x-none" = "now"))]
    pub epoch_ns: Option<i64>,
    /// The cookie of the screen that is captured, and the sound server that is heard, if they are the host's own.
    #[serde(skip)]
    #[schemars(skip)]
    pub surroundings: Surroundings,
    /// Where a test card that is played tells of its answers.
    #[serde(skip)]
    #[schemars(skip)]
    pub card: Option<PathBuf>,
    /// How long the host is there.
    #[schemars(extend("x-none" = "until Ctrl-C"))]
    pub duration: Option<Duration>,
}

impl HostConfig {
    /// Reads settings by name.
    ///
    /// # Errors
    /// The first that is unknown or out of bounds; how settings contradict.
    pub fn read(settings: &declared::Options) -> Result<Self, StreamError> {
        let config: Self = declared::read(settings)?;
        config.limits()?;
        Ok(config)
    }

    /// Time from frame to frame.
    #[must_use]
    pub fn frame_interval(&self) -> Duration {
        Duration::from_secs(1) / i64::from(self.frame_rate.max(1))
    }

    /// Whether there is a clipboard for who plays: a screen has one.
    #[must_use]
    pub(crate) fn shares_clipboard(&self) -> bool {
        let is_screen = matches!(self.source, SourceConfig::X11 { .. } | SourceConfig::Portal);
        self.clipboard && self.input && is_screen
    }

    /// The ladder of a stream, if it has one.
    #[must_use]
    pub fn ladder(&self) -> Option<LadderConfig> {
        let size = (self.size.width, self.size.height);
        let follows = (self.ladder, self.content);
        LadderConfig::new(follows, size, self.frame_rate).map(|all| LadderConfig {
            min_height: self.min_height,
            min_frames_per_second: self.min_frame_rate,
            ..all
        })
    }

    /// The bounds of the controller.
    ///
    /// # Errors
    /// If they contradict, or let a frame be larger than its packets can hold.
    pub fn limits(&self) -> Result<RateLimits, StreamError> {
        let Self { min_bitrate, start_bitrate, max_bitrate, .. } = *self;
        let payload = Overhead::new(HEADER, Bytes::ZERO, self.mtu).payload;
        check_bitrates(min_bitrate, max_bitrate, self.frame_rate, payload)
            .map_err(|error| StreamError::Config { field: error.key, why: error.why })?;
        if !(min_bitrate..=max_bitrate).contains(&start_bitrate) {
            let why = format!(
                "{start_bitrate} is not between min_bitrate ({min_bitrate}) and max_bitrate ({max_bitrate})"
            );
            return Err(StreamError::Config { field: "start_bitrate", why });
        }
        Ok(RateLimits {
            min: min_bitrate,
            max: max_bitrate,
            start: start_bitrate,
            frame_interval: self.frame_interval(),
        })
    }

    /// The controller of a session, one of those that are `known`.
    ///
    /// # Errors
    /// If there is none of that name, or not with these options.
    pub fn build_controller(
        &self,
        known: &Controllers,
    ) -> Result<Box<dyn RateController>, StreamError> {
        let (name, options) = self.controller.parts();
        known
            .build(name, &options, self.limits()?)
            .map_err(|error| StreamError::Config { field: "controller", why: error.to_string() })
    }
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ClientConfig {
    /// The stream's name in tables.
    #[default = "game"]
    pub stream: String,
    /// The host's address of signalling: "http://192.0.2.7:8443/whep", or "https://..." with the SHA-256 of the host's certificate
    /// behind a #, unless an authority vouches for it.
    pub connect: String,
    /// What the host asks to know.
    pub token: String,
    /// From input to input of a scripted player.
    #[schemars(extend("x-none" = "no inputs", "x-min" = "1 ms"))]
    pub input_interval: Option<Duration>,
    /// What to ask the host for; h265 if it has an encoder of it.
    pub codec: VideoCodec,
    /// Reports as RFC 8888 has them, without finer times of arrival.
    pub plain_reports: bool,
    /// As a host's.
    #[schemars(extend("x-none" = "nowhere"))]
    pub export_keys: Option<PathBuf>,
    /// Where time begins, in nanoseconds of CLOCK_MONOTONIC.
    #[schemars(extend("x-none" = "now"))]
    pub epoch_ns: Option<i64>,
    /// How long the client is there.
    #[schemars(extend("x-none" = "until Ctrl-C"))]
    pub duration: Option<Duration>,
}

impl ClientConfig {
    /// Reads settings by name.
    ///
    /// # Errors
    /// The first that is unknown or out of bounds.
    pub fn read(settings: &declared::Options) -> Result<Self, StreamError> {
        Ok(declared::read(settings)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: serde_json::Value) -> Result<HostConfig, String> {
        let settings = settings.as_object().expect("a table");
        HostConfig::read(settings).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_said_is_the_default_which_is_written_as_it_is_read() {
        assert_eq!(read(json!({})), Ok(HostConfig::default()));
        let written = serde_json::to_value(HostConfig::default()).expect("JSON");
        assert_eq!(read(written), Ok(HostConfig::default()));
        let client = serde_json::to_value(ClientConfig::default()).expect("JSON");
        let read = ClientConfig::read(client.as_object().expect("a table"));
        assert_eq!(read.map_err(|error| error.to_string()), Ok(ClientConfig::default()));
    }

    #[test]
    fn a_setting_that_cannot_be_is_named_with_what_is_allowed() {
        for (settings, told) in [
            (json!({ "frame_rate": 0 }), "frame_rate: 0 is not between 1 and 1000"),
            (json!({ "fec": "500 %" }), "fec: 500 % is not between 0 % and 100 %"),
            (json!({ "min_bitrate": "3" }), "min_bitrate: \"3\" has nothing as unit; allowed are"),
            (json!({ "min_bitrate": "0 b/s" }), "min_bitrate: 0 b/s is not between 1 b/s and"),
            (
                json!({ "start_bitrate": "60 Mb/s" }),
                "start_bitrate: 60 Mb/s is not between min_bitrate (1 Mb/s) and max_bitrate (40 Mb/s)",
            ),
            (
                json!({ "min_bitrate": "50 Mb/s" }),
                "min_bitrate: 50 Mb/s is not between 1 b/s and max_bitrate",
            ),
            (
                json!({ "max_bitrate": "100 Gb/s" }),
                "max_bitrate: at 60 frames/s a frame of 100 Gb/s can need",
            ),
            (json!({ "mtu": "200 B" }), "mtu: 200 B is not between 256 B and 1500 B"),
            (
                json!({ "encoder": "none" }),
                "encoder: unknown variant `none`, expected one of `auto`",
            ),
            (json!({ "speed": 1 }), "speed: is no option; known are addresses, audio,"),
        ] {
            let error = read(settings.clone()).expect_err("it cannot be");
            assert!(error.starts_with(told), "{settings}: {error}");
        }
    }

    #[test]
    fn a_controller_has_options_or_is_refused_by_name() {
        let build = |controller: serde_json::Value| {
            let config = read(json!({ "controller": controller })).expect("settings");
            config
                .build_controller(&Controllers::standard())
                .map(drop)
                .map_err(|error| error.to_string())
        };
        assert_eq!(build(json!("gcc")), Ok(()));
        assert_eq!(build(json!({ "kind": "pudica", "reduce_on_loss": "on" })), Ok(()));
        for (controller, named) in [
            (json!("oracle"), "\"oracle\""),
            (json!({ "kind": "pudica", "speed": 1 }), "controller \"pudica\": speed: is no option"),
        ] {
            let error = build(controller).expect_err("it cannot be");
            assert!(error.starts_with("controller: ") && error.contains(named), "{error}");
        }
    }
}
