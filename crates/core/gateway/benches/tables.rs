//! What a segment costs the tables of connections, in nanoseconds: of ten connections, of as many as the tables have, and of 10,000
//! that send one after the other, so that each segment displaces a connection.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gameway_gateway::{Flags, FlowTable, RemoteQueue, Segment, Timestamps};
use gameway_path::{Header, Protocol};
use gameway_units::{Duration, Instant};
use std::hint::black_box;

const COUNTS: [u16; 3] = [10, 1000, 10_000];

/// Data to the home.
fn segment(number: u16) -> Segment {
    Segment {
        header: Header { protocol: Protocol::Tcp, ..Header::numbered(number) },
        flags: Flags { ack: true, ..Flags::default() },
        sequence: 1,
        acknowledgment: 1,
        length: 1448,
        window: 1000,
        window_scale: None,
        timestamps: Some(Timestamps { value: 1, echo: 1 }),
    }
}

/// Times one segment, of `count` connections in turn.
fn each(criterion: &mut Criterion, name: &str, pass: &mut dyn FnMut(Instant, &mut Segment)) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    for count in COUNTS {
        let segments: Vec<_> = (0..count).map(segment).collect();
        let mut now = Instant::ZERO;
        let mut turn = segments.iter().cycle();
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                now += Duration::from_micros(12);
                if let Some(segment) = turn.next() {
                    pass(now, black_box(&mut segment.clone()));
                }
            });
        });
    }
    group.finish();
}

fn tables(criterion: &mut Criterion) {
    let mut table = FlowTable::<()>::default();
    each(criterion, "flow table", &mut |now, segment| {
        table.pass(now, true, segment, |_| None);
    });
    let mut queue = RemoteQueue::default();
    each(criterion, "queue in front", &mut |now, segment| {
        queue.on_segment(now, true, segment);
    });
}

criterion_group!(benches, tables);
criterion_main!(benches);
