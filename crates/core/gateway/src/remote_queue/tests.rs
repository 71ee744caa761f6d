use super::*;
use crate::{Flags, QuicHeader, Timestamps};

mod bounds;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn header(number: u16, to_home: bool) -> Header {
    let header = Header::numbered(number);
    if to_home { header } else { header.reversed() }
}

fn segment(number: u16, to_home: bool, (value, echo): (u32, u32), sequence: u32) -> Segment {
    let (length, acknowledgment) = if to_home { (1000, 0) } else { (0, sequence) };
    Segment {
        sequence,
        acknowledgment,
        length,
        timestamps: Some(Timestamps { value, echo }),
        ..Segment::bare_ack(header(number, to_home))
    }
}

/// A download whose loops take these milliseconds, each acknowledged at once; its data comes each `pause`.
fn download(queue: &mut RemoteQueue, number: u16, from: i64, loops: &[i64], pause: i64) {
    let mut now = from;
    for (index, looped) in loops.iter().enumerate() {
        let stamp = (now + 1) as u32;
        let sequence = (from * 1000) as u32 + (index * 100_000) as u32;
        queue.on_segment(at(now), false, &segment(number, false, (stamp, 0), sequence + 1));
        for passed in (pause..*looped).step_by(pause as usize) {
            let data = segment(number, true, (0, stamp - 1), sequence + passed as u32);
            queue.on_segment(at(now + passed), true, &data);
        }
        now += looped;
        queue.on_segment(at(now), true, &segment(number, true, (0, stamp), sequence + 1000));
    }
}

#[test]
fn the_wait_is_what_a_loop_has_more_than_the_smallest() {
    let mut queue = RemoteQueue::default();
    assert_eq!(queue.take_wait(), None);
    download(&mut queue, 1, 0, &[40, 47, 70, 63], 5);
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(23)));
    assert_eq!(queue.take_wait(), None, "the period has begun anew");
    download(&mut queue, 1, 1000, &[50], 5);
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(10)), "the smallest is remembered");
}

#[test]
fn a_server_that_thinks_is_no_queue() {
    let mut queue = RemoteQueue::default();
    download(&mut queue, 1, 0, &[40], 5);
    assert_eq!(queue.take_wait(), Some(Duration::ZERO));
    download(&mut queue, 1, 1000, &[140], 100);
    assert_eq!(queue.take_wait(), None);
    // The twin: the same loop, filled.
    download(&mut queue, 1, 2000, &[140; 4], 5);
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(100)));
}

#[test]
fn the_opening_has_the_first_loop() {
    let mut queue = RemoteQueue::default();
    let opening = Flags { syn: true, ..Flags::default() };
    let mut syn = segment(1, false, (7, 0), 0);
    syn.flags = opening;
    queue.on_segment(at(0), false, &syn);
    let mut answer = segment(1, true, (0, 7), 0);
    (answer.flags, answer.length) = (Flags { ack: true, ..opening }, 0);
    queue.on_segment(at(30), true, &answer);
    download(&mut queue, 1, 100, &[90; 4], 5);
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(60)));
}

#[test]
fn a_connection_that_begins_in_a_queue_does_not_take_it_for_its_path() {
    // The second begins when packets wait 20 ms; the twin half a second later, when that is not known any more.
    for (pause, expected) in [(0, 35), (500, 15)] {
        let mut queue = RemoteQueue::default();
        download(&mut queue, 1, 0, &[40, 60, 60, 60, 60], 5);
        assert_eq!(queue.take_wait(), Some(Duration::from_millis(20)));
        download(&mut queue, 2, 280 + pause, &[60, 75, 75, 75, 75], 5);
        let wait = queue.take_wait();
        assert_eq!(wait, Some(Duration::from_millis(expected)), "{pause} ms later");
    }
}

/// Data whose acknowledgments come back after these times, each.
fn acknowledged(queue: &mut RemoteQueue, number: u16, from: i64, loops: &[i64]) {
    let mut now = from;
    for (index, looped) in loops.iter().enumerate() {
        let (stamp, sequence) = ((now + 1) as u32, (from * 1000) as u32 + 1000 * index as u32);
        queue.on_segment(at(now), true, &segment(number, true, (stamp, 0), sequence));
        now += looped;
        let end = sequence + 1000;
        queue.on_segment(at(now), false, &segment(number, false, (0, stamp), end));
    }
}

