//! What a bottleneck did up to a time: a packet that crosses the end of a span is split there.

use crate::support::{Packet, millis};
use gameway_path::{Bottleneck, DropTail, Limit, Link, Meter, Trace};
use gameway_units::{Bytes, Duration, Instant, QueueSize, Rate};
use proptest::prelude::*;

type Simple = Bottleneck<Packet, DropTail<Packet>>;

fn bottleneck(link: Link) -> Simple {
    let size = QueueSize::Packets(1000);
    Bottleneck::new(link, size, Duration::from_millis(20), |limit: Limit| DropTail::new(limit))
}

fn advance(path: &mut Simple, now: Instant) {
    while path.next_deadline().is_some_and(|due| due < now) {
        let due = path.next_deadline().unwrap();
        path.on_deadline(due);
    }
}

/// Packets as they come; what was done in each span of `width`, until nothing is left.
fn spans(link: Link, arrivals: &[(Instant, u64)], width: Duration) -> Vec<Meter> {
    let mut path = bottleneck(link);
    let (mut found, mut before, mut edge) = (Vec::new(), Meter::default(), Instant::ZERO);
    let mut coming = arrivals.iter().peekable();
    while coming.peek().is_some() || path.packets_inside() > 0 {
        edge += width;
        while let Some((at, size)) = coming.next_if(|(at, _)| *at < edge) {
            advance(&mut path, *at);
            path.arrive(*at, Packet::new(0, 0, *size));
        }
        advance(&mut path, edge);
        let done = path.meter(edge);
        found.push(Meter { busy: done.busy - before.busy, carried: done.carried - before.carried });
        before = done;
    }
    found
}

fn bytes(spans: &[Meter]) -> Vec<u64> {
    spans.iter().map(|span| span.carried.get()).collect()
}

fn busy(spans: &[Meter]) -> Vec<i64> {
    spans.iter().map(|span| span.busy.as_nanos() / 1_000_000).collect()
}

#[test]
fn a_packet_is_split_where_spans_end() {
    // 1250 B take 10 ms at 1 Mb/s; spans of 4 ms, and the packet comes after 1 ms.
    let link = Link::constant(Rate::from_mbps(1)).unwrap();
    let found = spans(link, &[(millis(1), 1250)], Duration::from_millis(4));
    assert_eq!(bytes(&found), [375, 500, 375]);
    assert_eq!(busy(&found), [3, 4, 3]);
}

#[test]
fn a_packet_that_an_outage_of_a_trace_holds_is_sent_where_it_leaves() {
    // Nothing between 2 ms and 31 ms: 2000 B have 1500 at 2 ms and the rest after the outage.
    let link = Link::trace(Trace::parse(b"2\n31\n31\n40\n").unwrap());
    let found = spans(link, &[(millis(0), 2000), (millis(0), 2500)], Duration::from_millis(10));
    assert_eq!(bytes(&found), [1500, 0, 0, 3000]);
    assert_eq!(busy(&found), [10, 10, 10, 1]);
}

#[test]
fn a_blackout_is_time_in_which_a_packet_is_being_sent() {
    let steps = vec![(millis(0), Rate::from_mbps(1)), (millis(5), Rate::ZERO)];
    let steps = [steps, vec![(millis(3305), Rate::from_mbps(1))]].concat();
    let link = Link::steps(steps).unwrap();
    let found = spans(link, &[(millis(0), 1250)], Duration::from_millis(500));
    assert_eq!(bytes(&found), [625, 0, 0, 0, 0, 0, 625]);
    assert_eq!(busy(&found), [500, 500, 500, 500, 500, 500, 310]);
}

/// A link, and the same to be asked for its capacity.
fn link() -> impl Strategy<Value = Link> {
    let trace = prop::collection::vec(0u64..60, 1..20).prop_map(|gaps| {
        let mut time = 0;
        let lines: Vec<String> = gaps
            .iter()
            .map(|gap| {
                time += gap;
                time.to_string()
            })
            .collect();
        Link::trace(Trace::parse(format!("{}\n{}", lines.join("\n"), time + 1).as_bytes()).unwrap())
    });
    let steps = prop::collection::vec((1i64..50, 0u64..4), 0..8).prop_map(|gaps| {
        let (mut time, mut steps) = (0, vec![(millis(0), Rate::from_mbps(2))]);
        for (gap, mbps) in gaps {
            time += gap;
            steps.push((millis(time), Rate::from_mbps(mbps)));
        }
        steps.push((millis(time + 1), Rate::from_kbps(1700)));
        Link::steps(steps).unwrap()
    });
    prop_oneof![trace, steps]
}

proptest! {
    #[test]
    fn spans_hold_what_they_can_and_together_everything(
        link in link(),
        arrivals in prop::collection::vec((0i64..200, 40u64..4000), 1..60),
        width in 1i64..40,
    ) {
        let mut arrivals: Vec<(Instant, u64)> =
            arrivals.into_iter().map(|(at, size)| (millis(at), size)).collect();
        arrivals.sort_unstable();
        let width = Duration::from_millis(width);
        let found = spans(link.clone(), &arrivals, width);
        let sent: u64 = arrivals.iter().map(|(_, size)| size).sum();
        prop_assert_eq!(bytes(&found).iter().sum::<u64>(), sent);
        let mut from = Instant::ZERO;
        for span in found {
            prop_assert!(span.busy >= Duration::ZERO && span.busy <= width);
            // A byte that is split by an edge may be counted in the later span.
            let max = link.capacity_between(from, from + width) + Bytes::new(1);
            prop_assert!(span.carried <= max, "{} of {max} from {from}", span.carried);
            from += width;
        }
    }
}
