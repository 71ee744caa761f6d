//! The breaker against the equations of RFC 8083, with traffic of a set rate, loss and round trip.

use super::*;
use gameway_control::{FrameId, PacketReport, SentPacket};
use gameway_units::ReceiverInstant;

const SIZE: Bytes = Bytes::new(1_200);
const STEP: Duration = Duration::from_millis(100);
/// For how long the receiver holds what arrives before it reports: no part of the round trip.
const HELD: Duration = Duration::from_millis(40);
const MIN_BITRATE: Rate = Rate::from_mbps(2);

/// What a path does to a stream.
#[derive(Clone, Copy)]
struct Path {
    rate: Rate,
    /// One packet in this number of packets is lost; zero for none.
    lost_one_in: u64,
    round_trip: Duration,
    reports: bool,
    arrives: bool,
}

const CLEAN: Path = Path {
    rate: Rate::from_mbps(10),
    lost_one_in: 0,
    round_trip: Duration::from_millis(20),
    reports: true,
    arrives: true,
};

struct Stream {
    breaker: CircuitBreaker,
    now: Instant,
    next: u64,
    actions: Vec<(f64, BreakerAction)>,
}

impl Stream {
    fn new() -> Self {
        let frame_interval = Duration::from_micros(16_667);
        let breaker = CircuitBreaker::new(Instant::ZERO, frame_interval, MIN_BITRATE);
        Self { breaker, now: Instant::ZERO, next: 0, actions: Vec::new() }
    }

    /// Sends for a time; a report comes each tenth of a second.
    fn pass(&mut self, path: Path, span: Duration) {
        let end = self.now.saturating_add(span);
        while self.now < end {
            let rate = self.breaker.limit().map_or(path.rate, |limit| limit.min(path.rate));
            let packets = (rate * STEP).get() / SIZE.get();
            let reports: Vec<PacketReport> = (0..packets).map(|_| self.send(path)).collect();
            self.now = self.now.saturating_add(STEP);
            if path.reports {
                let reports = if path.arrives { &reports[..] } else { &[] };
                let generated = ReceiverInstant::ZERO + HELD;
                let batch = FeedbackBatch::new(reports, generated, Bytes::ZERO);
                self.breaker.on_report(self.now, &batch);
            }
            let action = self.breaker.on_deadline(self.now);
            let at = self.now.as_secs_f64();
            self.actions.extend(action.map(|action| (at, action)));
        }
    }

    fn send(&mut self, path: Path) -> PacketReport {
        self.breaker.on_sent(SIZE);
        self.next += 1;
        let lost = path.lost_one_in > 0 && self.next.is_multiple_of(path.lost_one_in);
        let packet = SentPacket::new(
            SequenceNumber(self.next),
            self.now.saturating_add(STEP).saturating_sub(path.round_trip).saturating_sub(HELD),
            FrameId(0),
            SIZE,
        );
        let arrival = (!lost).then_some(ReceiverInstant::ZERO);
        PacketReport::new(packet, arrival)
    }
}

/// The actions of a stream that passes such a path for a minute.
fn minute(path: Path) -> Vec<(f64, BreakerAction)> {
    let mut stream = Stream::new();
    stream.pass(path, Duration::from_secs(60));
    stream.actions
}

#[test]
fn the_equation_gives_what_mathis_et_al_have() {
    // sqrt(3/2) s / (R sqrt(p)): 1460 B, 100 ms, 1 %.
    let rate = tcp_throughput(1460.0, Duration::from_millis(100), 0.01);
    assert!((rate.as_bps_f64() - 1.5_f64.sqrt() * 8.0 * 1460.0 / 0.1 / 0.1).abs() < 1.0);
}

#[test]
fn a_stream_may_send_ten_times_what_tcp_would_and_not_more() {
    // 1200 B, 20 ms and a quarter lost: X is 1.18 Mb/s.
    for (rate, trips) in [(11_200, false), (12_300, true)] {
        let path = Path { rate: Rate::from_kbps(rate), lost_one_in: 4, ..CLEAN };
        let first = minute(path).first().copied();
        let reduced = Some((3.0, BreakerAction::Reduce(TripCause::Congestion)));
        assert_eq!(first, if trips { reduced } else { None }, "{rate} kb/s");
    }
    assert_eq!(minute(CLEAN), []);
}

#[test]
fn more_round_trips_are_waited_for_where_they_are_long() {
    for (round_trip, after) in [(200, 3.0), (700, 7.0), (2_000, 15.0)] {
        let round_trip = Duration::from_millis(round_trip);
        let path = Path { rate: Rate::from_mbps(50), lost_one_in: 2, round_trip, ..CLEAN };
        assert_eq!(minute(path)[0], (after, BreakerAction::Reduce(TripCause::Congestion)));
    }
}

#[test]
fn a_stream_that_mostly_loses_at_its_least_rate_ends() {
    // 99 of 100 lost and 400 ms: X is 30 kb/s.
    let path = Path { rate: Rate::from_mbps(10), round_trip: Duration::from_millis(400), ..CLEAN };
    let mut stream = Stream::new();
    for _ in 0..200 {
        stream.pass(Path { lost_one_in: 1, ..path }, STEP.mul_f64(9.0));
        stream.pass(path, STEP);
    }
    let causes =
        [BreakerAction::Reduce(TripCause::Congestion), BreakerAction::End(TripCause::Congestion)];
    let actions: Vec<_> = stream.actions.iter().map(|&(_, action)| action).collect();
    assert_eq!(actions, causes);
    assert_eq!(stream.breaker.limit(), Some(Rate::ZERO));
    assert_eq!(stream.breaker.next_deadline(), None);
}

