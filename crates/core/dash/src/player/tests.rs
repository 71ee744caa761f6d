//! A driver that wakes up for nothing but deadlines and answers.

use super::*;
use crate::{Ladder, SEGMENT_LENGTH, SegmentSizes};

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
