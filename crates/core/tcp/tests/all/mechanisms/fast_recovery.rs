//! Losses that SACK blocks, a tail probe or age find, and the reduction that follows.

use super::*;

/// Segments from the second to before this one have arrived.
fn all_but_the_first(end: u64) -> Segment {
    let mut ack = Segment {
        flags: Flags { ack: true, ..Flags::default() },
        window: 1 << 13,
        ..Segment::default()
    };
    ack.sack.push(SackBlock { start: MSS, end: end * MSS });
    ack
}

#[test]
fn sack_of_the_whole_flight_but_the_first_is_one_loss() {
    let (mut sender, _, sent) = connected(SenderConfig::default());
    sender.on_segment(at(40), &all_but_the_first(sent.len() as u64));
    let first = sender.poll_transmit(at(40)).expect("the fast retransmit");
    assert_eq!((first.sequence, sender.stats().phase), (0, Phase::Recovery));
    assert_eq!(sender.stats().ssthresh, Bytes::new(7 * MSS));
    // Flight 1 (the retransmission), target 7, 9 delivered: PRR allows up to the target.
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(at(40))).count(), 6);
}

/// In recovery RACK's reordering window is nothing (Linux `tcp_rack_reo_wnd`): what left right behind a retransmission
/// and arrives before it proves that lost, and nothing waits for a time-out.
#[test]
fn what_left_right_behind_a_retransmission_finds_its_loss() {
    let (mut sender, _, sent) = connected(SenderConfig::default());
    let flight = sent.len() as u64;
    sender.on_segment(at(40), &all_but_the_first(flight));
    let left = std::iter::from_fn(|| sender.poll_transmit(at(40))).count();
    assert_eq!(left, 7, "the retransmission and six new ones");
    sender.on_segment(at(60), &all_but_the_first(flight + 1));
    let again = sender.poll_transmit(at(60)).expect("the retransmission was lost");
    assert_eq!((again.sequence, sender.stats().retransmissions), (0, 2));
    assert_eq!((sender.stats().recoveries, sender.stats().timeouts), (1, 0));
}

/// Ten outstanding, the first lost: two selective ACKs let two new segments out (RFC 3042), the third
/// brings the fast retransmit at once although eight are still in flight and seven are the target
/// (RFC 9937), and from then on seven segments leave for ten that arrive.
#[test]
fn limited_transmit_fast_retransmit_and_proportional_reduction() {
    let (mut sender, ..) = connected(SenderConfig::default());
    let mut left = Vec::new();
    for arrived in 1..10 {
        // So far apart that none waits for the next; so soon that age finds nothing.
        let now = at(40) + Duration::from_micros(1_100) * arrived as i64;
        sender.on_segment(now, &all_but_the_first(1 + arrived));
        let sent = std::iter::from_fn(|| sender.poll_transmit(now));
        left.push(sent.map(|segment| segment.sequence / MSS).collect::<Vec<_>>());
    }
    assert_eq!(left[..3], [vec![10], vec![11], vec![0]], "{left:?}");
    let after: usize = left[3..].iter().map(Vec::len).sum();
    assert!((3..=5).contains(&after) && left.iter().all(|sent| sent.len() <= 2), "{left:?}");
}

