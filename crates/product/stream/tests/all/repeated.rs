//! Packets that are lost and asked for, on the wire between a host and a client of ours: frames are whole byte by byte, in
//! time, and a client cannot make the host send more than a share of its target again.

use crate::support::{ONE_WAY, PLAIN, Played, SECOND, Setting, World, at, is_media, ms, world};
use gameway_control::{PacketKind, SentPacket};
use gameway_testbed::{Random, arrives, lost_if};
use gameway_units::{Bytes, Duration, Repair};

/// Of the host's packets these are lost: each so many in ten thousand, `length` in a row.
fn losing(per_10_000: u64, length: u32, setting: Setting) -> World {
    let mut world = world(setting);
    let mut left = 0;
    // Of this seed no packet is lost that repairs a loss of one in five hundred: that is a second round trip.
    let mut random = Random::new(2);
    world.path.down = Box::new(move |_, transmit| {
        if !is_media(transmit) {
            return arrives();
        }
        if left == 0 && random.below(10_000 * u64::from(length)) < per_10_000 {
            left = length;
        }
        let doomed = left > 0;
        left -= u32::from(doomed);
        lost_if(doomed)
    });
    world
}

fn nack() -> Setting {
    Setting { repair: Repair::Nack, ..PLAIN }
}

fn sent_again(world: &World) -> Vec<SentPacket> {
    let told = world.told.lock().unwrap();
    let again = |packet: &&SentPacket| packet.kind == PacketKind::Retransmission;
    told.sent.iter().filter(again).copied().collect()
}

#[test]
fn lost_packets_are_sent_again_and_frames_are_shown_as_they_were_made() {
    for (per_10_000, length, min) in
        [(50, 1, 0.999), (200, 1, 0.998), (500, 1, 0.99), (200, 3, 0.98)]
    {
        let mut world = losing(per_10_000, length, nack());
        world.run_for(SECOND * 10);
        let shown = world.shown_share(at(1_000), at(9_000));
        assert!(shown >= min, "{per_10_000} {length}: {shown} shown");
        assert!(world.requests() <= 1, "{per_10_000} {length}: {} requests", world.requests());
        assert!(sent_again(&world).len() > 10);
        // Bytes on the wire of both streams are what the target allows.
        let bytes: Bytes = world.told.lock().unwrap().sent.iter().map(|it| it.size).sum();
        let target = PLAIN.rate * SECOND * 10;
        assert!(bytes <= target && bytes.as_f64() > 0.9 * target.as_f64(), "{bytes} of {target}");
    }
}

#[test]
fn without_it_a_loss_costs_frames_and_nothing_is_sent_again() {
    let mut world = losing(200, 1, PLAIN);
    world.run_for(SECOND * 10);
    let shown = world.shown_share(at(1_000), at(9_000));
    assert!(shown < 0.95 && world.requests() > 5, "{shown}, {} requests", world.requests());
    assert_eq!(sent_again(&world).len(), 0);
}

#[test]
fn a_frame_that_needed_one_more_packet_is_a_round_trip_late_and_none_behind_it_by_more() {
    let mut world = losing(20, 1, nack());
    world.run_for(SECOND * 20);
    let late = |played: &Played| {
        let made = &world.encoder.made[&(played.session, played.frame)];
        played.at - made.captured
    };
    let mut delays: Vec<Duration> = world.played.iter().map(late).collect();
    delays.sort_unstable();
    let (median, max) = (delays[delays.len() / 2], delays[delays.len() - 1]);
    assert!(sent_again(&world).len() >= 5);
    assert!(max <= median + ONE_WAY * 2 + ms(10), "{median}, at most {max}");
    assert!(max >= median + ONE_WAY, "some were late: {max}");
}

/// Asks for these packets and the sixteen behind each (RFC 4585 section 6.2.1).
fn generic_nack(media_ssrc: u32, numbers: &[u16]) -> Vec<u8> {
    let mut bytes = vec![0x81, 205];
    bytes.extend((numbers.len() as u16 + 2).to_be_bytes());
    bytes.extend(1_u32.to_be_bytes());
    bytes.extend(media_ssrc.to_be_bytes());
    for number in numbers {
        bytes.extend(number.to_be_bytes());
        bytes.extend([0xFF, 0xFF]);
    }
    bytes
}

/// A client that asks a thousand times a second, and what was sent again in `SECONDS`.
fn harassed(ssrc: u32, numbers: impl Fn(u16) -> Vec<u16>) -> (Vec<SentPacket>, Bytes) {
    const SECONDS: u64 = 3;
    let mut world = world(nack());
    world.run_for(SECOND);
    let media_ssrc = world.client.peer().negotiated().video_ssrc ^ ssrc;
    for _ in 0..SECONDS * 1000 {
        world.run_for(ms(1));
        let newest = world.told.lock().unwrap().sent.len() as u16;
        let nack = generic_nack(media_ssrc, &numbers(newest));
        world.client.peer().send_rtcp(&nack).unwrap();
    }
    let share = (PLAIN.rate * SECOND * (SECONDS + 1)).get() / 4;
    (sent_again(&world), Bytes::new(share))
}

#[test]
fn a_client_that_asks_for_everything_gets_a_share_of_the_target() {
    let (again, share) =
        harassed(0, |newest| (1..60).map(|back| newest.wrapping_sub(17 * back)).collect());
    let bytes: Bytes = again.iter().map(|packet| packet.size).sum();
    // It is answered, unlike what is asked for below, and not beyond that share.
    assert!(bytes <= share && bytes.as_f64() > 0.5 * share.as_f64(), "{bytes} of {share}");
}

#[test]
fn packets_never_sent_and_those_of_another_stream_are_not_sent_again() {
    let ahead = |newest: u16| (0..60).map(|step| newest.wrapping_add(100 + 17 * step)).collect();
    assert_eq!(harassed(0, ahead).0.len(), 0);
    let (again, _) =
        harassed(1, |newest| (1..60).map(|back| newest.wrapping_sub(17 * back)).collect());
    assert_eq!(again.len(), 0);
}
