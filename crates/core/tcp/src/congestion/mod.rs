//! The contract between the sender and its congestion control, and the algorithms that keep it.
//!
//! The sender owns loss detection, recovery, time-outs and round-trip times; an algorithm owns the
//! congestion window, the slow-start threshold and, if it paces, the rate. During a recovery the
//! sender lets proportional rate reduction move the flight to [`CongestionControl::cwnd`], unless
//! the algorithm [regulates recovery](CongestionControl::regulates_recovery) itself.

/// Declares a congestion control that has no options.
macro_rules! without_options {
    (
        $config:ident, $name:literal, $summary:literal, $source:literal,
        needs_accurate_ecn: $needs_accurate:literal, $build:expr
    ) => {
        /// It has no options.
        #[derive(
            Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub struct $config {}

        impl gameway_units::declared::Configuration for $config {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const SOURCE: &'static str = $source;
        }

        impl super::TcpAlgorithm for $config {
            const NEEDS_ACCURATE_ECN: bool = $needs_accurate;

            fn build(&self, segment_size: u32, seed: u64) -> Box<dyn super::CongestionControl> {
                let build: fn(u32, u64) -> Box<dyn super::CongestionControl> = $build;
                build(segment_size, seed)
            }
        }
    };
}

mod ack_aggregation;
mod algorithm;
mod bbr;
mod bbr2;
mod bbr3;
mod bic;
mod catalogue;
mod cubic;
mod hystart;
mod hystart_plus_plus;
mod new_reno;
mod prague;
mod vegas;

pub use algorithm::{ConfiguredTcp, TcpAlgorithm};
pub use bbr::Bbr;
pub use bbr2::Bbr2Config;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use catalogue::{CongestionControls, build};
pub use cubic::{Cubic, CubicConfig, SlowStartExit};
pub use new_reno::NewReno;
pub use prague::Prague;
pub use vegas::Vegas;

use crate::delivery_rate::RateSample;
use crate::pacer::Burst;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::fmt::Debug;

/// The initial window: 10 segments (RFC 6928 section 2).
pub const INITIAL_WINDOW_SEGMENTS: u64 = 10;

/// How the sender sees the path at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing lost.
    #[default]
    Open,
    /// A loss was detected; lasts until all that was then outstanding is acknowledged.
    Recovery,
    /// A time-out expired; lasts likewise.
    Loss,
}

/// What an ACK told, after the sender has updated everything else.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct AckEvent {
    /// When it arrived.
    pub now: Instant,
    /// The phase after it.
    pub phase: Phase,
    /// Stream offset below which everything is acknowledged.
    pub acknowledged: u64,
    /// Stream offset of the next new byte to send.
    pub next_sequence: u64,
    /// Bytes newly known to have arrived, cumulatively or selectively.
    pub newly_delivered: Bytes,
    /// Bytes by which the cumulative acknowledgment moved: a window must not grow on a duplicate ACK
    /// (RFC 5681 section 3.2 step 1; Linux `tcp_may_raise_cwnd`).
    pub newly_acknowledged: Bytes,
    /// Bytes newly judged lost.
    pub newly_lost: Bytes,
    /// Bytes newly known to have arrived with a congestion mark; only accurate ECN tells (RFC 9768).
    pub newly_marked: Bytes,
    /// In flight before the ACK.
    pub prior_in_flight: Bytes,
    /// In flight after it.
    pub in_flight: Bytes,
    /// Delivered since the connection began.
    pub total_delivered: Bytes,
    /// Judged lost since the connection began.
    pub total_lost: Bytes,
    /// RTT of the newest segment that it covers and that was sent only once.
    pub rtt: Option<Duration>,
    /// The smoothed RTT.
    pub smoothed_rtt: Option<Duration>,
    /// Whether the window, and not the application or the receiver, was the limit of late
    /// (RFC 7661; Linux `tcp_is_cwnd_limited`): only then may the window grow.
    pub cwnd_limited: bool,
    /// Whether the receiver may have delayed this ACK: a lone short segment.
    pub ack_delayed: bool,
    /// Delivery-rate sample.
    pub rate: Option<RateSample>,
    /// How long the pacer keeps the next segment back.
    pub until_departure: Duration,
}