#[test]
fn reports_that_stay_away_reduce_after_three_seconds_and_end_after_six() {
    let mut stream = Stream::new();
    stream.pass(CLEAN, Duration::from_secs(10));
    stream.pass(Path { reports: false, ..CLEAN }, Duration::from_secs(20));
    let reduced = (13.0, BreakerAction::Reduce(TripCause::RtcpTimeout));
    assert_eq!(stream.actions, [reduced, (16.0, BreakerAction::End(TripCause::RtcpTimeout))]);
}

#[test]
fn a_gap_of_reports_below_three_seconds_does_nothing() {
    let mut stream = Stream::new();
    for _ in 0..10 {
        stream.pass(CLEAN, STEP);
        stream.pass(Path { reports: false, ..CLEAN }, Duration::from_millis(2_900));
    }
    assert_eq!(stream.actions, []);
}

#[test]
fn reports_of_which_none_tells_of_an_arrival_reduce_after_five_seconds() {
    let mut stream = Stream::new();
    stream.pass(CLEAN, Duration::from_secs(10));
    stream.pass(Path { arrives: false, ..CLEAN }, Duration::from_secs(7));
    assert_eq!(stream.actions, [(15.0, BreakerAction::Reduce(TripCause::MediaTimeout))]);
}

#[test]
fn a_path_that_is_well_again_gives_the_rate_back_by_doubling() {
    let mut stream = Stream::new();
    stream.pass(CLEAN, Duration::from_secs(10));
    stream.pass(Path { reports: false, ..CLEAN }, Duration::from_secs(4));
    stream.pass(CLEAN, Duration::from_secs(30));
    let (times, actions): (Vec<f64>, Vec<BreakerAction>) = stream.actions.into_iter().unzip();
    let mbps = |rate| BreakerAction::Restore(Rate::from_mbps(rate));
    let reduced = BreakerAction::Reduce(TripCause::RtcpTimeout);
    assert_eq!(actions, [reduced, mbps(4), mbps(8), BreakerAction::Close]);
    // The second in which reports were away does not count as well.
    assert_eq!(times, [13.0, 17.0, 20.0, 23.0]);
}

#[test]
fn a_stream_that_does_not_send_does_not_trip() {
    let mut stream = Stream::new();
    stream.pass(CLEAN, Duration::from_secs(5));
    stream.pass(Path { rate: Rate::ZERO, reports: false, ..CLEAN }, Duration::from_secs(30));
    assert_eq!(stream.actions, []);
}

/// Names of events as docs/results.md has them.
#[test]
fn actions_and_causes_have_names() {
    let causes = [
        (TripCause::RtcpTimeout, "rtcp-timeout", "no report"),
        (TripCause::MediaTimeout, "media-timeout", "nothing of the stream arrives"),
        (TripCause::Congestion, "congestion", "ten times what TCP would have"),
    ];
    for (cause, name, reason) in causes {
        assert_eq!(BreakerAction::Reduce(cause).event(), format!("breaker-reduced-{name}"));
        assert_eq!(BreakerAction::End(cause).event(), format!("breaker-ended-{name}"));
        assert!(cause.as_str().contains(reason), "{}", cause.as_str());
    }
    assert_eq!(BreakerAction::Restore(MIN_BITRATE).event(), "breaker-restored");
    assert_eq!(BreakerAction::Close.event(), "breaker-closed");
}

#[test]
fn no_more_intervals_are_kept_than_are_looked_at() {
    let mut stream = Stream::new();
    let far = Path { round_trip: Duration::from_millis(1_400), ..CLEAN };
    stream.pass(far, Duration::from_secs(30));
    let kept = stream.breaker.past.len();
    assert_eq!(kept, 14, "ten round trips");
    stream.pass(CLEAN, Duration::from_secs(30));
    assert_eq!(stream.breaker.past.len(), 5, "the media timeout is longer now");
}

#[test]
fn arrivals_are_waited_for_as_long_as_five_round_trips_take() {
    let mut stream = Stream::new();
    let far = Path { round_trip: Duration::from_secs(2), ..CLEAN };
    stream.pass(far, Duration::from_secs(10));
    stream.pass(Path { arrives: false, ..far }, Duration::from_secs(12));
    assert_eq!(stream.actions, [(20.0, BreakerAction::Reduce(TripCause::MediaTimeout))]);
}

#[test]
fn a_limit_that_would_be_where_the_rate_was_is_none() {
    // 100 packets of 1200 B in a tenth of a second are 9.6 Mb/s, four times the least rate.
    let rate = Rate::from_kbps(9_600);
    let mut stream = Stream::new();
    stream.breaker.min = Rate::from_kbps(2_400);
    stream.pass(Path { rate, ..CLEAN }, Duration::from_secs(10));
    stream.pass(Path { rate, reports: false, ..CLEAN }, Duration::from_secs(4));
    stream.pass(Path { rate, ..CLEAN }, Duration::from_secs(30));
    let actions: Vec<BreakerAction> = stream.actions.iter().map(|&(_, action)| action).collect();
    let reduced = BreakerAction::Reduce(TripCause::RtcpTimeout);
    let half = BreakerAction::Restore(Rate::from_kbps(4_800));
    assert_eq!(actions, [reduced, half, BreakerAction::Close]);
}
