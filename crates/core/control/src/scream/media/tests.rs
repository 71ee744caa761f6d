use super::super::ScreamVersion;
use super::super::reference_window::{EcnMode, Settings};
use super::*;
use crate::SequenceNumber;
use gameway_units::Bytes;

const FRAME: Duration = Duration::from_millis(16);

fn limits() -> RateLimits {
    RateLimits {
        min: Rate::from_mbps(1),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(10),
        frame_interval: FRAME,
    }
}

fn made(limits: RateLimits) -> MediaRate {
    MediaRate::new(ScreamVersion::Draft.rules().media, 1.0, limits)
}

fn window(bytes: f64) -> ReferenceWindow {
    let settings =
        Settings { ecn: EcnMode::Off, loss_beta: 0.7, ecn_beta: 0.8, delay_target_secs: 0.06 };
    ReferenceWindow::new(ScreamVersion::Draft.rules().window, settings, bytes)
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn frame(number: u64, size: u64) -> FrameSent {
    FrameSent::new(FrameId(number), Rate::from_mbps(10), Bytes::new(size), 1)
}

fn sent(number: u64, last: bool) -> SentPacket {
    SentPacket::new(SequenceNumber(number), at(0), FrameId(number), Bytes::new(1_000))
        .with_first_of_frame(true)
        .with_last_of_frame(last)
}

fn target_bps(media: &mut MediaRate, bytes: f64) -> f64 {
    media.update(&window(bytes), Duration::from_millis(40));
    media.target().as_bps_f64()
}

fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-12, "{left} {right}");
}

#[test]
fn the_target_is_the_window_per_round_trip_less_the_corrections() {
    let mut media = made(limits());
    let headers = 1_000.0 / 1_020.0;
    let large = target_bps(&mut media, 100_000.0); // 20 Mb/s
    assert!((large - 20e6 * headers / 1.2).abs() < 1.0, "{large}");
    // A segment is a fifth of the window: 10 % less.
    let small = target_bps(&mut media, 10_000.0 / 2.0);
    assert!((small - 1e6).abs() < 1.0, "{small}"); // below the least
    let mut slow = made(RateLimits { min: Rate::from_kbps(100), ..limits() });
    let small = target_bps(&mut slow, 5_000.0);
    assert!((small - 1e6 * 0.9 * headers / 1.2).abs() < 1.0, "{small}");
    close(target_bps(&mut media, 1e9), 50e6);
    assert!(media.at_largest());
}

#[test]
fn the_start_window_gives_the_start_bitrate() {
    for millis in [1, 5, 20, 100] {
        let mut media = made(limits());
        let rtt = Duration::from_millis(millis);
        let start = media.window_for_start(rtt);
        media.update(&window(start), rtt);
        let target = media.target().as_mbps_f64();
        // The small-window term is a step of one fixed-point iteration away; 3000 B is the least.
        let max = if millis == 1 { 24.0 } else { 10.3 };
        assert!((9.7..max).contains(&target), "{millis} {target}");
    }
}

#[test]
fn frames_that_wait_lower_the_target() {
    let mut media = made(limits());
    media.on_frame(at(0), &frame(0, 1_000));
    // 32 ms in the queue: (32 - 4) / 16 / 16 = 0.109375
    media.on_frame(at(32), &frame(1, 1_000));
    close(media.wait_adjustment(), 0.109375);
    media.on_sent(&sent(0, true));
    // Now the oldest is frame 1: (16 - 4) / 16 / 16 more.
    media.on_frame(at(48), &frame(2, 1_000));
    close(media.wait_adjustment(), 0.109375 + 0.046875);
    media.on_sent(&sent(1, true));
    media.on_sent(&sent(2, false));
    assert_eq!(media.waiting.len(), 1);
    media.on_sent(&sent(2, true));
    // Nothing waits: -4 / 16 / 16.
    media.on_frame(at(64), &frame(3, 1_000));
    close(media.wait_adjustment(), 0.109375 + 0.046875 - 0.015625);
    media.on_frame(at(10_000), &frame(4, 1_000));
    close(media.wait_adjustment(), 0.5);
}

#[test]
fn frames_above_their_size_lower_the_target_and_those_below_do_not_raise_it() {
    let mut media = made(limits());
    // Nominal: 10 Mb/s x 16 ms / 8 = 20000 B.
    media.on_frame(at(0), &frame(0, 24_000));
    assert!((media.frame_excess() - 0.2 / 64.0).abs() < 1e-12);
    media.on_frame(at(0), &frame(1, 2_000));
    assert!((media.frame_excess() - 0.2 / 64.0 * 63.0 / 64.0).abs() < 1e-12);
    media.on_frame(at(0), &frame(2, 20_000_000));
    close(media.frame_excess(), 0.2);
}