/// A segment judged lost.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct LostSegment {
    /// When it was judged so.
    pub now: Instant,
    /// Its offset in the stream.
    pub sequence: u64,
    /// Its payload.
    pub size: Bytes,
    /// In flight, the segment included, when it left.
    pub tx_in_flight: Bytes,
    /// Judged lost since it left, the segment included.
    pub lost: Bytes,
    /// Whether the application, not the path, may have been the limit when it left.
    pub app_limited: bool,
    /// Delivered since the connection began.
    pub total_delivered: Bytes,
}

/// A retransmission time-out.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TimeoutEvent {
    /// When.
    pub now: Instant,
    /// Stream offset of the next new byte to send.
    pub next_sequence: u64,
    /// In flight before everything was declared lost.
    pub prior_in_flight: Bytes,
    /// Whether it is the first for this data: later ones must not lower the threshold again
    /// (RFC 5681 section 3.1).
    pub first: bool,
    /// Bytes newly judged lost.
    pub newly_lost: Bytes,
    /// Delivered since the connection began.
    pub total_delivered: Bytes,
    /// Judged lost since the connection began.
    pub total_lost: Bytes,
}

/// The window decides.
///
/// # Examples
/// A fixed window, for experiments:
/// ```
/// use gameway_tcp::{AckEvent, CongestionControl, TimeoutEvent};
/// use gameway_units::{Bytes, Instant};
///
/// #[derive(Debug)]
/// struct Fixed(Bytes);
/// impl CongestionControl for Fixed {
///     fn name(&self) -> &'static str { "fixed" }
///     fn on_ack(&mut self, _ack: &AckEvent) {}
///     fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {}
///     fn on_timeout(&mut self, _timeout: &TimeoutEvent) {}
///     fn on_spurious_loss(&mut self, _now: Instant) {}
///     fn cwnd(&self) -> Bytes { self.0 }
///     fn ssthresh(&self) -> Bytes { self.0 }
/// }
/// ```
pub trait CongestionControl: Debug + Send {
    /// Its name in experiment files.
    fn name(&self) -> &'static str;
    /// The handshake is over and gave this RTT, if the SYN-ACK was sent only once.
    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        let _ = (now, rtt);
    }
    /// An ACK arrived.
    fn on_ack(&mut self, ack: &AckEvent);
    /// A segment was judged lost, by an ACK or by a time-out: for each one, before the event that tells
    /// of all.
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        let _ = lost;
    }
    /// Loss or a mark was detected: at most once per window of data; before the ACK's
    /// [`Self::on_ack`].
    fn on_congestion_event(&mut self, now: Instant, in_flight: Bytes);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, timeout: &TimeoutEvent);
    /// The latest congestion event or time-out was none: take it back (RFC 4015).
    fn on_spurious_loss(&mut self, now: Instant);
    /// Sending resumes after the application had nothing to send and nothing was outstanding;
    /// `idle` is the time since the last segment if that exceeds the time-out, after which the
    /// window says nothing about the path any more (RFC 5681 section 4.1).
    fn on_transmit_start(&mut self, now: Instant, idle: Option<Duration>) {
        let _ = (now, idle);
    }
    /// Congestion window.
    fn cwnd(&self) -> Bytes;
    /// Slow-start threshold; [`Bytes::MAX`] until there was a congestion event.
    fn ssthresh(&self) -> Bytes;
    /// Rate of payload at which segments leave; `None`: as fast as the window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// How much leaves at once where it paces.
    fn burst(&self) -> Burst {
        Burst::LINUX
    }
    /// Whether [`Self::cwnd`] holds during recovery too, in place of proportional rate reduction.
    fn regulates_recovery(&self) -> bool {
        false
    }
    /// How its data leaves where ECN is agreed on: ECT(1) says that it answers marks as L4S asks
    /// (RFC 9331 section 4), and goes with accurate feedback only.
    fn codepoint(&self) -> Ecn {
        Ecn::Ect0
    }
    /// Whether it weighs [`AckEvent::newly_marked`] itself, or ignores marks, as one does by default
    /// that regulates its recoveries; to any other a mark is a congestion event.
    fn answers_marks(&self) -> bool {
        self.regulates_recovery()
    }
    /// Whether samples of what is now in flight must not lower its estimate (BBR's ProbeRTT).
    fn samples_are_app_limited(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    pub(super) mod quiet_events;
}
