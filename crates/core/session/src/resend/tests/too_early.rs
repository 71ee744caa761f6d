//! Requests that come before a repetition can have been missed.

use super::*;

/// Two repetitions of packet 0 leave at 100 and 116 ms of a round trip of 100 ms; gives when a third one leaves, which is asked for
/// at 205 ms, before the second can have been missed.
fn third_after_an_early_request(request_interval: i64, arrives: Option<i64>) -> Option<i64> {
    let mut stream = Stream::slow(request_interval, 100);
    stream.media(0);
    let repetition = stream.ask(100, 0).expect("it is asked for after a round trip");
    stream.send(100, &repetition);
    stream.send(116, &repetition);
    assert_eq!(stream.ask(205, 0), None, "the second may still arrive");
    assert_eq!(stream.ask(206, 0), None);
    assert!(stream.resend.deferred.len() <= 1, "asked for twice, it waits once");
    for now in 207..400 {
        if arrives == Some(now) {
            stream.arrives(now, 0);
        }
        while let Some(number) = stream.resend.poll_deferred(at(now)) {
            if stream.again(now, number.0).is_some() {
                return Some(now);
            }
        }
    }
    None
}

#[test]
fn a_request_that_comes_before_a_repetition_can_be_missed_counts_when_it_can() {
    assert_eq!(third_after_an_early_request(20, None), Some(216));
    assert_eq!(third_after_an_early_request(20, Some(215)), None, "it has arrived");
    assert_eq!(third_after_an_early_request(20, Some(217)), Some(216), "too late to be known");
    assert_eq!(third_after_an_early_request(0, None), None, "it asks again");
}

#[test]
fn whoever_asks_all_the_time_has_one_request_deferred_for_each_packet() {
    let mut stream = Stream::slow(20, 100);
    (0..20).for_each(|_| _ = stream.media(0));
    let mut left = 0;
    for now in 100..600 {
        for number in 0..20 {
            left += usize::from(stream.again(now, number).is_some());
        }
        assert!(stream.resend.deferred.len() <= 20);
        let deadline = stream.resend.next_deadline();
        assert!(deadline.is_none_or(|due| due >= at(now)), "what is due is polled");
        while let Some(number) = stream.resend.poll_deferred(at(now)) {
            left += usize::from(stream.again(now, number.0).is_some());
        }
    }
    // At 100, 200 and 300 ms; then they are given up.
    assert_eq!(left, 60);
    assert_eq!(stream.resend.next_deadline(), None);
}
