//! What a bad network and bad people do: loss, reordering, duplication, replay, garbage, a wrong certificate.

use crate::support::{
    DELAY, SECOND, World, client_address, connect, dark, host_address, impaired, world, world_with,
};
use gameway_testbed::{Ends, Fates, Impairment};
use gameway_units::{Duration, Ecn};
use gameway_webrtc::{CloseReason, Delivery, Event, Extensions, RtpHeader, RtpPacket};

fn send_numbered(world: &mut World, number: u16) {
    let terms = world.host.peer.negotiated();
    let header = RtpHeader {
        payload_type: terms.video.unwrap(),
        sequence_number: number,
        ssrc: terms.video_ssrc,
        ..RtpHeader::default()
    };
    let payload = &number.to_be_bytes()[..];
    let packet = RtpPacket { header, extensions: Extensions::default(), payload, padding: 0 };
    world.host.peer.send_rtp(&packet, Ecn::Ect0).unwrap();
}

fn numbers(world: &World) -> Vec<u16> {
    let rtp = world.client.events.iter().filter_map(|(_, event)| match event {
        Event::Rtp { header, .. } => Some(header.sequence_number),
        _ => None,
    });
    rtp.collect()
}

#[test]
fn the_handshake_survives_loss_reordering_and_duplication() {
    // Of a datagram that is lost a tenth of the copies arrive: three in ten are gone.
    let max_extra = Duration::from_millis(30);
    let impairment = Impairment { loss: 1.0 / 3.0, duplicate: 0.1, late: 1.0, max_extra };
    let took = |seed| {
        let mut world = world();
        world.path = impaired(impairment, seed);
        connect(&mut world, SECOND * 25).expect("connected")
    };
    let mut sorted: Vec<Duration> = (0..40).map(took).collect();
    sorted.sort();
    // Without loss it takes 60 to 120 ms; a flight of DTLS that is lost costs 100 ms, then 200, ...
    assert!(sorted[0] >= Duration::from_millis(40), "{}", sorted[0]);
    assert!(sorted[20] <= SECOND, "median {}", sorted[20]);
    assert!(sorted[39] <= SECOND * 8, "longest {}", sorted[39]);
}

#[test]
fn without_a_network_nothing_connects_and_both_give_up() {
    let mut world = world();
    world.path = dark();
    assert_eq!(connect(&mut world, SECOND * 29), None);
    world.run_for(SECOND * 2);
    for end in [&world.host, &world.client] {
        let (_, last) = end.events.last().unwrap();
        assert_eq!(*last, Event::Closed(CloseReason::NeverConnected));
    }
}

#[test]
fn packets_lost_doubled_and_overtaken_arrive_once() {
    let mut world = world();
    connect(&mut world, SECOND).expect("connected");
    let max_extra = Duration::from_millis(20);
    let impairment = Impairment { loss: 1.0 / 7.0, duplicate: 0.3, late: 1.0, max_extra };
    world.path = impaired(impairment, 3);
    // Through two wraps of the sequence number, so that the rollover counter is in it.
    for step in 0..150_000_u32 {
        send_numbered(&mut world, step as u16);
        if step % 10 == 0 {
            world.run_for(Duration::from_millis(1));
        }
    }
    world.run_for(SECOND);
    let got = numbers(&world).len();
    // A seventh is lost, and of that three tenths of the copies arrive.
    assert!((133_000..137_000).contains(&got), "{got} of 150000 where a tenth is gone");
}

#[test]
fn a_replayed_packet_is_dropped() {
    let mut world = world();
    connect(&mut world, SECOND).expect("connected");
    for number in 0..3_000 {
        send_numbered(&mut world, number);
    }
    world.run_for(SECOND);
    assert_eq!(numbers(&world).len(), 3_000);
    let recorded = std::mem::take(&mut world.wire);
    let media: Vec<_> = recorded.iter().filter(|it| it.bytes[0] >= 128).collect();
    assert_eq!(media.len(), 3_000);
    // Both within the window and before it.
    for transmit in &media {
        let now = world.now;
        world.on_down(now, (*transmit).clone());
    }
    world.pump();
    assert_eq!(numbers(&world).len(), 3_000);
    assert_eq!(world.client.peer.refused_datagrams(), 3_000);
    send_numbered(&mut world, 3_000);
    world.run_for(SECOND);
    assert_eq!(numbers(&world).last(), Some(&3_000), "the stream goes on");
}

#[test]
fn garbage_changes_nothing() {
    let mut world = world();
    connect(&mut world, SECOND).expect("connected");
    send_numbered(&mut world, 0);
    send_numbered(&mut world, 1);
    world.pump();
    let genuine = world.wire.pop().unwrap().bytes;
    world.run_for(SECOND);
    let before = world.client.events.len();
    for first in 0..=255_u8 {
        for length in [0, 1, 2, 12, 13, 20, 40, 200, 1_400] {
            let mut bytes = genuine.clone();
            bytes.resize(length, first);
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            // Forgeries with ever new stream numbers must not grow anything.
            if length >= 12 {
                bytes[8..12]
                    .copy_from_slice(&(u32::from(first) << 8 | length as u32).to_be_bytes());
            }
            for from in [host_address(), "6.6.6.6:666".parse().unwrap()] {
                let (now, to) = (world.now, client_address());
                world.client.peer.handle_datagram(now, from, to, Ecn::Ce, &bytes);
                let (from, to) = (client_address(), host_address());
                world.host.peer.handle_datagram(now, from, to, Ecn::Ce, &bytes);
            }
        }
    }
    world.run_for(SECOND);
    assert_eq!(world.client.events.len(), before);
    send_numbered(&mut world, 2);
    world.run_for(SECOND);
    assert_eq!(numbers(&world), [0, 1, 2]);
    assert!(world.client.peer.refused_datagrams() > 2_000);
}

