//! Sound beside the video, through a network in memory: it waits for nobody, its bytes are within the target, and what is
//! lost is concealed.

use crate::support::{
    BLOCK, ONE_WAY, PLAIN, SECOND, Setting, World, at, block, dark, is_media, is_sound, ms, world,
};
use gameway_session::SenderEvent;
use gameway_stream::client::session::ClientEvent;
use gameway_stream::client::sound_inbox::{Play, SoundCounts, SoundPacket, WAIT};
use gameway_stream::host::session::SessionEvent;
use gameway_stream::host::sound::timestamp;
use gameway_testbed::{Random, arrives, lost_if};
use gameway_units::{Duration, Ecn, Instant, Rate, Repair, RepairGoal};
use gameway_webrtc::Transmit;

fn with_sound() -> Setting {
    Setting { audio: true, ..PLAIN }
}

/// What was played, and when.
fn plays(world: &World) -> Vec<(Instant, &Play)> {
    let sound = |(at, event): &'_ (Instant, ClientEvent)| match event {
        ClientEvent::Sound(_) => Some(*at),
        _ => None,
    };
    let events = world.client_events.iter();
    let played = events.filter_map(|it| Some((sound(it)?, &it.1)));
    played
        .filter_map(|(at, event)| match event {
            ClientEvent::Sound(play) => Some((at, play)),
            _ => None,
        })
        .collect()
}

/// When a packet's first sample played at the host, as its payload says.
fn captured(packet: &SoundPacket) -> Instant {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&packet.payload[..8]);
    let captured = Instant::from_nanos(i64::from_be_bytes(bytes));
    assert_eq!(packet.timestamp, timestamp(captured));
    assert_eq!(packet.payload, block(captured).payload);
    captured
}

#[test]
fn sound_waits_for_no_frame() {
    let mut world = world(Setting { rate: Rate::from_mbps(40), ..with_sound() });
    world.wire = Some(Vec::new());
    world.run_for(SECOND * 2);
    let plays = plays(&world);
    assert!((185..=200).contains(&plays.len()), "{}", plays.len());
    let began = world.host_events.iter().find(|(_, event)| *event == SessionEvent::Began);
    let began = began.map(|(at, _)| *at).expect("it began");
    let mut before = None;
    for (heard, play) in plays {
        let Play::Packet(packet) = play else { panic!("nothing was lost") };
        let captured = captured(packet);
        assert!(before.is_none_or(|before| captured - before == BLOCK), "{captured}");
        assert!(captured >= began, "{captured} is before {began}");
        before = Some(captured);
        // A frame's packets are spread over 13 ms, from 4 ms after its capture on: sound leaves between them.
        assert_eq!((heard, packet.arrived), (captured + BLOCK + ONE_WAY, heard));
    }
    let wire = world.wire.take().unwrap_or_default();
    let sound: Vec<_> = wire.iter().filter(|(_, transmit)| is_sound(transmit)).collect();
    assert!(sound.iter().all(|(_, transmit)| transmit.ecn == Ecn::NotEct), "nobody reports marks");
    assert!(sound.iter().all(|(_, transmit)| transmit.bytes.len() == 12 + 120 + 16));
}

/// Bits a second of video and of sound on the wire, from 0.5 s to 2.5 s.
fn rates(setting: Setting) -> (f64, f64) {
    let mut world = world(setting);
    world.wire = Some(Vec::new());
    world.run_for(SECOND * 3);
    let within = |time: &Instant| (at(500)..at(2_500)).contains(time);
    let video: u64 = world
        .host_events
        .iter()
        .filter_map(|(time, event)| match event {
            SessionEvent::Sender(SenderEvent::FrameEncoded { wire_size, .. }) if within(time) => {
                Some(wire_size.get())
            }
            _ => None,
        })
        .sum();
    let wire = world.wire.take().unwrap_or_default();
    let sound = wire.iter().filter(|(time, transmit)| within(time) && is_sound(transmit));
    let sound: usize = sound.map(|(_, transmit)| transmit.bytes.len() + 28).sum();
    (video as f64 * 4.0, sound as f64 * 4.0)
}

#[test]
fn the_target_covers_frames_and_sound() {
    let (video, sound) = rates(with_sound());
    let (alone, silence) = rates(PLAIN);
    assert!((139e3..=142e3).contains(&sound) && silence < 1.0, "{sound} {silence}");
    // 6 Mb/s; headers' rounding leaves a little of each frame's share.
    assert!((5.9e6..=6.0e6).contains(&alone), "{alone}");
    assert!((5.9e6..=6.0e6).contains(&(video + sound)), "{video} {sound}");
    assert!((120e3..=160e3).contains(&(alone - video)), "{alone} {video}");
}

