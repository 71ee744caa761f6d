//! Shares of a known capacity, in closed form.

use super::*;
use crate::by_hand::{ByHand, RTT};
use gameway_path::Header;

fn gateway(rtt: Option<Duration>) -> ByHand<SapLaw> {
    let config = SapLawConfig { rtt, ..SapLawConfig::new(Rate::from_mbps(4)) };
    ByHand::new(SapLaw::new(config))
}

/// Of each flow, in b/s.
fn share(by_hand: &ByHand<SapLaw>) -> u64 {
    by_hand.observed()[0].2 as u64
}

fn udp(by_hand: &mut ByHand<SapLaw>, passage: Passage, size: u64) {
    let header = Header { protocol: Protocol::Udp, ..Header::numbered(9) };
    let mut packet = Packet::new(header, Bytes::new(size), None);
    assert!(!by_hand.gateway.on_packet(by_hand.at(1), passage, &mut packet));
}

#[test]
fn what_udp_leaves_is_shared_equally() {
    let mut home = gateway(None);
    assert_eq!(share(&home), 4_000_000);
    // 25000 B in 200 ms are 1 Mb/s.
    udp(&mut home, Passage::Queue, 15_000);
    udp(&mut home, Passage::Queue, 10_000);
    udp(&mut home, Passage::Beside, 70_000);
    home.period([5, 0]);
    assert_eq!(share(&home), 3_000_000);
    udp(&mut home, Passage::Queue, 25_000);
    home.period([5, 5]);
    assert_eq!(share(&home), 1_500_000);
    home.period([5, 5]);
    assert_eq!(share(&home), 2_000_000, "no more UDP");
    udp(&mut home, Passage::Queue, 200_000);
    home.period([5, 5]);
    assert_eq!(share(&home), 0, "UDP has more than there is");
}

#[test]
fn a_flow_counts_for_two_periods_after_its_last_data() {
    let mut home = gateway(None);
    home.period([5, 5]);
    assert_eq!(share(&home), 2_000_000);
    // Its data was 50 ms before the end of that period.
    home.period([5, 0]);
    assert_eq!(share(&home), 2_000_000);
    home.period([5, 0]);
    assert_eq!(share(&home), 4_000_000);
    home.period([0, 0]);
    home.period([0, 0]);
    assert_eq!(share(&home), 4_000_000, "nobody has all");
}

#[test]
fn a_window_is_the_share_times_the_round_trip() {
    let mut home = gateway(None);
    home.period([5, 5]);
    // 2 Mb/s in 50 ms and in 150 ms.
    assert_eq!(home.period([5, 5]), [12_500, 37_500]);
    let windows = [(Some(0), 12_500.0), (Some(1), 37_500.0)];
    let log = home.observed();
    assert_eq!(log[0], (None, "tcp_share_bps", 2e6));
    let expected = windows.map(|(flow, value)| (flow, "advertised_window_bytes", value));
    assert_eq!(log[1..], expected);
    // One for all, where it is given.
    let mut home = gateway(Some(RTT * 2));
    home.period([5, 5]);
    assert_eq!(home.period([5, 5]), [25_000; 2]);
}

#[test]
fn a_driver_that_writes_windows_elsewhere_is_told_the_same() {
    let mut home = gateway(None);
    home.period([5, 5]);
    let mut limits = Vec::new();
    home.gateway.limits(&mut |limit| limits.push((limit.wanted, limit.min, limit.shift)));
    limits.sort_unstable();
    // 2 Mb/s in 50 ms and in 150 ms; two segments are the least.
    assert_eq!(limits, [(12_500, 2 * 1448, 0), (37_500, 2 * 1448, 0)]);
}

#[test]
fn a_call_before_its_time_changes_nothing() {
    let mut home = gateway(None);
    udp(&mut home, Passage::Queue, 25_000);
    let due = home.gateway.next_deadline();
    home.gateway.on_deadline(due - Duration::from_nanos(1), None);
    assert_eq!((share(&home), home.gateway.next_deadline()), (4_000_000, due));
    home.gateway.on_deadline(due, None);
    assert_eq!(share(&home), 3_000_000);
    assert_eq!(home.gateway.next_deadline(), due + Duration::from_millis(200));
}

#[test]
fn a_capacity_must_be_given() {
    let error = SapLawConfig::default().check().unwrap_err();
    assert_eq!(error.option.as_deref(), Some("capacity"));
    assert!(SapLawConfig::new(Rate::from_bps(1)).check().is_ok());
}