#[test]
fn a_connection_that_begins_in_the_queue_behind_does_not_take_it_for_its_path() {
    for (pause, expected) in [(0, 35), (500, 15)] {
        let mut queue = RemoteQueue::behind();
        acknowledged(&mut queue, 1, 1000, &[2, 22, 22, 22, 22]);
        assert_eq!(queue.take_wait(), Some(Duration::from_millis(20)));
        acknowledged(&mut queue, 2, 1090 + pause, &[22, 37, 37, 37, 37]);
        let wait = queue.take_wait();
        assert_eq!(wait, Some(Duration::from_millis(expected)), "{pause} ms later");
    }
}

#[test]
fn pings_tell_a_connection_what_it_begins_in() {
    for (pause, expected) in [(0, 35), (500, 15)] {
        let mut queue = RemoteQueue::default();
        for (number, (sent, looped)) in (0..).zip([(1000, 40), (1100, 60)]) {
            queue.on_echo(at(sent), false, header(9, false), number);
            queue.on_echo(at(sent + looped), true, header(9, true), number);
        }
        assert_eq!(queue.take_wait(), Some(Duration::from_millis(20)));
        download(&mut queue, 1, 1160 + pause, &[60, 75, 75, 75, 75], 5);
        let wait = queue.take_wait();
        assert_eq!(wait, Some(Duration::from_millis(expected)), "{pause} ms later");
    }
}

/// Loops of 60 ms and of 90 ms from 2 s on, each filled with data of a server whose clock ticks each millisecond; what is longer is
/// `on_its_way` of the data, or else of the acknowledgments. Gives what is told at the end.
fn beside_an_upload(sends: bool, on_its_way: i64) -> Option<Duration> {
    let mut queue = RemoteQueue::default();
    let mut told = None;
    for step in 0..800 {
        let now = 5 * step;
        let (longer, waited) = if now >= 2_000 { (30, on_its_way) } else { (0, 0) };
        let sequence = 1_000 * step as u32;
        let acknowledges = segment(1, false, (now as u32 + 1, 0), sequence);
        queue.on_segment(at(now), false, &acknowledges);
        if sends {
            let upload = Segment { length: 1_000, ..segment(2, false, (0, 0), sequence) };
            queue.on_segment(at(now), false, &upload);
        }
        let echo = (now - 60 - longer + 1).max(0) as u32;
        let data = segment(1, true, ((now - waited) as u32 + 7, echo), sequence);
        queue.on_segment(at(now), true, &data);
        told = queue.take_wait().or(told);
    }
    told
}

#[test]
fn what_acknowledgments_wait_behind_an_upload_is_no_queue_in_front_of_the_home() {
    let max = Duration::from_millis(1);
    assert!(beside_an_upload(true, 0).is_some_and(|told| told <= max));
    // The twins: it is the data that waits; and nobody sends, so that the loop is believed.
    assert_eq!(beside_an_upload(true, 30), Some(Duration::from_millis(30)));
    assert_eq!(beside_an_upload(false, 0), Some(Duration::from_millis(30)));
}

#[test]
fn the_queue_is_seen_many_times_in_a_loop() {
    let mut queue = RemoteQueue::default();
    download(&mut queue, 1, 0, &[80], 5);
    queue.take_wait();
    // An acknowledgment and data each 5 ms; the queue grows by 1 ms with each.
    let mut told = 0;
    for step in 0..60 {
        let (now, sequence) = (1_000 + 5 * step, 100_000 + 1000 * step as u32);
        queue.on_segment(at(now), false, &segment(1, false, (now as u32, 0), sequence));
        let grown = step - 16;
        if grown >= 0 {
            let echo = (now - 80) as u32;
            queue.on_segment(at(now + grown), true, &segment(1, true, (0, echo), sequence));
            if let Some(wait) = queue.take_wait() {
                let min = Duration::from_millis((grown - 3).max(0));
                assert!((min..=Duration::from_millis(grown)).contains(&wait), "{wait}");
                told += 1;
            }
        }
    }
    // The first come after a pause, which says nothing.
    assert!((25..=44).contains(&told), "{told}");
}