/// RFC 8985 section 6.2: with one segment behind it, a lost one is found a quarter of the round trip, and the least time
/// of a timer, after that is acknowledged, and not by the time-out. Its twin that arrives a little later is not sent again.
#[test]
fn a_loss_just_before_the_end_needs_no_time_out() {
    for arrives_late in [false, true] {
        let application = Application { on_demand: true, ..Application::default() };
        let (mut sender, mut receiver, _) =
            connected(SenderConfig { application, ..SenderConfig::default() });
        let round_trip = sender.stats().min_rtt.expect("of the handshake").as_nanos() / 1_000_000;
        sender.write(Bytes::new(10 * MSS));
        let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(at(1_000))).collect();
        assert_eq!(sent.len(), 10);
        let (mut now, mut again) = (1_000 + round_trip, Vec::new());
        for (index, segment) in sent.iter().enumerate().filter(|(index, _)| *index != 8) {
            let _ = index;
            receiver.on_segment(at(now), segment);
            while let Some(ack) = receiver.poll_transmit(at(now)) {
                sender.on_segment(at(now), &ack);
            }
            again.extend(std::iter::from_fn(|| sender.poll_transmit(at(now))));
        }
        assert!(again.is_empty(), "too early: it may be late");
        if arrives_late {
            now += round_trip / 5;
            receiver.on_segment(at(now), &sent[8]);
            while let Some(ack) = receiver.poll_transmit(at(now)) {
                sender.on_segment(at(now), &ack);
            }
            assert_eq!(sender.next_deadline(), None);
            continue;
        }
        let due = sender.next_deadline().expect("the reordering timer");
        assert_eq!(due, at(now + 2) + Duration::from_millis(round_trip) / 4);
        sender.on_deadline(due);
        let repaired = sender.poll_transmit(due).expect("sent again");
        assert_eq!((repaired.sequence, repaired.length), (8 * MSS, MSS as u32));
        assert_eq!((sender.stats().timeouts, sender.stats().recoveries), (0, 1));
    }
}

/// The same in the middle of a transfer, where new segments leave meanwhile but none comes behind the loss in time.
#[test]
fn where_the_window_is_small_age_finds_a_loss_before_three_segments_do() {
    let (mut sender, ..) = connected(SenderConfig::default());
    sender.on_segment(at(40), &all_but_the_first(2));
    let new: Vec<u64> = std::iter::from_fn(|| sender.poll_transmit(at(40)))
        .map(|segment| segment.sequence / MSS)
        .collect();
    assert_eq!(new, [10], "limited transmit, no repair yet");
    assert_eq!(run_deadlines(&mut sender, at(46)), []);
    let repaired = run_deadlines(&mut sender, at(47));
    assert_eq!(repaired.len(), 1);
    assert_eq!((repaired[0].0, repaired[0].1.sequence), (at(47), 0));
    assert_eq!((sender.stats().recoveries, sender.stats().timeouts), (1, 0));
}

/// Linux `tcp_rack_advance`: what is too old follows from the round trip of the segment that an ACK tells of last, and the
/// cumulative part comes behind the SACK blocks. Of three segments 10 ms apart the second is lost: an ACK of both others
/// has the first's round trip, two ACKs end with the third's, by which the second is too old.
#[test]
fn an_ack_that_moves_forward_and_sacks_leaves_the_longer_round_trip() {
    for at_once in [true, false] {
        let application = Application { on_demand: true, ..Application::default() };
        let (mut sender, ..) = connected(SenderConfig { application, ..SenderConfig::default() });
        assert_eq!(sender.stats().min_rtt, Some(Duration::from_millis(20)));
        for millis in [1_000, 1_010, 1_020] {
            sender.write(Bytes::new(MSS));
            assert!(sender.poll_transmit(at(millis)).is_some());
        }
        let mut ack = Segment { acknowledgment: MSS, ..all_but_the_first(1) };
        ack.sack = SackBlocks::default();
        if !at_once {
            sender.on_segment(at(1_044), &ack);
        }
        ack.sack.push(SackBlock { start: 2 * MSS, end: 3 * MSS });
        sender.on_segment(at(1_045), &ack);
        let left: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(at(1_045))).collect();
        let repaired = if at_once {
            assert_eq!(left, []);
            run_deadlines(&mut sender, at(1_100))
        } else {
            left.into_iter().map(|segment| (at(1_045), segment)).collect()
        };
        let expected = if at_once { at(1_010 + 45 + 5 + 2) } else { at(1_045) };
        let times: Vec<_> = repaired.iter().map(|(when, s)| (*when, s.sequence)).collect();
        assert_eq!(times, [(expected, MSS)], "{at_once}");
        assert_eq!((sender.stats().recoveries, sender.stats().timeouts), (1, 0));
    }
}
