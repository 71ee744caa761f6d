//! Every parser of WebRTC's peer and of who is let in: none panics, and what is read and can be written reads the same again.
#![no_main]

use gameway_control::SequenceNumber;
use gameway_units::{Duration, Instant};
use gameway_webrtc::data::parse_open;
use gameway_webrtc::devices::Devices;
use gameway_webrtc::feedback::ReportReader;
use gameway_webrtc::feedback::arrival_times::ArrivalTimes;
use gameway_webrtc::feedback::frames::FrameReports;
use gameway_webrtc::feedback::rfc8888::CcFeedbackReport;
use gameway_webrtc::feedback::twcc::TransportFeedback;
use gameway_webrtc::framing::{Frames, MAX_FRAME, framed};
use gameway_webrtc::ice::RemoteCandidate;
use gameway_webrtc::ice::reflexive::ReflexiveAddress;
use gameway_webrtc::ice::stun;
use gameway_webrtc::pairing::{Attempt, Pairing};
use gameway_webrtc::reports::{self, ReferenceTime};
use gameway_webrtc::rtp::{ParsedRtp, RtpPacket};
use gameway_webrtc::sdp::Description;
use gameway_webrtc::{Fingerprint, Negotiated, Secrets, rtcp};
use libfuzzer_sys::fuzz_target;

fn terms() -> Negotiated {
    Negotiated {
        video_ssrc: 1,
        transport_wide: Some(1),
        playout_delay: Some(2),
        frame: Some(3),
        transport_cc: true,
        congestion_control: true,
        arrival_times: true,
        rtx: Some(99),
        nack: true,
        ..Negotiated::default()
    }
}

fn rtp(bytes: &[u8], terms: &Negotiated) {
    let Some(parsed) = ParsedRtp::parse(bytes, terms) else { return };
    let payload = &bytes[parsed.payload_start..parsed.payload_end];
    let packet =
        RtpPacket { header: parsed.header, extensions: parsed.extensions, payload, padding: 0 };
    let mut again = Vec::new();
    packet.write(terms, &mut again).expect("what was read can be written");
    let read = ParsedRtp::parse(&again, terms).expect("what was written can be read");
    assert_eq!((read.header, read.extensions), (parsed.header, parsed.extensions));
    assert_eq!(&again[read.payload_start..read.payload_end], payload);
}

fn feedback(bytes: &[u8]) {
    for packet in rtcp::packets(bytes) {
        let _ = rtcp::asks_for_key_frame(&packet, 1);
        if let Ok(read) = packet.read::<CcFeedbackReport>() {
            let blocks = read.report_blocks.iter();
            assert!(blocks.map(|block| block.metric_blocks.len()).sum::<usize>() <= bytes.len());
        }
        if let Ok(read) = TransportFeedback::parse(&packet)
            && read.packets.iter().any(Option::is_some)
        {
            let mut again = Vec::new();
            read.write(&mut again).expect("what was read can be written");
            let again = rtcp::packets(&again).next().expect("a packet");
            assert_eq!(TransportFeedback::parse(&again).ok(), Some(read));
        }
        let _ = ArrivalTimes::parse(packet.bytes());
        let _ = reports::round_trip(&packet, 1, Instant::ZERO);
        if let Some(told) = ReferenceTime::of(&packet) {
            let answer = told.answer(1, Duration::from_millis(1)).expect("one block has room");
            assert_eq!(answer.len(), 24);
        }
    }
    let mut reader = ReportReader::default();
    for newest in [0, 70_000, u64::MAX] {
        for report in reader.read(bytes, &terms(), SequenceNumber(newest)) {
            assert!(report.packets.len() <= 65_535);
            assert!(report.asked.len() <= 1000);
        }
    }
}

/// Nothing but the code pairs a device, and none after five tries.
fn paired(bytes: &[u8]) {
    let mut pairing = Pairing::new(Secrets::new([1; 32]));
    let code = pairing.want(Instant::ZERO).expect("the first one");
    let mut tries = 0;
    for typed in bytes.split(|byte| *byte == b'\n') {
        match pairing.attempt(Instant::ZERO, typed) {
            Attempt::Right => {
                assert!(typed == code.as_bytes() && tries < 5);
                tries = 5;
            }
            Attempt::Unreadable => {
                assert!(typed.len() != 6 || !typed.iter().all(u8::is_ascii_digit));
            }
            _ => tries += 1,
        }
    }
}

/// A stream in two pieces has the frames that it has as a whole, none too long; what is framed is read.
fn frames(bytes: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let (mut frames, mut got) = (Frames::default(), Vec::new());
        let mut take = |one: &[u8]| got.push(one.to_vec());
        let all = pieces.iter().try_for_each(|piece| frames.push(piece, &mut take));
        (all, got)
    };
    let (all, got) = read(&[bytes]);
    assert!(got.iter().all(|one| (1..=MAX_FRAME).contains(&one.len())));
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read(&[first, second]), (all, got));
    let frame = framed(bytes).expect("fuzzed inputs are short");
    if (1..=MAX_FRAME).contains(&bytes.len()) {
        assert_eq!(read(&[&frame]), (Ok(()), vec![bytes.to_vec()]));
    }
}

fn devices(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(list) = Devices::parse(&text) {
        assert_eq!(Devices::parse(&list.to_text()), Ok(list));
    }
    let mut list = Devices::default();
    let name = list.add(&text, "key", 1);
    assert!(name.bytes().all(|letter| letter.is_ascii_alphabetic() || letter == b' '));
    assert_eq!(Devices::parse(&list.to_text()), Ok(list));
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else { return };
    match kind % 7 {
        0 => {
            rtp(bytes, &terms());
            rtp(bytes, &Negotiated { reports_on_request: true, ..terms() });
        }
        1 => feedback(bytes),
        2 => {
            if let Some(message) = stun::Message::parse(bytes) {
                let _ = message.is_from_holder_of("password");
                assert_eq!(stun::Message::parse_of_server(bytes), Some(message));
            }
            let server = ([192, 0, 2, 1], 3478).into();
            let mut asking = ReflexiveAddress::new(server, Instant::ZERO, Secrets::new([1; 32]));
            let _ = asking.handle_timeout(Instant::ZERO);
            assert!(!asking.handle(Instant::ZERO, server, bytes), "nobody guesses the question");
            frames(bytes);
        }
        3 => {
            if let Ok(reports) = FrameReports::parse(bytes) {
                assert_eq!(FrameReports::parse(&reports.to_bytes()).ok(), Some(reports));
            }
        }
        4 => {
            let _ = parse_open(bytes);
        }
        5 => {
            let text = String::from_utf8_lossy(bytes);
            let _ = RemoteCandidate::parse(&text);
            let _ = Fingerprint::parse(&text);
            if let Ok(description) = Description::parse(&text) {
                assert!(description.media.len() <= 16);
            }
        }
        _ => {
            paired(bytes);
            devices(bytes);
        }
    }
});
