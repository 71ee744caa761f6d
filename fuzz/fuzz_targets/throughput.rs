//! Tables of recorded rates: whatever the file, a clear error or a link on which time only goes forward.
#![no_main]

use gameway_path::{Columns, Link, ThroughputTable};
use gameway_units::{Bytes, Duration, Instant, Rate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    let named = Columns {
        time: Some("time".to_owned()),
        rate: Some("rate".to_owned()),
        time_unit: Duration::from_millis(1),
        rate_unit: Rate::from_kbps(1),
    };
    for columns in [Columns::default(), named] {
        match ThroughputTable::parse(&text, &columns) {
            Ok(table) => check(table),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn check(table: ThroughputTable) {
    assert!(table.rows() > 1 && table.period() > Duration::ZERO);
    let mut link = Link::throughput(table.clone());
    let (mut at, mut sent) = (Instant::ZERO, 0);
    for size in [1, 84, 1500, 9000, 1500, 1500] {
        let finished = link.transmit(at, Bytes::new(size));
        assert!(finished >= at, "{finished} before {at}");
        (at, sent) = (finished, sent + size);
    }
    let carried = link.capacity_between(Instant::ZERO, at).get();
    assert!(sent <= carried + 1, "{sent} B left where {carried} B could");
    let one = link.capacity_between(Instant::ZERO, Instant::ZERO + table.period()).get();
    let two = link.capacity_between(Instant::ZERO, Instant::ZERO + table.period() * 2).get();
    // More bytes than can be counted are the most that can be.
    assert!(two.abs_diff(one.saturating_mul(2)) <= 1, "{one} B in a period, {two} B in two");
}
