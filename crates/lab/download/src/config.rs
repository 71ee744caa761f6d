//! What a server and a client of a download are told.

use crate::DownloadError;
use gameway_experiment::spec::{
    CompetitorSpec, CongestionControlSpec, Direction, QuicEcnSpec, QuicSpec, QuicSpinSpec,
};
use gameway_units::{Bytes, Duration};
use std::net::IpAddr;
use std::path::PathBuf;

/// The variable of the environment by which CUBIC of s2n-quic has HyStart++ (RFC 9406), and else the HyStart that judges by
/// delays alone.
const HYSTART_PLUS_PLUS_VARIABLE: &str = "S2N_UNSTABLE_USE_HYSTART_PP";

/// Packets after which s2n-quic acknowledges, which cannot be set (`AckManager::on_processed_packet`).
const ACK_PACKETS: u32 = 10;

/// Configuration of either end, as JSON.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DownloadConfig {
    /// When the run begins, of CLOCK_MONOTONIC.
    pub epoch_ns: i64,
    /// How long it lasts.
    pub duration: Duration,
    /// The download, as an experiment has it.
    pub competitor: CompetitorSpec,
    /// The server's address.
    pub server: IpAddr,
    /// The server's port.
    pub port: u16,
    /// The client's address.
    pub client: IpAddr,
    /// How often the sender's state is written; 500 ms if not given.
    pub observe_interval: Option<Duration>,
    /// The server's certificate, which it writes and the client reads.
    pub certificate: PathBuf,
    /// Where tables go; it must exist.
    pub folder: PathBuf,
}

/// The congestion controls of s2n-quic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionControl {
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR, version 2.
    Bbr2,
}

/// What is asked of s2n-quic, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// The flow's name in tables.
    pub name: String,
    pub(crate) congestion_control: CongestionControl,
    pub(crate) bytes: Option<Bytes>,
    pub(crate) datagram_size: u16,
    pub(crate) max_ack_delay: Duration,
    pub(crate) start: Duration,
    pub(crate) stop: Option<Duration>,
    /// Whether data goes from the client to the server.
    pub(crate) upwards: bool,
}

impl DownloadConfig {
    /// What it asks of s2n-quic.
    ///
    /// # Errors
    /// If it is no download over QUIC, or s2n-quic cannot do what it says.
    pub fn transport(&self) -> Result<Transport, DownloadError> {
        let CompetitorSpec::Quic(quic) = &self.competitor else {
            return Err(refused("competitor.kind", "is not \"quic\""));
        };
        let plus_plus = std::env::var_os(HYSTART_PLUS_PLUS_VARIABLE).is_some();
        let congestion_control = congestion_control(&quic.congestion_control, plus_plus)?;
        if quic.ecn == QuicEcnSpec::Off {
            return Err(refused(
                "competitor.ecn",
                "s2n-quic always sends with ECT(0): leave this out",
            ));
        }
        if quic.spin == QuicSpinSpec::On {
            return Err(refused(
                "competitor.spin",
                "s2n-quic does not turn the spin bit: leave this out",
            ));
        }
        transport(quic, congestion_control)
    }
}

fn transport(
    quic: &QuicSpec,
    congestion_control: CongestionControl,
) -> Result<Transport, DownloadError> {
    if quic.ack_packets != ACK_PACKETS {
        return Err(refused("competitor.ack_packets", "s2n-quic acknowledges every tenth packet"));
    }
    let datagram_size = u16::try_from(quic.datagram_size.get())
        .map_err(|_| refused("competitor.datagram_size", "is more than a datagram has"))?;
    Ok(Transport {
        name: quic.name.clone(),
        congestion_control,
        bytes: quic.bytes,
        datagram_size,
        max_ack_delay: quic.max_ack_delay,
        start: quic.start,
        stop: quic.stop,
        upwards: quic.direction == Direction::Up,
    })
}

/// The congestion control of this name, and whether the environment chooses the HyStart that it asks for.
fn congestion_control(
    spec: &CongestionControlSpec,
    plus_plus: bool,
) -> Result<CongestionControl, DownloadError> {
    const FIELD: &str = "competitor.congestion_control";
    let hystart = spec.options.get("hystart").and_then(|value| value.as_str());
    match (spec.kind.as_str(), hystart) {
        ("bbr2", _) => Ok(CongestionControl::Bbr2),
        ("cubic", None | Some("rfc9406")) if plus_plus => Ok(CongestionControl::Cubic),
        ("cubic", Some("on")) if !plus_plus => Ok(CongestionControl::Cubic),
        ("cubic", None | Some("rfc9406" | "on")) => {
            let how = if plus_plus { "must not be set" } else { "must be set" };
            Err(refused(FIELD, &format!("{HYSTART_PLUS_PLUS_VARIABLE} {how} for this HyStart")))
        }
        _ => Err(refused(FIELD, "s2n-quic has \"cubic\" with a HyStart, and \"bbr2\"")),
    }
}

fn refused(field: &'static str, why: &str) -> DownloadError {
    DownloadError::Config { field, why: why.to_owned() }
}
