//! What is asked for leaves again: when, in place of what, and not when it is of no use any more.

use super::*;
use gameway_units::{Ratio, Repair, RepairGoal};

fn repairing(repair: Repair, pacing: Pacing) -> (Sender, Scripted) {
    sender(target(pacing), |config| config.repair = repair)
}

fn asks(numbers: &[u64]) -> Vec<SequenceNumber> {
    numbers.iter().copied().map(SequenceNumber).collect()
}

/// What leaves now, by the packets that it repeats.
fn originals(sender: &mut Sender, now: Instant) -> Vec<u64> {
    let packets = transmit(sender, now);
    packets.iter().map(|packet| packet.original.expect("it repeats one").0).collect()
}

#[test]
fn what_is_asked_for_leaves_at_once_if_it_is_to_be_sent_again_at_all() {
    for (repair, expected) in [(Repair::Nack, vec![2, 0]), (Repair::None, vec![])] {
        let (mut sender, _) = repairing(repair, Pacing::Burst);
        frame(&mut sender, 0);
        sender.on_asked(at(5), &asks(&[2, 0, 77]), None);
        assert_eq!(originals(&mut sender, at(5)), expected, "{repair:?}");
        // A frame has as many packets as before.
        assert!(!frame(&mut sender, 1));
        assert_eq!(sender.history.end().0, 6 + expected.len() as u64);
    }
}

#[test]
fn the_next_frame_gives_up_an_eighth_of_what_was_sent_again() {
    let payload = |repair, asked: &[u64]| {
        let (mut sender, _) = repairing(repair, Pacing::Burst);
        frame(&mut sender, 0);
        sender.on_asked(at(5), &asks(asked), None);
        transmit(&mut sender, at(5));
        let request = encode(&mut sender, at(16)).unwrap();
        (request.payload.get(), request.repair_share)
    };
    // 20000 B hold 16 full packets; less the eighth of one of 1248 B, the 16th is short of 124 B.
    let full = 16 * 1_200;
    assert_eq!(payload(Repair::Nack, &[]), (full, Ratio::ZERO));
    assert_eq!(payload(Repair::None, &[0]), (full, Ratio::ZERO));
    assert_eq!(payload(Repair::Nack, &[0]), (20_000 - 156 - 16 * 48, Ratio::ZERO));
    assert_eq!(payload(Repair::Nack, &[0, 1]), (20_000 - 312 - 16 * 48, Ratio::ZERO));
}

#[test]
fn a_repetition_that_waits_does_not_leave_once_its_packet_has_arrived() {
    let leaves = |told: &str| {
        let window = target(Pacing::Burst).with_window(Some(Bytes::new(3_000)));
        let (mut sender, told_of) = sender(window, |config| config.repair = Repair::Nack);
        encode(&mut sender, at(0));
        assert_eq!(transmit(&mut sender, at(0)).len(), 3);
        sender.on_asked(at(5), &asks(&[1]), None);
        assert_eq!(transmit(&mut sender, at(5)), [], "the window is full");
        told_of.with(|shared| shared.target = Some(target(Pacing::Burst)));
        sender.on_feedback(at(6), &report(0, told));
        originals(&mut sender, at(6))
    };
    assert_eq!(leaves("#.#"), [1]);
    assert_eq!(leaves("###"), [0_u64; 0]);
}

/// Before a round trip is known it counts as 100 ms, and a frame is given up after 300 ms: at 210 ms no further round fits.
#[test]
fn copies_of_the_last_round_are_of_frames_for_which_it_is_the_last() {
    // The driver may be late.
    for copied_at in [226, 229] {
        let (mut sender, _) = repairing(Repair::Adaptive(RepairGoal::default()), Pacing::Burst);
        frame(&mut sender, 0);
        encode(&mut sender, at(192)).unwrap();
        transmit(&mut sender, at(192));
        sender.stop(at(200));
        sender.on_asked(at(210), &asks(&[0, 1, 3]), None);
        assert_eq!(originals(&mut sender, at(210)), [0, 1, 3]);
        // A frame's time later.
        assert_eq!(sender.next_deadline(), Some(at(226)));
        sender.on_deadline(at(225));
        assert_eq!(originals(&mut sender, at(225)), [0_u64; 0]);
        sender.on_deadline(at(copied_at));
        let copies = originals(&mut sender, at(copied_at));
        assert_eq!(copies, [0, 1], "of the other frame there is time to ask again");
        assert!(sender.next_deadline() > Some(at(226)));
    }
}

#[test]
fn repair_packets_are_planned_for_as_many_packets_as_the_target_has_room_for() {
    let goal = RepairGoal::default().share;
    let share = |repair, min: Ratio| {
        let (mut sender, _) = sender(target(Pacing::Burst), |config| {
            (config.repair, config.repair_share) = (repair, min);
        });
        encode(&mut sender, at(0)).unwrap().repair_share
    };
    // 20000 B are 17 packets, planned for as 16: of 0.1 % losses one repair packet is enough, half of 1/15.
    let planned = Ratio::from_ppm(33_333);
    assert_eq!(share(Repair::Fec(goal), Ratio::ZERO), planned);
    assert_eq!(share(Repair::None, Ratio::ZERO), Ratio::ZERO);
    let more = Ratio::from_ppm(200_000);
    assert_eq!((share(Repair::Fec(goal), more), share(Repair::None, more)), (more, more));
}
