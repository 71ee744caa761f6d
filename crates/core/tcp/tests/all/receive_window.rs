//! The window that a receiver announces, against what the kernel's did on the same path.

use crate::common::{Flow, Network, shared};
use gameway_tcp::{ReceiveWindow, Receiver, ReceiverConfig, Sender, SenderConfig};
use gameway_units::{Bytes, Duration, Instant, Rate};

const MSS: u32 = 1448;

fn seconds(seconds: i64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// A download by CUBIC through a queue of one BDP.
fn download(mbps: u64, rtt: Duration, receive_window: ReceiveWindow, segment_size: u32) -> Network {
    let sender = SenderConfig { segment_size, ..SenderConfig::default() };
    let receiver = ReceiverConfig { receive_window, segment_size, ..ReceiverConfig::default() };
    let flow = Flow {
        sender: Sender::new(sender, gameway_tcp::build("cubic", segment_size, 1).unwrap()),
        receiver: Receiver::new(receiver, Instant::ZERO),
    };
    let capacity = Rate::from_mbps(mbps);
    shared(capacity, rtt, capacity * rtt, vec![flow])
}

/// Mb/s of payload between two times.
fn rate(net: &mut Network, from: i64, to: i64) -> f64 {
    net.run_until(seconds(from));
    let before = net.flows[0].receiver.received();
    net.run_until(seconds(to));
    let amount = net.flows[0].receiver.received() - before;
    (amount / Duration::from_secs(to - from)).as_mbps_f64()
}

/// Linux 6.18 through `gameway link`, after the handshake: 19, 43 and 60 Mb/s of 60 on the wire from 9, 11.5 and 14 s on.
#[test]
fn a_tuned_window_fills_a_long_fat_path() {
    let mut net = download(60, Duration::from_millis(1200), ReceiveWindow::Auto, MSS);
    let full = 60.0 * 1448.0 / 1500.0;
    let filled = rate(&mut net, 30, 60) / full;
    assert!((0.85..=1.001).contains(&filled), "{filled}");
    let mut fast = download(1000, Duration::from_millis(100), ReceiveWindow::Auto, MSS);
    let filled = rate(&mut fast, 5, 8) / (1000.0 * 1448.0 / 1500.0);
    assert!((0.9..=1.001).contains(&filled), "{filled}");
}

/// 20 MiB per round trip and no more: 140 Mb/s at 1.2 s.
#[test]
fn a_tuned_window_has_the_limit_of_the_kernel() {
    let mut net = download(400, Duration::from_millis(1200), ReceiveWindow::Auto, MSS);
    // Ten round trips: a window comes in a burst.
    let found = rate(&mut net, 30, 42);
    let limit = (Bytes::new(20 << 20) / Duration::from_millis(1200)).as_mbps_f64();
    assert!((0.97 * limit..=1.001 * limit).contains(&found), "{found} of {limit}");
}

#[test]
fn a_window_of_one_size_is_what_is_in_flight_at_most() {
    for window in [64 << 10, 1 << 20, 40 << 20] {
        let rtt = Duration::from_millis(400);
        let fixed = ReceiveWindow::Fixed(Bytes::new(window));
        let mut net = download(1500, rtt, fixed, MSS);
        let found = rate(&mut net, 12, 16);
        let limit = (Bytes::new(window) / rtt).as_mbps_f64();
        assert!((0.95 * limit..=limit).contains(&found), "{window}: {found} of {limit}");
    }
}

/// Smaller segments leave less of the kernel's memory to payload: 104 parts of 256 instead of 160.
#[test]
fn small_segments_have_a_smaller_largest_window() {
    assert_eq!(ReceiveWindow::Auto.largest(1448), Bytes::new(20 << 20));
    assert_eq!(ReceiveWindow::Auto.largest(524), Bytes::new(13 << 20));
    let mut net = download(400, Duration::from_millis(1200), ReceiveWindow::Auto, 524);
    let found = rate(&mut net, 42, 54);
    let limit = (Bytes::new(13 << 20) / Duration::from_millis(1200)).as_mbps_f64();
    assert!((0.95 * limit..=1.001 * limit).contains(&found), "{found} of {limit}");
}

/// Of Linux 6.18 at 1.2 s, as `ss -tim` showed it: 63 KiB, 122 KiB, 0.7 MiB, 2.4 MiB, 9.3 MiB and 20 MiB.
#[test]
fn the_window_opens_ahead_of_slow_start() {
    let rtt = Duration::from_millis(1200);
    let mut net = download(60, rtt, ReceiveWindow::Auto, MSS);
    let mut largest = 0;
    let mut windows = Vec::new();
    for round in 1..=25 {
        net.run_until(Instant::ZERO + rtt * round);
        let stats = net.flows[0].sender.stats();
        largest = largest.max(stats.announced.get());
        windows.push((stats.announced.get(), stats.cwnd.get()));
    }
    // Half of what CUBIC may send is never refused while it doubles.
    for (announced, cwnd) in &windows[1..9] {
        assert!(2 * announced > *cwnd, "{windows:?}");
    }
    assert_eq!(windows[1].0, 63 << 10, "{windows:?}");
    assert_eq!(largest, 20 << 20, "{windows:?}");
}
