//! The encoder model against the recording that it draws from.

use crate::support::{self, KEY, RungContent, file, ladder};
use gameway_media::{EncoderCalibration, EncoderModel, FrameTable, RecordedVideo};
use gameway_units::{Duration, Rate};
use proptest::prelude::*;
use std::sync::Arc;

const INTERVAL: Duration = Duration::from_nanos(16_666_667);
const FRAMES: usize = 400;

fn video(rungs: &[RungContent]) -> Arc<RecordedVideo> {
    let table = FrameTable::parse(&file((60, 1), rungs, "{}")).unwrap();
    Arc::new(RecordedVideo::new(&table).unwrap())
}

fn encoder(calibration: EncoderCalibration, seed: u64) -> EncoderModel {
    EncoderModel::recorded(video(&ladder(FRAMES)), calibration, INTERVAL, seed)
}

/// Sizes in bytes of so many frames at a constant target, after the first (key) frame.
fn sizes(encoder: &mut EncoderModel, target: Rate, count: usize) -> Vec<u64> {
    assert!(encoder.next_frame(target, false).key_frame, "a stream begins with a key frame");
    let frame = |_| {
        let frame = encoder.next_frame(target, false);
        assert!(!frame.key_frame, "nobody asked for a key frame");
        frame.payload.get()
    };
    (0..count).map(frame).collect()
}

/// The same, once its first frame, a key frame, is paid for.
fn settled_sizes(encoder: &mut EncoderModel, target: Rate, count: usize) -> Vec<u64> {
    sizes(encoder, target, count + 60).split_off(60)
}

fn mean_rate(sizes: &[u64]) -> f64 {
    sizes.iter().sum::<u64>() as f64 * 8.0 / (sizes.len() as f64 * INTERVAL.as_secs_f64())
}

#[test]
fn calibrated_to_the_mean_it_meets_any_target() {
    for kilobits in [500, 2_000, 3_300, 7_000, 20_000, 28_100, 50_000, 90_000] {
        let target = Rate::from_kbps(kilobits);
        let mut encoder = encoder(EncoderCalibration::Mean, 1);
        let mean = mean_rate(&settled_sizes(&mut encoder, target, FRAMES));
        let ratio = mean / target.as_bps_f64();
        // Rounding to whole bytes is half a byte of 1000 at the smallest target.
        assert!((0.999..1.001).contains(&ratio), "{target}: produces {ratio} of it");
    }
}

#[test]
fn as_a_budget_no_frame_exceeds_it_and_the_mean_stays_below() {
    for kilobits in [500, 2_000, 3_300, 7_000, 20_000, 28_100, 50_000, 90_000] {
        let target = Rate::from_kbps(kilobits);
        let sizes = sizes(&mut encoder(EncoderCalibration::Budget, 1), target, FRAMES);
        let budget = target.as_bps_f64() / 8.0 * INTERVAL.as_secs_f64();
        let largest = sizes.iter().copied().max().unwrap_or(0) as f64;
        assert!(largest <= budget + 1.0, "{target}: {largest} of {budget} bytes");
        let ratio = mean_rate(&sizes) / target.as_bps_f64();
        // The made-up recording fills 60% to 100%, evenly.
        assert!((0.78..0.82).contains(&ratio), "{target}: produces {ratio} of it");
    }
}

#[test]
fn on_a_rung_it_replays_the_recording_frame_by_frame_and_wraps() {
    let rungs = ladder(50);
    let recorded: Vec<u64> = rungs[2].sizes[1..].iter().map(|&size| u64::from(size)).collect();
    let video = video(&rungs);
    let budget = EncoderCalibration::Budget;
    let mut encoder = EncoderModel::recorded(video, budget, INTERVAL, 3);
    let played = sizes(&mut encoder, Rate::from_bps(rungs[2].asked), 150);
    let at = |offset: usize| {
        // The recorded key frame's place is taken by its successor.
        let frame = |index: usize| recorded[(index % 50).saturating_sub(1)];
        played.iter().enumerate().all(|(i, &size)| size.abs_diff(frame(offset + i)) <= 1)
    };
    assert!((0..50).any(at), "no offset explains {played:?}");
}

