//! What bad people do to a whole stream: garbage, forgeries and replays at the media ports change nothing.

mod support;

use gameway_units::{Ecn, Instant};
use gameway_webrtc::Transmit;
use rand_core::{Rng, SeedableRng};
use std::net::SocketAddr;
use support::{ONE_WAY, Played, Random, SECOND, Setting, World, host_address, is_media, ms};

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
    let mut bytes = vec![0; (random.next_u64() % 1_400) as usize];
    random.fill_bytes(&mut bytes);
    let kinds: [&[u8]; 6] =
        [&[0, 1], &[22, 254, 253], &[0x90, 96], &[0x80, 0xE0], &[0x8B, 205], &[0x81, 206]];
    let kind = kinds[(random.next_u64() % 6) as usize];
    let count = kind.len().min(bytes.len());
    bytes[..count].copy_from_slice(&kind[..count]);
    bytes
}

/// A datagram of the attacker's and where it seems to come from.
fn shot(world: &World, attack: Attack, random: &mut Random) -> Option<(SocketAddr, Transmit)> {
    let wire = world.wire.as_ref()?;
    let arrived = wire.partition_point(|(sent, ..)| *sent + ONE_WAY < world.now);
    // Of the last ten, of the last three thousand, of all.
    let back = [10, 3_000, u64::MAX][(random.next_u64() % 3) as usize].min(arrived as u64);
    let place = arrived.checked_sub(1 + (random.next_u64() % back.max(1)) as usize)?;
    let (_, from, packet) = wire.get(place)?;
    let elsewhere: SocketAddr = ([203, 0, 113, 7], 4_000).into();
    let from = if random.next_u64().is_multiple_of(3) { elsewhere } else { *from };
    let mut packet = packet.clone();
    // Whoever replays may mark as well.
    packet.ecn = Ecn::Ce;
    match attack {
        Attack::None => return None,
        Attack::Garbage => packet.bytes = garbage(random),
        Attack::Forged => {
            if !is_media(&packet) {
                return None;
            }
            let bit = random.next_u64() as usize % (packet.bytes.len() * 8);
            packet.bytes[bit / 8] ^= 1 << (bit % 8);
        }
        Attack::Replayed => {}
    }
    Some((from, packet))
}

/// Frames that were played, and datagrams that either end refused.
fn under(attack: Attack) -> (Vec<Played>, u64) {
    let mut world = World::new(Setting::default());
    world.wire = Some(Vec::new());
    let mut random = Random::seed_from_u64(9);
    let end = Instant::ZERO + SECOND * 4;
    while world.now < end {
        world.run_for(ms(1));
        for _ in 0..2 {
            if let Some((from, packet)) = shot(&world, attack, &mut random) {
                world.deliver(from, &packet);
            }
        }
    }
    let told = world.told.lock().unwrap();
    let marked = told.batches.iter().flat_map(|(_, reports)| reports);
    assert_eq!(marked.filter(|report| report.ecn == Ecn::Ce).count(), 0, "{attack:?}");
    drop(told);
    let refused = world.host.peer().refused_datagrams() + world.client.peer().refused_datagrams();
    (world.played, refused)
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
    let mut world = World::new(Setting::default());
    world.wire = Some(Vec::new());
    world.run_for(SECOND * 2);
    let old = world.wire.take().unwrap();
    let old_address = world.client_address;
    world.client_comes_back();
    let began = world.now;
    world.run_for(SECOND);
    let to_host = old.iter().filter(|(_, _, packet)| packet.to == host_address());
    for (_, _, packet) in to_host {
        // From where the former client was, and from where the new one is.
        world.deliver(old_address, packet);
        world.deliver(world.client_address, packet);
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
    let mut world = World::new(Setting::default());
    world.run_for(SECOND);
    let mut random = Random::seed_from_u64(5);
    for number in 0..200_u32 {
        let mut bytes = vec![0; (random.next_u64() % 40) as usize];
        random.fill_bytes(&mut bytes);
        for channel in 0..4 {
            let now = world.now;
            let _ = world.client.peer().send_data(now, channel, &bytes);
        }
        if number % 8 == 0 {
            world.run_for(ms(17));
        }
    }
    world.run_for(SECOND);
    assert!(world.shown_share(Instant::ZERO + ms(500), world.now - ms(100)) >= 0.99);
}
