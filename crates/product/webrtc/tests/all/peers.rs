//! Two peers of ours over an in-memory network: they connect, and packets, reports and data pass both ways.

use crate::support::{World, client_config, connect, host_config, world};
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_session::{FeedbackPacket, MediaPacket, ReceivedPacket};
use gameway_testbed::arrives;
use gameway_units::{Duration, Ecn, Instant, PayloadFormat, ReceiverInstant, VideoCodec};
use gameway_webrtc::feedback::rfc8888::{self, CcFeedbackReport, FeedbackReader};
use gameway_webrtc::frame_extension::{FrameExtension, MediaPacketReader};
use gameway_webrtc::{Delivery, Event, Extensions, Peer, RtpHeader, RtpPacket, Secrets};
use rtc_shared::marshal::Marshal;

/// The `number`th packet of a stream of frames with 4 packets each.
fn media_packet(number: u64) -> MediaPacket {
    MediaPacket {
        sequence: SequenceNumber(number),
        frame: FrameId(number / 4),
        index: (number % 4) as u16,
        media_packets: 3,
        train_packets: 4,
        header: 0,
        payload: 1_000,
        kind: if number % 4 == 3 { PacketKind::Repair } else { PacketKind::Media },
        key_frame: number < 4,
        refers_back: 1,
        last_probe: false,
        original: None,
    }
}

fn send(world: &mut World, number: u64, ecn: Ecn) {
    let terms = world.host.peer.negotiated().clone();
    let packet = media_packet(number);
    let is_repair = packet.kind == PacketKind::Repair;
    let header = RtpHeader {
        payload_type: if is_repair { terms.repair } else { terms.video }.unwrap(),
        marker: packet.is_last_of_frame(),
        sequence_number: number as u16,
        timestamp: (packet.frame.0 * 1_500) as u32,
        ssrc: terms.video_ssrc,
    };
    let frame = Some(FrameExtension::of(&packet));
    let extensions = Extensions { frame, ..Extensions::default() };
    let payload = &[number as u8; 1_000][..];
    let rtp = RtpPacket { header, extensions, payload, padding: 0 };
    world.host.peer.send_rtp(&rtp, ecn).unwrap();
}

/// What the client got: packets as sent, with time and mark.
fn received(world: &World) -> Vec<(MediaPacket, Instant, Ecn)> {
    let mut reader = MediaPacketReader::default();
    let rtp = world.client.events.iter().filter_map(|(_, event)| match event {
        Event::Rtp { header, extensions, payload, ecn, arrival } => {
            assert!(payload.iter().all(|byte| *byte == header.sequence_number as u8));
            let frame = extensions.frame.unwrap();
            Some((reader.read(header.sequence_number, &frame, payload.len()), *arrival, *ecn))
        }
        _ => None,
    });
    rtp.collect()
}

#[test]
fn a_stream_goes_there_and_its_report_comes_back() {
    let mut world = world();
    let took = connect(&mut world, Duration::from_secs(1)).expect("connected");
    // A check, DTLS's two round trips and a half at 20 ms.
    assert!((40..=90).contains(&(took.as_nanos() / 1_000_000)), "{took}");
    world.path.down = Box::new(|_, transmit| {
        transmit.ecn = Ecn::Ce;
        arrives()
    });
    for number in 0..8 {
        send(&mut world, number, Ecn::Ect1);
        world.run_for(Duration::from_millis(3));
    }
    world.run_for(Duration::from_millis(50));
    let got = received(&world);
    let expected: Vec<MediaPacket> = (0..8).map(media_packet).collect();
    assert_eq!(got.iter().map(|(packet, ..)| *packet).collect::<Vec<_>>(), expected);
    assert!(got.iter().all(|(_, _, ecn)| *ecn == Ecn::Ce));

    let arrived = |(_, time, ecn): &(MediaPacket, Instant, Ecn)| {
        let arrival = ReceiverInstant::from_nanos(time.as_nanos());
        Some(ReceivedPacket { arrival, ecn: *ecn })
    };
    let report = FeedbackPacket {
        base: SequenceNumber(0),
        packets: got.iter().map(arrived).collect(),
        generated: ReceiverInstant::from_nanos(world.now.as_nanos()),
        ..FeedbackPacket::default()
    };
    let ssrc = world.client.peer.negotiated().video_ssrc;
    let bytes = rfc8888::from_session(&report, 7, ssrc).marshal().unwrap();
    world.client.peer.send_rtcp(&bytes).unwrap();
    world.run_for(Duration::from_millis(50));

    let rtcp = world.host.events.iter().find_map(|(_, event)| match event {
        Event::Rtcp { bytes, .. } => Some(bytes.clone()),
        _ => None,
    });
    let compound = rtcp.expect("a report");
    let packet = gameway_webrtc::rtcp::packets(&compound).next().expect("a packet");
    let parsed: CcFeedbackReport = packet.read().unwrap();
    let newest = SequenceNumber(7);
    let read = FeedbackReader::default().to_session(&parsed, ssrc, newest).unwrap();
    assert_eq!((read.base, read.packets.len()), (SequenceNumber(0), 8));
    for (sent, back) in report.packets.iter().zip(&read.packets) {
        let (sent, back) = (sent.unwrap(), back.unwrap());
        let error = sent.arrival.saturating_since(back.arrival).as_nanos().abs();
        assert!(error <= 1_000_000, "to 1/1024 s: {error} ns");
        assert_eq!(sent.ecn, back.ecn);
    }
}

