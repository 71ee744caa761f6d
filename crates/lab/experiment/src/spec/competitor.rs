//! The competing flows of a run.

use super::{Common, DashSpec, HeaderSpec, QuicSpec, ShortTcpSpec, TcpSpec, Way};
use gameway_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A competing flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CompetitorSpec {
    /// a bulk transfer, as FTP; with rate_limit an iperf3 -b; with on_off a video in segments
    Tcp(TcpSpec),
    /// small transfers, one after the other, each a new connection: the web of RFC 8868, 5.1; with connections pages
    ShortTcp(ShortTcpSpec),
    /// packets at a constant rate, deaf to the network; with return_rate both ways
    Udp(UdpSpec),
    /// a game streamed by OnLive: Unreal Tournament III
    OnliveUt(OnliveSpec),
    /// a game streamed by OnLive: Grand Ages: Rome
    OnliveRome(OnliveSpec),
    /// a call: both ways a picture that does not adapt, and sound
    VideoChat(VideoChatSpec),
    /// a video over HTTP that adapts to the network
    Dash(DashSpec),
    /// a download over QUIC
    Quic(QuicSpec),
}

impl CompetitorSpec {
    /// What every flow has.
    #[must_use]
    pub fn common(&self) -> Common<'_> {
        match self {
            Self::Tcp(tcp) => tcp.common(),
            Self::ShortTcp(short) => short.common(),
            Self::Udp(udp) => udp.common(),
            Self::OnliveUt(game) | Self::OnliveRome(game) => game.common(),
            Self::VideoChat(chat) => chat.common(),
            Self::Dash(dash) => dash.common(),
            Self::Quic(quic) => quic.common(),
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        self.common().name
    }

    /// When it starts, and when it stops if before the end of the run.
    #[must_use]
    pub fn times(&self) -> (Duration, Option<Duration>) {
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

flow_spec! {
    /// Packets at a constant rate.
    UdpSpec {
        /// rate on the wire
        #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "examples" = ["1 Mb/s"]))]
        pub rate: Rate,
        /// size of each packet on the wire
        #[serde(default = "packet_size")]
        #[schemars(extend("x-min" = "64 B", "x-max" = "1500 B", "x-unit" = "B"))]
        pub packet_size: Bytes,
        /// time from packet to packet, both ways: even, or exponential of the same mean
        #[serde(default)]
        pub spacing: Spacing,
        /// rate of packets that come back
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "x-none" = "none do"))]
        pub return_rate: Option<Rate>,
        /// their size
        #[serde(default)]
        #[schemars(extend("x-min" = "64 B", "x-max" = "1500 B", "x-unit" = "B", "x-none" = "packet_size"))]
        pub return_packet_size: Option<Bytes>,
        /// the ECN field of its packets, both ways; nobody answers marks
        #[serde(default)]
        pub ecn: UdpEcnSpec,
    }
}

/// The ECN field of packets whose sender does not hear of marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Always the same.
    #[default]
    Even,
    /// Exponential, of the same mean.
    Exponential,
}

flow_spec! {
    /// A game that OnLive streams: which one, its kind says.
    OnliveSpec {
        /// time from packet to packet, both ways: even, or exponential of the same mean
        #[serde(default)]
        pub spacing: Spacing,
    }
}

flow_spec! {
    /// A call with pictures: video and sound both ways.
    VideoChatSpec {
        /// rate of the picture on the wire; 0 b/s is a call without one
        #[serde(default = "chat_bitrate")]
        #[schemars(extend("x-min" = "0 b/s", "x-max" = "1000 Gb/s"))]
        pub bitrate: Rate,
        /// rate of the picture that comes back
        #[serde(default)]
        #[schemars(extend("x-min" = "0 b/s", "x-max" = "1000 Gb/s", "x-none" = "bitrate"))]
        pub return_bitrate: Option<Rate>,
        /// frames per second of both pictures
        #[serde(default = "chat_frame_rate")]
        #[schemars(range(min = 1, max = 1000))]
        pub frame_rate: u32,
    }
}

const fn chat_bitrate() -> Rate {
    Rate::from_kbps(1_500)
}
const fn chat_frame_rate() -> u32 {
    30
}
const fn packet_size() -> Bytes {
    Bytes::new(1_200)
}
