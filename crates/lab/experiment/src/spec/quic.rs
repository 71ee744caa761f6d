//! A download over QUIC.

use gameway_quic::{AckPolicy, MAX_DATAGRAM_SIZE};
use gameway_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

flow_spec! {
    /// One download over QUIC.
    QuicSpec {
        /// the sender's congestion control, by name or as a table with options; CUBIC has HyStart++ unless its hystart is given
        #[serde(default)]
        pub congestion_control: super::CongestionControlSpec,
        /// data after which it ends
        #[serde(default)]
        #[schemars(extend("x-min" = "1 B", "x-none" = "endless"))]
        pub bytes: Option<Bytes>,
        /// payload of a full UDP datagram; on the wire it has 28 B more
        #[serde(default = "datagram_size")]
        #[schemars(extend("x-min" = "1200 B", "x-max" = "1472 B", "x-unit" = "B"))]
        pub datagram_size: Bytes,
        /// whether packets are ECN-capable, and marks fed back (RFC 9000, 13.4)
        #[serde(default)]
        pub ecn: QuicEcnSpec,
        /// packets after which the receiver acknowledges (RFC 9000, 13.2.2); more is what the extension for ACK frequency asks for
        #[serde(default = "ack_packets")]
        #[schemars(range(min = 1, max = 1000))]
        pub ack_packets: u32,
        /// how long the receiver delays an acknowledgement at most (RFC 9000, 18.2)
        #[serde(default = "max_ack_delay")]
        #[schemars(extend("x-min" = "1 ms", "x-max" = "1 s"))]
        pub max_ack_delay: Duration,
        /// whether both ends turn the spin bit (RFC 9000, 17.4), which a gateway reads; most servers do not
        #[serde(default)]
        pub spin: QuicSpinSpec,
    }
}

/// Whether both ends of a download turn the spin bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuicSpinSpec {
    /// They do.
    On,
    /// Its value is 0, as with s2n-quic, which live runs download with.
    #[default]
    Off,
}

/// Whether the packets of a download are ECN-capable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuicEcnSpec {
    /// They are.
    #[default]
    On,
    /// They are not.
    Off,
}

const fn datagram_size() -> Bytes {
    Bytes::new(MAX_DATAGRAM_SIZE as u64)
}
fn ack_packets() -> u32 {
    AckPolicy::default().packets
}
fn max_ack_delay() -> Duration {
    AckPolicy::default().max_delay
}
