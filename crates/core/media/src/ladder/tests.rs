use super::*;

fn config(follows: Follows) -> LadderConfig {
    LadderConfig::new((follows, Content::High), (1280, 720), 60).expect("something follows")
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// The levels of a target that is a function of the time in ms, frame by frame: each with when it began.
fn levels(config: &LadderConfig, millis: i64, rate: impl Fn(i64) -> f64) -> Vec<(i64, Level)> {
    let mut ladder = Ladder::new(config);
    let mut levels: Vec<(i64, Level)> = Vec::new();
    for now in (0..millis).step_by(20) {
        let level = ladder.next(at(now), Rate::from_bps_f64(rate(now)));
        if levels.last().is_none_or(|(_, last)| *last != level) {
            levels.push((now, level));
        }
    }
    levels
}

/// Bitrates that are well within the whole and well within the lowest level.
fn high_and_low(config: &LadderConfig) -> (f64, f64) {
    let ladder = Ladder::new(config);
    let steps = ladder.steps();
    let (top, second) = (steps[steps.len() - 1].0, steps[1].0);
    (2.0 * top.as_bps_f64(), 0.5 * second.as_bps_f64())
}

#[test]
fn levels_grow_with_the_bitrate_and_none_is_there_that_is_not_allowed() {
    for follows in [Follows::Size, Follows::FrameRate, Follows::Both] {
        let ladder = Ladder::new(&config(follows));
        let steps = ladder.steps();
        assert!(steps.len() > 1, "{follows:?}: {steps:?}");
        assert_eq!(steps[steps.len() - 1].1, Level::WHOLE);
        assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let grow = |pair: &[(Rate, Level)]| {
            pair[0].1.twelfths <= pair[1].1.twelfths && pair[0].1.intervals >= pair[1].1.intervals
        };
        assert!(steps.windows(2).all(grow), "{steps:?}");
        let sizes = steps.iter().any(|(_, level)| level.twelfths < 12);
        let rates = steps.iter().any(|(_, level)| level.intervals > 1);
        assert!(follows.changes_size() || !sizes);
        assert!(follows.changes_frame_rate() || !rates);
    }
    assert_eq!(LadderConfig::new((Follows::None, Content::High), (1280, 720), 60), None);
}

#[test]
fn limits_leave_out_what_is_below_them() {
    let low = |min_height, min_frames_per_second| {
        let limits = LadderConfig { min_height, min_frames_per_second, ..config(Follows::Both) };
        Ladder::new(&limits).steps()[0].1
    };
    let all = low(0, 0);
    assert!(all.side(720) < 480 && all.intervals > 1, "{all:?}");
    assert_eq!(low(360, 31), Level { twelfths: 6, intervals: 1 });
    assert_eq!(low(361, 31), Level { twelfths: 8, intervals: 1 });
    assert_eq!(low(721, 30), Level { twelfths: 12, intervals: 2 });
    assert_eq!(low(721, 61), Level::WHOLE);
}

#[test]
fn no_picture_is_too_small_for_what_is_written_into_it() {
    for (size, lowest) in [((1280, 720), 4), ((384, 216), 4), ((300, 170), 6), ((160, 90), 12)] {
        let config = LadderConfig::new((Follows::Size, Content::High), size, 60);
        let levels = allowed(&config.expect("it follows"));
        assert_eq!(levels.iter().map(|level| level.twelfths).min(), Some(lowest), "{size:?}");
    }
}

/// As measured: from these rates in Mb/s on all of 60 frames/s is better than half of them.
#[test]
fn flat_pictures_keep_their_frame_rate_longer_and_all_keep_their_size() {
    let ladder = |content| {
        let config = LadderConfig::new((Follows::Both, content), (1280, 720), 60);
        let limits = LadderConfig { min_frames_per_second: 30, ..config.expect("it follows") };
        Ladder::new(&limits)
    };
    let from = |content| ladder(content).steps().last().expect("a level").0.as_bps_f64() / 1e6;
    assert!((2.0..2.9).contains(&from(Content::Low)), "{}", from(Content::Low));
    assert!((4.0..6.5).contains(&from(Content::Medium)), "{}", from(Content::Medium));
    assert!((7.0..10.0).contains(&from(Content::High)), "{}", from(Content::High));
    let at_1_mbps = |content| ladder(content).next(at(0), Rate::from_mbps(1)).twelfths;
    assert_eq!([Content::Low, Content::Medium].map(at_1_mbps), [12, 12]);
    assert!(at_1_mbps(Content::High) < 12);
}

#[test]
fn a_larger_display_needs_more_for_the_whole() {
    let from = |size, frame_rate| {
        let follows = (Follows::Both, Content::Medium);
        let config = LadderConfig::new(follows, size, frame_rate).expect("it follows");
        Ladder::new(&config).steps().last().map(|(rate, _)| rate.as_bps_f64()).expect("a level")
    };
    let ratio = from((1920, 1080), 60) / from((1280, 720), 60);
    assert!((1.8..2.05).contains(&ratio), "2.25 times the pixels: {ratio}");
}

#[test]
fn it_goes_down_after_half_a_second_and_up_after_five_of_more_than_enough() {
    let config = config(Follows::Both);
    let (high, low) = high_and_low(&config);
    let there =
        levels(&config, 30_000, |now| if (4_000..12_000).contains(&now) { low } else { high });
    let times: Vec<i64> = there.iter().map(|(since, _)| *since).collect();
    assert_eq!(times, [0, 4_500, 17_000]);
    let lowest = Ladder::new(&config).steps()[0].1;
    assert_eq!(
        there.iter().map(|(_, level)| *level).collect::<Vec<_>>(),
        [Level::WHOLE, lowest, Level::WHOLE]
    );
}

#[test]
fn shorter_dips_and_rises_change_nothing() {
    let config = config(Follows::Both);
    let (high, low) = high_and_low(&config);
    let dips = |now: i64| if now % 1_000 < 480 { low } else { high };
    assert_eq!(levels(&config, 60_000, |now| dips(now + 500)).len(), 1);
    let rises = |now: i64| if now % 6_000 < 4_900 { high } else { low };
    assert_eq!(levels(&config, 60_000, |now| rises(now + 4_900)).len(), 1);
}

#[test]
fn a_bitrate_at_a_boundary_is_left_where_it_is_and_one_beyond_the_margin_is_not() {
    let config = config(Follows::Both);
    let top =
        Ladder::new(&config).steps().last().map(|(rate, _)| rate.as_bps_f64()).expect("a level");
    let after_low = |share: f64| {
        levels(&config, 60_000, |now| if now < 3_000 { 0.9 * top } else { share * top }).len()
    };
    assert_eq!((after_low(1.15), after_low(1.25)), (1, 2));
    let trembling = |now: i64| if now % 400 < 200 { 1.15 * top } else { 0.97 * top };
    assert_eq!(levels(&config, 60_000, trembling).len(), 1);
}

#[test]
fn changes_are_two_seconds_apart_at_least() {
    let config = config(Follows::Both);
    let (high, _) = high_and_low(&config);
    // Down all the way, by a tenth each 300 ms.
    let there = levels(&config, 30_000, |now| high * libm::pow(0.9, now as f64 / 300.0));
    assert!(there.len() > 2, "{there:?}");
    let apart = |pair: &[(i64, Level)]| pair[1].0 - pair[0].0 >= 2_000;
    assert!(there.windows(2).all(apart), "{there:?}");
}

#[test]
fn a_stream_begins_on_the_level_of_its_first_bitrate() {
    let config = config(Follows::Both);
    let (high, low) = high_and_low(&config);
    assert_eq!(levels(&config, 20, |_| high), [(0, Level::WHOLE)]);
    assert_ne!(levels(&config, 20, |_| low), [(0, Level::WHOLE)]);
}

#[test]
fn no_bitrate_and_no_size_breaks_it() {
    for size in [(2, 2), (4096, 4096), (1, 1), (0, 0)] {
        for frames_per_second in [0, 1, 1_000] {
            let follows = (Follows::Both, Content::Medium);
            let Some(config) = LadderConfig::new(follows, size, frames_per_second) else {
                continue;
            };
            let mut ladder = Ladder::new(&config);
            for rate in [Rate::ZERO, Rate::from_mbps(1), Rate::from_bps(u64::MAX)] {
                let _ = ladder.next(at(0), rate);
            }
        }
    }
}
