use super::*;
use proptest::prelude::*;

/// 60 a second.
const INTERVAL: Duration = Duration::from_nanos(16_666_667);
const ENCODING: Duration = Duration::from_millis(5);

fn at(micros: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// What is captured of these drawings until then, by an encoder that takes so long, with `told` or without the source's telling of them.
fn captures(drawings: &[Instant], until: Instant, encoding: Duration, told: bool) -> Vec<Instant> {
    let mut slots = CaptureSlots::new(at(0), INTERVAL);
    let mut drawings = drawings.iter().copied().peekable();
    let (mut captured, mut free, mut late) = (Vec::new(), at(0), false);
    let mut now = at(0);
    loop {
        // As the sender does: a slot that comes amid encoding is used when that is done, up to half an interval late.
        let due = slots.due(now < free).expect("it is not stopped");
        let next = [Some(due.max(now)), (free > now).then_some(free), drawings.peek().copied()];
        now = next.into_iter().flatten().min().expect("a slot");
        if now > until {
            return captured;
        }
        while drawings.next_if(|drawn| *drawn <= now).is_some() {
            if told {
                slots.on_drawn(now);
            }
        }
        let mut is_captured = now >= free && std::mem::take(&mut late);
        if slots.due(now < free).is_some_and(|due| due <= now) {
            assert_eq!(slots.advance(now).count(), 0);
            late = now < free;
            is_captured |= !late;
        }
        if is_captured {
            slots.on_captured();
            captured.push(now);
            free = now + encoding;
        }
    }
}

/// How long drawings wait for the capture behind them, in ms, in the mean.
fn wait(drawings: &[Instant], captured: &[Instant]) -> f64 {
    let waits: Vec<f64> = drawings
        .iter()
        .filter_map(|drawn| {
            let behind = captured.partition_point(|capture| capture < drawn);
            Some(captured.get(behind)?.saturating_since(*drawn).as_secs_f64() * 1e3)
        })
        .collect();
    waits.iter().sum::<f64>() / waits.len() as f64
}

/// From drawing to drawing, in microseconds; the first after `phase`.
fn drawn(phase: i64, spans: impl Iterator<Item = i64>) -> Vec<Instant> {
    spans
        .scan(phase, |time, span| {
            *time += span;
            Some(at(*time))
        })
        .take_while(|drawn| *drawn < at(10_000_000))
        .collect()
}

/// A cheap sequence without order, from 0 to 1.
fn scattered(number: i64) -> f64 {
    (number as f64 * 0.618_033_988_749_895).fract()
}

fn jittered(period: i64, jitter: f64) -> impl Iterator<Item = i64> {
    (1..).map(move |number| period + (jitter * (scattered(number * number) - 0.5)) as i64)
}

/// Mean waits of programs that draw at all phases, without and with their drawings told of.
fn waits(spans: impl Fn() -> Box<dyn Iterator<Item = i64>>) -> (f64, f64) {
    let mean = |told: bool| {
        let phases = (0..16_667).step_by(1_042);
        let all: Vec<f64> = phases
            .map(|phase| {
                let drawings = drawn(phase, spans());
                wait(&drawings, &captures(&drawings, at(10_100_000), ENCODING, told))
            })
            .collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    (mean(false), mean(true))
}

#[test]
fn drawings_wait_less_than_for_slots_however_often_a_program_draws() {
    // Means in ms, of even drawings: without being told of them it is half an interval, 7.8 to 8.4 ms.
    for (rate, max) in [
        (1.0, 1.0),
        (20.0, 1.0),
        (35.0, 1.2),
        (50.0, 1.1),
        (59.9, 0.6),
        (60.0, 0.6),
        (60.1, 1.0),
        (62.0, 1.6),
        (75.0, 3.6),
        (90.0, 4.6),
        (120.0, 5.2),
        (144.0, 6.0),
        (240.0, 7.0),
    ] {
        let period = (1e6 / rate) as i64;
        let (before, after) = waits(|| Box::new(std::iter::repeat(period)));
        assert!((7.7..8.5).contains(&before), "{rate} a second: {before} ms");
        assert!(after < max, "{rate} a second: {after} ms");
        let (before, after) = waits(|| Box::new(jittered(period, period as f64 / 5.0)));
        assert!((8.0..8.5).contains(&before), "{rate} a second, uneven: {before} ms");
        assert!(after < max + 0.3, "{rate} a second, uneven: {after} ms");
    }
    let irregular = || (1..).map(|number| 2_000 + (60_000.0 * scattered(number * number)) as i64);
    let (before, after) = waits(|| Box::new(irregular()));
    assert!(after < 1.8 && before > 8.0, "without order: {before} ms, {after} ms");
}

#[test]
fn a_still_screen_is_captured_at_each_slot() {
    let until = at(1_000_000);
    let slots: Vec<Instant> = (0..60).map(|number| at(0) + INTERVAL * number).collect();
    assert_eq!(captures(&[], until, ENCODING, true), slots);
    // An answer in it is captured when it is complete, in place of the next slot.
    let answered = captures(&[at(505_000), at(505_300)], until, ENCODING, true);
    assert_eq!(answered[31], at(505_800));
    assert_eq!((&answered[..31], &answered[32..]), (&slots[..31], &slots[32..]));
}

#[test]
fn what_never_ends_is_captured_amid_it() {
    let endless: Vec<Instant> = (0..5_000).map(|number| at(3_000 + 200 * number)).collect();
    let captured = captures(&endless, at(900_000), ENCODING, true);
    assert_eq!(captured[1], at(5_000));
    assert_eq!(captured.len(), 55);
}

#[test]
fn a_stopped_stream_captures_no_drawing() {
    let mut slots = CaptureSlots::new(at(0), INTERVAL);
    slots.stop();
    slots.on_drawn(at(10));
    assert_eq!((slots.due(false), slots.next()), (None, None));
    slots.resume(at(90_000));
    assert_eq!(
        (slots.due(false), slots.due(true)),
        (Some(at(90_000) - INTERVAL), Some(at(90_000)))
    );
}

proptest! {
    #[test]
    fn there_is_one_capture_for_each_slot_whatever_is_drawn(
        spans in proptest::collection::vec(1..40_000_i64, 0..400),
        encoding in 0..8_000_i64,
    ) {
        let drawings = drawn(0, spans.into_iter());
        let encoding = Duration::from_micros(encoding);
        let captured = captures(&drawings, at(5_000_000), encoding, true);
        // No span has more than one capture beyond its slots, so that a second has 61 at most and an hour's mean is 60.
        for (number, first) in captured.iter().enumerate() {
            for (behind, last) in captured[number + 1..].iter().enumerate().take(130) {
                prop_assert!(last.saturating_since(*first) >= INTERVAL * behind as i64 - encoding);
            }
        }
        prop_assert!((300..=301).contains(&captured.len()), "{}", captured.len());
        let longest = INTERVAL * 2 + encoding;
        prop_assert!(captured.windows(2).all(|pair| pair[1].saturating_since(pair[0]) <= longest));
        prop_assert!(captured.windows(2).all(|pair| pair[1] > pair[0]));
        let is_soon = |drawn: &Instant| {
            let behind = captured.partition_point(|capture| capture < drawn);
            captured.get(behind).is_none_or(|capture| *capture <= *drawn + longest)
        };
        prop_assert!(drawings.iter().all(is_soon));
    }
}
