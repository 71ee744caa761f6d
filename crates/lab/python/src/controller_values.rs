//! What a controller in Python is told and gives: small immutable values, times in nanoseconds and sizes in bytes.

use gameway_control::{Ecn, Pacing, PacketKind, PacketReport, ProbeCluster, SentPacket, Target};
use gameway_units::{Bytes, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bounds that the stream sets.
#[pyclass(frozen, get_all, module = "gameway.controller")]
#[derive(Clone)]
pub struct Limits {
    pub(crate) min_bps: u64,
    pub(crate) max_bps: u64,
    pub(crate) start_bps: u64,
    pub(crate) frame_interval_ns: i64,
}

/// A packet that was sent.
#[pyclass(frozen, get_all, module = "gameway.controller")]
#[derive(Clone)]
pub struct Packet {
    pub(crate) sequence: u64,
    pub(crate) sent_ns: i64,
    pub(crate) size_bytes: u64,
    pub(crate) kind: &'static str,
    pub(crate) frame: u64,
    pub(crate) first_of_frame: bool,
    pub(crate) last_of_frame: bool,
    pub(crate) probe_cluster: Option<u32>,
}

/// What became of a packet.
#[pyclass(frozen, get_all, module = "gameway.controller")]
#[derive(Clone)]
pub struct Report {
    pub(crate) packet: Packet,
    pub(crate) arrival_ns: Option<i64>,
    pub(crate) congestion_experienced: bool,
}

/// A frame that was encoded.
#[pyclass(frozen, get_all, module = "gameway.controller")]
#[derive(Clone)]
pub struct Frame {
    pub(crate) number: u64,
    pub(crate) target_bps: u64,
    pub(crate) size_bytes: u64,
    pub(crate) packets: u32,
}

/// That the receiver has all of a frame.
#[pyclass(frozen, get_all, name = "FrameReceived", module = "gameway.controller")]
#[derive(Clone)]
pub struct Received {
    pub(crate) frame: u64,
    pub(crate) first_sent_ns: i64,
    pub(crate) last: Packet,
    pub(crate) arrival_ns: i64,
}

/// A train of packets to be sent at a set rate.
#[pyclass(frozen, get_all, name = "ProbeCluster", module = "gameway.controller")]
#[derive(Clone)]
pub struct Cluster {
    pub(crate) number: u32,
    pub(crate) rate_bps: u64,
    pub(crate) min_bytes: u64,
    pub(crate) min_packets: u32,
}

#[pymethods]
impl Cluster {
    /// A number that rises from cluster to cluster, the rate, and the least that is sent.
    #[new]
    #[pyo3(signature = (number, *, rate_bps, min_bytes, min_packets))]
    const fn new(number: u32, rate_bps: u64, min_bytes: u64, min_packets: u32) -> Self {
        Self { number, rate_bps, min_bytes, min_packets }
    }
}

impl Cluster {
    const fn wanted(&self) -> ProbeCluster {
        ProbeCluster {
            id: self.number,
            rate: Rate::from_bps(self.rate_bps),
            min_bytes: Bytes::new(self.min_bytes),
            min_packets: self.min_packets,
        }
    }
}

/// What a controller wants.
#[pyclass(frozen, name = "Target", module = "gameway.controller")]
#[derive(Clone)]
pub struct Wanted {
    pub(crate) target: Target,
}

#[pymethods]
impl Wanted {
    /// Bitrate on the wire, and one way of pacing or none for bursts.
    #[new]
    #[pyo3(signature = (bitrate_bps, *, pace_multiplier=None, pacing_bps=None, window_bytes=None,
                        probes_per_frame=0, probe_cluster=None, key_frame=false, bounds_frame=false))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        bitrate_bps: f64,
        pace_multiplier: Option<f64>,
        pacing_bps: Option<f64>,
        window_bytes: Option<u64>,
        probes_per_frame: u32,
        probe_cluster: Option<PyRef<'_, Cluster>>,
        key_frame: bool,
        bounds_frame: bool,
    ) -> PyResult<Self> {
        let pacing = match (pace_multiplier, pacing_bps) {
            (None, None) => Pacing::Burst,
            (Some(multiplier), None) if multiplier >= 1.0 => Pacing::FrameMultiplier(multiplier),
            (None, Some(rate)) if rate >= 1.0 => Pacing::Rate(Rate::from_bps_f64(rate)),
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err("give pace_multiplier or pacing_bps, not both"));
            }
            _ => return Err(PyValueError::new_err("pacing must be 1 or more")),
        };
        if !bitrate_bps.is_finite() || bitrate_bps < 0.0 {
            let why = format!("bitrate_bps = {bitrate_bps} is not a bitrate");
            return Err(PyValueError::new_err(why));
        }
        let target = Target::new(Rate::from_bps_f64(bitrate_bps), pacing)
            .with_window(window_bytes.map(Bytes::new))
            .asking(|requests| {
                requests.probes_per_frame = probes_per_frame;
                requests.probe_cluster = probe_cluster.map(|cluster| cluster.wanted());
                requests.key_frame = key_frame;
                requests.bounds_frame = bounds_frame;
            });
        Ok(Self { target })
    }
}

impl Packet {
    pub(crate) fn of(packet: &SentPacket) -> Self {
        Self {
            sequence: packet.sequence.0,
            sent_ns: packet.sent.as_nanos(),
            size_bytes: packet.size.get(),
            probe_cluster: packet.probe_cluster,
            kind: match packet.kind {
                PacketKind::Media => "media",
                PacketKind::Repair => "repair",
                PacketKind::Probe => "probe",
                PacketKind::Padding => "padding",
                PacketKind::Retransmission => "retransmission",
            },
            frame: packet.frame.0,
            first_of_frame: packet.first_of_frame,
            last_of_frame: packet.last_of_frame,
        }
    }
}

impl Report {
    pub(crate) fn of(report: &PacketReport) -> Self {
        Self {
            packet: Packet::of(&report.packet),
            arrival_ns: report.arrival.map(|at| at.as_nanos()),
            congestion_experienced: report.ecn == Ecn::Ce,
        }
    }
}
