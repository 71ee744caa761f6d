//! What the gateway is told, in a file of TOML: each key with its unit, bounds, default and sentence, checked as those of
//! experiment files are ([`gameway_units::declared`]).

use crate::exceptions::{Exception, Exceptions};
use crate::games::GamesConfig;
use crate::own_queue::ShapeConfig;
use gameway_gateway::WindowsConfig;
use gameway_path::Dscp;
use gameway_units::Bytes;
use gameway_units::declared::{self, Configuration, Declared, OptionError, Options, on_off};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where the file is, if nobody says where.
pub const FILE: &str = "/etc/gameway/gateway.toml";
/// Where control sockets are, if nobody says where.
const SOCKETS: &str = "/run/gameway-gateway";
/// Longest name of an interface: IFNAMSIZ of Linux less its end.
const NAME_BYTES: usize = 15;
/// An evening of five hours with ten downloads at a time has 12 MB.
const MAX_RECORD: Bytes = Bytes::new(20_000_000);
/// A word is near another one from here on (Jaro and Winkler's measure; clap's bound for options).
const NEAR: f64 = 0.7;

/// What is done so that downloads do not queue in front of the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Their windows are lowered.
    #[default]
    Windows,
    /// They wait in a queue of the gateway's own, which is slower than the link.
    Shape,
    /// Both.
    Both,
}

impl Mode {
    /// As a file has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Windows => "windows",
            Self::Shape => "shape",
            Self::Both => "both",
        }
    }
}

/// What a file can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The interface towards the home: its bridge, mostly; packets pass it with the home's addresses.
    #[schemars(extend("examples" = ["br-lan"]))]
    pub home: String,
    /// Whether windows are lowered, or downloads wait in a queue of the gateway's own.
    #[serde(default)]
    pub mode: Mode,
    /// How windows are lowered.
    #[serde(default)]
    pub windows: WindowsConfig,
    /// The gateway's own queue.
    #[serde(default)]
    pub shape: ShapeConfig,
    /// Connections whose windows are left as they are.
    #[serde(default)]
    pub leave_alone: Vec<Exception>,
    /// Whether games are found by behaviour.
    #[serde(default = "yes", with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub games: bool,
    /// Whether packets to the home are a game's if their DSCP is EF, CS4, CS5, AF41, AF42 or AF43.
    #[serde(default, with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub trust_dscp: bool,
    /// The DSCP that packets of games to the home get: Wi-Fi's queues read it.
    #[serde(default)]
    #[schemars(extend("x-none" = "none", "examples" = ["ef", "cs5"]))]
    pub mark: Option<String>,
    /// Connections that are games.
    #[serde(default)]
    pub game: Vec<Exception>,
    /// Connections that are no games, whatever they behave like or say.
    #[serde(default)]
    pub no_game: Vec<Exception>,
    /// The socket by which it is asked for its status and to end.
    #[serde(default)]
    #[schemars(extend("x-none" = "/run/gameway-gateway/HOME.sock"))]
    pub control: Option<PathBuf>,
    /// What is so, for browsers and monitors of the home.
    #[serde(default)]
    pub status: StatusConfig,
    /// What is so each second, in a file.
    #[serde(default)]
    pub record: RecordConfig,
}

/// How it is recorded what is so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordConfig {
    /// The file, which is made or gone on with.
    #[schemars(extend("x-none" = "nothing is recorded", "examples" = ["/tmp/evening.jsonl"]))]
    pub file: Option<PathBuf>,
    /// When the file is so large, the recording ends.
    #[schemars(extend("x-min" = "1 kB", "x-max" = "100 GB"))]
    pub max_size: Bytes,
    /// Whether ends of connections are told by their addresses, or by numbers.
    pub addresses: bool,
}

impl Default for RecordConfig {
    fn default() -> Self {
        Self { file: None, max_size: MAX_RECORD, addresses: false }
    }
}

/// Where what is so is shown to the home.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatusConfig {
    /// An address of the home's interface, and a port.
    #[schemars(extend("x-none" = "nowhere", "examples" = ["192.168.1.1:9443"]))]
    pub listen: Option<String>,
    /// Names of the router under which the page is asked for, beside its addresses.
    pub names: Vec<String>,
    /// A list of leases as dnsmasq keeps it: what devices are called.
    #[schemars(extend("x-none" = "devices have no names", "examples" = ["/tmp/dhcp.leases"]))]
    pub leases: Option<PathBuf>,
}

