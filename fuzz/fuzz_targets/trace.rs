//! Mahimahi traces: whatever the file, a clear error or a link on which time only goes forward.
#![no_main]

use gameway_path::{Link, Trace};
use gameway_units::{Bytes, Duration, Instant};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let trace = match Trace::parse(text) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(trace.opportunities() > 0 && trace.period() > Duration::ZERO);
    let seconds = trace.period().as_secs_f64();
    let mean = trace.opportunities() as f64 * 1500.0 * 8.0 / seconds;
    assert!((trace.mean_capacity().as_bps_f64() - mean).abs() <= 1.0 + mean * 1e-9);
    // What is at the end of a span is of the next one.
    let moment = Duration::from_nanos(1);
    let two_periods = Instant::ZERO + trace.period() * 2 + moment;
    let mut link = Link::trace(trace.clone());
    let (mut at, mut sent) = (Instant::ZERO, 0);
    for size in [1, 84, 1500, 9000, 1500, 1500] {
        let finished = link.transmit(at, Bytes::new(size));
        assert!(finished >= at, "{finished} before {at}");
        (at, sent) = (finished, sent + size);
    }
    let carried = link.capacity_between(Instant::ZERO, at + moment).get();
    assert!(sent <= carried, "{sent} B left where {carried} B could");
    let whole = link.capacity_between(Instant::ZERO, two_periods).get();
    let (max, min) =
        (3 * trace.opportunities() as u64 * 1500, 2 * trace.opportunities() as u64 * 1500);
    assert!((min..=max).contains(&whole), "{whole} B in two periods");
});
