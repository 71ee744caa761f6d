//! A link that becomes another one while it runs: what is left of the packet in transmission goes by the new capacity,
//! whose own times count from the change.

use crate::support::millis;
use gameway_path::{Columns, Link, ThroughputTable, Trace};
use gameway_units::{Bytes, Duration, Instant, Rate};

const PACKET: Bytes = Bytes::new(1500);
const NANO: Duration = Duration::from_nanos(1);

fn micros(count: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(count)
}

fn constant(mbps: u64) -> Link {
    Link::constant(Rate::from_mbps(mbps)).unwrap()
}

fn trace(text: &str) -> Link {
    Link::trace(Trace::parse(text.as_bytes()).unwrap())
}

/// A packet that would take from 10 ms to 11 ms at 12 Mb/s; half of it has left when the link becomes `to`.
fn half_sent(to: Link) -> (Link, Option<Instant>) {
    let mut link = constant(12);
    assert_eq!(link.transmit(millis(10), PACKET), millis(11));
    let finished = link.change(micros(10_500), to, Some((millis(10), PACKET)));
    (link, finished)
}

#[test]
fn what_is_left_of_a_packet_goes_by_the_new_capacity() {
    let table = ThroughputTable::parse("0 6\n1 6\n", &Columns::default()).unwrap();
    let steps =
        |first| vec![(millis(0), Rate::from_mbps(first)), (millis(1000), Rate::from_mbps(6))];
    // 750 B are 6 kbit: 1 ms at 6 Mb/s.
    for to in [constant(6), Link::steps(steps(6)).unwrap(), Link::throughput(table)] {
        let (link, finished) = half_sent(to);
        assert_eq!(finished, Some(micros(11_500)), "{link:?}");
        let sent = |until| link.sent_before(millis(10), PACKET, micros(until)).get();
        assert_eq!([10_500, 11_000, 11_500, 20_000].map(sent), [750, 1125, 1500, 1500]);
    }
    // A blackout that begins with the change.
    assert_eq!(half_sent(Link::steps(steps(0)).unwrap()).1, Some(micros(1_011_500)));
    // The first opportunity after the change; one at the edge of two spans is of the later one.
    let (link, finished) = half_sent(trace("1\n2\n"));
    assert_eq!(finished, Some(micros(11_500)));
    let sent = |until| link.sent_before(millis(10), PACKET, until).get();
    assert_eq!([micros(11_500), micros(11_500) + NANO].map(sent), [750, 1500]);
}

#[test]
fn a_second_change_finds_what_the_first_left() {
    let (mut link, _) = half_sent(constant(6));
    // 375 B are left at 11 ms, 3 kbit: 1 ms at 3 Mb/s.
    let finished = link.change(millis(11), constant(3), Some((millis(10), PACKET)));
    assert_eq!(finished, Some(millis(12)));
    let sent = |until| link.sent_before(millis(10), PACKET, micros(until)).get();
    assert_eq!([11_000, 11_500, 12_000].map(sent), [1125, 1312, 1500]);
    // The next packet is whole again.
    assert_eq!(link.transmit(millis(12), PACKET), millis(16));
    assert_eq!(link.sent_before(millis(12), PACKET, millis(13)), Bytes::new(375));
}

#[test]
fn a_packet_that_begins_with_the_change_goes_by_the_new_capacity_alone() {
    let mut link = constant(12);
    link.transmit(millis(10), PACKET);
    assert_eq!(link.change(millis(10), constant(6), Some((millis(10), PACKET))), Some(millis(12)));
    assert_eq!(link.sent_before(millis(10), PACKET, millis(11)), Bytes::new(750));
    assert_eq!(
        constant(12).change(millis(10), constant(6), None),
        None,
        "an idle link sends nothing"
    );
}

#[test]
fn of_a_trace_the_opportunities_before_the_change_have_been_used() {
    // 1500 B at 2 ms and 1500 B at 4 ms.
    let finished = |at: Instant| {
        let mut link = trace("2\n4\n");
        assert_eq!(link.transmit(millis(0), Bytes::new(3000)), millis(4));
        link.change(at, constant(12), Some((millis(0), Bytes::new(3000))))
    };
    assert_eq!(finished(millis(3)), Some(millis(4)), "1500 B are left: 1 ms at 12 Mb/s");
    assert_eq!(finished(millis(2)), Some(millis(4)), "3000 B are left: 2 ms");
    assert_eq!(finished(millis(1)), Some(millis(3)));
}

#[test]
fn an_opportunity_lets_whole_bytes_leave() {
    // At 8 Mb/s a byte takes a microsecond.
    let finished = |sent: Duration| {
        let mut link = constant(8);
        link.transmit(millis(0), Bytes::new(3000));
        let now = Instant::ZERO + sent;
        let to = trace("1\n2\n");
        link.change(now, to, Some((millis(0), Bytes::new(3000)))).map(|finished| finished - now)
    };
    // 1500 B fit into the first opportunity; of a byte more, a half is enough for the second.
    assert_eq!(finished(Duration::from_micros(1500)), Some(Duration::from_millis(1)));
    assert_eq!(finished(Duration::from_nanos(1_499_500)), Some(Duration::from_millis(2)));
}

#[test]
fn times_of_a_capacity_count_from_the_change() {
    let mut link = constant(12);
    let steps = vec![(millis(0), Rate::from_mbps(5)), (millis(20), Rate::from_mbps(7))];
    link.change(millis(100), Link::steps(steps).unwrap(), None);
    let nominal = |at: i64| link.nominal_capacity(millis(at));
    assert_eq!([100, 119, 120].map(nominal), [5, 5, 7].map(Rate::from_mbps));
    let next = |at: i64| link.next_change(millis(at));
    assert_eq!([100, 119, 120].map(next), [Some(millis(120)), Some(millis(120)), None]);
    // 12 kbit: 1 ms at 5 Mb/s, and 1 ms at 7 Mb/s.
    assert_eq!(link.transmit(millis(119), PACKET), millis(121));
}

#[test]
fn what_a_link_could_carry_is_summed_over_its_capacities() {
    // 1000 B, 500 B and 250 B in a millisecond.
    let mut link = constant(8);
    link.change(millis(100), constant(4), None);
    // What holds for no time carries nothing.
    link.change(millis(150), constant(100), None);
    link.change(millis(150), constant(2), None);
    let carried = |from, to| link.capacity_between(millis(from), millis(to)).get();
    assert_eq!(carried(0, 100), 100_000);
    assert_eq!(carried(20, 30), 10_000);
    assert_eq!(carried(100, 150), 25_000);
    assert_eq!(carried(120, 130), 5_000);
    assert_eq!(carried(150, 170), 5_000);
    assert_eq!(carried(90, 160), 10_000 + 25_000 + 2_500);
    assert_eq!(carried(160, 160), 0);
}

#[test]
fn a_capacity_is_remembered_for_ten_seconds() {
    let carried = |second: i64| {
        let mut link = constant(8);
        link.change(millis(100), constant(4), None);
        link.change(millis(second), constant(2), None);
        link.capacity_between(millis(0), millis(100)).get()
    };
    assert_eq!([10_100, 10_101].map(carried), [100_000, 0]);
}
