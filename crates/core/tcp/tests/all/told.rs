//! What a congestion control is told of the flow, by hand.

use crate::scripted::{Fixed, MSS, Script, Told, at};
use gameway_tcp::{Application, Phase, SenderConfig};
use gameway_units::{Bytes, Duration, Rate};

const RTT: Duration = Duration::from_millis(20);

const fn segments(count: u64) -> Bytes {
    Bytes::new(count * MSS)
}

fn on_demand() -> SenderConfig {
    let application = Application { on_demand: true, ..Application::default() };
    SenderConfig { application, ..SenderConfig::default() }
}

#[test]
fn an_ack_tells_what_arrived_and_what_is_still_out() {
    let mut script = Script::new(SenderConfig::default(), Fixed::new(10));
    assert_eq!(script.sent(20_000).len(), 10);
    script.ack(40_000, 2, &[]);
    let ack = script.told_of_ack();
    assert_eq!((ack.now, ack.phase), (at(40_000), Phase::Open));
    assert_eq!((ack.acknowledged, ack.next_sequence), (2 * MSS, 10 * MSS));
    assert_eq!((ack.newly_delivered, ack.newly_acknowledged), (segments(2), segments(2)));
    assert_eq!((ack.newly_lost, ack.newly_marked), (Bytes::ZERO, Bytes::ZERO));
    assert_eq!((ack.prior_in_flight, ack.in_flight), (segments(10), segments(8)));
    assert_eq!((ack.total_delivered, ack.total_lost), (segments(2), Bytes::ZERO));
    assert_eq!((ack.rtt, ack.smoothed_rtt), (Some(RTT), Some(RTT)));
    assert!(ack.cwnd_limited && !ack.ack_delayed);
    assert_eq!(ack.until_departure, Duration::ZERO, "nothing is kept back");
    // Of the second segment, which left with one before it.
    let rate = ack.rate.expect("a round trip");
    assert_eq!((rate.delivered, rate.interval), (segments(2), RTT));
    assert_eq!((rate.prior_delivered, rate.tx_in_flight), (Bytes::ZERO, segments(2)));
    assert_eq!((rate.lost, rate.app_limited), (Bytes::ZERO, false));
    // Another one behind a gap, 5 ms later: (7 * 20 + 25) / 8 ms.
    script.ack(45_000, 2, &[(3, 4)]);
    let ack = script.told_of_ack();
    assert_eq!((ack.newly_delivered, ack.newly_acknowledged), (segments(1), Bytes::ZERO));
    assert_eq!((ack.prior_in_flight, ack.in_flight), (segments(8), segments(7)));
    let smoothed = Duration::from_micros(20_625);
    assert_eq!((ack.rtt, ack.smoothed_rtt), (Some(RTT + RTT / 4), Some(smoothed)));
    assert_eq!(ack.rate.map(|rate| rate.delivered), Some(segments(3)));
    // What leaves now has nine in flight with it, and no application limits it.
    assert_eq!(script.places(45_000), [10, 11]);
    script.ack(65_000, 12, &[]);
    let rate = script.told_of_ack().rate.expect("a round trip");
    assert_eq!((rate.tx_in_flight, rate.app_limited), (segments(9), false));
    assert_eq!((rate.delivered, rate.prior_delivered), (segments(9), segments(3)));
}

/// Linux `bbr_packets_in_net_at_edt`: the time until the next departure, or none if that is past.
#[test]
fn an_ack_tells_how_long_the_pacer_keeps_the_next_segment_back() {
    let rate = Rate::from_mbps(20);
    for (micros, kept) in
        [(20_500, rate.time_for(segments(2)) - RTT / 40), (40_000, Duration::ZERO)]
    {
        let congestion = Fixed::new(1000).paced(Some(rate));
        let mut script = Script::new(SenderConfig::default(), congestion);
        // The ninth and tenth are the first pair that is paced.
        assert_eq!(script.sent(20_000).len(), 10);
        script.ack(micros, 1, &[]);
        assert_eq!(script.told_of_ack().until_departure, kept, "{micros} us");
    }
}

