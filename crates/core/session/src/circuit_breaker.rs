//! RTP circuit breaker: a bound on any stream, whatever its controller does (RFC 8083).
//!
//! # Model
//! Time is divided into reporting intervals `Td`. At the end of each, three conditions are checked:
//!
//! - *RTCP timeout* (section 4.1): packets were sent, and no report came for three intervals.
//! - *Media timeout* (section 4.2): reports came, and none told of a newer packet that arrived, for
//!   `ceil(5 max(Tf, Tr, Td) / Td)` intervals; `Tf` is the frame interval, `Tr` the round-trip time.
//! - *Congestion* (section 4.3): over the last `CB_INTERVAL = ceil(3 min(max(10 Tf, 10 Tr, 3 Td), max(15 s, 3 Td)) / (3 Td))`
//!   intervals, the sending rate was above ten times the throughput of TCP on the same path,
//!   `X = s / (Tr sqrt(2 p / 3))`, where `s` is the mean packet size and `p` the share of packets lost.
//!
//! The first time, the stream falls to its least rate. If a condition holds again there, the stream ends. If no condition
//! holds for `CB_INTERVAL` intervals with reports of arrivals, the rate is allowed to double, until it is where it was.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | reporting interval | 1 s | libwebrtc's interval of RTCP reports for video |
//! | silent intervals | 3 | RFC 8083 section 4.1 |
//! | media timeout | 5 | RFC 8083 section 4.2 |
//! | multiple of TCP's throughput | 10 | RFC 8083 section 4.3 |
//! | weight of a new round-trip time | 0.2 | ours; RFC 8083 asks for a smoothed one |
//!
//! | deviation | why |
//! |---|---|
//! | losses are those of the stream's own reports, which come several times in an interval | they say of each packet what a report block says of their number |
//! | the round-trip time of a receiver that does not say when it made a report includes the time for which it held that | at most a report's interval, and it makes the breaker stricter |
//! | a stream falls to its least rate and not to a tenth | section 4.5 allows a reduction once; the least rate is what its user said is worth sending |
//! | a timeout reduces first, too, and a reduced stream may grow again | a player whose radio is away for four seconds keeps the session; at the least rate nothing is endangered |

use gameway_control::{FeedbackBatch, SequenceNumber};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

const INTERVAL: Duration = Duration::from_secs(1);
const SILENT_INTERVALS: usize = 3;
const MEDIA_TIMEOUT: f64 = 5.0;
const TCP_MULTIPLE: f64 = 10.0;
const NEW_ROUND_TRIP: f64 = 0.2;
/// Where no round trip is known: the initial one of RFC 9002 section 6.2.2.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(333);

/// Why a circuit breaker has tripped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TripCause {
    /// No report came (RFC 8083 section 4.1).
    RtcpTimeout,
    /// Reports came, and nothing arrives (section 4.2).
    MediaTimeout,
    /// More than ten times what TCP would have (section 4.3).
    Congestion,
}

impl TripCause {
    /// The reason as a person reads it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RtcpTimeout => "no report has come for three seconds",
            Self::MediaTimeout => "nothing of the stream arrives",
            Self::Congestion => {
                "the stream has more than ten times what TCP would have at its loss"
            }
        }
    }
}

/// What a circuit breaker does to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerAction {
    /// The stream may send at most its least rate.
    Reduce(TripCause),
    /// The stream may send at most this rate, more than before.
    Restore(Rate),
    /// The stream may send as its controller says.
    Close,
    /// The stream has to end.
    End(TripCause),
}

/// What happened in one reporting interval.
#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    sent: Bytes,
    sent_packets: u64,
    received: u64,
    lost: u64,
    heard: bool,
    /// Whether a packet newer than all before arrived.
    advanced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Reduced { limit: Rate, rate_before: Rate },
    Ended,
}

/// The circuit breaker of one stream.
#[derive(Debug)]
pub struct CircuitBreaker {
    min: Rate,
    frame_interval: Duration,
    state: State,
    now: Interval,
    /// Since the last action, newest last.
    past: VecDeque<Interval>,
    next_check: Instant,
    round_trip: Option<Duration>,
    newest_arrived: Option<SequenceNumber>,
}

