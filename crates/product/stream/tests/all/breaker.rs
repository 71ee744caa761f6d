//! A host whose reports stay away, or whose stream mostly loses, bounds itself whatever its controller does.

use crate::support::{ONE_WAY, PLAIN, SECOND, Setting, World, ms, world};
use gameway_session::{BreakerAction, SenderEvent, TripCause};
use gameway_stream::host::session::SessionEvent;
use gameway_testbed::lost;
use gameway_units::{Instant, Rate};

const MIN_BITRATE: Rate = Rate::from_kbps(500);

fn actions(world: &World) -> Vec<(Instant, BreakerAction)> {
    let told = world.host_events.iter().filter_map(|(at, event)| match event {
        SessionEvent::Sender(SenderEvent::CircuitBreaker { action, .. }) => Some((*at, *action)),
        _ => None,
    });
    told.collect()
}

fn silenced(circuit_breaker: Option<Rate>) -> World {
    let mut world = world(Setting { circuit_breaker, ..PLAIN });
    world.run_for(SECOND * 4);
    world.path.up = Box::new(|_, _| lost());
    world.run_for(SECOND * 8);
    world
}

#[test]
fn a_host_that_hears_nothing_falls_to_its_least_rate_and_ends() {
    let world = silenced(Some(MIN_BITRATE));
    let [(reduced, first), (ended, second)] = actions(&world)[..] else {
        panic!("{:?}", actions(&world));
    };
    assert_eq!(first, BreakerAction::Reduce(TripCause::RtcpTimeout));
    assert_eq!(second, BreakerAction::End(TripCause::RtcpTimeout));
    let silence = reduced - (Instant::ZERO + SECOND * 4 + ONE_WAY);
    assert!((SECOND * 3 - ms(100)..=SECOND * 4 + ms(100)).contains(&silence), "{silence}");
    assert!((ended - reduced - SECOND * 3).as_nanos().abs() < ms(100).as_nanos());
    assert_eq!(actions(&silenced(None)), []);
}