#[test]
fn what_is_lost_is_concealed_and_what_is_late_is_not_played() {
    let mut world = world(with_sound());
    let lost = std::sync::Arc::new(std::sync::Mutex::new(0_u64));
    let count = std::sync::Arc::clone(&lost);
    // Of this seed no four in a row are lost or late: then the first is not given up, and heard 80 ms after its capture.
    let mut random = Random::new(2);
    world.path.down = Box::new(move |now, transmit| {
        if !is_sound(transmit) || !(at(500)..at(4_500)).contains(&now) {
            return arrives();
        }
        if random.chance(0.1) {
            *count.lock().unwrap() += 1;
            return Vec::new();
        }
        if random.chance(0.2) {
            // In time, or when it was given up.
            return vec![if random.chance(0.5) { ms(15) } else { ms(60) }];
        }
        // SRTP refuses the copy.
        vec![Duration::ZERO, ms(3)]
    });
    world.run_for(SECOND * 5);
    let counts = world.client.sound_counts();
    let lost = *lost.lock().unwrap();
    assert!((20..80).contains(&lost), "{lost}");
    assert_eq!(counts.concealed + counts.left_out, lost + counts.late, "{counts:?}");
    assert!((15..70).contains(&counts.late) && counts.concealed > lost, "{counts:?}");
    let mut before: Option<Instant> = None;
    for (heard, play) in plays(&world) {
        let Play::Packet(packet) = play else {
            before = before.map(|before| before + BLOCK);
            continue;
        };
        let captured = captured(packet);
        assert!(before.is_none_or(|before| captured > before), "{captured} after {before:?}");
        before = Some(captured);
        let age = heard - captured;
        assert!((BLOCK + ONE_WAY..=BLOCK * 3 + ONE_WAY + WAIT).contains(&age), "{age}");
    }
}

/// What becomes of sound where 5 % of all packets are lost, from 2 s to 12 s: until then the sender has learnt of it.
fn lossy(repair: Repair) -> (SoundCounts, f64) {
    let mut world = world(Setting { repair, ..with_sound() });
    world.wire = Some(Vec::new());
    let mut random = Random::new(1);
    world.path.down =
        Box::new(move |_, transmit| lost_if(is_media(transmit) && random.chance(0.05)));
    world.run_for(SECOND * 2);
    let before = world.client.sound_counts();
    world.run_for(SECOND * 10);
    let after = world.client.sound_counts();
    let wire = world.wire.take().unwrap_or_default();
    // Payload types of video are above those of reports, which are not within the target.
    let is_rtp = |it: &Transmit| is_sound(it) || (is_media(it) && it.bytes[1] & 127 >= 96);
    let media = wire.iter().filter(|(time, transmit)| *time >= at(2_000) && is_rtp(transmit));
    let bytes: usize = media.map(|(_, transmit)| transmit.bytes.len() + 28).sum();
    let counts = SoundCounts {
        concealed: after.concealed - before.concealed,
        repaired: after.repaired - before.repaired,
        ..after
    };
    (counts, bytes as f64 * 0.8)
}

#[test]
fn lost_sound_comes_with_what_follows_it() {
    let (planned, rate) = lossy(Repair::Adaptive(RepairGoal::default()));
    let (asked, _) = lossy(Repair::Nack);
    // 50 of 1000 packets are lost, and one in 8000 with both of its copies.
    assert!((30..=70).contains(&planned.repaired), "{planned:?}");
    assert!(planned.concealed <= 1, "{planned:?}");
    assert_eq!(asked.repaired, 0);
    assert!((30..=70).contains(&asked.concealed), "{asked:?}");
    assert!((5.7e6..=6.05e6).contains(&rate), "copies are within the target: {rate}");
}

#[test]
fn after_a_blackout_sound_goes_on_with_the_newest() {
    let mut world = world(with_sound());
    world.path = dark(at(1_000), at(4_000));
    world.run_for(SECOND * 5);
    let counts = world.client.sound_counts();
    assert_eq!((counts.concealed, counts.left_out), (5, 295), "{counts:?}");
    let plays = plays(&world);
    let after = plays.iter().filter(|(heard, _)| *heard > at(4_000)).collect::<Vec<_>>();
    assert!((95..=105).contains(&after.len()), "{}", after.len());
    // The first that arrives follows a gap, which is waited for.
    assert!(after[0].0 <= at(4_000) + BLOCK + ONE_WAY + WAIT, "{}", after[0].0);
}

#[test]
fn who_reports_nothing_gets_no_sound_until_a_report_comes() {
    let mut world = world(Setting { rate: Rate::from_mbps(80), ..with_sound() });
    world.wire = Some(Vec::new());
    world.path.up = Box::new(|now, _| lost_if((at(1_000)..at(6_000)).contains(&now)));
    world.run_for(SECOND * 8);
    let wire = world.wire.take().unwrap_or_default();
    let sent = |from, to| {
        let within = |time: &Instant| (at(from)..at(to)).contains(time);
        wire.iter().filter(|(time, it)| within(time) && is_sound(it)).count()
    };
    // 16384 packets at 80 Mb/s are two seconds.
    assert_eq!((sent(1_000, 2_000), sent(4_500, 6_000)), (100, 0));
    assert_eq!(sent(7_000, 8_000), 100);
}
