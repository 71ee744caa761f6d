//! Whose handshake counts, how far away both ends are, and who goes when the table is full.

use super::*;
use crate::segment::Flags;
use gameway_path::Protocol;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn millis(count: i64) -> Option<Duration> {
    Some(Duration::from_millis(count))
}

/// Of what the client of connection `number` sends, or its server.
fn sent_by(client: bool, number: u16) -> Segment {
    let up = Header { protocol: Protocol::Tcp, ..Header::numbered(number) };
    Segment::bare_ack(if client { up } else { up.reversed() })
}

fn syn(sequence: u32) -> Segment {
    let flags = Flags { syn: true, ..Flags::default() };
    Segment { flags, sequence, window_scale: Some(3), ..sent_by(true, 7) }
}

fn syn_ack(acknowledgment: u32) -> Segment {
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    Segment { flags, sequence: 900, acknowledgment, window_scale: Some(7), ..sent_by(false, 7) }
}

fn ack_of_syn_ack() -> Segment {
    Segment { sequence: 5, acknowledgment: 901, ..sent_by(true, 7) }
}

fn pass(table: &mut FlowTable<()>, now: i64, segment: Segment) {
    table.pass(at(now), false, &mut segment.clone(), |_| None);
}

/// The shifts and loops of the server's data and of the client's.
type Ends = [(Shift, Option<Duration>); 2];

fn ends(table: &FlowTable<()>) -> Ends {
    let server = sent_by(false, 7).header.source;
    let of = |from_server| {
        let mut directions = table.directions();
        let found = directions.find(|(header, _)| (header.source == server) == from_server);
        found.map(|(_, data)| (data.shift(), data.sender_loop())).expect("it is known")
    };
    [of(true), of(false)]
}

fn after(segments: &[(i64, Segment)]) -> Ends {
    let mut table = FlowTable::default();
    segments.iter().for_each(|(now, segment)| pass(&mut table, *now, *segment));
    ends(&table)
}

#[test]
fn a_handshake_tells_the_distance_of_both_ends_and_both_shifts() {
    let [down, up] = after(&[(0, syn(4)), (40, syn_ack(5)), (43, ack_of_syn_ack())]);
    assert_eq!(down, (Shift::Known(3), millis(40)), "the client's windows are for this data");
    assert_eq!(up, (Shift::Known(7), millis(3)));
}

#[test]
fn only_the_first_answer_of_the_client_tells_its_distance() {
    let answers = |segment: Segment| {
        let late = (80, ack_of_syn_ack());
        after(&[(0, syn(4)), (40, syn_ack(5)), (43, segment), late])[1].1
    };
    assert_eq!(answers(ack_of_syn_ack()), millis(3), "the smallest");
    // Of another number, and from the server itself: the answer is still to come.
    assert_eq!(answers(Segment { acknowledgment: 77, ..ack_of_syn_ack() }), millis(40));
    let of_server = Segment { sequence: 901, acknowledgment: 901, ..sent_by(false, 7) };
    assert_eq!(answers(of_server), millis(40));
}

#[test]
fn a_new_attempt_with_another_number_tells_the_distance_and_a_repeated_one_does_not() {
    let distance = |second: Segment| {
        let answer = syn_ack(second.sequence.wrapping_add(1));
        after(&[(0, syn(4)), (1_000, second), (1_040, answer)])[0].1
    };
    assert_eq!(distance(syn(9)), millis(40));
    assert_eq!(distance(syn(4)), None, "which of the two is answered?");
}

#[test]
fn an_answer_counts_from_the_other_end_and_to_the_number_that_was_sent() {
    let unknown = (Shift::AtLeast(0), None);
    // The client answers itself; and the number is not that of the SYN.
    let own = Segment { header: syn(4).header, ..syn_ack(5) };
    let established = (2, Segment { sequence: 901, ..sent_by(false, 7) });
    for forged in [own, syn_ack(6)] {
        let [down, _] = after(&[(0, syn(4)), established, (3, ack_of_syn_ack()), (9, forged)]);
        assert_eq!(down, unknown);
    }
}

