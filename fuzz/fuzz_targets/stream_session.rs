//! What the other side of a live stream says once it is authenticated: data-channel messages, frame extensions,
//! payloads, page reports, RTCP. The path from a packet to the decoder's door neither panics nor keeps more than its bound.
#![no_main]

use gameway_codec::payload;
use gameway_codec::payload::MAX_FRAME;
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_fuzz::Input;
use gameway_input::clipboard::{self, Assembly, MAX_TEXT};
use gameway_input::gamepad::{self, Event, PADS, Rumble};
use gameway_input::{Action, Held, Message, Program, Shape};
use gameway_session::{
    FeedbackPacket, MediaPacket, ReceivedPacket, Receiver, ReceiverConfig, ReceiverEvent,
};
use gameway_stream::control::Hello;
use gameway_stream::host::page::PageReports;
use gameway_stream::inbox::{Inbox, MAX_BYTES};
use gameway_stream::photon;
use gameway_units::VideoCodec::H264;
use gameway_units::{Duration, Ecn, Instant, ReceiverInstant};
use gameway_webrtc::Negotiated;
use gameway_webrtc::feedback::{ReportReader, frames::FrameReports, write_report};
use gameway_webrtc::frame_extension::{FrameExtension, MediaPacketReader, SIZE};
use libfuzzer_sys::fuzz_target;

/// What is said on data channels: read, or refused; what is read says the same again.
fn messages(data: &[u8]) {
    if let Some(hello) = Hello::parse(data) {
        assert_eq!(Hello::parse(&hello.to_bytes()), Some(hello));
    }
    if let Ok(reports) = FrameReports::parse(data) {
        page(&reports);
    }
    if let Some(shape) = Shape::parse(data) {
        assert_eq!(shape.to_bytes(), data);
    }
    if let Some(message) = clipboard::Message::parse(data) {
        assert_eq!(message.to_bytes(), data);
    }
    if let Some(rumble) = Rumble::parse(data) {
        assert_eq!(rumble.to_bytes(), data);
    }
    if let Some(question) = photon::Question::parse(data) {
        assert_eq!(question.to_bytes(), data);
    }
    if let Some(answer) = photon::Answer::parse(data) {
        let again = photon::Answer::parse(&answer.to_bytes());
        assert_eq!(again.map(|again| again.to_bytes()), Some(answer.to_bytes()));
    }
    let mut reader = ReportReader::default();
    let _ = reader.read(data, &terms(), SequenceNumber(data.len() as u64 * 1_000));
}

/// A player's messages, each with a true head: what is pressed is released again, once silence is long enough.
fn played(data: &[u8]) {
    let (mut program, mut held, mut now) = (Program::default(), Held::default(), Instant::ZERO);
    let mut apply = |program: &mut Program| {
        while let Some(action) = program.poll() {
            match action {
                Action::Press(switch) => assert!(held.set(switch, true)),
                Action::Release(switch) => assert!(held.set(switch, false)),
                Action::MoveBy(x, y) | Action::Turn(x, y) => {
                    assert!(x.unsigned_abs().max(y.unsigned_abs()) <= 8_192);
                }
                Action::Type(character) => assert!(!character.is_control()),
                Action::MoveTo(..) => {}
            }
        }
        held
    };
    for bytes in data.chunks(96) {
        now = now.saturating_add(Duration::from_millis(i64::from(bytes[0])));
        let mut message = [b"GI\x01", bytes].concat();
        if let Some(count) = message.get_mut(3) {
            *count = (bytes.len().saturating_sub(63) / 3) as u8;
        }
        if let Some(message) = Message::parse(&message) {
            assert_eq!(Message::parse(&message.to_bytes()).as_ref(), Some(&message));
            program.on_message(now, &message);
            apply(&mut program);
        }
        program.on_deadline(now);
        apply(&mut program);
    }
    program.on_deadline(now.saturating_add(Duration::from_secs(1)));
    assert!(apply(&mut program).is_empty());
}

