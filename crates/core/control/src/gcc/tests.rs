//! The parts together: what the detector, loss and silence allow.

use super::*;
use crate::{FrameId, SequenceNumber};
use gameway_units::{Bytes, ReceiverInstant};

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A stream of at most 50 Mb/s that starts at ten, and sends a packet of 1250 bytes each 10 ms: 1 Mb/s.
struct Case {
    gcc: Gcc,
    now: i64,
    arrival: i64,
}

impl Case {
    fn new(options: GccOptions) -> Self {
        let limits = RateLimits {
            min: Rate::from_kbps(100),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(10),
            frame_interval: Duration::from_millis(10),
        };
        let options = GccOptions { startup_probing: false, ..options };
        Self { gcc: Gcc::new(options, limits), now: 0, arrival: 0 }
    }

    fn packet(&self) -> SentPacket {
        let sequence = SequenceNumber(self.now as u64 / 10);
        SentPacket::new(sequence, at(self.now), FrameId(0), Bytes::new(1_250))
    }

    /// A report at this time on packets that were sent and have arrived at these.
    fn report(&mut self, now: i64, packets: &[(i64, i64)]) {
        let clock = |millis: i64| ReceiverInstant::from_nanos(at(millis).as_nanos());
        let reports: Vec<_> = packets
            .iter()
            .map(|(sent, arrival)| {
                let packet = SentPacket { sent: at(*sent), ..self.packet() };
                PacketReport::new(packet, Some(clock(*arrival)))
            })
            .collect();
        let newest = packets.iter().map(|(_, arrival)| *arrival).max().unwrap_or_default();
        let batch = FeedbackBatch::new(&reports, clock(newest), Bytes::ZERO);
        self.gcc.on_feedback(at(now), &batch);
    }

    /// The next packet, which arrives `later` milliseconds after the one before and is reported at once.
    fn send(&mut self, later: i64) -> Usage {
        self.send_unheard();
        self.arrival += later;
        let (now, arrival) = (self.now, self.arrival);
        self.report(now + 20, &[(now, now + 10 + arrival)]);
        self.gcc.trendline.usage()
    }

    fn send_unheard(&mut self) {
        self.now += 10;
        let packet = self.packet();
        self.gcc.on_sent(at(self.now), &packet);
        self.gcc.on_timer(at(self.now));
    }

    fn probe(&self) -> Option<Rate> {
        self.gcc.target().requests.probe_cluster.map(|cluster| cluster.rate)
    }

    fn usage_logged(&self) -> f64 {
        let mut found = f64::NAN;
        self.gcc.observe(&mut |name, value| found = if name == "usage" { value } else { found });
        found
    }
}

#[test]
fn it_works_each_25_ms_from_the_first_frame_on() {
    let mut case = Case::new(GccOptions::default());
    assert_eq!(case.gcc.next_timer(), None);
    let frame = FrameSent::new(FrameId(0), Rate::from_mbps(10), Bytes::new(1_250), 1);
    case.gcc.on_frame(at(100), &frame);
    assert_eq!(case.gcc.next_timer(), Some(at(125)));
    case.gcc.on_timer(at(124));
    case.gcc.on_frame(at(124), &frame);
    assert_eq!(case.gcc.next_timer(), Some(at(125)));
    case.gcc.on_timer(at(126));
    assert_eq!(case.gcc.next_timer(), Some(at(151)));
}

/// The rapid recovery of libwebrtc: once queues have emptied after overuse, and not before.
#[test]
fn a_large_drop_is_probed_when_underuse_ends() {
    let mut case = Case::new(GccOptions {
        recovery_probing: true,
        application_limited_probing: false,
        ..GccOptions::default()
    });
    (0..100).for_each(|_| _ = case.send(0));
    let before = case.gcc.target().bitrate;
    assert!((10.0..10.2).contains(&before.as_mbps_f64()) && case.usage_logged().abs() < 1e-9);
    while case.send(2) != Usage::Over {
        assert!(case.now < 2_000);
    }
    let lowered = case.gcc.target().bitrate.as_mbps_f64();
    assert!((0.7..0.9).contains(&lowered), "{lowered}"); // 0.85 of what arrives
    assert!((case.usage_logged() - 1.0).abs() < 1e-9);
    while case.send(-2) != Usage::Under {
        assert!(case.now < 4_000);
        assert_eq!(case.probe(), None);
    }
    assert!((case.usage_logged() + 1.0).abs() < 1e-9);
    while case.send(0) == Usage::Under {
        assert!(case.now < 5_000);
        assert_eq!(case.probe(), None);
    }
    assert_eq!(
        (case.gcc.trendline.usage(), case.probe()),
        (Usage::Normal, Some(before.mul_f64(0.85)))
    );
}

/// What the application limits is probed each 5 s, but not where nothing is heard any more.
#[test]
fn who_hears_nothing_sends_no_probe() {
    for heard in [true, false] {
        let mut case = Case::new(GccOptions::default());
        (0..200).for_each(|_| _ = case.send(0));
        assert!(case.gcc.application_limit.since().is_some());
        let mut asked = false;
        while case.now < 9_000 {
            if heard {
                _ = case.send(0)
            } else {
                case.send_unheard()
            }
            asked |= case.probe().is_some();
        }
        assert_eq!(asked, heard);
    }
}

/// The shortest round trip of the last report counts, without the time for which packets waited for its newest.
#[test]
fn the_path_is_dead_when_silence_and_round_trip_are_more_than_three_seconds() {
    for (silence, kept) in [(2_400, 1.0), (2_401, 0.8)] {
        let mut case = Case::new(GccOptions::default());
        // The first takes 600 ms there and back and waits 400 ms for the second, which takes 900 ms.
        case.report(1_000, &[(0, 500), (100, 900)]);
        let before = case.gcc.target().bitrate;
        case.now = 1_000 + silence;
        let packet = case.packet();
        case.gcc.on_sent(at(case.now), &packet);
        case.gcc.on_timer(at(case.now));
        let found = case.gcc.target().bitrate.as_bps_f64() / before.as_bps_f64();
        assert!((found - kept).abs() < 1e-3, "{silence} {found}");
    }
}

#[test]
fn after_more_than_two_seconds_without_reports_the_detector_begins_anew() {
    for (pause, known) in [(2_000, true), (2_001, false)] {
        let mut case = Case::new(GccOptions::default());
        (0..100).for_each(|_| _ = case.send(1));
        let last = case.now + 20;
        case.now = last + pause - 20;
        let (now, arrival) = (case.now, case.arrival);
        case.report(now + 20, &[(now, now + 10 + arrival)]);
        assert_eq!(case.gcc.trendline.modified_trend_ms() > 1.0, known, "{pause}");
    }
}

#[test]
fn packets_leave_in_bursts_if_that_is_asked_for() {
    for (burst, in_bursts) in [(0, false), (40, true)] {
        let interval = Duration::from_millis(burst);
        let options =
            GccOptions { pacing_factor: 1.1, pacing_burst: interval, ..GccOptions::default() };
        let target = Case::new(options).gcc.target();
        let rate = target.bitrate.mul_f64(1.1);
        let expected =
            if in_bursts { Pacing::Bursts { rate, interval } } else { Pacing::Rate(rate) };
        assert_eq!(target.pacing, expected);
    }
}