#[test]
fn messages_pass_on_channels_of_both_sides() {
    let mut world = world();
    let early = world.client.peer.open_channel("input", Delivery::UNRELIABLE).unwrap();
    connect(&mut world, Duration::from_secs(1)).expect("connected");
    world.run_for(Duration::from_millis(100));
    let late = world.host.peer.open_channel("control", Delivery::RELIABLE).unwrap();
    assert_ne!(early % 2, late % 2);
    let now = world.now;
    world.client.peer.send_data(now, early, b"left").unwrap();
    world.host.peer.send_data(now, late, b"").unwrap();
    world.host.peer.send_data(now, late, &[9; 40_000]).unwrap();
    world.run_for(Duration::from_millis(300));
    let data = |events: &[(Instant, Event)]| {
        let data = events.iter().filter_map(|(_, event)| match event {
            Event::Data { label, bytes, .. } => Some((label.clone(), bytes.clone())),
            _ => None,
        });
        data.collect::<Vec<_>>()
    };
    assert_eq!(data(&world.host.events), [("input".to_owned(), b"left".to_vec())]);
    let expected = [("control".to_owned(), vec![]), ("control".to_owned(), vec![9; 40_000])];
    assert_eq!(data(&world.client.events), expected);
}

/// Each window of SCTP leaves at once, and grows beyond the ten datagrams that DTLS keeps.
#[test]
fn a_megabyte_passes_where_nothing_is_lost_and_the_connection_stays() {
    const PART: [u8; 16_384] = [9; 16_384];
    let mut world = world();
    connect(&mut world, Duration::from_secs(1)).expect("connected");
    world.run_for(Duration::from_millis(100));
    let channel = world.host.peer.open_channel("control", Delivery::RELIABLE).unwrap();
    for _ in 0..64 {
        let now = world.now;
        world.host.peer.send_data(now, channel, &PART).unwrap();
        world.run_for(Duration::from_millis(20));
    }
    world.run_for(Duration::from_secs(2));
    let is_part = |event: &Event| matches!(event, Event::Data { bytes, .. } if *bytes == PART);
    let came = world.client.events.iter().filter(|(_, event)| is_part(event));
    assert_eq!(came.count(), 64);
    assert!(world.host.peer.is_connected());
}

#[test]
fn h265_is_agreed_on_where_the_client_asks_for_it_and_the_host_has_it() {
    let client = gameway_webrtc::ClientConfig { codec: VideoCodec::H265, ..client_config() };
    for h265 in [true, false] {
        let host = gameway_webrtc::HostConfig { h265, ..host_config() };
        let now = Instant::ZERO;
        let (mut peer, offer) = Peer::offer(now, &client, Secrets::new([1; 32]));
        assert!(offer.contains("H265/90000") && !offer.contains("H264"), "{offer}");
        let (host, answer) = Peer::answer(now, &host, Secrets::new([2; 32]), &offer).unwrap();
        peer.accept_answer(now, &answer).unwrap();
        for terms in [host.negotiated(), peer.negotiated()] {
            let codec = terms.video.map(|_| terms.video_codec);
            assert_eq!(codec, h265.then_some(VideoCodec::H265), "{answer}");
        }
    }
}

