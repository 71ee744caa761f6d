//! Both ends of a game stream with real controllers: any packets, any reports, any clock of the peer.
#![no_main]

use gameway_control::{FeedbackStyle, PacketKind, SequenceNumber};
use gameway_fuzz::{Input, check_controller, controller};
use gameway_media::EncoderModel;
use gameway_session::{
    FeedbackPacket, MediaPacket, ReceivedPacket, Receiver, ReceiverConfig, Sender, SenderConfig,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, ReceiverInstant, Recovery, Repair, RepairGoal};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

fn media_packet(input: &mut Input<'_>) -> MediaPacket {
    let flags: u8 = input.any();
    MediaPacket {
        sequence: input.sequence(),
        frame: input.frame(),
        index: input.number(8) as u16,
        media_packets: input.number(8) as u16,
        train_packets: input.number(8) as u16,
        payload: input.any(),
        header: input.any(),
        kind: input.kind(),
        key_frame: flags & 1 != 0,
        refers_back: if flags & 8 == 0 { 1 } else { input.number(20) as u8 },
        last_probe: flags & 2 != 0,
        original: (flags & 4 != 0).then(|| input.sequence()),
    }
}

fn report(input: &mut Input<'_>) -> FeedbackPacket {
    let base = input.sequence();
    let count = input.any::<u8>() % 40;
    let one = |input: &mut Input<'_>| {
        let arrived = !input.any::<u8>().is_multiple_of(4);
        arrived.then(|| ReceivedPacket { arrival: input.receiver_time(), ecn: input.ecn() })
    };
    let packets = (0..count).map(|_| one(input)).collect();
    let (generated, key_frame_request) = (input.receiver_time(), input.any());
    let newest_shown = input.any::<bool>().then(|| input.frame());
    let asked = input.any::<u8>() % 20;
    let asked = (0..asked).map(|_| input.sequence()).collect();
    FeedbackPacket { base, packets, generated, key_frame_request, newest_shown, asked }
}

/// Takes out all that the receiver has to say.
fn drain(receiver: &mut Receiver, now: ReceiverInstant, report: &mut FeedbackPacket) {
    let mut reports = 0;
    while receiver.poll_feedback(now, report) {
        assert!(report.packets.len() <= FeedbackPacket::MAX_PACKETS);
        reports += 1;
        assert!(reports <= 1, "one report tells all");
    }
    let events = std::iter::from_fn(|| receiver.poll_event()).count();
    assert!(events <= 300, "{events} events at once");
    let _ = receiver.next_deadline();
}

fn repair(choice: u8) -> Repair {
    let goal = RepairGoal::default();
    match choice % 5 {
        0 => Repair::None,
        1 => Repair::Nack,
        2 => Repair::Libwebrtc,
        3 => Repair::Fec(goal.share),
        _ => Repair::Adaptive(goal),
    }
}

/// How often each packet was sent again.
#[derive(Default)]
struct Repeated(BTreeMap<SequenceNumber, u32>);

impl Repeated {
    /// Whatever is asked for, only what has left is sent again, and each packet a bounded number of times.
    fn check(&mut self, packet: &MediaPacket) {
        let Some(original) = packet.original else { return };
        assert!(packet.kind == PacketKind::Retransmission && original < packet.sequence);
        let times = self.0.entry(original).or_default();
        *times += 1;
        assert!(*times <= 10, "{original:?} is sent again {times} times");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let interval = Duration::from_nanos(16_666_667);
    let controller = controller(input.any());
    let style = match input.any() {
        true => controller.feedback_style(),
        false => FeedbackStyle::Interval(Duration::from_millis(50)),
    };
    let mut config = SenderConfig::new(Instant::ZERO, interval);
    config.repair = repair(input.any());
    config.recovery = if input.any() { Recovery::Reference } else { Recovery::KeyFrame };
    let (repair, recovery) = (config.repair, config.recovery);
    let mut sender = Sender::new(config, controller);
    let mut encoder = EncoderModel::steady(interval);
    let mut receiver =
        Receiver::new(ReceiverConfig { repair, recovery, ..ReceiverConfig::new(style) });
    let mut repeated = Repeated::default();
    let (mut now, mut sent) = (Instant::ZERO, Bytes::ZERO);
    let mut honest = FeedbackPacket::default();
    while !input.is_empty() {
        now += input.pause();
        let arrival = ReceiverInstant::from_nanos(now.as_nanos());
        let choice = input.any::<u8>() % 8;
        match choice {
            0 | 1 => receiver.on_packet(arrival, &media_packet(&mut input), Ecn::NotEct),
            // The receiver's clock goes backwards too.
            2 => receiver.on_packet(input.receiver_time(), &media_packet(&mut input), Ecn::Ce),
            3 | 4 => sender.on_feedback(now, &report(&mut input)),
            5 => sender.on_feedback(now, &honest),
            _ => {}
        }
        sender.on_deadline(now);
        sender.encode_with(now, &mut encoder);
        while let Some(packet) = sender.poll_transmit(now) {
            sent += packet.wire_size();
            repeated.check(&packet);
            if choice & 1 != 0 {
                receiver.on_packet(arrival, &packet, Ecn::NotEct);
            }
        }
        drain(&mut receiver, arrival, &mut honest);
        while sender.poll_event().is_some() {}
        assert!(sender.in_flight() <= sent);
        let _ = sender.next_deadline();
        check_controller(sender.controller());
    }
});