/// RFC 9293 section 3.10.7.4.
#[test]
fn an_acknowledgment_of_what_was_never_sent_is_dropped() {
    let mut script = Script::new(SenderConfig::default(), Fixed::new(10));
    script.sent(20_000);
    script.acknowledge(40_000, 10 * MSS + 1, &[]);
    assert!(script.told().is_empty());
    script.ack(40_000, 10, &[]);
    assert_eq!(script.told_of_ack().newly_acknowledged, segments(10));
}

/// RFC 7661, Linux `tcp_is_cwnd_limited`: in slow start more than half of the window in use is enough.
#[test]
fn the_window_is_the_limit_where_it_was_reached_and_in_slow_start_from_half_on() {
    let limited = |written: u64, congestion: Fixed, edge: u64| {
        let mut script = Script::to_narrow(edge, on_demand(), congestion);
        script.sender.write(segments(written));
        assert_eq!(script.sent(20_000).len() as u64, written.min(edge).min(10));
        script.ack(40_000, 1, &[]);
        script.told_of_ack().cwnd_limited
    };
    let far = 100;
    assert!(limited(11, Fixed::new(10), far) && limited(11, Fixed::avoiding(10), far));
    for (used, slow_start) in [(6, true), (5, false)] {
        assert_eq!(limited(used, Fixed::new(10), far), slow_start, "by the application");
        assert!(!limited(used, Fixed::avoiding(10), far));
    }
    // The receiver's window is less.
    assert!(!limited(11, Fixed::avoiding(10), 9) && !limited(11, Fixed::new(10), 5));
}

/// A burst that waits for an ACK waits for room in the window that is the smaller one.
#[test]
fn a_burst_that_waits_waits_for_one_of_the_two_windows() {
    for (cwnd, edge, limited) in [(12, 40, true), (13, 12, false)] {
        let congestion = Fixed::avoiding(cwnd);
        let mut script = Script::to_narrow(edge, SenderConfig::default(), congestion);
        assert_eq!(script.sent(20_000).len(), 12);
        for (micros, acknowledged, leave) in [(40_000, 2, 2), (40_100, 3, 0), (40_200, 4, 2)] {
            script.edge = (edge + acknowledged) * MSS;
            script.told();
            script.ack(micros, acknowledged, &[]);
            assert_eq!(script.told_of_ack().cwnd_limited, limited, "{micros} us, {cwnd}");
            assert_eq!(script.sent(micros).len(), leave, "{micros} us, {cwnd}");
        }
    }
}

#[test]
fn the_ack_of_a_lone_short_segment_may_have_been_delayed() {
    for (written, delayed) in [(100, true), (MSS, false), (MSS + 100, false), (1, true)] {
        let mut script = Script::new(on_demand(), Fixed::new(10));
        script.sender.write(Bytes::new(written));
        assert!(!script.sent(20_000).is_empty());
        script.acknowledge(40_000, written, &[]);
        assert_eq!(script.told_of_ack().ack_delayed, delayed, "{written} bytes");
    }
}

/// A loss, and that of its retransmission: what was in flight with it when it left, and lost since.
#[test]
fn of_a_lost_segment_its_own_flight_is_told() {
    let mut script = Script::new(SenderConfig::default(), Fixed::new(12));
    assert_eq!(script.sent(20_000).len(), 12);
    script.ack(40_000, 1, &[(4, 10)]);
    let told = script.told();
    let [
        Told::Lost(first),
        Told::Lost(second),
        Told::Lost(third),
        Told::Congestion(flight),
        Told::Ack(ack),
    ] = told[..]
    else {
        panic!("{told:?}")
    };
    for (count, lost) in (1..).zip([first, second, third]) {
        assert_eq!((lost.now, lost.sequence, lost.size), (at(40_000), count * MSS, segments(1)));
        assert_eq!((lost.tx_in_flight, lost.lost), (segments(count + 1), segments(count)));
        assert_eq!((lost.app_limited, lost.total_delivered), (false, segments(7)));
    }
    // Of twelve one is acknowledged, six are behind the gap, three are lost.
    assert_eq!((flight, ack.in_flight), (segments(2), segments(2)));
    assert_eq!(
        (ack.newly_lost, ack.total_lost, ack.phase),
        (segments(3), segments(3), Phase::Recovery)
    );
    // Seven were delivered, so that seven leave (RFC 9937).
    assert_eq!(script.places(40_000), [1, 2, 3, 12, 13, 14, 15]);
    script.ack(60_000, 1, &[(4, 13)]);
    let told = script.told();
    let [Told::Lost(first), Told::Lost(second), Told::Lost(third), Told::Ack(ack)] = told[..]
    else {
        panic!("{told:?}")
    };
    for (count, lost) in (1..).zip([first, second, third]) {
        assert_eq!((lost.sequence, lost.size), (count * MSS, segments(1)));
        assert_eq!((lost.tx_in_flight, lost.lost), (segments(count + 2), segments(count)));
    }
    assert_eq!((ack.newly_lost, ack.total_lost), (segments(3), segments(6)));
}

