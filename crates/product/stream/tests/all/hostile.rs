//! What bad people do to a whole stream: garbage, forgeries and replays at the media ports change nothing.

use crate::support::{
    ONE_WAY, PLAIN, Played, SECOND, World, at, host_address, is_media, ms, world,
};
use gameway_testbed::Random;
use gameway_units::Ecn;
use gameway_webrtc::Transmit;

/// What is thrown at both ends each millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attack {
    None,
    /// Random bytes that begin as STUN, DTLS, RTP or RTCP would, from the right address and from elsewhere.
    Garbage,
    /// Packets of the session with a bit changed.
    Forged,
    /// Packets of the session that have arrived, again: soon after, later, and much later.
    Replayed,
}

fn garbage(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; random.below(1_400) as usize];
    random.fill(&mut bytes);
    let kinds: [&[u8]; 6] =
        [&[0, 1], &[22, 254, 253], &[0x90, 96], &[0x80, 0xE0], &[0x8B, 205], &[0x81, 206]];
    let kind = kinds[random.below(6) as usize];
    let count = kind.len().min(bytes.len());
    bytes[..count].copy_from_slice(&kind[..count]);
    bytes
}

/// A datagram of the attacker's.
fn shot(world: &World, attack: Attack, random: &mut Random) -> Option<Transmit> {
    let wire = world.wire.as_ref()?;
    let arrived = wire.partition_point(|(sent, ..)| *sent + ONE_WAY < world.now);
    // Of the last ten, of the last three thousand, of all.
    let back = [10, 3_000, u64::MAX][random.below(3) as usize].min(arrived as u64);
    let place = arrived.checked_sub(1 + random.below(back.max(1)) as usize)?;
    let mut packet = wire.get(place)?.1.clone();
    if random.below(3) == 0 {
        packet.from = Some(([203, 0, 113, 7], 4_000).into());
    }
    // Whoever replays may mark as well.
    packet.ecn = Ecn::Ce;
    match attack {
        Attack::None => return None,
        Attack::Garbage => packet.bytes = garbage(random),
        Attack::Forged => {
            if !is_media(&packet) {
                return None;
            }
            let bit = random.below(packet.bytes.len() as u64 * 8) as usize;
            packet.bytes[bit / 8] ^= 1 << (bit % 8);
        }
        Attack::Replayed => {}
    }
    Some(packet)
}

/// Frames that were played, and datagrams that either end refused.
fn under(attack: Attack) -> (Vec<Played>, u64) {
    let mut world = world(PLAIN);
    world.wire = Some(Vec::new());
    let mut random = Random::new(9);
    while world.now < at(4_000) {
        world.run_for(ms(1));
        for _ in 0..2 {
            if let Some(packet) = shot(&world, attack, &mut random) {
                let now = world.now;
                world.deliver(now, &packet);
            }
        }
    }
    let told = world.told.lock().unwrap();
    let marked = told.batches.iter().flat_map(|(_, reports)| reports);
    assert_eq!(marked.filter(|report| report.ecn == Ecn::Ce).count(), 0, "{attack:?}");
    drop(told);
    let refused = world.host.peer().refused_datagrams() + world.client.peer().refused_datagrams();
    (std::mem::take(&mut world.played), refused)
}

#[test]
fn garbage_forgeries_and_replays_change_nothing() {
    let (quiet, none) = under(Attack::None);
    assert!((230..=240).contains(&quiet.len()), "{} frames", quiet.len());
    assert_eq!(none, 0);
    for attack in [Attack::Garbage, Attack::Forged, Attack::Replayed] {
        let (frames, refused) = under(attack);
        assert_eq!(frames, quiet, "{attack:?}");
        assert!(refused > 3_000, "{attack:?}: {refused} refused");
    }
}

#[test]
fn what_the_former_client_still_sends_is_nothing_to_the_next_session() {
    let mut world = world(PLAIN);
    world.wire = Some(Vec::new());
    world.run_for(SECOND * 2);
    let old = world.wire.take().unwrap();
    let old_address = world.client_address;
    let began = world.now;
    world.client_comes_back(began);
    world.run_for(SECOND);
    for (_, packet) in old.iter().filter(|(_, packet)| packet.to == host_address()) {
        // From where the former client was, and from where the new one is.
        for from in [old_address, world.client_address] {
            let now = world.now;
            world.deliver(now, &Transmit { from: Some(from), ..packet.clone() });
        }
        world.run_for(ms(1));
    }
    world.run_for(SECOND);
    assert!(world.shown_share(began + ms(500), world.now - ms(100)) >= 0.99);
    assert_eq!(world.key_frames().iter().filter(|(session, _)| *session == 1).count(), 1);
    assert!(world.host.peer().refused_datagrams() > 100);
}

#[test]
fn a_client_that_says_wild_things_gets_its_stream() {
    // All that a client with the token can send on data channels; the host has one at a time, and only it suffers.
    let mut world = world(PLAIN);
    world.run_for(SECOND);
    let mut random = Random::new(5);
    for number in 0..200_u32 {
        let mut bytes = vec![0; random.below(40) as usize];
        random.fill(&mut bytes);
        for channel in 0..4 {
            let now = world.now;
            let _ = world.client.peer().send_data(now, channel, &bytes);
        }
        if number % 8 == 0 {
            world.run_for(ms(17));
        }
    }
    world.run_for(SECOND);
    assert!(world.shown_share(at(500), world.now - ms(100)) >= 0.99);
}