impl StatusConfig {
    /// Where it is shown.
    ///
    /// # Errors
    /// If that is no address with a port.
    pub fn address(&self) -> Result<Option<SocketAddr>, OptionError> {
        let parsed = self.listen.as_ref().map(|text| {
            text.parse().map_err(|_| OptionError {
                option: Some("status.listen".to_owned()),
                why: format!(
                    "{text:?} is no address with a port; write for example \"192.168.1.1:9443\""
                ),
            })
        });
        parsed.transpose()
    }
}

/// Why a file is no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}{why}", file.display(), if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// The key, with dots between those of tables; empty where it is none in particular.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub why: String,
}

impl GatewayConfig {
    /// For this interface, with all defaults.
    #[must_use]
    pub fn for_home(home: &str) -> Self {
        Self {
            home: home.to_owned(),
            mode: Mode::default(),
            windows: WindowsConfig::default(),
            shape: ShapeConfig::default(),
            leave_alone: Vec::new(),
            games: true,
            trust_dscp: false,
            mark: None,
            game: Vec::new(),
            no_game: Vec::new(),
            control: None,
            status: StatusConfig::default(),
            record: RecordConfig::default(),
        }
    }

    /// Reads a file; `home` is the interface if it is given beside the file.
    ///
    /// # Errors
    /// The file cannot be read, or the first key that is unknown, out of bounds or missing.
    pub fn read(file: &Path, home: Option<&str>) -> Result<Self, ConfigError> {
        let refused =
            |field: String, why: String| ConfigError { file: file.to_owned(), field, why };
        let text = std::fs::read_to_string(file)
            .map_err(|error| refused(String::new(), format!("cannot be read: {error}")))?;
        Self::parse(&text, home)
            .map_err(|error| refused(error.option.unwrap_or_default(), error.why))
    }

    /// Reads the text of a file, as [`Self::read`].
    ///
    /// # Errors
    /// As of [`Self::read`].
    pub fn parse(text: &str, home: Option<&str>) -> Result<Self, OptionError> {
        let mut options: Options = toml_edit::de::from_str(text).map_err(|error| {
            let why = format!("is no TOML: {}", error.to_string().trim_end());
            OptionError { option: None, why }
        })?;
        if let Some(home) = home {
            options.insert("home".to_owned(), home.into());
        }
        let config: Self = declared::read(&options).map_err(with_near_name)?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), OptionError> {
        check_interface(&self.home)
            .map_err(|why| OptionError { option: Some("home".to_owned()), why })?;
        self.windows.check().map_err(|error| OptionError {
            option: Some(format!("windows.{}", error.option.unwrap_or_default())),
            ..error
        })?;
        self.shape.check(&self.home)?;
        self.status.address()?;
        self.exceptions()?;
        self.games_config().map(|_| ())
    }

    /// What is left alone.
    ///
    /// # Errors
    /// The first that means nothing.
    pub fn exceptions(&self) -> Result<Exceptions, OptionError> {
        Exceptions::of("leave_alone", &self.leave_alone)
    }

    /// What is a game.
    ///
    /// # Errors
    /// The first rule that means nothing, or a DSCP that is none.
    pub fn games_config(&self) -> Result<GamesConfig, OptionError> {
        let mark = self.mark.as_deref().map(str::parse::<Dscp>).transpose();
        Ok(GamesConfig {
            by_behaviour: self.games,
            trust_dscp: self.trust_dscp,
            mark: mark.map_err(|error| OptionError {
                option: Some("mark".to_owned()),
                why: error.to_string(),
            })?,
            games: Exceptions::of("game", &self.game)?,
            no_games: Exceptions::of("no_game", &self.no_game)?,
        })
    }

    /// The control socket.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.control.clone().unwrap_or_else(|| control_socket(&self.home))
    }
}

const fn yes() -> bool {
    true
}

/// The control socket of the gateway at this interface, if nobody says where.
#[must_use]
pub fn control_socket(home: &str) -> PathBuf {
    Path::new(SOCKETS).join(format!("{home}.sock"))
}

/// The control sockets that are there, in order.
#[must_use]
pub fn control_sockets() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(SOCKETS).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "sock"));
    found.sort();
    found
}

