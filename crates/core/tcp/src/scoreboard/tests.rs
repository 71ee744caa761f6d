use super::*;
use crate::rack::Rack;
use proptest::prelude::*;

const SIZE: u32 = 1000;

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(SIZE);
    for index in 0..segments {
        let sent = Instant::from_nanos(index as i64);
        let sequence = index * u64::from(SIZE);
        board.push(Record { sequence, length: SIZE, sent, ..Record::default() });
    }
    board
}

/// Segments `first..last` arrive.
fn sack(board: &mut Scoreboard, first: u64, last: u64) -> AckOutcome {
    let mut outcome = AckOutcome::default();
    let size = u64::from(SIZE);
    board.selectively_acknowledge((first * size, last * size), &mut outcome);
    board.detect_losses(&mut outcome);
    outcome
}

/// By hand after RFC 6675: ten segments, 0 and 4 missing.
#[test]
fn is_lost_needs_three_segments_above() {
    let mut board = board(10);
    assert_eq!(sack(&mut board, 1, 2).newly_lost, 0);
    assert_eq!(sack(&mut board, 1, 3).newly_lost, 0);
    assert_eq!(board.in_flight(), 8000);
    let third = sack(&mut board, 1, 4);
    assert_eq!((third.newly_lost, third.delivered), (1000, 1000));
    assert_eq!(board.in_flight(), 6000);
    assert_eq!(board.next_retransmission(), Some((0, SIZE)));
    assert_eq!(sack(&mut board, 5, 7).newly_lost, 0);
    assert_eq!(sack(&mut board, 5, 8).newly_lost, 1000);
    board.retransmit(0, Instant::from_nanos(100), Snapshot::default());
    assert_eq!(board.next_retransmission(), Some((4, SIZE)));
    // 8 and 9 and the retransmission of 0.
    assert_eq!(board.in_flight(), 3000);
}

/// Each loss once, in the order judged; a time-out reports what was under way: not what was known to be lost, but a retransmission of it.
#[test]
fn losses_are_reported_one_by_one() {
    let mut board = board(10);
    sack(&mut board, 2, 5);
    let mut reported = || board.take_lost().map(|record| record.sequence / u64::from(SIZE));
    assert_eq!([reported(), reported(), reported()], [Some(0), Some(1), None]);
    board.retransmit(0, Instant::from_nanos(100), Snapshot::default());
    let mut outcome = AckOutcome::default();
    let overtaken = Instant::from_nanos(101);
    board.detect_lost_retransmissions((overtaken, 0), Duration::ZERO, overtaken, &mut outcome);
    assert_eq!(board.take_lost().map(|record| record.sequence), Some(0));
    board.retransmit(1, Instant::from_nanos(102), Snapshot::default());
    assert_eq!(board.mark_all_lost(), 6000);
    let rest = std::iter::from_fn(|| board.take_lost()).map(|record| record.sequence / 1000);
    assert_eq!(rest.collect::<Vec<_>>(), [1, 5, 6, 7, 8, 9]);
}

#[test]
fn three_separate_runs_prove_a_loss_without_the_bytes() {
    let mut board = board(10);
    let mut outcome = AckOutcome::default();
    for start in [3000, 5000, 7000] {
        assert_eq!(outcome.newly_lost, 0);
        board.selectively_acknowledge((start, start + 100), &mut outcome);
        board.detect_losses(&mut outcome);
    }
    // Below the lowest of the three runs lie segments 0, 1, 2; none of the runs fills a record.
    assert_eq!((outcome.newly_lost, outcome.newly_sacked), (3000, 0));
}

#[test]
fn an_overtaken_retransmission_is_lost_again() {
    let mut board = board(10);
    sack(&mut board, 1, 4);
    let sent = Instant::from_nanos(100);
    board.retransmit(0, sent, Snapshot::default());
    let mut outcome = AckOutcome::default();
    let age = Duration::from_nanos(10);
    let due = sent + age;
    // What arrived left before it; then one that left after it, but too soon; then late enough.
    for (newest, now, next) in [((sent, 0), 120, None), ((sent, 4000), 109, Some(due))] {
        let now = Instant::from_nanos(now);
        let judged = board.detect_lost_retransmissions(newest, age, now, &mut outcome);
        assert_eq!(judged, next);
        assert_eq!((outcome.newly_lost, board.next_retransmission()), (0, None));
    }
    let judged = board.detect_lost_retransmissions((sent, 4000), age, due, &mut outcome);
    assert_eq!(judged, None);
    assert_eq!((outcome.newly_lost, board.next_retransmission()), (1000, Some((0, SIZE))));
}

