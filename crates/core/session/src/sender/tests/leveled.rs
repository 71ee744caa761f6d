//! Size and frame rate of the picture follow the target.

use super::*;
use gameway_media::{LadderConfig, Level};
use gameway_units::{Content, Ladder};

const FRAME: Duration = Duration::from_nanos(16_666_667);

fn with_ladder(follows: Ladder) -> (Sender, Scripted) {
    let ladder = LadderConfig::new((follows, Content::High), (1280, 720), 60);
    let fast = Target::new(Rate::from_mbps(60), Pacing::Burst);
    sender(fast, |config| {
        (config.ladder, config.frame_interval) = (ladder, FRAME);
    })
}

/// Frames asked for until then, with when.
fn run(sender: &mut Sender, until: Instant) -> Vec<(Instant, EncodeRequest)> {
    let mut asked = Vec::new();
    while let Some(now) = sender.next_deadline().filter(|due| *due < until) {
        asked.extend(encode(sender, now).map(|request| (now, request)));
        transmit(sender, now);
    }
    asked
}

fn levels(sender: &mut Sender) -> Vec<(Instant, Level)> {
    let events = std::iter::from_fn(|| sender.poll_event());
    let level = |event| match event {
        SenderEvent::Level { at, level, .. } => Some((at, level)),
        _ => None,
    };
    events.filter_map(level).collect()
}

/// What a sender asks for from when its target falls, its levels, and what its controller heard.
type Fallen = (Vec<(Instant, EncodeRequest)>, Vec<(Instant, Level)>, Scripted);

fn falls(follows: Ladder) -> Fallen {
    let (mut sender, told) = with_ladder(follows);
    let before = run(&mut sender, at(3_000));
    assert!(before.iter().all(|(_, asked)| asked.level == Level::WHOLE));
    let slow = Target::new(Rate::from_mbps(2), Pacing::Burst);
    told.with(|shared| shared.target = Some(slow));
    let asked = run(&mut sender, at(5_000));
    (asked, levels(&mut sender), told)
}

#[test]
fn a_fallen_target_takes_the_size_with_one_key_frame_and_the_frame_rate_with_an_interval() {
    let (asked, levels, told) = falls(Ladder::Both);
    let [(begun, whole), (fell, low)] = levels[..] else { panic!("{levels:?}") };
    assert_eq!((begun, whole), (Instant::ZERO, Level::WHOLE));
    assert!(fell >= at(3_500) && fell < at(3_600), "{fell}");
    assert!(low.twelfths < 12 && low.intervals > 1, "{low:?}");
    let keys: Vec<Instant> =
        asked.iter().filter(|(_, asked)| asked.key_frame).map(|(now, _)| *now).collect();
    assert_eq!(keys, [fell]);
    let interval = FRAME * i64::from(low.intervals);
    let later: Vec<_> = asked.iter().filter(|(now, _)| *now >= fell).collect();
    assert!(later.windows(2).all(|pair| pair[1].0 - pair[0].0 == interval));
    let notice = Notice::FrameInterval(interval);
    assert_eq!(told.with(|shared| shared.notices.iter().filter(|one| **one == notice).count()), 1);
    // As many bits in fewer frames.
    let (before, after) = (asked[0].1, later[0].1);
    let ratio = after.rate.as_bps_f64() / before.rate.as_bps_f64();
    assert!((0.99..1.02).contains(&ratio), "{ratio}");
    assert!(after.payload.as_f64() > 1.9 * before.payload.as_f64());
}

#[test]
fn what_is_not_to_follow_stays() {
    let (asked, levels, told) = falls(Ladder::Size);
    assert!(levels.iter().all(|(_, level)| level.intervals == 1) && levels.len() == 2);
    assert!(asked.windows(2).all(|pair| pair[1].0 - pair[0].0 == FRAME));
    let intervals = |shared: &mut Shared| {
        shared.notices.iter().any(|one| matches!(one, Notice::FrameInterval(_)))
    };
    assert!(!told.with(intervals));
    let (asked, levels, _) = falls(Ladder::FrameRate);
    assert!(levels.iter().all(|(_, level)| level.twelfths == 12) && levels.len() == 2);
    assert!(asked.iter().all(|(_, asked)| !asked.key_frame), "another rate needs no key frame");
    // The twin without a ladder.
    let (asked, levels, _) = falls(Ladder::None);
    assert!(levels.is_empty());
    assert!(asked.iter().all(|(_, asked)| asked.level == Level::WHOLE && !asked.key_frame));
}

#[test]
fn a_new_size_of_which_the_encoder_made_nothing_is_asked_for_again() {
    let (mut sender, told) = with_ladder(Ladder::Size);
    run(&mut sender, at(3_000));
    let slow = Target::new(Rate::from_mbps(2), Pacing::Burst);
    told.with(|shared| shared.target = Some(slow));
    let mut failed = 0;
    while let Some(now) = sender.next_deadline().filter(|due| *due < at(4_000)) {
        sender.on_deadline(now);
        let Some(request) = sender.poll_encode() else { continue };
        if request.key_frame && failed < 2 {
            failed += 1;
            sender.on_encoder_failed(now);
        } else {
            sender.on_encoded(now, &train(), request.key_frame);
        }
        transmit(&mut sender, now);
    }
    assert_eq!(failed, 2);
}