#[test]
fn pacing_is_half_as_fast_again_and_relaxed_near_the_largest_bitrate() {
    let mut media = made(limits());
    for (target, paced) in [(10, 15.0), (40, 60.0), (45, 135.0), (49, 294.0), (50, 300.0)] {
        media.target = Rate::from_mbps(target);
        let rate = media.paced().as_mbps_f64();
        assert!((rate - paced).abs() < 1e-3, "{target} {rate}");
    }
    media.target = Rate::from_kbps(20);
    assert_eq!(media.paced(), Rate::from_kbps(75));
}

#[test]
fn the_reference_divides_by_less_and_paces_large_frames_faster() {
    let rules = ScreamVersion::Reference.rules().media;
    let mut media = MediaRate::new(rules, 1.0, limits());
    let headers = 1_000.0 / 1_020.0;
    let target = target_bps(&mut media, 100_000.0);
    assert!((target - 8e5 / 0.041 * headers / 1.1).abs() < 1.0, "{target}");
    let nominal = target / 8.0 * FRAME.as_secs_f64();
    let paced = |share: f64| {
        let mut media = media.clone();
        media.on_frame(at(0), &frame(0, (nominal * share) as u64));
        target_bps(&mut media, 100_000.0);
        let Pacing::Bursts { rate, interval } = media.pacing() else { panic!("in bursts") };
        assert_eq!(interval, Duration::from_micros(500));
        rate.as_bps_f64() / target
    };
    for (share, factor) in [(0.5, 1.5), (1.0, 1.5), (1.2, 1.5 * 1.2 * 1.2), (2.0, 1.5 * 1.5 * 2.0)]
    {
        let found = paced(share);
        assert!((found - factor).abs() < 0.01, "{share} {found}");
    }
}

#[test]
fn what_waits_and_what_frames_exceed_is_added_to_the_divisor() {
    let mut media = made(limits());
    (media.wait_adjustment, media.frame_excess) = (0.3, 0.1);
    let target = target_bps(&mut media, 100_000.0);
    assert!((target - 20e6 / 1.02 / 1.6).abs() < 1.0, "{target}");
}

#[test]
fn no_more_than_so_many_frames_are_known_to_wait() {
    let mut media = made(limits());
    for number in 0..300 {
        media.on_frame(at(0), &frame(number, 1_000));
    }
    assert_eq!(media.waiting.len(), MAX_WAITING);
    assert_eq!(media.waiting.front().map(|(frame, _)| frame.0), Some(44));
}

/// At 10 Mb/s frames of 20000 bytes: how much faster than that they are paced when these were encoded.
fn paced_for(sizes: &[u64], sent: usize) -> f64 {
    let mut media = MediaRate::new(ScreamVersion::Reference.rules().media, 1.0, limits());
    for (number, size) in (0..).zip(sizes) {
        media.on_frame(at(0), &frame(number, *size));
        if (number as usize) < sent {
            let packet = SentPacket { size: Bytes::new(*size), ..self::sent(number, true) };
            media.on_sent(&packet);
        }
    }
    media.paced().as_bps_f64() / 10e6
}

#[test]
fn in_the_reference_pacing_follows_the_mean_frame_of_200_ms_and_what_waits() {
    // Of frames of 16 ms the latest twelve count: six of three times the size make it twice.
    let sizes: Vec<_> = [20_000; 20].into_iter().chain([60_000; 6]).collect();
    assert!((paced_for(&sizes, 26) - 1.5 * 1.5 * 2.0).abs() < 1e-6);
    // Two small ones that wait are as one of 1.2 times the size, unless the first has left.
    assert!((paced_for(&[12_000, 12_000], 0) - 1.5 * 1.2).abs() < 1e-6);
    assert!((paced_for(&[12_000, 12_000], 1) - 1.5).abs() < 1e-6);
    // Half of the first has left.
    let mut media = MediaRate::new(ScreamVersion::Reference.rules().media, 1.0, limits());
    media.on_frame(at(0), &frame(0, 16_000));
    media.on_sent(&SentPacket { size: Bytes::new(8_000), ..sent(0, false) });
    media.on_frame(at(0), &frame(1, 16_000));
    assert!((media.paced().as_bps_f64() / 10e6 - 1.5 * 1.2).abs() < 1e-6);
}

#[test]
fn a_least_pacing_factor_holds_where_the_version_paces_slower() {
    for (factor, paced) in [(1.0, 1.5), (1.5, 1.5), (2.5, 2.5)] {
        let mut media = MediaRate::new(ScreamVersion::Draft.rules().media, factor, limits());
        media.target = Rate::from_mbps(10);
        let rate = media.paced().as_mbps_f64();
        assert!((rate - 10.0 * paced).abs() < 1e-3, "{factor}: {rate}");
    }
}
