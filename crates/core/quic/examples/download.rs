//! A download of 20 MB over a link of 20 Mb/s with 40 ms of round trip and 50 ms of queue, by each congestion
//! control: how fast it is, and what it loses.
//!
//! `cargo run --release -p gameway-quic --example download`

use gameway_quic::{Receiver, ReceiverConfig, Sender, SenderConfig, ServerDatagram};
use gameway_tcp::CongestionControls;
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
    on_the_way: VecDeque<(Instant, ServerDatagram)>,
}

impl Link {
    fn send(&mut self, now: Instant, datagram: ServerDatagram) {
        let start = self.free.max(now);
        if start - now <= MAX_WAIT {
            self.free = start + CAPACITY.time_for(datagram.wire_size());
            self.on_the_way.push_back((self.free + ONE_WAY, datagram));
        }
    }
}

/// The first of them, if it has arrived.
fn arrived<T>(now: Instant, datagrams: &mut VecDeque<(Instant, T)>) -> Option<T> {
    datagrams.front().filter(|(at, _)| *at <= now)?;
    datagrams.pop_front().map(|(_, datagram)| datagram)
}

/// Megabits a second, and packets lost.
fn download(algorithm: &str) -> (f64, u64) {
    let config = SenderConfig { bytes: Some(FILE), ..SenderConfig::default() };
    let congestion = gameway_tcp::build(algorithm, config.max_datagram_size, 1).unwrap();
    let mut sender = Sender::new(config, congestion);
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let (mut down, mut up) = (Link::default(), VecDeque::new());
    let mut now = Instant::ZERO;
    while !sender.is_finished() {
        while let Some(datagram) = sender.poll_transmit(now) {
            down.send(now, datagram);
        }
        while let Some(datagram) = receiver.poll_transmit(now) {
            up.push_back((now + ONE_WAY, datagram));
        }
        let arrivals = [down.on_the_way.front().map(|one| one.0), up.front().map(|one| one.0)];
        let deadlines = [sender.next_deadline(), receiver.next_deadline()];
        let due = arrivals.into_iter().chain(deadlines).flatten().min();
        now = due.expect("a download that goes on waits for something").max(now);
        if let Some(datagram) = arrived(now, &mut down.on_the_way) {
            receiver.on_datagram(now, &datagram);
        } else if let Some(datagram) = arrived(now, &mut up) {
            sender.on_datagram(now, &datagram);
        }
        sender.on_deadline(now);
        receiver.on_deadline(now);
    }
    let seconds = (now - Instant::ZERO).as_secs_f64();
    (FILE.as_f64() * 8e-6 / seconds, sender.stats().lost_packets)
}

fn main() {
    println!("{:10} {:>6} {:>10}", "", "Mb/s", "lost");
    for algorithm in CongestionControls::standard().descriptions().map(|one| one.name) {
        let (rate, lost) = download(algorithm);
        println!("{algorithm:10} {rate:6.1} {lost:10}");
    }
}

#[cfg(test)]
mod tests {
    use super::download;

    #[test]
    fn downloads_fill_the_link_and_no_more() {
        for algorithm in ["cubic", "bbr"] {
            let (rate, _) = download(algorithm);
            // 1419 of 1480 bytes are payload.
            assert!((16.0..19.2).contains(&rate), "{algorithm:?}: {rate}");
        }
    }
}
