//! CPU time per data segment that crosses the bottleneck: sender, receiver and test network together.
//!
//! `cargo bench -p gameway-tcp`

#[allow(dead_code, reason = "a part of it is used")]
#[path = "../tests/all/common.rs"]
mod common;

use common::{Flow, shared};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gameway_units::{Duration, Rate};

/// A minute at 100 Mb/s, 20 ms, one BDP of queue: half a million segments with regular recoveries.
fn minute(algorithm: &str, loss: f64) -> u64 {
    let (capacity, rtt) = (Rate::from_mbps(100), Duration::from_millis(20));
    let mut net = shared(capacity, rtt, capacity * rtt, vec![Flow::bulk(algorithm)]);
    net.path.loss = loss;
    net.run_for(Duration::from_secs(60));
    net.path.queue.transmitted().get() / 1500
}

fn transfer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("segment");
    group.sample_size(10);
    for algorithm in gameway_tcp::CongestionControls::standard().descriptions().map(|one| one.name)
    {
        for loss in [0.0, 0.01] {
            group.throughput(Throughput::Elements(minute(algorithm, loss)));
            group.bench_function(format!("{} loss {loss}", algorithm), |bencher| {
                bencher.iter(|| minute(algorithm, loss));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, transfer);
criterion_main!(benches);