#[test]
fn time_out_keeps_what_was_selectively_acknowledged() {
    let mut board = board(6);
    sack(&mut board, 2, 4);
    assert_eq!(board.mark_all_lost(), 4000);
    assert_eq!(board.in_flight(), 0);
    let mut order = Vec::new();
    while let Some((number, _)) = board.next_retransmission() {
        board.retransmit(number, Instant::ZERO, Snapshot::default());
        order.push(number);
    }
    assert_eq!(order, [0, 1, 4, 5]);
    let mut outcome = AckOutcome::default();
    board.acknowledge(5500, &mut outcome);
    assert_eq!((outcome.advanced, outcome.delivered), (5500, 3500));
    assert_eq!(board.in_flight(), 500);
}

#[test]
fn reneged_or_foreign_blocks_are_ignored() {
    let mut board = board(3);
    for block in [(0, 0), (5, 2), (0, 3001), (u64::MAX - 1, u64::MAX)] {
        let mut outcome = AckOutcome::default();
        board.selectively_acknowledge(block, &mut outcome);
        assert_eq!((outcome.delivered, board.in_flight()), (0, 3000));
    }
}

/// The segment that was sent last of those that arrived, and the first and last of those sent once, of which a
/// round trip can be known (RFC 6298 section 3).
#[test]
fn an_ack_tells_which_of_its_segments_were_sent_first_and_last() {
    let mut board = board(6);
    sack(&mut board, 1, 4);
    board.retransmit(0, Instant::from_nanos(100), Snapshot::default());
    let mut outcome = AckOutcome::default();
    board.acknowledge(6000, &mut outcome);
    let nanos = |at: Option<Instant>| at.map(Instant::as_nanos);
    assert_eq!((nanos(outcome.oldest_sent), nanos(outcome.newest_sent)), (Some(4), Some(5)));
    assert_eq!(outcome.newest.map(|record| record.sequence), Some(0), "sent again at 100 ns");
    assert_eq!(nanos(outcome.first_retransmission), Some(100));
    assert_eq!((outcome.records, outcome.delivered, outcome.advanced), (3, 3000, 6000));
    let mut outcome = AckOutcome::default();
    self::board(3).acknowledge(3000, &mut outcome);
    assert_eq!(outcome.newest.map(|record| record.sequence), Some(2000));
}

#[test]
fn a_retransmission_on_its_way_adds_nothing_when_it_is_sent_once_more() {
    let mut board = board(6);
    sack(&mut board, 1, 4);
    assert_eq!((board.in_flight(), board.missing(0)), (2000, 1000));
    for at in [100, 200] {
        board.retransmit(0, Instant::from_nanos(at), Snapshot::default());
        assert_eq!((board.in_flight(), board.missing(0)), (3000, 0));
    }
}

/// A loss that was none doubles DupThresh (Linux: up to `tcp_max_reordering`).
#[test]
fn each_loss_that_was_none_asks_for_more_proof() {
    let mut board = board(40);
    assert_eq!(sack(&mut board, 1, 4).newly_lost, 1000);
    assert!(board.has_reached_threshold() && !board.has_seen_reordering());
    board.forget_losses();
    assert!(!board.has_reached_threshold() && board.has_seen_reordering());
    assert_eq!((board.lost(), sack(&mut board, 1, 6).newly_lost), (0, 0));
    assert_eq!(sack(&mut board, 1, 7).newly_lost, 1000);
    board.forget_losses();
    assert_eq!((sack(&mut board, 1, 12).newly_lost, sack(&mut board, 1, 13).newly_lost), (0, 1000));
    (0..10).for_each(|_| board.forget_losses());
    assert_eq!(board.threshold, MAX_THRESHOLD);
}

