//! The log of packets: complete where it was asked for, absent where not, and true to the path.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{Run, empty_path, fixed, run, with, with_ping, with_stream, with_tcp};
use serde_json::{Value, json};

fn busy_path(packets: bool) -> Value {
    let spec = with_tcp(empty_path(8), "cubic", json!({}));
    let spec = with_stream(with_ping(spec, "100 ms"), fixed("5 Mb/s"), json!({ "fec": "10 %" }));
    let loss = json!({ "kind": "random", "probability": "0.2 %" });
    let spec = with(spec, "/path/queue/size", json!("0.15 bdp"));
    with(with(spec, "/path/loss", loss), "/record", json!({ "packets": packets }))
}

fn fates(run: &Run, fate: &str) -> u64 {
    run.table("packets").only("fate", fate).rows as u64
}

#[test]
fn every_packet_whose_fate_is_known_has_a_row() {
    let run = run(&busy_path(true));
    let all = &run.summary;
    assert!(all.dropped_packets > 5 && all.lost_packets > 5, "{all:?}");
    assert_eq!(fates(&run, "dropped"), all.dropped_packets);
    let overflow = run.table("packets").only("drop_reason", "overflow");
    assert_eq!(overflow.only("fate", "dropped").rows, overflow.rows);
    assert_eq!(overflow.rows as u64, all.dropped_packets, "a queue without AQM");
    assert_eq!(fates(&run, "lost"), all.lost_packets);
    assert_eq!(fates(&run, "delivered"), all.delivered_packets + all.under_way_packets);
    let packets = run.table("packets");
    for kind in ["media", "repair", "tcp", "ping"] {
        assert!(packets.clone().only("kind", kind).rows > 0, "{kind}");
    }
    assert_eq!(packets.only("kind", "padding").rows, 0, "a fixed rate sends none");
}

#[test]
fn its_times_are_those_of_queue_link_and_delay() {
    let run = run(&busy_path(true));
    let delivered = run.table("packets").only("fate", "delivered");
    let column = |name: &str| delivered.present(name);
    let (came, waited) = (column("came_ns"), column("queue_delay_ns"));
    let (departed, arrived) = (column("departed_ns"), column("arrived_ns"));
    for (row, size) in column("size_bytes").iter().enumerate() {
        // 25 Mb/s are 320 ns a byte; 8 ms of propagation.
        assert_eq!(departed[row], came[row] + waited[row] + size * 320.0, "row {row}");
        assert_eq!(arrived[row], departed[row] + 8e6, "row {row}");
    }
}

#[test]
fn the_log_changes_nothing_else() {
    let (mut with_log, without) = (run(&busy_path(true)).events, run(&busy_path(false)).events);
    let all = with_log.len();
    with_log.retain(|event| event.table() != "packets");
    assert!(with_log.len() < all && with_log == without);
}
