//! A download of 20 MB over a link of 20 Mb/s with 40 ms of round trip and 50 ms of queue, by each congestion
//! control: how fast it is, and what it loses.
//!
//! `cargo run --release -p gameway-tcp --example transfer`

use gameway_tcp::{
    Application, CongestionControls, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

const CAPACITY: Rate = Rate::from_mbps(20);
const ONE_WAY: Duration = Duration::from_millis(20);
const MAX_WAIT: Duration = Duration::from_millis(50);
const FILE: Bytes = Bytes::new(20_000_000);

/// The way from the server: packets leave a drop-tail queue one after the other, and arrive in this order.
#[derive(Default)]
struct Link {
    free: Instant,
    on_the_way: VecDeque<(Instant, Segment)>,
}

impl Link {
    fn send(&mut self, now: Instant, segment: Segment) {
        let start = self.free.max(now);
        if start - now <= MAX_WAIT {
            self.free = start + CAPACITY.time_for(segment.wire_size());
            self.on_the_way.push_back((self.free + ONE_WAY, segment));
        }
    }
}

/// The first of them, if it has arrived.
fn arrived(now: Instant, segments: &mut VecDeque<(Instant, Segment)>) -> Option<Segment> {
    segments.front().filter(|(at, _)| *at <= now)?;
    segments.pop_front().map(|(_, segment)| segment)
}

/// Megabits a second, and segments sent again.
fn download(algorithm: &str) -> (f64, u64) {
    let application = Application { bytes: Some(FILE), ..Application::default() };
    let config = SenderConfig { application, ..SenderConfig::default() };
    let mut sender =
        Sender::new(config, gameway_tcp::build(algorithm, config.segment_size, 1).unwrap());
    let mut receiver = Receiver::new(ReceiverConfig::default(), Instant::ZERO);
    let (mut down, mut up) = (Link::default(), VecDeque::new());
    let mut now = Instant::ZERO;
    while !sender.is_finished() {
        while let Some(segment) = sender.poll_transmit(now) {
            down.send(now, segment);
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            up.push_back((now + ONE_WAY, segment));
        }
        let arrivals = [down.on_the_way.front(), up.front()].map(|first| first.map(|(at, _)| *at));
        let deadlines = [sender.next_deadline(), receiver.next_deadline()];
        let due = arrivals.into_iter().chain(deadlines).flatten().min();
        now = due.expect("a download that goes on waits for something").max(now);
        if let Some(segment) = arrived(now, &mut down.on_the_way) {
            receiver.on_segment(now, &segment);
        } else if let Some(segment) = arrived(now, &mut up) {
            sender.on_segment(now, &segment);
        }
        sender.on_deadline(now);
        receiver.on_deadline(now);
    }
    let seconds = (now - Instant::ZERO).as_secs_f64();
    (FILE.as_f64() * 8e-6 / seconds, sender.stats().retransmissions)
}

fn main() {
    println!("{:10} {:>6} {:>10}", "", "Mb/s", "sent again");
    for algorithm in CongestionControls::standard().descriptions().map(|one| one.name) {
        let (rate, again) = download(algorithm);
        println!("{:10} {rate:6.1} {again:10}", algorithm);
    }
}

#[cfg(test)]
mod tests {
    use super::download;

    #[test]
    fn downloads_fill_the_link_and_no_more() {
        for algorithm in ["cubic", "bbr"] {
            let (rate, _) = download(algorithm);
            // 1448 of 1500 bytes are payload.
            assert!((16.0..19.4).contains(&rate), "{algorithm:?}: {rate}");
        }
    }
}