impl BreakerAction {
    /// What the tables call it.
    #[must_use]
    pub const fn event(self) -> &'static str {
        match self {
            Self::Reduce(TripCause::RtcpTimeout) => "breaker-reduced-rtcp-timeout",
            Self::Reduce(TripCause::MediaTimeout) => "breaker-reduced-media-timeout",
            Self::Reduce(TripCause::Congestion) => "breaker-reduced-congestion",
            Self::Restore(_) => "breaker-restored",
            Self::Close => "breaker-closed",
            Self::End(TripCause::RtcpTimeout) => "breaker-ended-rtcp-timeout",
            Self::End(TripCause::MediaTimeout) => "breaker-ended-media-timeout",
            Self::End(TripCause::Congestion) => "breaker-ended-congestion",
        }
    }
}

impl CircuitBreaker {
    /// A breaker for a stream that begins now and can fall to `min`.
    #[must_use]
    pub fn new(start: Instant, frame_interval: Duration, min: Rate) -> Self {
        Self {
            min,
            frame_interval,
            state: State::Closed,
            now: Interval::default(),
            past: VecDeque::new(),
            next_check: start.saturating_add(INTERVAL),
            round_trip: None,
            newest_arrived: None,
        }
    }

    /// The most that the stream may send now; `None` if the breaker does not limit it.
    #[must_use]
    pub fn limit(&self) -> Option<Rate> {
        match self.state {
            State::Closed => None,
            State::Reduced { limit, .. } => Some(limit),
            State::Ended => Some(Rate::ZERO),
        }
    }