/// Parts of a clipboard's text, each with a true head: what is whole is as long as it was said to be, and no more is kept.
fn pasted(data: &[u8]) {
    let mut assembly = Assembly::default();
    for bytes in data.chunks(24) {
        let (numbers, text) = bytes.split_at(bytes.len().min(2));
        let [total, offset] = [0, 1].map(|at| numbers.get(at).copied().map_or(0, u32::from));
        // Now and then one that is too long.
        let total = if total == 255 { MAX_TEXT as u32 + 1 } else { total };
        let numbers = [total, offset].map(u32::to_be_bytes).concat();
        let message = [&b"GC\x01\x02"[..], &numbers, text].concat();
        let Some(clipboard::Message::Part(part)) = clipboard::Message::parse(&message) else {
            continue;
        };
        if let Some(Ok(text)) = assembly.on_part(&part) {
            assert_eq!(text.len(), part.total as usize);
        }
        assert!(assembly.kept() <= 255, "{}", assembly.kept());
    }
}

/// Messages of gamepads, each with a true head: what is pressed was up, and all are at rest once silence is long enough.
fn played_by_gamepads(data: &[u8]) {
    let (mut program, mut held, mut now) =
        (gamepad::Program::default(), [None::<u32>; PADS], Instant::ZERO);
    let mut apply = |program: &mut gamepad::Program| {
        let mut count = 0;
        while let Some(gamepad::Action { pad, event }) = program.poll() {
            let held = &mut held[pad];
            count += 1;
            match (event, held) {
                (Event::Appear, held) => assert_eq!(held.replace(0), None),
                (Event::Vanish, held) => assert!(held.take().is_some()),
                (Event::Press(button), Some(held)) => {
                    assert_eq!(*held >> button as u8 & 1, 0);
                    *held |= 1 << button as u8;
                }
                (Event::Release(button), Some(held)) => {
                    assert_eq!(*held >> button as u8 & 1, 1);
                    *held ^= 1 << button as u8;
                }
                (_, held) => assert!(held.is_some()),
            }
        }
        // Of each gamepad: that it is there, four axes, and of each button and trigger eight changes and one more.
        assert!(count <= PADS * (1 + 4 + 17 * 9));
        held
    };
    for (number, bytes) in data.chunks(1 + 4 * 27).enumerate() {
        now = now.saturating_add(Duration::from_millis(i64::from(bytes[0]) * 4));
        let states = &bytes[1..1 + (bytes.len() - 1) / 27 * 27];
        let flags = [0x80, 0x81, 0x06, 0x0b, 0x0f][states.len() / 27];
        let number = (number as u32 + 1).to_be_bytes();
        let message = [&b"GG\x01"[..], &[flags], &number, states].concat();
        let message = gamepad::Message::parse(&message).expect("a message");
        assert_eq!(gamepad::Message::parse(&message.to_bytes()), Some(message));
        program.on_message(now, &message);
        apply(&mut program);
        program.on_deadline(now);
        apply(&mut program);
    }
    program.on_deadline(now.saturating_add(Duration::from_secs(1)));
    assert!(apply(&mut program).iter().flatten().all(|held| *held == 0));
    if let Some(message) = gamepad::Message::parse(data) {
        assert_eq!(message.to_bytes(), data);
    }
}

/// A page's news of frames that are on their way, in any order, before and after a report on their packets.
fn page(reports: &FrameReports) {
    let mut page = PageReports::default();
    for (number, record) in reports.records.iter().enumerate() {
        let packet = MediaPacket {
            sequence: SequenceNumber(number as u64),
            frame: FrameId(number as u64),
            index: 0,
            media_packets: 1,
            train_packets: 1,
            payload: 1_000,
            header: 64,
            kind: PacketKind::Media,
            key_frame: false,
            refers_back: 1,
            last_probe: false,
            original: None,
        };
        page.on_sent(&packet, record.rtp_timestamp ^ (number as u32 & 1));
    }
    for (number, record) in reports.records.iter().enumerate() {
        let told = page.on_received(record.rtp_timestamp, record.time, reports.generated);
        assert!(told.is_none_or(|(frame, _)| frame.0 < reports.records.len() as u64));
        let received = Some(ReceivedPacket { arrival: record.time, ecn: Ecn::NotEct });
        let (base, packets) = (SequenceNumber(number as u64 / 2), vec![received; 3]);
        let generated = reports.generated;
        page.on_report(&FeedbackPacket { base, packets, generated, ..FeedbackPacket::default() });
    }
    let counts = page.counts;
    assert!(counts.used + counts.strange <= counts.received);
}