#[test]
fn another_certificate_than_the_description_s_is_refused() {
    let changed = |text: String| {
        let at = text.find("sha-256 ").unwrap() + 8;
        let digit = if &text[at..=at] == "0" { "1" } else { "0" };
        let old = text[at..at + 95].to_owned();
        text.replace(&old, &format!("{digit}{}", &old[1..]))
    };
    let mut host_lies = world_with(|offer| offer, changed);
    assert_eq!(connect(&mut host_lies, SECOND * 3), None);
    let end = |world: &World| {
        let closed = world.client.events.iter().chain(&world.host.events);
        closed.filter(|(_, e)| *e == Event::Closed(CloseReason::WrongFingerprint)).count()
    };
    assert_eq!(end(&host_lies), 1);
    assert!(!host_lies.client.peer.is_connected());
    let mut client_lies = world_with(changed, |answer| answer);
    assert_eq!(connect(&mut client_lies, SECOND * 3), None);
    assert_eq!(end(&client_lies), 1);
    assert!(!client_lies.host.peer.is_connected());
}

#[test]
fn a_wrong_password_is_not_answered() {
    let wrong = |answer: String| {
        let line = answer.lines().find(|line| line.starts_with("a=ice-pwd:")).unwrap();
        answer.replace(line, "a=ice-pwd:0123456789012345678901234")
    };
    let mut world = world_with(|offer| offer, wrong);
    assert_eq!(connect(&mut world, SECOND * 3), None);
    assert!(world.wire.iter().all(|it| it.from == Some(client_address())), "the host was silent");
    assert!(world.wire.len() > 5);
}

#[test]
fn a_blackout_of_ten_seconds_is_survived_and_silence_for_thirty_is_the_end() {
    let mut world = world();
    let channel = world.client.peer.open_channel("input", Delivery::RELIABLE).unwrap();
    connect(&mut world, SECOND).expect("connected");
    world.run_for(SECOND);
    world.path = dark();
    let now = world.now;
    world.client.peer.send_data(now, channel, b"in the dark").unwrap();
    world.run_for(SECOND * 10);
    world.path = Fates::new(DELAY);
    send_numbered(&mut world, 1);
    world.run_for(SECOND * 3);
    assert_eq!(numbers(&world), [1]);
    let heard =
        |(_, event): &&_| matches!(event, Event::Data { bytes, .. } if bytes == b"in the dark");
    assert_eq!(world.host.events.iter().filter(heard).count(), 1);
    world.path = dark();
    world.run_for(SECOND * 34);
    for end in [&world.host, &world.client] {
        let (_, last) = end.events.last().unwrap();
        assert_eq!(*last, Event::Closed(CloseReason::Silence));
    }
}

#[test]
fn goodbye_is_heard() {
    let mut world = world();
    connect(&mut world, SECOND).expect("connected");
    let now = world.now;
    world.client.peer.close(now);
    world.run_for(SECOND);
    assert_eq!(world.client.events.last().unwrap().1, Event::Closed(CloseReason::Local));
    assert_eq!(world.host.events.last().unwrap().1, Event::Closed(CloseReason::Remote));
}

#[test]
fn channels_of_both_kinds_keep_their_promises_under_loss() {
    let mut world = world();
    connect(&mut world, SECOND).expect("connected");
    let reliable = world.client.peer.open_channel("reliable", Delivery::RELIABLE).unwrap();
    let loose = world.client.peer.open_channel("loose", Delivery::UNRELIABLE).unwrap();
    world.run_for(SECOND);
    let max_extra = Duration::from_millis(10);
    let impairment = Impairment { loss: 0.2, duplicate: 0.05, late: 1.0, max_extra };
    world.path = impaired(impairment, 11);
    for number in 0..200_u8 {
        let now = world.now;
        world.client.peer.send_data(now, reliable, &[number]).unwrap();
        world.client.peer.send_data(now, loose, &[number]).unwrap();
        world.run_for(Duration::from_millis(10));
    }
    world.run_for(SECOND * 20);
    let of = |name: &str| {
        let data = world.host.events.iter().filter_map(|(_, event)| match event {
            Event::Data { label, bytes, .. } if label == name => Some(bytes[0]),
            _ => None,
        });
        data.collect::<Vec<u8>>()
    };
    assert_eq!(of("reliable"), (0..200).collect::<Vec<u8>>());
    let got = of("loose").len();
    assert!((100..200).contains(&got), "{got} of 200 sent once at 20 % loss");
}
