//! What the player does, over the channel between a client of ours and a host.

use crate::support::{PLAIN, SECOND, World, at, both_ways, ms, world};
use gameway_input::{Action, Held};
use gameway_testbed::{Random, lost, lost_if};

/// Plays a key every 50 ms for five seconds over a path that loses such a share; actions as they came at the host.
fn played(loss_percent: u64) -> (World, Vec<Action>, u32) {
    let mut world = world(PLAIN);
    world.path =
        both_ways(move |now, random| lost_if(now > at(500) && random.below(100) < loss_percent));
    world.run_for(SECOND);
    let (mut actions, mut number) = (Vec::new(), 0);
    for _ in 0..100 {
        let now = world.now;
        number = world.flows[0].client.input(now).expect("a change");
        world.run_for(ms(50));
        actions.extend(std::iter::from_fn(|| world.flows[0].host.poll_action()));
    }
    world.run_for(SECOND);
    actions.extend(std::iter::from_fn(|| world.flows[0].host.poll_action()));
    (world, actions, number)
}

#[test]
fn every_input_happens_once_whatever_is_lost() {
    for loss_percent in [0, 10, 30] {
        let (world, actions, number) = played(loss_percent);
        let is_press = |one: &Action| matches!(one, Action::Press(_));
        let presses: Vec<bool> = actions.iter().map(is_press).collect();
        let expected: Vec<bool> = (0..100).map(|index| index % 2 == 0).collect();
        assert_eq!(presses, expected, "{loss_percent} %");
        assert_eq!(number, 100);
        // The picture tells of the last one.
        let told = world.flows[0].encoder.newest_input;
        assert_eq!(told, number, "{loss_percent} %");
    }
}

#[test]
fn what_is_held_goes_up_when_the_stay_ends_and_when_the_client_is_gone() {
    for is_told in [true, false] {
        let mut world = world(PLAIN);
        world.run_for(SECOND);
        let now = world.now;
        world.flows[0].client.input(now);
        world.run_for(ms(100));
        let host = &mut world.flows[0].host;
        assert!(matches!(host.poll_action(), Some(Action::Press(_))));
        assert_eq!(host.poll_action(), None);
        if is_told {
            host.end(now, "");
        } else {
            world.path = both_ways(|_, _| lost());
            world.run_for(ms(300));
            assert_eq!(world.flows[0].host.poll_action(), None, "a pause of Wi-Fi");
            world.run_for(ms(400));
        }
        assert!(matches!(world.flows[0].host.poll_action(), Some(Action::Release(_))), "{is_told}");
    }
}

/// What the host did to the program since: a key goes down only when it is up, and up only when it is down.
fn follow(world: &mut World, held: &mut Held) {
    while let Some(action) = world.flows[0].host.poll_action() {
        match action {
            Action::Press(switch) => assert!(held.set(switch, true)),
            Action::Release(switch) => assert!(held.set(switch, false)),
            _ => {}
        }
    }
}

/// The player presses and releases at any time; connections end at any time: in words, in silence, or because another client comes.
#[test]
fn no_key_sticks_through_200_disconnects() {
    let mut world = world(PLAIN);
    let (mut random, mut held, mut pressed) = (Random::new(3), Held::default(), 0);
    for round in 0..200 {
        world.path = both_ways(|_, random| lost_if(random.below(100) < 5));
        world.run_for(ms(250 + random.below(250) as i64));
        for _ in 0..=random.below(3) {
            let now = world.now;
            world.flows[0].client.input(now).expect("a change");
            world.run_for(ms(random.below(120) as i64));
            follow(&mut world, &mut held);
        }
        pressed += u32::from(!held.is_empty());
        let now = world.now;
        match random.below(3) {
            0 => world.flows[0].host.end(now, "the host ends"),
            1 => {
                world.path = both_ways(|_, _| lost());
                world.run_for(ms(700));
            }
            _ => world.flows[0].host.end(now, "another client has taken over"),
        }
        follow(&mut world, &mut held);
        assert!(held.is_empty(), "round {round}");
        let now = world.now;
        world.flows[0].client_comes_back(now);
    }
    assert!((50..180).contains(&pressed), "{pressed} of 200 ended while a key was held");
}
