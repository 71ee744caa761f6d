//! What each period says of the way on which packets waited.

use super::*;
use crate::Timestamps;

const PERIOD: i64 = 20;

fn millis(count: i64) -> Duration {
    Duration::from_millis(count)
}

fn at(count: i64) -> Instant {
    Instant::ZERO + millis(count)
}

/// Packets that are no segments pass, of this size.
fn pass(ways: &mut Ways, now: i64, to_home: bool, size: u64, count: u64) {
    for _ in 0..count {
        let packet = Packet::new(Header::numbered(1), Bytes::new(size), None);
        ways.on_packet(at(now), to_home, &packet);
    }
}

fn ping(ways: &mut Ways, now: i64) {
    let ping = Packet::new(Header::numbered(9), Bytes::new(84), None);
    ways.on_packet(at(now), false, &ping.with_echo(Some(1)));
}

/// A segment without data, to the home or from it, with a stamp in milliseconds.
fn stamped(ways: &mut Ways, now: i64, to_home: bool, number: u16, stamp: u32) {
    let header = Header::numbered(number);
    let mut segment = Segment {
        timestamps: Some(Timestamps { value: stamp, echo: 0 }),
        ..Segment::bare_ack(if to_home { header } else { header.reversed() })
    };
    let packet = Packet::new(segment.header, Bytes::new(52), Some(&mut segment));
    ways.on_packet(at(now), to_home, &packet);
}

/// A ping has passed, and the clocks of these connections are known at 2 s, each without a wait. A clock of 1 ms reads what
/// it is here.
fn with_clocks(numbers: &[u16]) -> Ways {
    let mut ways = Ways::default();
    ping(&mut ways, 0);
    for now in (0..=2_000).step_by(PERIOD as usize) {
        numbers.iter().for_each(|number| stamped(&mut ways, now, true, *number, now as u32));
        ways.end_period(at(now));
    }
    ways
}

/// The home sends 12.5 kB in packets of 500 B.
fn send(ways: &mut Ways, now: i64) {
    pass(ways, now, false, 500, 25);
}

#[test]
fn the_home_sends_if_packets_of_500_bytes_have_12500_in_a_second() {
    for (size, count, sends) in [
        (500, 25, true),
        (500, 24, false),
        (499, 1_000, false),
        (12_499, 1, false),
        (12_500, 1, true),
    ] {
        let mut ways = Ways::default();
        pass(&mut ways, 10, false, size, count);
        ways.end_period(at(20));
        assert_eq!(ways.sends(), sends, "{count} of {size} B");
        // What comes to it is no matter.
        let mut ways = Ways::default();
        pass(&mut ways, 10, true, size, count);
        ways.end_period(at(20));
        assert!(!ways.sends());
    }
}

#[test]
fn what_the_home_sends_adds_up_for_a_second_and_no_longer() {
    for (periods, sends) in [(49, true), (50, true), (51, false)] {
        // Two periods with half of it each, the second `periods` after the first second began.
        let mut ways = Ways::default();
        pass(&mut ways, 10, false, 1_250, 5);
        for period in 1..=periods {
            if period == periods {
                pass(&mut ways, PERIOD * period - 10, false, 1_250, 5);
            }
            ways.end_period(at(PERIOD * period));
        }
        assert_eq!(ways.sends(), sends, "{periods} periods");
    }
}

#[test]
fn a_home_that_sends_no_more_does_not_from_the_end_of_the_second_in_which_it_did_not() {
    let mut ways = Ways::default();
    send(&mut ways, 10);
    let sends: Vec<_> = (1..=100)
        .map(|period| {
            ways.end_period(at(PERIOD * period));
            ways.sends()
        })
        .collect();
    // Of the first second it did, of the second it did not, which is over at its end.
    let until = sends.iter().position(|sends| !sends);
    assert_eq!(until, Some(99), "the period that ends at 2 s");
}

#[test]
fn without_a_clock_the_whole_loop_was_on_the_way_that_has_more_bytes() {
    let looped = millis(30);
    for (out, into, is_out) in [
        (20_000, 19_999, true),
        (20_000, 20_000, false),
        (20_000, 20_001, false),
        // It does not send.
        (12_499, 0, false),
    ] {
        let mut ways = Ways::default();
        ping(&mut ways, 0);
        // Without the bytes of the ping.
        ways.start_over();
        pass(&mut ways, 10, false, out, 1);
        pass(&mut ways, 10, true, into, 1);
        ways.end_period(at(20));
        assert_eq!(ways.on_the_way_out(looped), is_out.then_some(looped), "{out} and {into} B");
        assert_eq!(ways.on_the_way_in(looped), (!is_out).then_some(looped), "{out} and {into} B");
    }
}