/// RFC 5681 section 4.1: a pause longer than the time-out is told with its length.
#[test]
fn sending_that_resumes_tells_how_long_the_pause_was() {
    let mut script = Script::new(on_demand(), Fixed::new(10));
    let started = |script: &mut Script, millis: i64| {
        script.sender.write(segments(1));
        assert_eq!(script.sent(millis * 1_000).len(), 1);
        let started = script.told().into_iter().filter_map(|told| match told {
            Told::Start(idle) => Some(idle),
            _ => None,
        });
        started.collect::<Vec<_>>()
    };
    assert!(script.sent(20_000).is_empty());
    assert_eq!(started(&mut script, 1_000), [Some(Duration::from_millis(980))]);
    assert_eq!(started(&mut script, 1_001), [], "something is out");
    script.ack(1_020_000, 2, &[]);
    assert!(script.sent(1_020_000).is_empty());
    assert_eq!(started(&mut script, 1_100), [None]);
    script.ack(1_120_000, 3, &[]);
    assert!(script.sent(1_120_000).is_empty());
    let timeout = script.sender.stats().rto;
    assert_eq!(timeout, Duration::from_millis(220));
    assert_eq!(started(&mut script, 1_320), [None], "as long as the time-out");
    script.ack(1_340_000, 4, &[]);
    assert!(script.sent(1_340_000).is_empty());
    assert_eq!(started(&mut script, 1_541), [Some(Duration::from_millis(221))]);
    // Where the application always has more, nothing resumes.
    let mut bulk = Script::new(SenderConfig::default(), Fixed::new(2));
    for (millis, acknowledged) in [(20, 0), (40, 2), (400, 4)] {
        bulk.ack(millis * 1_000, acknowledged, &[]);
        assert_eq!(bulk.places(millis * 1_000).len(), 2);
    }
    assert!(bulk.told().iter().all(|told| matches!(told, Told::Ack(_))));
}

/// RFC 5681 section 3.1: the threshold falls once for the same data, and anew once some of it is acknowledged.
#[test]
fn a_time_out_is_the_first_for_its_data_or_not() {
    let config = SenderConfig { tail_loss_probe: false, ..SenderConfig::default() };
    let mut script = Script::new(config, Fixed::new(10));
    assert_eq!(script.sent(20_000).len(), 10);
    let timeout = |script: &mut Script, millis: i64| {
        assert_eq!(script.sender.next_deadline(), Some(at(millis * 1_000)));
        let sent = script.sent(millis * 1_000).len();
        let told = script.told();
        let lost = told.iter().filter(|told| matches!(told, Told::Lost(_))).count();
        let Some(Told::Timeout(timeout)) = told.last() else { panic!("{told:?}") };
        assert_eq!(timeout.now, at(millis * 1_000));
        assert_eq!(timeout.newly_lost, segments(lost as u64));
        (timeout.first, timeout.prior_in_flight, lost, timeout.total_lost, sent)
    };
    assert_eq!(timeout(&mut script, 240), (true, segments(10), 10, segments(10), 10));
    // What was sent again is lost as well, but was lost before.
    assert!(!timeout(&mut script, 680).0);
    script.echo = at(680_000);
    script.ack(700_000, 1, &[]);
    script.told();
    assert_eq!(script.sender.stats().phase, Phase::Loss);
    assert!(timeout(&mut script, 920).0);

    let mut recovering = Script::new(config, Fixed::new(10));
    assert_eq!(recovering.sent(20_000).len(), 10);
    recovering.ack(40_000, 0, &[(1, 4)]);
    recovering.sent(40_000);
    recovering.told();
    assert!(!timeout(&mut recovering, 260).0, "the recovery has lowered it");
}