/// RFC 8985 section 6.2, step 5: of what left before one that arrived, what is older than the age is lost, in that order;
/// the oldest of the others says when to look again. What was sent again meanwhile is judged as a retransmission.
#[test]
fn age_proves_the_loss_of_what_was_overtaken() {
    let nanos = Instant::from_nanos;
    // One leaves each nanosecond; two come, which are too few for DupThresh.
    let mut board = board(7);
    assert_eq!((sack(&mut board, 2, 3).newly_lost, sack(&mut board, 5, 6).newly_lost), (0, 0));
    let (newest, age) = ((nanos(5), 5000), Duration::from_nanos(10));
    let mut outcome = AckOutcome::default();
    for (now, lost, next) in [(9, 0, Some(10)), (11, 2000, Some(13)), (13, 3000, Some(14))] {
        let due = board.detect_overtaken(newest, age, nanos(now), &mut outcome);
        assert_eq!((outcome.newly_lost, due), (lost, next.map(nanos)), "at {now} ns");
    }
    assert_eq!((board.lost(), board.next_retransmission()), (3000, Some((0, SIZE))));
    let reported = std::iter::from_fn(|| board.take_lost()).map(|record| record.sequence / 1000);
    assert_eq!(reported.collect::<Vec<_>>(), [0, 1, 3]);
    board.retransmit(4, nanos(14), Snapshot::default());
    let due = board.detect_overtaken((nanos(30), 5000), age, nanos(100), &mut outcome);
    assert_eq!((outcome.newly_lost, due), (3000, None), "the last has nothing behind it");
}

/// A block is of bytes, and segments need not be full ones.
#[test]
fn a_block_marks_the_segments_that_lie_whole_within_it() {
    let lengths = [400, 1000, 100, 1000, 700];
    for (block, marked) in [
        ((400, 1500), 1100),
        ((0, 400), 400),
        ((1400, 3200), 1800),
        ((399, 1501), 1100),
        ((401, 1500), 100),
        ((2500, 3199), 0),
    ] {
        let mut board = Scoreboard::new(SIZE);
        let mut sequence = 0;
        for length in lengths {
            board.push(Record { sequence, length, ..Record::default() });
            sequence += u64::from(length);
        }
        let mut outcome = AckOutcome::default();
        board.selectively_acknowledge(block, &mut outcome);
        let whole = |record: &Record| block.0 <= record.sequence && record.end() <= block.1;
        assert!(board.records.iter().all(|record| record.sacked == whole(record)), "{block:?}");
        assert_eq!((outcome.newly_sacked, board.sacked()), (marked, marked), "{block:?}");
    }
}

/// What the sender goes by: how much is out, has come and is lost, what left last, and when the oldest did.
#[test]
fn what_is_outstanding_is_what_is_not_acknowledged() {
    let nanos = Instant::from_nanos;
    let mut board = board(6);
    sack(&mut board, 2, 5);
    let bytes = |board: &Scoreboard| (board.outstanding(), board.sacked(), board.lost());
    assert_eq!((bytes(&board), board.last()), ((6000, 3000, 2000), Some(5)));
    assert_eq!((board.oldest_sent(), board.is_empty()), (Some(nanos(0)), false));
    let mut outcome = AckOutcome::default();
    board.acknowledge(1000, &mut outcome);
    assert_eq!((bytes(&board), board.last()), ((5000, 3000, 1000), Some(5)));
    assert_eq!(board.oldest_sent(), Some(nanos(1)));
    board.retransmit(1, nanos(100), Snapshot::default());
    assert_eq!(board.oldest_sent(), Some(nanos(100)), "sent again");
    board.acknowledge(6000, &mut outcome);
    assert_eq!((bytes(&board), board.last()), ((0, 0, 0), None));
    assert_eq!((board.oldest_sent(), board.is_empty()), (None, true));
}