#[test]
fn a_forged_answer_behind_the_true_one_changes_nothing() {
    let forged = Segment { window_scale: Some(0), ..syn_ack(77) };
    let [down, up] = after(&[(0, syn(4)), (40, syn_ack(5)), (41, forged)]);
    assert_eq!((down, up.0), ((Shift::Known(3), millis(40)), Shift::Known(7)));
}

#[test]
fn an_answer_whose_opening_was_missed_tells_its_own_shift_where_nothing_else_is_known() {
    assert_eq!(after(&[(0, syn_ack(5))]), [(Shift::AtLeast(0), None), (Shift::Known(7), None)]);
    let [down, up] = after(&[(0, ack_of_syn_ack()), (1, syn_ack(5))]);
    assert_eq!((down.0, up.0), (Shift::AtLeast(0), Shift::AtLeast(0)), "it runs already");
}

/// Connection `number` is established at this time.
fn establish(table: &mut FlowTable<()>, now: i64, number: u16) {
    pass(table, now, sent_by(true, number));
    pass(table, now, sent_by(false, number));
}

fn known(table: &FlowTable<()>) -> Vec<u16> {
    let client = |number| sent_by(true, number).header.source;
    let is_known = |number| table.directions().any(|(header, _)| header.source == client(number));
    (0..20).filter(|number| is_known(*number)).collect()
}

#[test]
fn a_full_table_loses_what_is_not_established_and_then_what_was_silent_longest() {
    let mut table = FlowTable::with_capacity(4);
    establish(&mut table, 1, 1);
    establish(&mut table, 2, 2);
    establish(&mut table, 3, 3);
    pass(&mut table, 9, sent_by(true, 4));
    assert_eq!((known(&table), table.len()), (vec![1, 2, 3, 4], 4));
    establish(&mut table, 10, 5);
    assert_eq!(known(&table), [1, 2, 3, 5], "of 4 one side alone was heard");
    pass(&mut table, 11, sent_by(true, 1));
    establish(&mut table, 12, 6);
    assert_eq!(known(&table), [1, 3, 5, 6]);
    let flags = Flags { fin: true, ack: true, ..Flags::default() };
    pass(&mut table, 13, Segment { flags, ..sent_by(true, 6) });
    establish(&mut table, 14, 7);
    assert_eq!(known(&table), [1, 3, 5, 7], "6 is closed");
}

#[test]
fn a_reset_closes_what_is_known_and_is_no_beginning() {
    let mut table = FlowTable::with_capacity(4);
    let flags = Flags { rst: true, ack: true, ..Flags::default() };
    pass(&mut table, 0, Segment { flags, ..sent_by(true, 1) });
    assert!(table.is_empty());
    establish(&mut table, 0, 1);
    establish(&mut table, 0, 2);
    pass(&mut table, 0, Segment { flags, ..sent_by(true, 1) });
    table.forget_idle(at(239_999));
    assert_eq!(known(&table), [1, 2]);
    table.forget_idle(at(240_000));
    assert_eq!((known(&table), table.is_empty()), (vec![2], false));
    table.forget_idle(at(7_439_999));
    assert_eq!(known(&table), [2]);
    table.forget_idle(at(7_440_000));
    assert!(table.is_empty());
}

#[test]
fn what_both_ends_have_closed_stays_closed() {
    let mut table = FlowTable::with_capacity(4);
    establish(&mut table, 0, 1);
    let flags = Flags { fin: true, ack: true, ..Flags::default() };
    for client in [true, false] {
        pass(&mut table, 0, Segment { flags, ..sent_by(client, 1) });
    }
    table.forget_idle(at(240_000));
    assert!(table.is_empty());
}

#[test]
fn a_table_for_none_is_one_for_one() {
    let mut table = FlowTable::with_capacity(0);
    establish(&mut table, 0, 1);
    establish(&mut table, 1, 2);
    assert_eq!((known(&table), table.len()), (vec![2], 1));
}