#[test]
fn who_offers_both_codecs_gets_h264() {
    let both = |offer: String| {
        let h264 = "a=rtpmap:96 H264/90000\r\n";
        offer
            .replace(" 96 97 98 99\r\n", " 100 96 97 98 99\r\n")
            .replace(h264, &format!("a=rtpmap:100 H265/90000\r\n{h264}"))
    };
    let host = gameway_webrtc::HostConfig { h265: true, ..host_config() };
    let (_, offer) = Peer::offer(Instant::ZERO, &client_config(), Secrets::new([1; 32]));
    let offer = both(offer);
    assert!(offer.contains("rtpmap:100 H265"), "{offer}");
    let (host, _) = Peer::answer(Instant::ZERO, &host, Secrets::new([2; 32]), &offer).unwrap();
    assert_eq!(
        (host.negotiated().video, host.negotiated().video_codec),
        (Some(96), VideoCodec::H264)
    );
}

#[test]
fn h264_travels_as_vp8_where_the_page_takes_frames_and_the_browser_lacks_it() {
    let with = |h264: &str, parameters: &str| {
        let (_, offer) = Peer::offer(Instant::ZERO, &client_config(), Secrets::new([1; 32]));
        let own = offer.lines().find(|line| line.starts_with("a=rtpmap:96")).unwrap();
        let vp8 = format!("{h264}a=rtpmap:100 VP8/90000\r\na=fmtp:100 {parameters}");
        let types = if h264.is_empty() { " 100 97 98 99\r\n" } else { " 100 96 97 98 99\r\n" };
        let offer = offer.replace(own, &vp8).replace(" 96 97 98 99\r\n", types);
        let secrets = Secrets::new([2; 32]);
        let (host, answer) = Peer::answer(Instant::ZERO, &host_config(), secrets, &offer).unwrap();
        let terms = host.negotiated();
        (terms.video.map(|number| (number, terms.video_codec, terms.video_format)), answer)
    };
    let frames = "max-fr=60;x-gameway-frames=H264";
    let (terms, answer) = with("", frames);
    assert_eq!(terms, Some((100, VideoCodec::H264, PayloadFormat::Vp8)));
    let said = "a=rtpmap:100 VP8/90000\r\na=fmtp:100 x-gameway-frames=H264\r\n";
    assert!(answer.contains(said), "{answer}");
    // Who takes H.264 as it is gets it so; what a page cannot decode, or did not ask for, is not sent.
    let (terms, _) = with("a=rtpmap:96 H264/90000\r\n", frames);
    assert_eq!(terms, Some((96, VideoCodec::H264, PayloadFormat::Own)));
    for others in ["max-fr=60", "x-gameway-frames=H266"] {
        let (terms, answer) = with("", others);
        assert_eq!(terms, None);
        assert!(!answer.contains("VP8"), "{answer}");
    }
}

#[test]
fn who_has_no_sound_says_so_and_keeps_the_section_that_carries_the_rest() {
    let (_, offer) = Peer::offer(Instant::ZERO, &client_config(), Secrets::new([1; 32]));
    for (audio, direction) in [(true, "sendonly"), (false, "inactive")] {
        let host = gameway_webrtc::HostConfig { audio, ..host_config() };
        let secrets = Secrets::new([2; 32]);
        let (_, answer) = Peer::answer(Instant::ZERO, &host, secrets, &offer).unwrap();
        let (_, section) = answer.split_once("m=audio 9 ").unwrap();
        let (section, _) = section.split_once("m=application").unwrap();
        assert!(section.contains(&format!("a={direction}\r\n")), "{answer}");
        assert!(answer.contains("a=group:BUNDLE 0 1 2\r\n"), "{answer}");
    }
}