/// RFC 8985 section 6.2, step 2: RACK goes by the segments that an ACK is the first to tell of.
#[test]
fn a_cumulative_acknowledgment_tells_nothing_new_of_what_was_selectively_acknowledged() {
    let now = Instant::from_nanos(50);
    let mut board = board(4);
    sack(&mut board, 1, 3);
    let mut round_trip = |offset: u64| {
        let mut outcome = AckOutcome::default();
        board.acknowledge(offset, &mut outcome);
        let mut rack = Rack::default();
        rack.advance(now, &outcome.evidence).then_some(rack.round_trip.as_nanos())
    };
    assert_eq!([1000, 3000, 4000].map(&mut round_trip), [Some(50), None, Some(50 - 3)]);
}

#[derive(Debug, Clone)]
enum Step {
    Send(u32),
    Acknowledge(u64),
    Sack(u64, u64),
    Retransmit,
    OvertakeRetransmissions,
    TimeOut,
    ForgetLosses,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1u32..=SIZE).prop_map(Step::Send),
        3 => (0u64..3000).prop_map(Step::Acknowledge),
        6 => (0u64..20_000, 1u64..4000).prop_map(|(start, length)| Step::Sack(start, length)),
        4 => Just(Step::Retransmit),
        1 => Just(Step::OvertakeRetransmissions),
        1 => Just(Step::TimeOut),
        1 => Just(Step::ForgetLosses),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    /// The counters are sums over the records, and what ACKs told of is what has moved, whatever comes.
    #[test]
    fn counters_are_sums_over_records(steps in steps()) {
        let mut board = Scoreboard::new(SIZE);
        let (mut acknowledged, mut next, mut now) = (0, 0, Instant::ZERO);
        let (mut delivered, mut newly_sacked, mut arrived) = (0, 0, 0);
        for step in steps {
            now += Duration::from_nanos(1);
            let mut outcome = AckOutcome::default();
            match step {
                Step::Send(length) => {
                    board.push(Record { sequence: next, length, sent: now, ..Record::default() });
                    next += u64::from(length);
                }
                Step::Acknowledge(more) => {
                    let offset = (acknowledged + more).min(next);
                    board.acknowledge(offset, &mut outcome);
                    prop_assert_eq!(outcome.advanced, offset - acknowledged);
                    acknowledged = offset;
                }
                Step::Sack(start, length) => {
                    let start = acknowledged + start;
                    board.selectively_acknowledge((start, start + length), &mut outcome);
                    prop_assert_eq!(outcome.newly_sacked, outcome.delivered);
                    board.detect_losses(&mut outcome);
                }
                Step::Retransmit => {
                    if let Some((number, _)) = board.next_retransmission() {
                        let in_flight = board.in_flight();
                        let added = board.missing(number);
                        board.retransmit(number, now, Snapshot::default());
                        prop_assert_eq!(board.in_flight(), in_flight + added);
                    }
                }
                Step::OvertakeRetransmissions => {
                    let newest = (now, u64::MAX);
                    board.detect_lost_retransmissions(newest, Duration::ZERO, now, &mut outcome);
                    prop_assert_eq!(board.retransmitted, 0);
                }
                Step::TimeOut => {
                    board.mark_all_lost();
                    prop_assert_eq!(board.in_flight(), 0);
                }
                Step::ForgetLosses => board.forget_losses(),
            }
            (delivered, newly_sacked) =
                (delivered + outcome.delivered, newly_sacked + outcome.newly_sacked);
            arrived += u64::from(outcome.records);
            let sum = |of: fn(&Record) -> bool| -> u64 {
                board.records.iter().filter(|r| of(r)).map(|r| u64::from(r.length)).sum()
            };
            prop_assert_eq!(board.outstanding, next - acknowledged);
            prop_assert_eq!(board.outstanding, sum(|_| true));
            prop_assert_eq!(board.sacked, sum(|record| record.sacked));
            prop_assert_eq!(board.lost, sum(|record| record.lost));
            prop_assert_eq!(board.retransmitted, sum(|record| record.retransmitted));
            prop_assert_eq!(delivered, acknowledged + board.sacked);
            prop_assert!(newly_sacked <= delivered && arrived <= delivered);
            for record in &board.records {
                let runs = &mut board.received.iter();
                let whole = runs.any(|run| run.0 <= record.sequence && record.end() <= run.1);
                // An ACK may have cut the first since.
                let cut = record.sequence == acknowledged;
                prop_assert!(record.sacked == whole || (whole && cut));
            }
        }
    }
}