/// An acknowledgment each 3 ms, whose loops swing from one to 9 ms more; gives the longest wait that is told.
fn with_jitter(queue: &mut RemoteQueue, from: i64, looped: i64) -> Option<Duration> {
    let swing = [0, 3, 6, 9, 6, 3];
    let mut events: Vec<_> = (0..100)
        .flat_map(|step| {
            let sent = from + 3 * step;
            [(sent, false, step), (sent + looped + swing[step as usize % swing.len()], true, step)]
        })
        .collect();
    events.sort_unstable();
    let mut longest = None;
    for (now, to_home, step) in events {
        let (stamp, sequence) = ((from + 3 * step) as u32, (from * 1000 + step * 1000) as u32);
        let stamps = if to_home { (0, stamp) } else { (stamp, 0) };
        queue.on_segment(at(now), to_home, &segment(1, to_home, stamps, sequence));
        // What is told before there are four loops is of fewer.
        longest =
            if step < 30 { queue.take_wait().and(None) } else { longest.max(queue.take_wait()) };
    }
    longest
}

#[test]
fn most_of_jitter_is_no_queue_and_a_path_may_be_longer_than_it_was() {
    let mut queue = RemoteQueue::default();
    let mut expect = |from, looped, lengthened, queued: i64| {
        queue.lengthen_paths(Duration::from_millis(lengthened));
        let told = with_jitter(&mut queue, from, looped).expect("it is told");
        // Of 9 ms of jitter.
        let bounds = Duration::from_millis(queued)..=Duration::from_millis(queued + 6);
        assert!(bounds.contains(&told), "{told} after {from} ms");
    };
    expect(0, 60, 0, 0);
    expect(1_000, 80, 0, 20);
    expect(2_000, 80, 20, 0);
    // A shorter one is seen at once.
    expect(3_000, 70, 0, 0);
}

#[test]
fn most_of_the_bytes_decide() {
    let mut queue = RemoteQueue::default();
    for number in 1..4 {
        download(&mut queue, number, 0, &[40], 5);
    }
    queue.take_wait();
    // One has a bottleneck of its own, and a third of the bytes of the others.
    download(&mut queue, 1, 1000, &[340; 4], 100);
    download(&mut queue, 2, 1000, &[60; 4], 5);
    download(&mut queue, 3, 1000, &[60; 4], 5);
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(20)));
}

#[test]
fn bytes_of_periods_before_decide_nothing() {
    let mut queue = RemoteQueue::default();
    for number in [1, 2] {
        download(&mut queue, number, 0, &[40], 5);
    }
    queue.take_wait();
    // One receives much and cannot tell.
    for millis in 500..600 {
        queue.on_segment(at(millis), true, &segment(1, true, (0, 0), millis as u32));
    }
    assert_eq!(queue.take_wait(), None);
    download(&mut queue, 1, 1000, &[340; 4], 100);
    download(&mut queue, 2, 1000, &[60; 4], 5);
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(20)));
}

#[test]
fn without_stamps_nothing_is_known() {
    let mut queue = RemoteQueue::default();
    for millis in 0..100 {
        for to_home in [false, true] {
            let mut bare = segment(1, to_home, (0, 0), millis as u32);
            bare.timestamps = None;
            queue.on_segment(at(millis), to_home, &bare);
        }
    }
    assert_eq!(queue.take_wait(), None);
}

#[test]
fn the_table_is_bounded() {
    let mut queue = RemoteQueue::default();
    for number in 0..2 * MAX_CONNECTIONS as u16 {
        download(&mut queue, number, i64::from(number), &[40], 10);
    }
    assert_eq!(queue.downloads.len(), MAX_CONNECTIONS);
}

/// A datagram of this size, of the handshake if it has no spin bit.
fn datagram(
    queue: &mut RemoteQueue,
    now: i64,
    to_home: bool,
    number: u16,
    (spin, size): (impl Into<Option<bool>>, u64),
) {
    let quic = QuicHeader { spin: spin.into(), datagrams: 1 };
    queue.on_datagram(at(now), to_home, (&header(number, to_home), Bytes::new(size)), quic);
}

