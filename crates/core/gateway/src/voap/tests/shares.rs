//! Whose share is what, at the bounds of the rules and where several take of the same.

use super::*;

fn margin() -> f64 {
    segments(2.0) + 1.0
}

/// It lacks nothing while a whole segment of its window is left and its use is no more than its share.
#[test]
fn a_window_of_which_a_whole_segment_is_left_and_a_share_that_is_just_used_are_enough() {
    let mut home = Home::take([12, 12], VoapConfig::default(), 0);
    home.expect([segments(11.0); 2]);
    // Both come down to what they use, which is their share.
    home.period([10, 10], 10, 0);
    assert_eq!(home.states().map(|state| state.is_in_need()), [false; 2]);
    // The twin: the second uses its window.
    let mut home = Home::take([12, 12], VoapConfig::default(), 0);
    home.period([10, 11], 10, 0);
    assert_eq!(home.states().map(|state| state.is_in_need()), [false, true]);
}

#[test]
fn who_uses_nearly_its_share_moves_halfway_to_it() {
    let mut home = Home::take([20, 10], VoapConfig::default(), 0);
    home.expect([segments(16.5), segments(11.5)]);
    // A segment more each: 17.5 and 12.5, whose mean is 15. The first uses 14, and that with two segments is more.
    home.period([14, 10], 2, 0);
    home.expect([segments(f64::midpoint(17.5, 15.0)), segments(10.0) + margin()]);
}

#[test]
fn data_that_is_sent_again_keeps_its_flow_under_control_with_the_estimate_of_before() {
    let mut home = Home::take([20, 20], VoapConfig::default(), 0);
    home.expect([segments(19.0); 2]);
    home.0.send_again(0);
    home.period([0, 20], 30, 0);
    assert_eq!(home.estimates(), [Some(segments(20.0)); 2]);
    home.expect([segments(18.0); 2]);
}

/// Its last loop was of 40 ms to the server, and of 210 ms to the client, which answered late: twice that are 500 ms. At their
/// smallest both are 50 ms.
#[test]
fn where_acknowledgments_wait_on_the_way_out_two_of_the_last_round_trips_are_no_silence() {
    for (waits_out, active) in [(false, 0), (true, 2)] {
        let voap = Voap::new(VoapConfig::default()).behind_the_queue();
        let mut home = Home(ByHand::new(voap));
        home.0.gateway.set_waits_out(waits_out);
        (0..2).for_each(|_| home.period([20, 0], 0, 0));
        home.0.send(0, 20);
        home.0.end_period();
        home.0.acknowledge(0);
        let ended = (0..9).find(|_| {
            home.0.end_period();
            home.estimates()[0] == Some(0.0)
        });
        assert_eq!(ended, Some(active), "of 200 ms, the first of which ends 250 ms after its data");
    }
}

#[test]
fn newcomers_of_the_same_period_share_what_is_free_once() {
    let config =
        VoapConfig { step: Step::Fill, newcomers: Newcomers::Admitted, ..VoapConfig::default() };
    let mut home = ByHand::<Voap, 3>::new(Voap::new(config));
    // Their round trips are known before the link is full, of which 300 kB/s come.
    home.period([4; 3]);
    let now = home.at(10);
    home.gateway.on_departure(now, Bytes::new(60_000), millis(10));
    home.period([0; 3]);
    // The first gets all in its round trip and beta; nothing is left, and the others may begin with ten segments.
    let all = 300_000.0 * 0.065;
    assert!(all > segments(10.0));
    let initial = segments(10.0) as u16;
    assert_eq!(home.period([4; 3]), [all as u16, initial, initial]);
}

#[test]
fn a_driver_that_writes_windows_elsewhere_is_told_those_under_control() {
    let home = Home::take([20, 10], VoapConfig::default(), 0);
    let mut limits = Vec::new();
    home.0.gateway.limits(&mut |limit| limits.push(limit.wanted as f64));
    limits.sort_by(f64::total_cmp);
    assert_eq!(limits, [segments(11.5), segments(16.5)]);
}