#[test]
fn packets_are_sent_again_where_both_sides_want_it() {
    for nack in [true, false] {
        let host = gameway_webrtc::HostConfig { nack, ..host_config() };
        let now = Instant::ZERO;
        let (mut client, offer) = Peer::offer(now, &client_config(), Secrets::new([1; 32]));
        for line in ["a=rtcp-fb:96 nack\r\n", "a=rtpmap:99 rtx/90000\r\n", "a=fmtp:99 apt=96\r\n"] {
            assert!(offer.contains(line), "{offer}");
        }
        let (host, answer) = Peer::answer(now, &host, Secrets::new([2; 32]), &offer).unwrap();
        client.accept_answer(now, &answer).unwrap();
        for terms in [host.negotiated(), client.negotiated()] {
            assert_eq!((terms.nack, terms.rtx), (nack, nack.then_some(99)), "{answer}");
        }
        assert_eq!(answer.contains("a=rtcp-fb:96 nack\r\n"), nack, "{answer}");
        let streams = (host.negotiated().video_ssrc, host.negotiated().rtx_ssrc);
        let group = format!("a=ssrc-group:FID {} {}\r\n", streams.0, streams.1);
        assert_eq!(answer.contains(&group), nack, "{answer}");
        let theirs = client.negotiated();
        assert_eq!(
            (theirs.video_ssrc, theirs.rtx_ssrc),
            (streams.0, if nack { streams.1 } else { 0 })
        );
        // A client that does not ask is sent nothing again.
        let silent = offer.replace("a=rtcp-fb:96 nack\r\n", "");
        let (host, answer) = Peer::answer(
            now,
            &gameway_webrtc::HostConfig { nack, ..host_config() },
            Secrets::new([3; 32]),
            &silent,
        )
        .unwrap();
        assert!(!host.negotiated().nack && !answer.contains("rtx"), "{answer}");
    }
}

/// A browser has retransmissions and no frame extension, and may take parity; our own client has a better code.
#[test]
fn parity_is_for_browsers_that_take_it() {
    let now = Instant::ZERO;
    let (_, ours) = Peer::offer(now, &client_config(), Secrets::new([1; 32]));
    let without =
        ours.lines().filter(|line| !line.contains("urn:gameway") && !line.contains("x-gameway"));
    let browser: String = without.map(|line| format!("{line}\r\n")).collect();
    let with_parity = |offer: &str| {
        let lines = offer.lines().map(|line| match line.starts_with("m=video") {
            true => format!("{line} 49\r\na=rtpmap:49 flexfec-03/90000\r\n"),
            false => format!("{line}\r\n"),
        });
        lines.collect::<String>()
    };
    let takes_parity = with_parity(&browser);
    let no_rtx = takes_parity.replace("a=rtpmap:99 rtx/90000\r\n", "");
    let native = with_parity(&ours);
    let answer = |offer: &str, parity: bool| {
        let host = gameway_webrtc::HostConfig { parity, ..host_config() };
        Peer::answer(now, &host, Secrets::new([2; 32]), offer).unwrap()
    };
    for (offer, parity) in
        [(&browser, true), (&takes_parity, false), (&no_rtx, true), (&native, true)]
    {
        let (host, answer) = answer(offer, parity);
        assert_eq!(host.negotiated().parity, None, "{answer}");
        assert!(!answer.contains("flexfec") && !answer.contains("FEC-FR"), "{answer}");
    }
    let (host, answer) = answer(&takes_parity, true);
    let terms = host.negotiated();
    assert_eq!(terms.parity, Some(49), "{answer}");
    let (video, parity) = (terms.video_ssrc, terms.parity_ssrc);
    for line in [
        "a=rtpmap:49 flexfec-03/90000\r\na=fmtp:49 repair-window=10000000\r\n".to_owned(),
        format!("a=ssrc-group:FEC-FR {video} {parity}\r\n"),
        format!("a=ssrc:{parity} cname:gameway\r\n"),
    ] {
        assert!(answer.contains(&line), "{line} is not in {answer}");
    }
    assert!(answer.lines().any(|line| line.starts_with("m=video") && line.ends_with(" 49")));
}

#[test]
fn a_receivers_time_is_answered_where_it_offers_to_say_it() {
    let now = Instant::ZERO;
    let (_, silent) = Peer::offer(now, &client_config(), Secrets::new([1; 32]));
    let line = "a=rtcp-fb:96 rrtr\r\n";
    let asking = silent.replace("a=rtcp-fb:96 nack\r\n", &format!("a=rtcp-fb:96 nack\r\n{line}"));
    for (offer, agreed) in [(silent, false), (asking, true)] {
        let (_, answer) = Peer::answer(now, &host_config(), Secrets::new([2; 32]), &offer).unwrap();
        assert_eq!(answer.contains(line), agreed, "{answer}");
    }
}
