//! A driver that wakes up for nothing but deadlines and answers.

use super::*;
use crate::{Ladder, SEGMENT_LENGTH, SegmentSizes};
use gameway_units::Rate;

const ANSWER: Duration = Duration::from_millis(100);

/// Plays until the player wants nothing any more; each answer is there 100 ms after its request. Gives events, and when
/// the driver was woken up last.
fn play(mut player: Player) -> (Vec<Event>, Instant) {
    let (mut events, mut now) = (Vec::new(), Instant::ZERO);
    let mut answer: Option<(Instant, Bytes)> = None;
    loop {
        let due = [player.next_deadline(), answer.map(|(at, _)| at)].into_iter().flatten().min();
        let Some(due) = due.filter(|due| *due < Instant::ZERO + Duration::from_secs(60)) else {
            return (events, now);
        };
        assert!(due >= now, "a deadline in the past: {due}");
        now = due;
        if let Some((_, size)) = answer.take_if(|(at, _)| *at <= now) {
            player.on_received(now, size);
        }
        player.on_deadline(now);
        while let Some(action) = player.poll_action() {
            let Action::Send(request) = action else { panic!("nothing is given up") };
            answer = Some((now + ANSWER, request.download));
        }
        events.extend(std::iter::from_fn(|| player.poll_event()));
        let ended = events.iter().any(|event| matches!(event, Event::Ended { .. }));
        assert_eq!(player.is_finished(), ended);
    }
}

#[test]
fn a_video_is_shown_from_its_first_segment_to_its_end_by_deadlines_alone() {
    let sizes = SegmentSizes::Constant;
    let video = Presentation::new(Ladder::xu_claypool(), SEGMENT_LENGTH, Some(5), sizes);
    let settings = Settings { fast_switch: false, ..Settings::default() };
    let start = Instant::ZERO + Duration::from_millis(50);
    let (events, last) = play(Player::new(settings, video.expect("a video"), start));
    // Manifest, initialization segment and the first segment.
    let began = start + ANSWER * 3;
    assert_eq!(events[0], Event::Started { at: began, delay: ANSWER * 3 });
    let shown = events.iter().filter_map(|event| match event {
        Event::Segment(Segment { index, fate: Fate::Displayed(at), .. }) => Some((*index, *at)),
        _ => None,
    });
    assert!(shown.eq((0..5).map(|index| (index, began + SEGMENT_LENGTH * index as i64))));
    let end = began + SEGMENT_LENGTH * 5;
    assert_eq!(events.last(), Some(&Event::Ended { at: end }));
    assert!(!events.iter().any(|event| matches!(event, Event::Stalled { .. })));
    assert_eq!(last, end);
}

/// The first segments come at once at the highest level, whose target is 30 s; then 4 Mb/s take far too long for one. Gives
/// when it is given up, since playback began.
fn given_up_with_a_target_of(buffer_target: Duration) -> Option<Duration> {
    let sizes = SegmentSizes::Constant;
    let video = Presentation::new(Ladder::xu_claypool(), SEGMENT_LENGTH, None, sizes);
    let initial_bitrate = Rate::from_mbps(20);
    let settings = Settings { initial_bitrate, buffer_target, ..Settings::default() };
    let mut player = Player::new(settings, video.expect("a video"), Instant::ZERO);
    let mut now = Instant::ZERO;
    // Manifest, initialization segment and two segments.
    for _ in 0..4 {
        player.on_deadline(now);
        let Some(Action::Send(request)) = player.poll_action() else { panic!("a request") };
        player.on_received(now, request.download);
    }
    assert!(matches!(player.poll_action(), Some(Action::Send(_))), "the third segment");
    for report in 1..40 {
        now = Instant::ZERO + Duration::from_millis(100) * report;
        player.on_received(now, Bytes::new(1_000 + 50_000 * report.unsigned_abs()));
        if let Some(Action::Close) = player.poll_action() {
            return Some(now - Instant::ZERO);
        }
    }
    None
}

/// 8 s are there when the third segment is asked for. The seventh report is the first of more than half a second.
#[test]
fn nothing_is_given_up_with_more_to_play_than_the_target() {
    let ms = Duration::from_millis;
    assert_eq!(given_up_with_a_target_of(ms(9_000)), Some(ms(700)));
    assert_eq!(given_up_with_a_target_of(ms(6_000)), Some(ms(2_000)), "6 s are no more than 6 s");
    assert_eq!(given_up_with_a_target_of(ms(5_999)), Some(ms(2_100)));
}