fn terms() -> Negotiated {
    Negotiated {
        congestion_control: true,
        transport_cc: true,
        arrival_times: true,
        rtx: Some(99),
        nack: true,
        ..Negotiated::default()
    }
}

/// Frames mostly small numbers, so that some become whole; now and then anything.
fn extension(input: &mut Input<'_>) -> Option<FrameExtension> {
    if input.any::<u8>() == 0 {
        let bytes: [u8; SIZE] = std::array::from_fn(|_| input.any());
        return FrameExtension::parse(&bytes);
    }
    let media_packets = input.number(6) as u16;
    Some(FrameExtension {
        frame: input.number(300) as u32,
        index: input.number(8) as u16,
        media_packets,
        train_packets: media_packets.wrapping_add(input.number(3) as u16),
        kind: input.kind(),
        key_frame: input.any(),
        refers_back: 1,
        last_probe: input.any(),
        sequence_high: input.any::<u8>() & 15,
        again: input.any::<bool>().then(|| input.any()),
    })
}

/// A client's way from packets to the decoder, as `client::session` goes it.
fn packets(data: &[u8]) {
    let mut input = Input::new(data);
    let (mut reader, mut inbox) = (MediaPacketReader::default(), Inbox::default());
    let style =
        Hello::parse(br#"{"session":0,"frame_interval_ns":16666667,"report_interval_ns":null}"#);
    let style = style.expect("a hello").style();
    let mut receiver = Receiver::new(ReceiverConfig::new(style));
    receiver.ask_for_missing();
    let (mut report, mut now) = (FeedbackPacket::default(), ReceiverInstant::ZERO);
    while !input.is_empty() {
        now = now.saturating_add(input.pause());
        let Some(extension) = extension(&mut input) else { return };
        let byte: u8 = input.any();
        let length =
            if input.any::<u8>() == 0 { 65_535 } else { usize::from(input.any::<u8>()) * 8 };
        let payload = vec![byte; length];
        let (packet, payload) = match reader.read_again(&extension, &payload) {
            Some(repeated) => repeated,
            None => (reader.read(input.any(), &extension, length), &payload[..]),
        };
        inbox.put(&packet, payload.to_vec());
        receiver.on_packet(now, &packet, input.ecn());
        let begun = inbox.give(packet.frame, |payload| payload::ends_unit(H264, payload));
        assert!(begun.last().is_none_or(|payload| payload::ends_unit(H264, payload)));
        if receiver.poll_feedback(now, &mut report) {
            let compounds =
                write_report(&report, 1, &terms()).expect("a report that the session made");
            assert!(compounds.iter().all(|compound| compound.len() <= 1_400));
        }
        while let Some(event) = receiver.poll_event() {
            drain(&mut inbox, event);
        }
        assert!(inbox.bytes() <= MAX_BYTES, "{} bytes are kept", inbox.bytes());
    }
    now = now.saturating_add(Duration::from_secs(1));
    let _ = receiver.poll_feedback(now, &mut report);
    receiver.on_undecodable(now);
}

fn drain(inbox: &mut Inbox, event: ReceiverEvent) {
    match event {
        ReceiverEvent::FrameShown { frame, .. } => {
            let incoming = inbox.take(frame);
            if let Ok(unit) = payload::depacketize(H264, incoming.payloads.unwrap_or_default()) {
                assert!(unit.len() <= MAX_FRAME);
            }
        }
        ReceiverEvent::FramesLost { first, last, .. }
        | ReceiverEvent::FramesUndecodable { first, last, .. } => {
            let first = first.0.max(last.0.saturating_sub(256));
            for frame in first..=last.0 {
                inbox.give_up(FrameId(frame));
            }
        }
        _ => {}
    }
}

fuzz_target!(|data: &[u8]| {
    messages(data);
    packets(data);
    played(data);
    played_by_gamepads(data);
    pasted(data);
});
