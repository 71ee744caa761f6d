//! What a packet costs: of a game, of a download, and of a hundred flows at once.

#[allow(dead_code, reason = "a part of it is used")]
#[path = "../tests/all/traffic.rs"]
mod traffic;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use gameway_gateway::classifier::{Classifier, Direction};
use gameway_path::{Header, Protocol};
use gameway_units::{Bytes, Instant};
use traffic::{Packet, both, bulk, bytes, game, header, instant};

type Step = (Instant, Header, Bytes, Direction);

fn steps(packets: Vec<Packet>, flows: u16) -> Vec<Step> {
    let of = |(number, (at, size, way)): (usize, Packet)| {
        let flow = (number % usize::from(flows)) as u16;
        (instant(at), header(flow, Protocol::Udp, way), bytes(size), way)
    };
    packets.into_iter().enumerate().map(of).collect()
}

fn classifier(criterion: &mut Criterion) {
    let mixed = both(bulk(1_500, 300.0, 2.0, 52, 2.0), Vec::new());
    let cases = [
        ("game of 20 Mb/s", steps(game(20.0, 60.0, 0.4, 10.0), 1)),
        ("game of 3 Mb/s", steps(game(3.0, 60.0, 0.4, 10.0), 1)),
        ("download", steps(bulk(1_500, 100.0, 2.0, 52, 3.0), 1)),
        ("100 flows of 3 Mb/s", steps(mixed, 100)),
    ];
    for (name, steps) in cases {
        let mut group = criterion.benchmark_group("classifier");
        group.throughput(Throughput::Elements(steps.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || Classifier::new(1),
                |classifier| {
                    for (now, header, size, direction) in &steps {
                        classifier.on_packet(*now, header, *size, *direction);
                    }
                },
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, classifier);
criterion_main!(benches);
