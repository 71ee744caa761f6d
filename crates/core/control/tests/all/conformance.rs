//! What the contract asks of every controller of the catalogue, through the one trait.

use crate::common::{FRAME_INTERVAL, Network, controller, limits, secs, variants};
use gameway_control::{
    Controllers, Ecn, FeedbackBatch, FrameId, FrameSent, PacketKind, PacketReport, RateController,
    SentPacket, SequenceNumber, Target,
};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A call, with whatever in it.
#[derive(Debug, Clone)]
enum Call {
    Frame(FrameSent),
    Sent(SentPacket),
    Feedback(Vec<PacketReport>, ReceiverInstant, u64),
    Timer,
}

fn nanos() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 0_i64..3_000_000_000,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => any::<i64>(),
    ]
}

fn kind() -> impl Strategy<Value = PacketKind> {
    prop_oneof![
        6 => Just(PacketKind::Media),
        1 => Just(PacketKind::Repair),
        2 => Just(PacketKind::Probe),
        1 => Just(PacketKind::Padding),
    ]
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![9 => 0_u64..1_500, 1 => any::<u64>()].prop_map(Bytes::new)
}

prop_compose! {
    fn packet()(
        sequence in 0_u64..64, sent in nanos(), size in size(), kind in kind(), frame in 0_u64..12,
        flags in any::<(bool, bool)>(), probe_cluster in prop::option::of(0_u32..4),
    ) -> SentPacket {
        SentPacket::new(SequenceNumber(sequence), Instant::from_nanos(sent), FrameId(frame), size).with_kind(kind).with_first_of_frame(flags.0).with_last_of_frame(flags.1).with_probe_cluster(probe_cluster)
    }
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

prop_compose! {
    fn report()(
        packet in packet(), arrival in prop::option::of(nanos()), ecn in ecn(),
    ) -> PacketReport {
        let arrival = arrival.map(ReceiverInstant::from_nanos);
        PacketReport::new(packet, arrival).with_ecn(ecn)
    }
}

fn call() -> impl Strategy<Value = Call> {
    let frame = (0_u64..14, any::<u64>(), any::<u32>(), size()).prop_map(
        |(frame, target, packets, size)| {
            let target = Rate::from_bps(target);
            Call::Frame(FrameSent::new(FrameId(frame), target, size, packets % 20))
        },
    );
    let feedback = (prop::collection::vec(report(), 0..20), nanos(), any::<u64>()).prop_map(
        |(reports, generated, in_flight)| {
            Call::Feedback(reports, ReceiverInstant::from_nanos(generated), in_flight)
        },
    );
    prop_oneof![frame, packet().prop_map(Call::Sent), feedback, Just(Call::Timer)]
}

fn check(controller: &dyn RateController, now: Instant) -> Result<Target, TestCaseError> {
    let target = controller.target();
    prop_assert!(target.bitrate >= limits().min && target.bitrate <= limits().max);
    controller.observe(&mut |name, value| assert!(!value.is_nan(), "{name} at {now}"));
    Ok(target)
}

/// Makes all calls and gives the targets and the state at the end.
fn make(
    controller: &mut dyn RateController,
    calls: &[(i64, Call)],
) -> Result<(Vec<Target>, Vec<u64>), TestCaseError> {
    let mut targets = Vec::new();
    for (now, call) in calls {
        let now = Instant::from_nanos(*now);
        match call {
            Call::Frame(frame) => controller.on_frame(now, frame),
            Call::Sent(packet) => controller.on_sent(now, packet),
            Call::Feedback(reports, generated, in_flight) => {
                let in_flight = Bytes::new(*in_flight);
                let batch = FeedbackBatch::new(reports, *generated, in_flight);
                controller.on_feedback(now, &batch);
            }
            Call::Timer => {
                controller.on_timer(now);
                let next = controller.next_timer();
                prop_assert!(next.is_none_or(|next| next > now || now == Instant::MAX), "{next:?}");
            }
        }
        targets.push(check(controller, now)?);
    }
    let mut state = Vec::new();
    controller.observe(&mut |_, value| state.push(value.to_bits()));
    Ok((targets, state))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_breaks_it_and_same_calls_give_the_same(
        calls in prop::collection::vec((nanos(), call()), 1..60)
    ) {
        for (name, options) in variants() {
            let first = make(controller(name, options).as_mut(), &calls)?;
            let second = make(controller(name, options).as_mut(), &calls)?;
            prop_assert_eq!(first, second);
        }
    }

    /// Frames in order on a sane clock, but every packet's fate is arbitrary.
    #[test]
    fn a_hostile_receiver_does_not_break_it(
        fates in prop::collection::vec(prop::option::of(nanos()), 400),
        every in 1_usize..30,
    ) {
        for (name, options) in variants() {
            let mut controller = controller(name, options);
            let mut reports = Vec::new();
            for (index, fate) in fates.iter().enumerate() {
                let now = Instant::ZERO + Duration::from_millis(4) * index as i64;
                let frame = FrameId(index as u64 / 4);
                if index % 4 == 0 {
                    let target = controller.target().bitrate;
                    let sent = FrameSent::new(frame, target, Bytes::new(4_000), 4);
                    controller.on_frame(now, &sent);
                }
                let packet = SentPacket::new(SequenceNumber(index as u64), now, frame, Bytes::new(1_000)).with_first_of_frame(index % 4 == 0).with_last_of_frame(index % 4 == 3).with_probe_cluster(controller.target().requests.probe_cluster.map(|cluster| cluster.id));
                controller.on_sent(now, &packet);
                let arrival = fate.map(ReceiverInstant::from_nanos);
                reports.push(PacketReport::new(packet, arrival));
                if index % every == 0 {
                    let generated = arrival.unwrap_or_default();
                    let in_flight = Bytes::new(5_000);
                    let batch = FeedbackBatch::new(&reports, generated, in_flight);
                    controller.on_feedback(now, &batch);
                    reports.clear();
                }
                while controller.next_timer().is_some_and(|next| next <= now) {
                    controller.on_timer(now);
                }
                check(controller.as_ref(), now)?;
            }
        }
    }
}

#[test]
fn every_controller_is_among_the_variants() {
    let tested: BTreeSet<_> = variants().map(|(name, _)| name).collect();
    let known = Controllers::standard();
    assert_eq!(tested, known.descriptions().map(|one| one.name).collect());
}

#[test]
fn frames_leave_in_parts_unless_the_law_reads_their_packets_as_a_train() {
    for (name, options) in variants() {
        let reads = |law: &&str| name == *law || options.contains(&("bur", *law));
        let reads_trains = ["salsify", "sqp"].iter().any(reads);
        assert_eq!(controller(name, options).sends_in_parts(), !reads_trains, "{name} {options:?}");
    }
}

#[test]
fn all_lost_is_no_reason_to_break() {
    for (name, options) in variants() {
        let mut network = Network::usual();
        network.set_capacity(0.0, Rate::ZERO);
        network.add(controller(name, options), 0.0, 0.0);
        network.run_until(10.0);
        let flow = &network.flows[0];
        assert_eq!(flow.frames.len(), (10.0 / FRAME_INTERVAL.as_secs_f64()) as usize + 1);
        assert!(check(flow.controller.as_ref(), secs(10.0)).is_ok(), "{name} {options:?}");
    }
}

#[test]
fn the_state_has_the_same_names_in_the_same_order() {
    for (name, options) in variants() {
        let names = |controller: &dyn RateController| {
            let mut names = Vec::new();
            controller.observe(&mut |name, _| names.push(name.to_owned()));
            names
        };
        let before = names(controller(name, options).as_ref());
        let mut network = Network::usual();
        network.add(controller(name, options), 0.0, 0.1);
        network.run_until(2.0);
        assert_eq!(before, names(network.flows[0].controller.as_ref()));
        assert_eq!(before.first().map(String::as_str), Some("target_bps"));
    }
}