/// Whether this can be an interface's name.
///
/// # Errors
/// Why it cannot.
pub fn check_interface(name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_graphic() && letter != '/' && letter != ':';
    if (1..=NAME_BYTES).contains(&name.len())
        && name.chars().all(is_plain)
        && name != "."
        && name != ".."
    {
        return Ok(());
    }
    Err(format!(
        "{name:?} is no name of an interface: it has 1 to {NAME_BYTES} characters, no space, slash or colon; `ip link` lists them"
    ))
}

/// The keys of the table in which this key is.
fn keys_around(key: &str) -> (Vec<Declared>, &str) {
    // An item of a list is called by its name, if it has one: `leave_alone "tv": adress`.
    let last = key.rsplit(['.', ' ']).next().unwrap_or_default();
    let schema = match key {
        _ if key == last => declared::schema::<GatewayConfig>(),
        _ if key.starts_with("windows") => declared::schema::<WindowsConfig>(),
        _ if key.starts_with("shape") => declared::schema::<ShapeConfig>(),
        _ if key.starts_with("record") => declared::schema::<RecordConfig>(),
        _ if key.starts_with("status") => declared::schema::<StatusConfig>(),
        _ => declared::schema::<Exception>(),
    };
    (declared::list(&schema), last)
}

/// The same error; of a key that is none, with the nearest one.
fn with_near_name(error: OptionError) -> OptionError {
    let Some(option) = error.option.as_deref().filter(|_| error.why.starts_with("is no option"))
    else {
        return error;
    };
    let (known, word) = keys_around(option);
    let distance = |one: &Declared| strsim::jaro_winkler(word, &one.name);
    let nearest = known.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)));
    match nearest.filter(|one| distance(one) > NEAR) {
        Some(near) => OptionError {
            why: format!(
                "is no option; did you mean {}?{}",
                near.name,
                &error.why["is no option;".len()..]
            ),
            ..error
        },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_queue::QueueKind;
    use gameway_units::{Duration, Rate};

    fn refusal(text: &str) -> String {
        GatewayConfig::parse(text, None).expect_err(text).to_string()
    }

    #[test]
    fn a_file_says_what_differs() {
        let text = "home = \"br-lan\"\n\
                    [windows]\nbeta = \"20 ms\"\n[[leave_alone]]\nport = 443\n";
        let config = GatewayConfig::parse(text, None).expect("a configuration");
        let windows = WindowsConfig { beta: Duration::from_millis(20), ..WindowsConfig::default() };
        assert_eq!(config.windows, windows);
        assert_eq!(config.leave_alone.len(), 1);
        assert_eq!(config.control_socket(), Path::new("/run/gameway-gateway/br-lan.sock"));
        assert!(config.games && !config.trust_dscp);
        let text = "games = false\ntrust_dscp = true\nmark = \"EF\"\n[[no_game]]\nport = 1\n";
        let config = GatewayConfig::parse(text, Some("br-lan")).expect("a configuration");
        let games = config.games_config().expect("rules");
        assert!(!games.by_behaviour && games.trust_dscp);
        let counts = (games.games.count(), games.no_games.count());
        assert_eq!((games.mark, counts), (Some(Dscp(46)), (0, 1)));
        let text = "[windows]\nbeta = \"20 ms\"\n";
        let other = GatewayConfig::parse(text, Some("lan")).expect("a configuration");
        assert_eq!(other.home, "lan");
        let text =
            "home = \"lan\"\nmode = \"shape\"\nshape = { rate = \"95 Mb/s\", queue = \"htb\" }\n";
        let config = GatewayConfig::parse(text, None).expect("a configuration");
        assert_eq!((config.mode, config.shape.queue), (Mode::Shape, QueueKind::Htb));
        assert_eq!(config.shape.rate, Some(Rate::from_mbps(95)));
        let smallest = GatewayConfig::parse("", Some("lan")).expect("a configuration");
        assert_eq!(smallest, GatewayConfig::for_home("lan"));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (text, expected) in [
            ("", "home: is missing; write for example \"br-lan\""),
            ("home = \"a b\"", "home: \"a b\" is no name of an interface: it has 1 to 15"),
            ("home = \"..\"", "home: \"..\" is no name of an interface"),
            ("home = 5", "home: 5 is no text"),
            ("hom = \"lan\"", "hom: is no option; did you mean home? known are control, game,"),
            ("home = \"lan\"\nxyz = 1", "xyz: is no option; known are control, game,"),
            (
                "home = \"lan\"\nwindows.alhpa = \"1 ms\"",
                "windows.alhpa: is no option; did you mean alpha? known are alpha, beta, period",
            ),
            (
                "home = \"lan\"\nwindows.alpha = \"2 h\"",
                "windows.alpha: 2 h is not between 0 s and 1 h",
            ),
            ("home = \"lan\"\nwindows.alpha = \"2 apples\"", "windows.alpha: "),
            (
                "home = \"lan\"\nwindows.beta = \"1 ms\"",
                "windows.beta: 1 ms is below alpha, which is 5 ms",
            ),
            (
                "home = \"lan\"\nmode = \"shpe\"",
                "mode: unknown variant `shpe`, expected one of `windows`, `shape`, `both`",
            ),
            (
                "home = \"lan\"\nshape.rate = \"9 kb/s\"",
                "shape.rate: 9 kb/s is not between 100 kb/s and 10 Gb/s",
            ),
            ("home = \"lan\"\nshape.rate = \"auto\"", "shape.rate: "),
            (
                "home = \"lan\"\nshape.queu = \"cake\"",
                "shape.queu: is no option; did you mean queue? known are out, out_rate, ping, queue, rate",
            ),
            (
                "home = \"lan\"\nshape.queue = \"tbf\"",
                "shape.queue: unknown variant `tbf`, expected one of `auto`, `cake`, `htb`",
            ),
            (
                "home = \"lan\"\nshape.out = \"wan\"",
                "shape.out: needs shape.ping, an address beyond the provider's queue",
            ),
            ("home = \"lan\"\nshape.out_rate = \"1 Mb/s\"", "shape.out_rate: needs shape.out,"),
            (
                "home = \"lan\"\nshape = { out = \"lan\", out_rate = \"1 Mb/s\" }",
                "shape.out: is the interface towards the home",
            ),
            (
                "home = \"lan\"\nleave_alone = [{}]",
                "leave_alone.0: has neither an address nor a port",
            ),
            (
                "home = \"lan\"\nleave_alone = [{ adress = \"::1\" }]",
                "leave_alone.0.adress: is no option; did you mean address? known are",
            ),
            (
                "home = \"lan\"\nleave_alone = [{ name = \"tv\", adress = \"::1\" }]",
                "leave_alone \"tv\": adress: is no option; did you mean address? known are",
            ),
            (
                "home = \"lan\"\nleave_alone = [{ port = 70000 }]",
                "leave_alone.0.port: 70000 is not between",
            ),
            (
                "home = \"lan\"\ngame = [{ name = \"tv\" }]",
                "game.0: has neither an address nor a port",
            ),
            (
                "home = \"lan\"\nno_game = [{ prot = 5 }]",
                "no_game.0.prot: is no option; did you mean port? known are",
            ),
            ("home = \"lan\"\nmark = \"first\"", "mark: \"first\" is no DSCP: known are 0 to 63,"),
            ("home = \"lan\"\ngames = \"maybe\"", "games: "),
            (
                "home = \"lan\"\nstatus.listen = \"router:1\"",
                "status.listen: \"router:1\" is no address with a port; write for example",
            ),
            (
                "home = \"lan\"\nrecord.max_size = \"1 B\"",
                "record.max_size: 1 B is not between 1 kB and 100 GB",
            ),
            (
                "home = \"lan\"\nrecord.adresses = true",
                "record.adresses: is no option; did you mean addresses? known are",
            ),
            (
                "home = \"lan\"\nstatus.lisen = \"\"",
                "status.lisen: is no option; did you mean listen? known are",
            ),
            ("home = ", "is no TOML: "),
        ] {
            let told = refusal(text);
            assert!(told.starts_with(expected), "{text}: {told}");
        }
    }

    #[test]
    fn the_file_is_named() {
        let error = GatewayConfig::read(Path::new("/nowhere/gateway.toml"), None);
        let told = error.expect_err("no file").to_string();
        assert!(told.starts_with("/nowhere/gateway.toml: cannot be read: "), "{told}");
    }
}