#[test]
fn between_rungs_the_size_is_in_proportion() {
    let rung = |asked: u64, sizes: [u32; 3]| RungContent {
        asked,
        produced: asked,
        sizes: sizes.to_vec(),
        forced: vec![sizes[0] & !KEY],
    };
    // All frames alike, so that the starting frame does not matter. 6 Mb/s at 60 fps is 12500 B.
    let rungs = [rung(6_000_000, [KEY | 9_000; 3]), rung(12_000_000, [KEY | 21_000; 3])];
    let plain = rungs.map(|mut rung| {
        rung.sizes[1] &= !KEY;
        rung
    });
    let budget = EncoderCalibration::Budget;
    let interval = Duration::from_nanos(16_666_667);
    let mut encoder = EncoderModel::recorded(video(&plain), budget, interval, 0);
    let at = |encoder: &mut EncoderModel, megabits_times_ten: u64| {
        let target = Rate::from_kbps(megabits_times_ten * 100);
        let _ = encoder.next_frame(target, false);
        encoder.next_frame(target, false).payload.get()
    };
    assert_eq!(at(&mut encoder, 30), 4_500, "below the ladder: half of the lowest rung");
    assert_eq!(at(&mut encoder, 60), 9_000);
    assert_eq!(at(&mut encoder, 75), 12_000, "a quarter of the way");
    assert_eq!(at(&mut encoder, 120), 21_000);
    assert_eq!(at(&mut encoder, 240), 42_000, "above the ladder: twice the highest rung");
}

#[test]
fn a_lower_target_holds_at_once_and_a_higher_one_a_frame_later() {
    let mut encoder = encoder(EncoderCalibration::Budget, 1);
    let (low, high) = (Rate::from_mbps(5), Rate::from_mbps(20));
    let (low_budget, high_budget) = (10_417, 41_667);
    let mut size = |target| encoder.next_frame(target, false).payload.get();
    let _ = size(high);
    assert!((high_budget / 2..=high_budget).contains(&size(high)));
    assert!(size(low) <= low_budget, "lower: the same frame");
    assert!(size(high) <= low_budget, "higher: not the same frame");
    assert!((high_budget / 2..=high_budget).contains(&size(high)), "but the next");
}

#[test]
fn key_frames_come_when_demanded_and_have_a_forced_key_frames_size() {
    let mut encoder = encoder(EncoderCalibration::Budget, 1);
    let target = Rate::from_mbps(10);
    let _ = sizes(&mut encoder, target, 10);
    let demanded = encoder.next_frame(target, true);
    assert!(demanded.key_frame);
    // The made-up forced key frames fill their budget exactly.
    assert_eq!(demanded.payload.get(), 20_833);
    assert!(!encoder.next_frame(target, false).key_frame);
}

/// Sizes as parts of what a target of 20 Mb/s grants a frame, with a key frame in so many frames.
fn parts_with_key_frames(video: &Arc<RecordedVideo>, one_in: usize, count: usize) -> Vec<f64> {
    let mut encoder =
        EncoderModel::recorded(Arc::clone(video), EncoderCalibration::Mean, INTERVAL, 1);
    let target = Rate::from_mbps(20);
    let share = target.as_bps_f64() / 8.0 * INTERVAL.as_secs_f64();
    let frame = |index| encoder.next_frame(target, index % one_in == 0).payload.as_f64() / share;
    (0..count).map(frame).collect()
}

fn mean(parts: &[f64]) -> f64 {
    parts.iter().sum::<f64>() / parts.len() as f64
}

