//! What a cut of step "fill" shows once it has settled.

use super::*;

/// Both have 20 segments; 450 kB/s come, and packets wait 100 ms in the third period: of 40 segments 38 kB less two segments are
/// cut.
fn cut() -> Home {
    let mut home = Home::new(VoapConfig { step: Step::Fill, ..VoapConfig::default() });
    [10, 10, 100].into_iter().for_each(|wait| home.period([20, 20], wait, 90_000));
    home.expect([segments(20.0) - (38_250.0 - segments(2.0)) / 2.0; 2]);
    home
}

/// From then on this wait is measured, and this comes in a period.
fn after_a_cut(wait: i64, left: u64) -> [bool; 4] {
    let mut home = cut();
    [(); 4].map(|()| {
        home.period([20, 20], wait, left);
        home.0.gateway.take_refuted()
    })
}

/// It settles in two round trips of 150 ms and the queue's 100 ms: the period that begins 500 ms later or more is the fourth.
#[test]
fn a_cut_that_takes_rate_and_leaves_the_wait_shows_once_that_it_is_no_queue() {
    assert_eq!(after_a_cut(100, 36_000), [false, false, false, true]);
    // It takes no rate, or the wait.
    assert_eq!(after_a_cut(100, 90_000), [false; 4]);
    assert_eq!(after_a_cut(20, 36_000), [false; 4]);
}

#[test]
fn what_is_no_queue_is_not_cut_again_at_once() {
    let sum = |home: &Home| home.windows().into_iter().flatten().sum::<f64>();
    let cut_again = |left: u64| {
        let mut home = cut();
        (0..3).for_each(|_| home.period([20, 20], 100, left));
        let before = sum(&home);
        home.period([20, 20], 100, left);
        before - sum(&home)
    };
    assert!(cut_again(36_000).abs() < 1e-3, "{}", cut_again(36_000));
    // The twin: what comes is what it was, so it is a queue.
    assert!(cut_again(90_000) >= segments(2.0), "{}", cut_again(90_000));
}

#[test]
fn what_was_cut_before_it_started_over_shows_nothing() {
    let mut home = cut();
    home.0.gateway.start_over();
    // They come under control again in the third period, and what comes is less than before the cut.
    let refuted = [(); 8].map(|()| {
        home.period([20, 20], 100, 36_000);
        home.0.gateway.take_refuted()
    });
    assert!(home.windows().iter().all(Option::is_some));
    assert_eq!(refuted, [false; 8]);
}
