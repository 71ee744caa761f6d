//! The competing flows of a run.

use super::{Direction, HeaderSpec, Text, Way, all};
use gameway_units::{Bytes, Duration, Rate};

/// A competing flow.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CompetitorSpec {
    /// One transfer over TCP.
    Tcp(TcpSpec),
    /// Short transfers over TCP, one after the other.
    ShortTcp(ShortTcpSpec),
    /// Packets at a constant rate.
    Udp(UdpSpec),
}

impl CompetitorSpec {
    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Tcp(TcpSpec { name, .. })
            | Self::ShortTcp(ShortTcpSpec { name, .. })
            | Self::Udp(UdpSpec { name, .. }) => name,
        }
    }

    /// When it starts, and when it stops if before the end of the run.
    #[must_use]
    pub fn times(&self) -> (Option<Text<Duration>>, Option<Text<Duration>>) {
        match self {
            Self::Tcp(TcpSpec { start, stop, .. })
            | Self::ShortTcp(ShortTcpSpec { start, stop, .. })
            | Self::Udp(UdpSpec { start, stop, .. }) => (*start, *stop),
        }
    }

    /// What its packets' headers are to say.
    #[must_use]
    pub fn header(&self) -> &HeaderSpec {
        let (Self::Tcp(TcpSpec { header, .. })
        | Self::ShortTcp(ShortTcpSpec { header, .. })
        | Self::Udp(UdpSpec { header, .. })) = self;
        header
    }

    /// Its way through the network.
    #[must_use]
    pub fn way(&self) -> Way<'_> {
        let (Self::Tcp(TcpSpec { base_rtt, via, direction, .. })
        | Self::ShortTcp(ShortTcpSpec { base_rtt, via, direction, .. })
        | Self::Udp(UdpSpec { base_rtt, via, direction, .. })) = self;
        Way { base_rtt: base_rtt.map(|text| text.0), via, direction: *direction }
    }
}

/// One transfer over TCP.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Its name in tables.
    pub name: String,
    /// "newreno", "cubic" or "bbr".
    pub congestion_control: String,
    /// When the connection is opened.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When the application stops sending; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
    /// Stop after so much.
    #[serde(default)]
    pub bytes: Option<Text<Bytes>>,
    /// The application writes no faster than this.
    #[serde(default)]
    pub rate_limit: Option<Text<Rate>>,
    /// Its own round-trip time; the path's if not given.
    #[serde(default)]
    pub base_rtt: Option<Text<Duration>>,
    /// Which bottlenecks it passes: "all", "path" or the name of a hop.
    #[serde(default = "all")]
    pub via: String,
    /// Where its data goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

/// Short transfers over TCP, one after the other with gaps (RFC 8868 section 5.1).
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortTcpSpec {
    /// Its name in tables.
    pub name: String,
    /// As of [`TcpSpec`].
    pub congestion_control: String,
    /// When the first transfer or gap begins.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When no further transfer begins; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
    /// The size of a transfer is uniform from this.
    #[serde(default = "least_size")]
    pub least_size: Text<Bytes>,
    /// To this.
    #[serde(default = "greatest_size")]
    pub greatest_size: Text<Bytes>,
    /// Mean of the gaps, which are exponential.
    #[serde(default = "mean_gap")]
    pub mean_gap: Text<Duration>,
    /// Whether it begins with a transfer or with a gap.
    #[serde(default)]
    pub begins: Begin,
    /// Its own round-trip time; the path's if not given.
    #[serde(default)]
    pub base_rtt: Option<Text<Duration>>,
    /// Which bottlenecks it passes: "all", "path" or the name of a hop.
    #[serde(default = "all")]
    pub via: String,
    /// Where its data goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

/// With what a sequence of transfers and gaps begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// A transfer.
    On,
    /// A gap.
    #[default]
    Off,
}

const fn least_size() -> Text<Bytes> {
    Text(Bytes::new(30_000))
}
const fn greatest_size() -> Text<Bytes> {
    Text(Bytes::new(50_000))
}
const fn mean_gap() -> Text<Duration> {
    Text(Duration::from_secs(10))
}

/// Packets at a constant rate.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpSpec {
    /// Its name in tables.
    pub name: String,
    /// Its rate on the wire.
    pub rate: Text<Rate>,
    /// The size of each packet on the wire.
    #[serde(default = "packet_size")]
    pub packet_size: Text<Bytes>,
    /// When it starts.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When it stops; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
    /// Its own round-trip time; the path's if not given.
    #[serde(default)]
    pub base_rtt: Option<Text<Duration>>,
    /// Which bottlenecks it passes: "all", "path" or the name of a hop.
    #[serde(default = "all")]
    pub via: String,
    /// Where its data goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

const fn packet_size() -> Text<Bytes> {
    Text(Bytes::new(1_200))
}