/// A handshake whose loop takes `looped` milliseconds. Gives when it ended.
fn shake_hands(queue: &mut RemoteQueue, number: u16, from: i64, looped: i64) -> i64 {
    datagram(queue, from, false, number, (None, 1280));
    datagram(queue, from + looped, true, number, (None, 1280));
    from + looped
}

/// A download over QUIC whose spin bit turns: its loops take these milliseconds, its data comes each `pause` and is
/// acknowledged, and an acknowledgment has `ack` bytes. Gives when it ended.
fn spinning(
    queue: &mut RemoteQueue,
    number: u16,
    from: i64,
    loops: &[i64],
    (pause, ack): (i64, u64),
) -> i64 {
    let (mut now, mut spin) = (from, false);
    datagram(queue, now - pause, false, number, (spin, ack));
    datagram(queue, now, true, number, (spin, 1280));
    for looped in loops {
        datagram(queue, now, false, number, (!spin, ack));
        for passed in (pause..*looped).step_by(pause as usize) {
            datagram(queue, now + passed, true, number, (spin, 1280));
            datagram(queue, now + passed, false, number, (!spin, ack));
        }
        (now, spin) = (now + looped, !spin);
        datagram(queue, now, true, number, (spin, 1280));
    }
    now
}

/// Like time stamps, once it has shown for two round trips that it spins.
#[test]
fn the_spin_bit_of_quic_tells_the_wait_too() {
    let mut queue = RemoteQueue::default();
    let now = shake_hands(&mut queue, 1, 0, 40);
    let mut other = queue.clone();
    spinning(&mut other, 1, now, &[90], (2, 60));
    assert_eq!(other.take_wait(), None, "nobody knows yet whether it spins");
    let now = spinning(&mut queue, 1, now, &[90, 97], (2, 60));
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(57)), "the handshake found no queue");
    let now = spinning(&mut queue, 1, now, &[70, 63], (2, 60));
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(23)));
    assert_eq!(queue.longest_path(), Some(Duration::from_millis(40)));
    assert_eq!(queue.told(), None, "no connection of TCP");
    // A server that thinks is no queue.
    spinning(&mut queue, 1, now, &[90], (50, 60));
    assert_eq!(queue.take_wait(), None);
}

/// What the home sends in datagrams waits on the way out, and so do the turns of the bit.
#[test]
fn the_spin_bit_says_nothing_while_the_home_sends() {
    for (ack, told) in [(499, Some(Duration::from_millis(30))), (500, None)] {
        let mut queue = RemoteQueue::default();
        let now = shake_hands(&mut queue, 1, 0, 40);
        spinning(&mut queue, 1, now, &[40, 40, 40, 70], (2, ack));
        assert_eq!(queue.take_wait(), told, "{ack} B");
    }
}

/// One large datagram in a while looks for the largest that the path takes.
#[test]
fn a_probe_of_the_path_is_no_upload() {
    for (apart, tells) in [(50, true), (15, false)] {
        let mut queue = RemoteQueue::default();
        let now = shake_hands(&mut queue, 1, 0, 40);
        let now = spinning(&mut queue, 1, now, &[40, 40], (2, 60));
        queue.take_wait();
        for number in 0..3 {
            datagram(&mut queue, now + number * apart, false, 1, (false, 1452));
        }
        spinning(&mut queue, 1, now + 3 * apart, &[60], (2, 60));
        assert_eq!(queue.take_wait().is_some(), tells, "{apart} ms apart");
    }
}

/// Connections that do not spin do not displace one that does.
#[test]
fn the_table_of_spin_bits_is_bounded() {
    let mut queue = RemoteQueue::default();
    let now = shake_hands(&mut queue, 1, 0, 40);
    let now = spinning(&mut queue, 1, now, &[40; 4], (2, 60));
    for number in 2..2000 {
        datagram(&mut queue, now, true, number, (number % 3 == 0, 1280));
    }
    assert_eq!(queue.spinning.len(), MAX_SPINNING);
    assert!((60_000..80_000).contains(&(size_of::<Spinning>() * MAX_SPINNING)));
    queue.take_wait();
    spinning(&mut queue, 1, now, &[55], (2, 60));
    assert_eq!(queue.take_wait(), Some(Duration::from_millis(15)));
}
