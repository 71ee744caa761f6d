//! The model of the head: queue, order of events, fates.

use gameway_testbed::{
    Agenda, DropTail, Ends, Fates, Impairment, Onward, Path, Random, Testbed, arrives, fairness,
    lost, lost_if, percentile,
};
use gameway_units::{Bytes, Duration, Instant, Rate};

fn ms(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// A server that sends a number each millisecond, and a client that sends each back; both write down what came, and when.
#[derive(Default)]
struct Echo {
    sent: u64,
    last: u64,
    back: Vec<u64>,
    came: Vec<(Instant, u64)>,
    returned: Vec<(Instant, u64)>,
    /// Its deadline is never met.
    stuck: Option<Instant>,
}

impl Ends for Echo {
    type Down = u64;
    type Up = u64;

    fn on_down(&mut self, now: Instant, packet: u64) {
        self.came.push((now, packet));
        self.back.push(packet);
    }
    fn on_up(&mut self, now: Instant, packet: u64) {
        self.returned.push((now, packet));
    }
    fn next_deadline(&self) -> Option<Instant> {
        self.stuck.or_else(|| (self.sent < self.last).then(|| ms(self.sent as i64)))
    }
    fn on_deadline(&mut self, _now: Instant) {}
    fn poll_down(&mut self, now: Instant) -> Option<u64> {
        let due = self.sent < self.last && ms(self.sent as i64) <= now;
        due.then(|| {
            self.sent += 1;
            self.sent - 1
        })
    }
    fn poll_up(&mut self, _now: Instant) -> Option<u64> {
        self.back.pop()
    }
}

fn echo(last: u64) -> Echo {
    Echo { last, ..Echo::default() }
}

#[test]
fn packets_wait_for_those_before_them_and_what_finds_no_room_is_dropped() {
    // 1500 bytes take 1 ms.
    let mut queue = DropTail::new(Rate::from_mbps(12), Bytes::new(4_500));
    let size = Bytes::new(1_500);
    let room = [0, 1, 2, 3].map(|packet| queue.arrive(ms(0), size, packet));
    assert_eq!(room, [true, true, true, false]);
    let mut left = Vec::new();
    while let Some(due) = queue.next_deadline() {
        let done = queue.on_deadline(due).unwrap();
        left.push((done.packet, done.waited(), done.finished));
    }
    let expected = [0, 1, 2].map(|n| (n, MILLISECOND * n, ms(n + 1)));
    assert_eq!(left, expected);
    assert_eq!((queue.transmitted(), queue.max_backlog()), (Bytes::new(4_500), Bytes::new(4_500)));
    assert!((queue.utilization(ms(4)) - 0.75).abs() < 1e-9);
    // 4500, 3000 and 1500 bytes for a millisecond each, then none.
    assert!((queue.mean_backlog(ms(4)) - 2_250.0).abs() < 1e-9);
    queue.restart_measurement(ms(4));
    assert_eq!((queue.transmitted(), queue.max_backlog()), (Bytes::ZERO, Bytes::ZERO));
}

#[test]
fn a_rate_holds_from_its_time_on_and_a_rate_of_zero_loses_everything() {
    let mut queue = DropTail::new(Rate::from_mbps(12), Bytes::new(9_000));
    queue.set_rate(ms(1), Rate::from_mbps(6));
    queue.set_rate(ms(3), Rate::ZERO);
    assert!([0, 1, 2].iter().all(|packet| queue.arrive(ms(0), Bytes::new(1_500), *packet)));
    let times = [1, 3].map(|at| queue.on_deadline(ms(at)).map(|done| (done.packet, done.finished)));
    assert_eq!(times, [Some((0, ms(1))), Some((1, ms(3)))]);
    assert_eq!((queue.next_deadline(), queue.backlog()), (None, Bytes::ZERO));
    assert!(!queue.arrive(ms(4), Bytes::new(1_500), 3));
}

#[test]
fn packets_arrive_after_the_delay_both_ways_and_fates_lose_copy_and_delay() {
    let mut path = Fates::new(MILLISECOND * 10);
    path.down = Box::new(|_, packet: &mut u64| match *packet {
        0 => lost(),
        1 => vec![Duration::ZERO, MILLISECOND],
        2 => vec![MILLISECOND * 5],
        _ => arrives(),
    });
    path.up = Box::new(|_, packet| lost_if(*packet == 3));
    let mut bed = Testbed::new(path, vec![echo(4)]);
    bed.run_until(ms(19));
    assert_eq!(bed.flows[0].came, [(11, 1), (12, 1), (13, 3), (17, 2)].map(|(at, n)| (ms(at), n)));
    assert_eq!((bed.now, bed.flows[0].returned.len()), (ms(19), 0));
    bed.run_for(MILLISECOND * 8);
    let returned = [(21, 1), (22, 1), (27, 2)].map(|(at, n)| (ms(at), n));
    assert_eq!(bed.flows[0].returned, returned);
}

/// Keeps each packet for a millisecond, and passes on the newest first.
#[derive(Default)]
struct Stack(Vec<(usize, u64)>, Option<Instant>);

impl Path<u64, u64> for Stack {
    fn down(&mut self, now: Instant, flow: usize, packet: u64, _: &mut Onward<u64, u64>) {
        self.0.push((flow, packet));
        self.1 = Some(now + MILLISECOND);
    }
    fn up(&mut self, _: Instant, _: usize, _: u64, _: &mut Onward<u64, u64>) {}
    fn next_deadline(&self) -> Option<Instant> {
        self.1
    }
    fn on_deadline(&mut self, _now: Instant, onward: &mut Onward<u64, u64>) {
        if let Some((flow, packet)) = self.0.pop() {
            onward.down(flow, Duration::ZERO, packet);
        }
        self.1 = self.1.filter(|_| !self.0.is_empty());
    }
}

#[test]
fn at_one_time_the_path_comes_first_then_arrivals_then_deadlines() {
    let mut bed = Testbed::new(Stack::default(), vec![echo(2), echo(1)]);
    bed.run_until(ms(1));
    // At 1 ms the path passes on both of the first millisecond before the first flow sends again.
    assert_eq!(bed.flows[1].came, [(ms(1), 0)]);
    assert_eq!(bed.flows[0].came, [(ms(1), 0)]);
    bed.run_until(ms(5));
    assert_eq!(bed.flows[0].came, [(ms(1), 0), (ms(2), 1)]);
}

#[test]
#[should_panic(expected = "time stands still")]
fn a_deadline_that_is_never_met_fails() {
    let flow = Echo { stuck: Some(ms(2)), ..Echo::default() };
    Testbed::new(Fates::new(MILLISECOND), vec![flow]).run_until(ms(3));
}

#[test]
#[should_panic(expected = "is a deadline of the past")]
fn a_deadline_of_the_past_fails() {
    let mut bed = Testbed::new(Fates::new(MILLISECOND), vec![echo(0)]);
    bed.run_until(ms(3));
    bed.flows[0].stuck = Some(ms(2));
    bed.run_until(ms(4));
}

#[test]
fn events_of_one_time_are_in_the_order_in_which_they_were_scheduled() {
    let mut agenda = Agenda::default();
    for (at, event) in [(2, 'c'), (1, 'a'), (1, 'b')] {
        agenda.schedule(ms(at), event);
    }
    assert_eq!((agenda.next(), agenda.pop(ms(0))), (Some(ms(1)), None));
    let mut taken = || agenda.pop(ms(2));
    assert_eq!([taken(), taken(), taken(), taken()], [Some('a'), Some('b'), Some('c'), None]);
}

#[test]
fn chance_is_as_likely_as_it_says_and_a_seed_gives_the_same() {
    let bad = Impairment { loss: 0.1, duplicate: 0.05, late: 0.2, max_extra: MILLISECOND };
    let fates = |seed| {
        let mut random = Random::new(seed);
        (0..20_000).map(|_| bad.fate(&mut random)).collect::<Vec<_>>()
    };
    let found = fates(1);
    assert!(found == fates(1) && found != fates(2));
    let share = |of: fn(&Vec<Duration>) -> bool| {
        found.iter().filter(|fate| of(fate)).count() as f64 / found.len() as f64
    };
    let near = |share: f64, expected: f64| (share - expected).abs() < 0.01;
    assert!(near(share(Vec::is_empty), 0.1 * 0.95));
    assert!(near(share(|fate| fate.len() == 2), 0.9 * 0.05));
    assert!(near(share(|fate| fate.len() == 1 && fate[0] > Duration::ZERO), 0.86 * 0.2));
    assert!(found.iter().flatten().all(|extra| (Duration::ZERO..MILLISECOND).contains(extra)));
    let mut random = Random::new(3);
    let mean = (0..10_000).map(|_| random.unit()).sum::<f64>() / 10_000.0;
    assert!(near(mean, 0.5) && !random.chance(0.0) && random.below(1) == 0);
    let mut bytes = [0; 11];
    random.fill(&mut bytes);
    assert_ne!(bytes[8..], [0; 3]);
}

#[test]
fn shares_and_fairness_in_closed_form() {
    let values = || (1..=100).map(f64::from);
    for (share, expected) in [(0.0, 1.0), (0.5, 50.0), (0.95, 95.0), (1.0, 100.0)] {
        assert!((percentile(values(), share) - expected).abs() < 1e-12, "{share}");
    }
    assert!(percentile([], 0.5).is_nan());
    assert!((fairness(&[3.0, 3.0]) - 1.0).abs() < 1e-12);
    assert!((fairness(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
}
