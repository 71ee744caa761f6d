//! A link's times against closed forms: serialization, steps within a packet, trace opportunities.

use gameway_path::{Link, StepsError, Trace, TraceError};
use gameway_units::{Bytes, Duration, Instant, Rate};
use proptest::prelude::*;

fn at(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

#[test]
fn constant_capacity_serializes_to_the_nanosecond() {
    let mut link = Link::constant(Rate::from_mbps(25)).unwrap();
    // 1500 B * 8 / 25 Mb/s = 480 us exactly.
    assert_eq!(link.transmit(at(3), Bytes::new(1500)), at(3) + Duration::from_micros(480));
    let mut odd = Link::constant(Rate::from_bps(7_000_000)).unwrap();
    // 8e9 * 1000 / 7e6 = 1142857.14..., rounded up.
    let finish = odd.transmit(Instant::ZERO, Bytes::new(1000));
    assert_eq!(finish, Instant::from_nanos(1_142_858));
}

#[test]
fn a_step_applies_to_the_bits_that_follow_it() {
    let steps = vec![(at(0), Rate::from_mbps(10)), (at(1), Rate::from_mbps(5))];
    let mut link = Link::steps(steps).unwrap();
    // 1250 B would take 1 ms at 10 Mb/s; starting at 0.5 ms half goes in 0.5 ms, half in 1 ms.
    let start = Instant::from_nanos(500_000);
    assert_eq!(link.transmit(start, Bytes::new(1250)), at(2));
    assert_eq!(link.capacity_between(at(0), at(2)), Bytes::new(1250 + 625));
}

#[test]
fn a_blackout_holds_the_packet_until_capacity_returns() {
    let steps =
        vec![(at(0), Rate::from_mbps(10)), (at(1), Rate::ZERO), (at(5001), Rate::from_mbps(10))];
    let mut link = Link::steps(steps).unwrap();
    assert_eq!(link.transmit(at(0), Bytes::new(2500)), at(5002));
}

#[test]
fn a_link_tells_when_its_capacity_changes_next() {
    let steps = vec![(at(0), Rate::from_mbps(10)), (at(5), Rate::from_mbps(5))];
    let link = Link::steps([steps, vec![(at(9), Rate::from_mbps(7))]].concat()).unwrap();
    let next = |millis| link.next_change(at(millis));
    assert_eq!(
        [0, 4, 5, 8, 9].map(next),
        [Some(at(5)), Some(at(5)), Some(at(9)), Some(at(9)), None]
    );
    let constant = Link::constant(Rate::from_mbps(10)).unwrap();
    assert_eq!(constant.next_change(at(0)), None);
}

#[test]
fn bad_steps_are_refused_by_name() {
    assert_eq!(Link::steps(vec![]).unwrap_err(), StepsError::Empty);
    let late = Link::steps(vec![(at(1), Rate::from_mbps(1))]);
    assert_eq!(late.unwrap_err(), StepsError::First(at(1)));
    let dark = Link::steps(vec![(at(0), Rate::from_mbps(1)), (at(1), Rate::ZERO)]);
    assert_eq!(dark.unwrap_err(), StepsError::EndsAtZero);
    let back = Link::steps(vec![(at(0), Rate::from_mbps(1)), (at(0), Rate::from_mbps(2))]);
    assert!(matches!(back.unwrap_err(), StepsError::Order { .. }));
}

#[test]
fn a_trace_lets_1500_bytes_leave_at_each_opportunity() {
    let mut link = Link::trace(Trace::parse(b"2\n4\n4\n10\n").unwrap());
    assert_eq!(link.transmit(at(0), Bytes::new(1500)), at(2));
    // Three packets of 1000 B share the two opportunities at 4 ms.
    assert_eq!(link.transmit(at(2), Bytes::new(1000)), at(4));
    assert_eq!(link.transmit(at(4), Bytes::new(1000)), at(4));
    assert_eq!(link.transmit(at(4), Bytes::new(1000)), at(4));
    // 1500 B more need the next one; after it the trace repeats 10 ms later.
    assert_eq!(link.transmit(at(4), Bytes::new(1500)), at(10));
    assert_eq!(link.transmit(at(10), Bytes::new(1500)), at(12));
    // What nobody used is lost: at 21 ms the next opportunity is the one at 22 ms.
    assert_eq!(link.transmit(at(21), Bytes::new(100)), at(22));
}

#[test]
fn of_an_opportunity_that_packets_share_each_has_its_own_bytes() {
    let mut link = Link::trace(Trace::parse(b"2\n4\n").unwrap());
    assert_eq!(link.transmit(at(0), Bytes::new(1000)), at(2));
    // 500 B are left of the opportunity at 2 ms, and 500 B need the next one.
    assert_eq!(link.transmit(at(2), Bytes::new(1000)), at(4));
    let sent = |until| link.sent_before(at(2), Bytes::new(1000), at(until)).get();
    assert_eq!([2, 3, 4, 5].map(sent), [0, 500, 500, 1000]);
}

#[test]
fn a_trace_knows_its_capacity() {
    let trace = Trace::parse(b"0\n5\n10\r\n10\n\n").unwrap();
    assert_eq!(trace.period(), Duration::from_millis(10));
    assert_eq!(trace.opportunities(), 4);
    // 4 * 1500 B in 10 ms.
    assert_eq!(trace.mean_capacity(), Rate::from_bps(4_800_000));
    let link = Link::trace(trace);
    assert_eq!(link.capacity_between(at(0), at(10)), Bytes::new(2 * 1500));
    // Two end the period, and the one at 0 ms comes again at the same time, when the trace repeats.
    assert_eq!(link.capacity_between(at(10), at(11)), Bytes::new(3 * 1500));
    assert_eq!(link.capacity_between(at(10), at(20)), Bytes::new(6000));
    assert_eq!(link.capacity_between(at(4), at(9)), Bytes::new(1500));
    // An opportunity is of the span that begins with it.
    let just_after = at(5) + Duration::from_nanos(1);
    assert_eq!(link.capacity_between(at(4), at(5)), Bytes::ZERO);
    assert_eq!(link.capacity_between(at(4), just_after), Bytes::new(1500));
    assert_eq!(link.capacity_between(just_after, at(9)), Bytes::ZERO);
}

#[test]
fn garbage_traces_name_their_line() {
    let error = Trace::parse(b"1\n2\nx3\n").unwrap_err();
    assert_eq!(error, TraceError::NotMilliseconds { line: 3, text: "x3".into() });
    assert_eq!(
        Trace::parse(b"5\n4\n").unwrap_err(),
        TraceError::Order { line: 2, millis: 4, before: 5 }
    );
    assert_eq!(Trace::parse(b" \n").unwrap_err(), TraceError::Empty);
    assert_eq!(Trace::parse(b"0\n0\n").unwrap_err(), TraceError::NoLength);
    assert!(Trace::parse(b"1\n\n2\n").is_err());
    assert!(Trace::parse(b"99999999999999999999\n").is_err());
    // A day is the longest.
    assert_eq!(
        Trace::parse(b"86400000\n").map(|day| day.period()),
        Ok(Duration::from_secs(86_400))
    );
    assert!(Trace::parse(b"86400001\n").is_err());
    // Zeros may stand in front, up to ten digits.
    assert_eq!(Trace::parse(b"0086400000\n"), Trace::parse(b"86400000\n"));
    assert!(Trace::parse(b"00086400000\n").is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_a_trace_or_an_error(text in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(trace) = Trace::parse(&text) {
            prop_assert!(trace.period() > Duration::ZERO);
            prop_assert!(trace.opportunities() > 0);
        }
    }

    /// Back-to-back packets through random steps take as long as the integral of capacity says.
    #[test]
    fn steps_agree_with_the_integral(
        gaps in prop::collection::vec((1i64..50, 0u64..40), 1..8),
        sizes in prop::collection::vec(40u64..1500, 1..100),
    ) {
        let mut time = 0;
        let mut steps = vec![(at(0), Rate::from_mbps(20))];
        for (gap, mbps) in gaps {
            time += gap;
            steps.push((at(time), Rate::from_mbps(mbps)));
        }
        steps.push((at(time + 1), Rate::from_mbps(30)));
        let mut link = Link::steps(steps).unwrap();
        let mut finish = at(0);
        for &size in &sizes {
            let next = link.transmit(finish, Bytes::new(size));
            prop_assert!(next > finish);
            finish = next;
        }
        let sent: u64 = sizes.iter().sum();
        let carried = link.capacity_between(at(0), finish).get();
        // Each finish is rounded up to the nanosecond: at 40 Mb/s under 0.005 B a packet.
        prop_assert!(carried >= sent && carried <= sent + 1 + sizes.len() as u64 / 100,
            "sent {sent}, capacity {carried}");
    }
}