#[test]
fn key_frames_twenty_times_as_large_are_bounded_and_paid_for() {
    let mut rungs = ladder(FRAMES);
    for rung in &mut rungs {
        let mean = rung.sizes[1..].iter().sum::<u32>() / (FRAMES as u32 - 1);
        rung.forced = vec![20 * mean];
    }
    let video = video(&rungs);
    for one_in in [1, 2, 4, 15, 60, 400] {
        let parts = parts_with_key_frames(&video, one_in, 4 * FRAMES);
        let mean = mean(&parts);
        // What lacks steadily is repaid to seven eighths: of 35 % of each frame 4 % stay.
        assert!((0.99..1.035).contains(&mean), "one in {one_in}: {mean} of the target");
        let largest = parts.iter().copied().fold(0.0, f64::max);
        assert!((1.2..1.3501).contains(&largest), "one in {one_in}: a frame of {largest} shares");
        for second in parts.windows(60).skip(60) {
            let mean = self::mean(second);
            assert!((0.9..1.1).contains(&mean), "one in {one_in}: a second of {mean}");
        }
    }
}

#[test]
fn a_key_frame_takes_what_it_takes_more_from_the_eight_frames_behind_it() {
    let video = RecordedVideo::doom();
    let (with, without) =
        (parts_with_key_frames(&video, 300, 600), parts_with_key_frames(&video, 1_000, 600));
    let more = |range: std::ops::Range<usize>| {
        with[range.clone()].iter().sum::<f64>() - without[range].iter().sum::<f64>()
    };
    let key_frame = more(300..301);
    assert!((0.05..0.5).contains(&key_frame), "{key_frame}");
    let paid = -more(301..309) / key_frame;
    assert!(
        (0.6..0.7).contains(&paid),
        "an eighth of the rest each: 1 - (7/8)^8 = 0.66, not {paid}"
    );
    assert!(more(300..360).abs() < 0.001, "all of it within a second");
}

#[test]
fn a_recording_that_is_quiet_and_then_busy_leads_by_a_second_at_most() {
    let mut rungs = ladder(1_200);
    for rung in &mut rungs {
        for size in &mut rung.sizes[600..] {
            *size *= 10;
        }
    }
    let parts = parts_with_key_frames(&video(&rungs), 10_000, 3_600);
    let mut lead = 0.0_f64;
    let mut max_lead = 0.0_f64;
    for part in &parts {
        assert!(*part <= 1.3501, "{part}");
        lead = (lead + part - 1.0).max(0.0);
        max_lead = max_lead.max(lead);
    }
    assert!((50.0..60.5).contains(&max_lead), "{max_lead} frames' worth");
    let mean = mean(&parts);
    assert!((0.75..1.0).contains(&mean), "quiet parts lack: {mean}");
}

#[test]
fn places_without_a_picture_are_passed_over() {
    let mut rungs = ladder(40);
    for rung in &mut rungs {
        for place in [5, 6, 20] {
            rung.sizes[place] = 0;
        }
    }
    let table = FrameTable::parse(&support::file_of_version(2, (60, 1), &rungs, "{}")).unwrap();
    let video = Arc::new(RecordedVideo::new(&table).unwrap());
    let mut encoder = EncoderModel::recorded(video, EncoderCalibration::Mean, INTERVAL, 1);
    let target = Rate::from_mbps(10);
    let mut played: Vec<Option<u64>> = Vec::new();
    for _ in 0..160 {
        let absent = encoder.pass_absent();
        played.push((!absent).then(|| encoder.next_frame(target, false).payload.get()));
    }
    assert_eq!(played.iter().filter(|frame| frame.is_none()).count(), 4 * 3);
    let gap = played.windows(2).position(|pair| pair == [None, None]).unwrap();
    let at = |place: usize| played[gap + place].is_none();
    assert!((0..80).all(|place| at(place) == [0, 1, 15].contains(&(place % 40))), "as recorded");
    let sizes: Vec<u64> = played[80..].iter().copied().flatten().collect();
    let ratio = mean_rate(&sizes) / target.as_bps_f64();
    assert!((0.99..1.01).contains(&ratio), "frames are as large as without gaps: {ratio}");
}

