//! The competing flows of a run.

use super::{
    CongestionControlSpec, DashSpec, Direction, HeaderSpec, Mss, ReceiveWindowSpec, Text, Way, all,
};
use gameway_units::{Bytes, Duration, Rate};

/// A competing flow.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CompetitorSpec {
    /// One transfer over TCP.
    Tcp(TcpSpec),
    /// Short transfers over TCP, one after the other.
    ShortTcp(ShortTcpSpec),
    /// Packets at a constant rate, in one direction or in both.
    Udp(UdpSpec),
    /// A game streamed by OnLive: Unreal Tournament III.
    OnliveUt(OnliveSpec),
    /// A game streamed by OnLive: Grand Ages: Rome.
    OnliveRome(OnliveSpec),
    /// A call with pictures, both ways.
    VideoChat(VideoChatSpec),
    /// A video over HTTP.
    Dash(DashSpec),
}

/// What every competitor has.
struct Common<'a> {
    name: &'a str,
    start: Option<Text<Duration>>,
    stop: Option<Text<Duration>>,
    way: Way<'a>,
    header: &'a HeaderSpec,
}

impl CompetitorSpec {
    fn common(&self) -> Common<'_> {
        let (Self::Tcp(TcpSpec { name, start, stop, base_rtt, via, direction, header, .. })
        | Self::ShortTcp(ShortTcpSpec {
            name,
            start,
            stop,
            base_rtt,
            via,
            direction,
            header,
            ..
        })
        | Self::Udp(UdpSpec { name, start, stop, base_rtt, via, direction, header, .. })
        | Self::Dash(DashSpec { name, start, stop, base_rtt, via, direction, header, .. })
        | Self::OnliveUt(OnliveSpec {
            name,
            start,
            stop,
            base_rtt,
            via,
            direction,
            header,
            ..
        })
        | Self::OnliveRome(OnliveSpec {
            name,
            start,
            stop,
            base_rtt,
            via,
            direction,
            header,
            ..
        })
        | Self::VideoChat(VideoChatSpec {
            name,
            start,
            stop,
            base_rtt,
            via,
            direction,
            header,
            ..
        })) = self;
        let way = Way { base_rtt: base_rtt.map(|text| text.0), via, direction: *direction };
        Common { name, start: *start, stop: *stop, way, header }
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        self.common().name
    }

    /// When it starts, and when it stops if before the end of the run.
    #[must_use]
    pub fn times(&self) -> (Option<Text<Duration>>, Option<Text<Duration>>) {
        let Common { start, stop, .. } = self.common();
        (start, stop)
    }

    /// What its packets' headers are to say.
    #[must_use]
    pub fn header(&self) -> &HeaderSpec {
        self.common().header
    }

    /// Its way through the network.
    #[must_use]
    pub fn way(&self) -> Way<'_> {
        self.common().way
    }
}

/// One transfer over TCP.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Its name in tables.
    pub name: String,
    /// Its congestion control.
    pub congestion_control: CongestionControlSpec,
    /// Which ECN its ends agree on: what its congestion control needs if not given.
    #[serde(default)]
    pub ecn: Option<TcpEcnSpec>,
    /// What its receiver announces.
    #[serde(default)]
    pub receive_window: ReceiveWindowSpec,
    /// Its MSS.
    #[serde(default)]
    pub mss: Mss,
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
    /// And so much at once; 128 KiB if not given.
    #[serde(default)]
    pub block: Option<Text<Bytes>>,
    /// The application writes segment by segment, as a video is fetched.
    #[serde(default)]
    pub on_off: Option<OnOffSpec>,
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

/// A video that is fetched segment by segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    /// How long a segment plays: the next is due after so long.
    pub segment: Text<Duration>,
    /// Its bitrate.
    pub bitrate: Text<Rate>,
}

/// Short transfers over TCP, one after the other with gaps (RFC 8868 section 5.1).
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortTcpSpec {
    /// Its name in tables.
    pub name: String,
    /// As of [`TcpSpec`].
    pub congestion_control: CongestionControlSpec,
    /// Which ECN its ends agree on: what its congestion control needs if not given.
    #[serde(default)]
    pub ecn: Option<TcpEcnSpec>,
    /// What its receiver announces.
    #[serde(default)]
    pub receive_window: ReceiveWindowSpec,
    /// Its MSS.
    #[serde(default)]
    pub mss: Mss,
    /// When the first transfer or gap begins.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When no further transfer begins; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
    /// The size of a transfer is uniform from this.
    #[serde(default = "min_size")]
    pub min_size: Text<Bytes>,
    /// To this.
    #[serde(default = "max_size")]
    pub max_size: Text<Bytes>,
    /// How many begin at once; the gap begins when all of them are done.
    #[serde(default = "one")]
    pub connections: u32,
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

/// Which ECN the ends of a transfer agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpEcnSpec {
    /// None.
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
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

const fn min_size() -> Text<Bytes> {
    Text(Bytes::new(30_000))
}
const fn one() -> u32 {
    1
}
const fn max_size() -> Text<Bytes> {
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
    /// How they are spaced, both ways.
    #[serde(default)]
    pub spacing: Spacing,
    /// The rate of what comes back; nothing if not given.
    #[serde(default)]
    pub return_rate: Option<Text<Rate>>,
    /// The size of its packets; as the others if not given.
    #[serde(default)]
    pub return_packet_size: Option<Text<Bytes>>,
    /// The ECN field of its packets, both ways.
    #[serde(default)]
    pub ecn: UdpEcnSpec,
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

/// The ECN field of packets whose sender does not hear of marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UdpEcnSpec {
    /// Not ECN-capable.
    #[default]
    None,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, L4S.
    Ect1,
}

/// The time from a packet to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Always the same.
    #[default]
    Even,
    /// Exponential, of the same mean.
    Exponential,
}

/// A game that OnLive streams: which one, its kind says.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnliveSpec {
    /// Its name in tables.
    pub name: String,
    /// How packets are spaced, both ways.
    #[serde(default)]
    pub spacing: Spacing,
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
    /// Where the game's picture goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

/// A call with pictures: video and sound both ways.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoChatSpec {
    /// Its name in tables.
    pub name: String,
    /// Rate of the video on the wire; no picture if zero.
    #[serde(default = "chat_bitrate")]
    pub bitrate: Text<Rate>,
    /// Of the video that comes back; the same if not given.
    #[serde(default)]
    pub return_bitrate: Option<Text<Rate>>,
    /// Frames per second.
    #[serde(default = "chat_frame_rate")]
    pub frame_rate: u32,
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
    /// Where `bitrate` goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

const fn chat_bitrate() -> Text<Rate> {
    Text(Rate::from_kbps(1_500))
}
const fn chat_frame_rate() -> u32 {
    30
}
const fn packet_size() -> Text<Bytes> {
    Text(Bytes::new(1_200))
}