#[test]
fn small_packets_of_a_home_that_sends_count_for_the_way_that_has_more_bytes() {
    let mut ways = Ways::default();
    send(&mut ways, 10);
    pass(&mut ways, 10, true, 500, 26);
    pass(&mut ways, 10, false, 52, 10);
    ways.end_period(at(20));
    // 13 020 B out, 13 000 B in.
    assert_eq!(ways.on_the_way_out(millis(30)), Some(millis(30)));
    // What has been so is so until the second is over.
    pass(&mut ways, 970, true, 500, 26);
    for (now, more_out) in [(980, true), (1_000, false)] {
        ways.end_period(at(now));
        assert_eq!(ways.on_the_way_out(millis(30)).is_some(), more_out, "{now} ms");
    }
}

#[test]
fn what_a_clock_tells_of_the_way_in_is_no_wait_on_the_way_out() {
    let mut ways = with_clocks(&[1]);
    assert_eq!(ways.on_the_way_out(millis(30)), Some(millis(30)));
    // A segment that was 12 ms on its way longer.
    stamped(&mut ways, 2_012, true, 1, 2_000);
    send(&mut ways, 2_015);
    ways.end_period(at(2_020));
    assert_eq!(ways.on_the_way_out(millis(30)), Some(millis(18)));
    assert_eq!(ways.on_the_way_in(millis(30)), Some(millis(12)));
    assert_eq!(ways.on_the_way_out(millis(5)), Some(Duration::ZERO));
    assert_eq!(ways.on_the_way_in(millis(5)), Some(millis(5)));
}

#[test]
fn a_clock_bounds_what_waits_on_the_way_in_only_while_the_home_sends() {
    let mut ways = with_clocks(&[1]);
    assert_eq!(ways.on_the_way_in(millis(30)), Some(millis(30)));
    send(&mut ways, 2_015);
    ways.end_period(at(2_020));
    assert_eq!(ways.on_the_way_in(millis(30)), Some(Duration::ZERO));
}

#[test]
fn the_least_wait_of_a_period_counts_of_all_connections() {
    for waits in [[12, 7], [7, 12]] {
        let mut ways = with_clocks(&[1, 2]);
        for (number, wait) in (1..).zip(waits) {
            stamped(&mut ways, 2_015, true, number, (2_015 - wait) as u32);
        }
        ways.end_period(at(2_020));
        assert_eq!(ways.on_the_way_out(millis(30)), Some(millis(23)));
        // The next period has its own.
        stamped(&mut ways, 2_030, true, 1, 2_010);
        ways.end_period(at(2_040));
        assert_eq!(ways.on_the_way_out(millis(30)), Some(millis(10)));
    }
}

#[test]
fn what_a_clock_told_counts_for_200_ms() {
    for (after, counts) in [(199, true), (200, false)] {
        let mut ways = with_clocks(&[1]);
        ways.end_period(at(2_000 + after));
        assert_eq!(ways.on_the_way_out(millis(30)).is_some(), counts, "{after} ms");
    }
}

#[test]
fn clocks_are_of_servers_and_are_read_once_a_ping_has_passed() {
    for (pings, to_home) in [(false, true), (true, false)] {
        let mut ways = Ways::default();
        if pings {
            ping(&mut ways, 0);
        }
        for now in (0..=2_000).step_by(PERIOD as usize) {
            stamped(&mut ways, now, to_home, 1, now as u32);
            ways.end_period(at(now));
        }
        assert_eq!(ways.on_the_way_out(millis(30)), None);
        assert_eq!(ways.clocks.len(), 0);
    }
}

#[test]
fn before_a_ping_passes_a_wait_is_on_the_way_in() {
    let mut ways = Ways::default();
    send(&mut ways, 10);
    ways.end_period(at(20));
    assert_eq!(ways.on_the_way_in(millis(30)), Some(millis(30)));
    ping(&mut ways, 30);
    assert_eq!(ways.on_the_way_in(millis(30)), None);
}

#[test]
fn what_starts_over_forgets_what_was_told_and_what_passed_in_this_period() {
    let mut ways = with_clocks(&[1]);
    send(&mut ways, 2_010);
    stamped(&mut ways, 2_015, true, 1, 2_000);
    ways.start_over();
    assert_eq!(ways.on_the_way_out(millis(30)), None);
    ways.end_period(at(2_020));
    assert!(!ways.sends());
    assert_eq!(ways.on_the_way_out(millis(30)), None);
    // Its clock is still known.
    stamped(&mut ways, 2_030, true, 1, 2_010);
    ways.end_period(at(2_040));
    assert_eq!(ways.on_the_way_out(millis(30)), Some(millis(10)));
}