#[test]
fn a_stream_at_half_the_frame_rate_has_frames_of_twice_the_budget() {
    let half = Duration::from_nanos(33_333_333);
    let video = video(&ladder(FRAMES));
    let mut slow = EncoderModel::recorded(video, EncoderCalibration::Mean, half, 1);
    let sizes = settled_sizes(&mut slow, Rate::from_mbps(10), FRAMES);
    let mean = sizes.iter().sum::<u64>() as f64 / FRAMES as f64;
    assert!((mean - 41_667.0).abs() < 42.0, "mean frame of {mean} bytes");
}

#[test]
fn seeds_choose_the_beginning_and_nothing_else_is_random() {
    let target = Rate::from_mbps(10);
    let run = |seed| sizes(&mut encoder(EncoderCalibration::Mean, seed), target, 60);
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn steady_frames_are_exactly_the_target() {
    let mut steady = EncoderModel::steady(Duration::from_millis(20));
    for megabits in [5, 50, 12] {
        let frame = steady.next_frame(Rate::from_mbps(megabits), false);
        assert_eq!(frame.payload.get(), megabits * 2_500, "no lag, whatever the direction");
    }
}

/// The recording that comes with the program: what its module heads say of it holds.
mod doom {
    use super::*;

    #[test]
    fn it_is_what_its_header_says() {
        let table = FrameTable::doom();
        assert_eq!((table.width, table.height), (1280, 720));
        let rate = (table.frame_rate_numerator.get(), table.frame_rate_denominator.get());
        assert_eq!(rate, (60, 1));
        assert!(table.frames() >= 60 * 60, "at least a minute");
        let (first, last) = (&table.rungs[0], &table.rungs[table.rungs.len() - 1]);
        assert!(first.asked <= Rate::from_mbps(2) && last.asked >= Rate::from_mbps(50));
        for rung in &table.rungs {
            let bytes: u64 = rung.frames.iter().map(|frame| frame.size().get()).sum();
            let produced = bytes as f64 * 8.0 * 60.0 / table.frames() as f64;
            let told = rung.produced.as_bps_f64();
            assert!((produced / told - 1.0).abs() < 1e-5, "{}: {produced} b/s", rung.asked);
            assert!((0.76..0.80).contains(&(told / rung.asked.as_bps_f64())), "{}", rung.asked);
            assert!(rung.forced_key_frames.len() >= 20);
        }
    }

    #[test]
    fn both_calibrations_hold_at_any_target() {
        let frames = RecordedVideo::doom().frames();
        for kilobits in [1_000, 2_000, 5_300, 12_000, 22_200, 50_000, 80_000] {
            let target = Rate::from_kbps(kilobits);
            let budget = target.as_bps_f64() / 8.0 * INTERVAL.as_secs_f64();
            let play = |calibration| {
                let video = RecordedVideo::doom();
                let mut encoder = EncoderModel::recorded(video, calibration, INTERVAL, 5);
                sizes(&mut encoder, target, frames)
            };
            let as_budget = play(EncoderCalibration::Budget);
            assert!(as_budget.iter().all(|&size| size as f64 <= budget + 1.0), "{target}");
            let as_mean = play(EncoderCalibration::Mean);
            let ratio = mean_rate(&as_mean) / target.as_bps_f64();
            assert!((0.9995..1.0005).contains(&ratio), "{target}: produces {ratio} of it");
            let largest = as_mean.iter().copied().max().unwrap_or(0) as f64 / budget;
            assert!((1.1..1.29).contains(&largest), "{target}: a frame of {largest} budgets");
        }
    }
}

proptest! {
    #[test]
    fn any_target_gives_a_frame(
        targets in prop::collection::vec((any::<u64>(), any::<bool>()), 1..40),
        seed in any::<u64>(),
    ) {
        let mut encoder = encoder(EncoderCalibration::Mean, seed);
        for (bits_per_sec, key_frame) in targets {
            let frame = encoder.next_frame(Rate::from_bps(bits_per_sec), key_frame);
            prop_assert!(frame.payload.get() >= 1);
            prop_assert!(frame.key_frame || !key_frame);
        }
    }
}