    /// Whether the stream had to end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// When to call [`Self::on_deadline`]; `None` once the stream has ended.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        (!self.has_ended()).then_some(self.next_check)
    }

    /// A packet of the stream left.
    pub fn on_sent(&mut self, size: Bytes) {
        self.now.sent += size;
        self.now.sent_packets += 1;
    }

    /// A report of the receiver came, which told this.
    pub fn on_report(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        self.now.heard = true;
        let arrived = batch.reports.iter().filter(|report| report.arrival.is_some());
        let received = arrived.clone().count();
        self.now.received += received as u64;
        self.now.lost += (batch.reports.len() - received) as u64;
        let Some(newest) = arrived.map(|report| report.packet.sequence).max() else { return };
        if self.newest_arrived.is_some_and(|known| newest <= known) {
            return;
        }
        self.newest_arrived = Some(newest);
        self.now.advanced = true;
        if let Some(sample) = batch.round_trip_time(now) {
            let smoothed = self.round_trip.map_or(sample, |old| {
                old.mul_f64(1.0 - NEW_ROUND_TRIP).saturating_add(sample.mul_f64(NEW_ROUND_TRIP))
            });
            self.round_trip = Some(smoothed);
        }
    }

    /// The time given by [`Self::next_deadline`] has come.
    pub fn on_deadline(&mut self, now: Instant) -> Option<BreakerAction> {
        let mut action = None;
        while self.next_deadline().is_some_and(|due| due <= now) && action.is_none() {
            self.next_check = self.next_check.saturating_add(INTERVAL);
            let interval = std::mem::take(&mut self.now);
            self.past.push_back(interval);
            action = self.check();
            while self.past.len() > self.intervals_kept() {
                self.past.pop_front();
            }
        }
        action
    }

    fn check(&mut self) -> Option<BreakerAction> {
        let action = match (self.tripped(), self.state) {
            (_, State::Ended) => return None,
            (Some(cause), State::Closed) => {
                let rate_before = self.rate(self.past.len());
                self.state = State::Reduced { limit: self.min, rate_before };
                BreakerAction::Reduce(cause)
            }
            (Some(cause), State::Reduced { .. }) => {
                self.state = State::Ended;
                BreakerAction::End(cause)
            }
            (None, State::Reduced { limit, rate_before }) if self.is_well() => {
                let limit = limit.mul_f64(2.0);
                if limit < rate_before {
                    self.state = State::Reduced { limit, rate_before };
                    BreakerAction::Restore(limit)
                } else {
                    self.state = State::Closed;
                    BreakerAction::Close
                }
            }
            (None, _) => return None,
        };
        self.past.clear();
        Some(action)
    }

    fn tripped(&self) -> Option<TripCause> {
        if self.lasts(SILENT_INTERVALS, |interval| !interval.heard) {
            Some(TripCause::RtcpTimeout)
        } else if self.lasts(self.media_timeout(), |interval| !interval.advanced) {
            Some(TripCause::MediaTimeout)
        } else if self.is_congested() {
            Some(TripCause::Congestion)
        } else {
            None
        }
    }

    /// Whether that holds in each of the last intervals, in which packets were sent.
    fn lasts(&self, intervals: usize, holds: impl Fn(&Interval) -> bool) -> bool {
        let sent = |interval: &Interval| interval.sent_packets > 0;
        self.past.len() >= intervals
            && self.newest(intervals).all(|interval| sent(interval) && holds(interval))
    }

    fn is_congested(&self) -> bool {
        let intervals = self.congestion_intervals();
        if self.past.len() < intervals {
            return false;
        }
        let sum = |of: fn(&Interval) -> u64| self.newest(intervals).map(of).sum::<u64>() as f64;
        let (received, lost) = (sum(|i| i.received), sum(|i| i.lost));
        let packets = sum(|i| i.sent_packets);
        if lost == 0.0 || packets == 0.0 {
            return false;
        }
        let size = sum(|i| i.sent.get()) / packets;
        let throughput = tcp_throughput(size, self.smoothed_round_trip(), lost / (received + lost));
        self.rate(intervals).as_bps_f64() > TCP_MULTIPLE * throughput.as_bps_f64()
    }

    /// Whether a reduced stream has been heard of for long enough.
    fn is_well(&self) -> bool {
        let intervals = self.congestion_intervals();
        self.past.len() >= intervals && self.newest(intervals).all(|interval| interval.advanced)
    }

    fn newest(&self, intervals: usize) -> impl Iterator<Item = &Interval> {
        self.past.iter().rev().take(intervals)
    }

    /// The mean sending rate of the last intervals.
    fn rate(&self, intervals: usize) -> Rate {
        let sent: u64 = self.newest(intervals).map(|interval| interval.sent.get()).sum();
        let span = INTERVAL.mul_f64(intervals.max(1) as f64);
        Rate::from_bps_f64(8.0 * sent as f64 / span.as_secs_f64())
    }

    fn smoothed_round_trip(&self) -> Duration {
        self.round_trip.unwrap_or(INITIAL_ROUND_TRIP).max(Duration::from_micros(1))
    }

    fn media_timeout(&self) -> usize {
        let longest = self.frame_interval.max(self.smoothed_round_trip()).max(INTERVAL);
        (MEDIA_TIMEOUT * longest.as_secs_f64() / INTERVAL.as_secs_f64()).ceil() as usize
    }

    /// `CB_INTERVAL` of RFC 8083 section 4.3, with a frame group of one frame.
    fn congestion_intervals(&self) -> usize {
        let interval = INTERVAL.as_secs_f64();
        let frames = 10.0 * self.frame_interval.as_secs_f64();
        let round_trips = 10.0 * self.smoothed_round_trip().as_secs_f64();
        let span = frames.max(round_trips).max(3.0 * interval).min((3.0 * interval).max(15.0));
        (span / interval).ceil() as usize
    }

    fn intervals_kept(&self) -> usize {
        self.congestion_intervals().max(self.media_timeout()).max(SILENT_INTERVALS)
    }
}

/// What TCP would have, by the simplified equation of RFC 8083 section 4.3: packets of `size` bytes, one acknowledgement each.
fn tcp_throughput(size: f64, round_trip: Duration, loss: f64) -> Rate {
    Rate::from_bps_f64(8.0 * size / (round_trip.as_secs_f64() * (2.0 * loss / 3.0).sqrt()))
}

#[cfg(test)]
mod tests;
