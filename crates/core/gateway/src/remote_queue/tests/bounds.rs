//! From where to where each number of the module's head counts.

use super::*;

fn millis(count: i64) -> Duration {
    Duration::from_millis(count)
}

/// A ping whose loop takes so long.
fn ping(queue: &mut RemoteQueue, sent: i64, looped: i64) {
    queue.on_echo(at(sent), false, header(9, false), sent as u32);
    queue.on_echo(at(sent + looped), true, header(9, true), sent as u32);
}

/// A loop of connection 1 of which no pause is longer than half; its acknowledgment begins it.
fn looped(queue: &mut RemoteQueue, sent: i64, took: i64) {
    let stamp = sent as u32 + 1;
    queue.on_segment(at(sent), false, &segment(1, false, (stamp, 0), stamp));
    queue.on_segment(at(sent + took / 2), true, &segment(1, true, (0, 0), stamp));
    queue.on_segment(at(sent + took), true, &segment(1, true, (0, stamp), stamp));
}

#[test]
fn a_loop_counts_if_no_pause_was_longer_than_half_of_it() {
    for (pause, counts) in [(50, true), (51, false)] {
        let mut queue = RemoteQueue::default();
        download(&mut queue, 1, 1000, &[100], pause);
        assert_eq!(queue.take_wait().is_some(), counts, "{pause} ms");
        assert_eq!(queue.told(), counts.then(|| at(1100)), "{pause} ms");
    }
}

#[test]
fn pauses_are_of_2_ms_and_sixty_four_are_remembered() {
    let micros = |count: i64| Instant::ZERO + Duration::from_micros(count);
    let mut pauses = Pauses::default();
    pauses.on_data(micros(500_000));
    for number in 1..=100 {
        pauses.on_data(micros(500_000 + 1_999 * number));
    }
    assert_eq!(pauses.longest_since(micros(500_000)), Duration::ZERO);
    let begun = 500_000 + 199_900;
    pauses.on_data(micros(begun + 2_000));
    assert_eq!(pauses.longest_since(micros(begun)), millis(2));
    // Of one that had begun before, what was since; of one that had ended, nothing.
    assert_eq!(pauses.longest_since(micros(begun + 500)), Duration::from_micros(1_500));
    assert_eq!(pauses.longest_since(micros(begun + 2_000)), Duration::ZERO);
    // A pause of 30 ms, and others of 2 ms after it.
    for (others, longest) in [(63, 30), (64, 2)] {
        let mut pauses = Pauses::default();
        pauses.on_data(at(1000));
        pauses.on_data(at(1030));
        (1..=others).for_each(|number| pauses.on_data(at(1030 + 2 * number)));
        assert_eq!(pauses.longest_since(at(1000)), millis(longest), "{others}");
    }
}

/// The wait that the last of these loops tells, after one of 40 ms: when each ended, and how long it took.
fn filtered(ended: &[(i64, i64)]) -> Option<Duration> {
    let mut loops = Loops::default();
    for (now, took) in [(0, 40)].iter().chain(ended) {
        let begun = at(now - took);
        loops.on_loop(at(*now), exact((millis(*took), begun)), &Pauses::default(), Duration::ZERO);
    }
    loops.wait
}

#[test]
fn a_wait_is_of_the_smallest_of_four_loops_that_are_no_older_than_a_quarter_of_the_path() {
    assert_eq!(filtered(&[]), Some(millis(0)));
    assert_eq!(filtered(&[(1000, 60), (1005, 70), (1010, 80)]), Some(millis(20)));
    assert_eq!(filtered(&[(1000, 60), (1005, 70), (1011, 80)]), Some(millis(30)));
    let all = [(1000, 50), (1002, 60), (1004, 70), (1006, 80), (1008, 90)];
    assert_eq!(filtered(&all[..4]), Some(millis(10)));
    assert_eq!(filtered(&all), Some(millis(20)));
    // A loop that is shorter than all before is the path from then on.
    assert_eq!(filtered(&[(1000, 60), (1001, 30)]), Some(millis(0)));
}

#[test]
fn a_pause_ends_what_loops_before_it_tell() {
    let mut loops = Loops::default();
    let mut end = |now: i64, took: i64, pauses: &Pauses| {
        let one = exact((millis(took), at(now - took)));
        loops.on_loop(at(now), one, pauses, Duration::ZERO);
        loops.wait.take()
    };
    let mut paused = Pauses::default();
    paused.on_data(at(960));
    paused.on_data(at(1000));
    end(0, 40, &Pauses::default());
    assert_eq!(end(1000, 50, &Pauses::default()), Some(millis(10)));
    assert_eq!(end(1001, 60, &paused), None, "of 60 ms 40 were a pause");
    assert_eq!(end(1002, 70, &Pauses::default()), Some(millis(30)), "and not 10");
}

#[test]
fn a_new_connection_finds_the_least_wait_of_200_ms() {
    // Its first loop of 60 ms ends so long after the reply that told 20 ms.
    for (after, path) in [(199, 40), (200, 60)] {
        let mut queue = RemoteQueue::default();
        ping(&mut queue, 1000, 40);
        ping(&mut queue, 1100, 60);
        assert_eq!(queue.take_wait(), Some(millis(20)));
        looped(&mut queue, 1160 + after - 60, 60);
        queue.take_wait();
        assert_eq!(queue.longest_path(), Some(millis(path)), "{after} ms");
    }
    // The least, and that of a connection that takes less than others wait is nothing.
    for (first, path) in [(60, 40), (16, 0)] {
        let mut queue = RemoteQueue::default();
        ping(&mut queue, 1000, 40);
        queue.take_wait();
        for (told, wait) in [(1300, 30), (1320, 20), (1340, 25)] {
            ping(&mut queue, told - 40 - wait, 40 + wait);
            assert_eq!(queue.take_wait(), Some(millis(wait)));
        }
        looped(&mut queue, 1400, first);
        queue.take_wait();
        assert_eq!(queue.longest_path(), Some(millis(path)), "{first} ms");
    }
}

#[test]
fn sixteen_waits_are_remembered() {
    // After one of 5 ms so many of 20 ms, 12 ms apart: each is older than a quarter of the path when the next is told.
    for (others, path) in [(15, 55), (16, 40)] {
        let mut queue = RemoteQueue::default();
        ping(&mut queue, 0, 40);
        queue.take_wait();
        let first = 1_000;
        ping(&mut queue, first - 45, 45);
        assert_eq!(queue.take_wait(), Some(millis(5)));
        for number in 1..=others {
            ping(&mut queue, first + 12 * number - 60, 60);
            assert_eq!(queue.take_wait(), Some(millis(20)));
        }
        looped(&mut queue, first + 199 - 60, 60);
        queue.take_wait();
        assert_eq!(queue.longest_path(), Some(millis(path)), "{others}");
    }
}

#[test]
fn a_wait_of_half_of_the_bytes_or_more_counts_before_a_longer_one() {
    for (extra, wait) in [(-1, 30), (0, 10), (1, 10)] {
        let mut queue = RemoteQueue::default();
        for number in [1, 2] {
            download(&mut queue, number, 0, &[40], 20);
        }
        queue.take_wait();
        // Each has a data segment at half of the loop, and one at its end.
        for (number, took) in [(1, 50), (2, 70)] {
            let begin = segment(number, false, (1001, 0), 100_000);
            queue.on_segment(at(1000), false, &begin);
            let half = segment(number, true, (0, 0), 1);
            let length = if number == 1 { (1000 + extra) as u32 } else { 1000 };
            queue.on_segment(at(1000 + took / 2), true, &Segment { length, ..half });
            queue.on_segment(at(1000 + took), true, &segment(number, true, (0, 1001), 2));
        }
        assert_eq!(queue.take_wait(), Some(millis(wait)), "{extra}");
    }
}

#[test]
fn who_told_the_wait_is_its_source_and_the_longest_path_is_of_all_who_told() {
    let mut queue = RemoteQueue::default();
    looped(&mut queue, 1000, 40);
    assert_eq!((queue.take_wait(), queue.wait_source()), (Some(millis(0)), WaitSource::Tcp));
    assert_eq!(queue.longest_path(), Some(millis(40)));
    ping(&mut queue, 1100, 70);
    assert_eq!((queue.take_wait(), queue.wait_source()), (Some(millis(0)), WaitSource::Pings));
    assert_eq!(queue.longest_path(), Some(millis(70)));
    assert_eq!(queue.told(), Some(at(1040)), "pings are no connection");
    ping(&mut queue, 2100, 70);
    looped(&mut queue, 2100, 50);
    queue.take_wait();
    assert_eq!(queue.longest_path(), Some(millis(70)));
    assert_eq!(queue.take_wait(), None);
    assert_eq!(queue.longest_path(), Some(millis(70)), "nobody told since");
}

#[test]
fn sources_have_names() {
    let names = [WaitSource::Tcp, WaitSource::SpinBit, WaitSource::Pings].map(WaitSource::name);
    assert_eq!(names, ["tcp", "spin-bit", "pings"]);
}

#[test]
fn a_loop_begins_with_what_acknowledges_new_data_alone() {
    // Of the second acknowledgment, how much further it is, and what it carries.
    for (further, length, begins) in [(1, 0, true), (0, 0, false), (-1, 0, false), (1, 100, false)]
    {
        let mut queue = RemoteQueue::default();
        queue.on_segment(at(1000), false, &segment(1, false, (1, 0), 10_000));
        let second = segment(1, false, (2, 0), (10_000 + further) as u32);
        queue.on_segment(at(1100), false, &Segment { length, ..second });
        for now in [1120, 1140] {
            let echo = if now == 1120 { 0 } else { 2 };
            queue.on_segment(at(now), true, &segment(1, true, (0, echo), 1));
        }
        assert_eq!(queue.take_wait().is_some(), begins, "{further}, {length} B");
    }
}

/// What answers an opening waits for what the program there does.
#[test]
fn the_home_begins_a_loop_with_an_opening_and_not_with_its_answer_to_one() {
    for ack in [false, true] {
        let mut queue = RemoteQueue::default();
        let opening = segment(1, false, (1, 0), 1);
        let flags = Flags { syn: true, ack, ..Flags::default() };
        queue.on_segment(at(1000), false, &Segment { flags, ..opening });
        for (now, echo) in [(1020, 0), (1040, 1)] {
            queue.on_segment(at(now), true, &segment(1, true, (0, echo), 1));
        }
        assert_eq!(queue.take_wait().is_some(), !ack);
    }
}

#[test]
fn what_comes_without_data_ends_no_loop() {
    let mut queue = RemoteQueue::default();
    queue.on_segment(at(1000), false, &segment(1, false, (1, 0), 10_000));
    for now in [1015, 1030] {
        queue.on_segment(at(now), true, &segment(1, true, (0, 0), 1));
    }
    let bare = Segment { length: 0, ..segment(1, true, (0, 1), 1) };
    queue.on_segment(at(1040), true, &bare);
    assert_eq!(queue.take_wait(), None);
    queue.on_segment(at(1045), true, &segment(1, true, (0, 1), 1));
    assert_eq!(queue.take_wait(), Some(millis(0)));
    assert_eq!(queue.longest_path(), Some(millis(45)));
}

/// The home echoes the stamp of what it need not acknowledge when it sends something else.
#[test]
fn behind_the_gateway_a_loop_begins_with_data_alone() {
    for (length, tells) in [(0, false), (1, true)] {
        let mut queue = RemoteQueue::behind();
        let to_home = Segment { length, ..segment(1, true, (5, 0), 1) };
        queue.on_segment(at(1000), true, &to_home);
        queue.on_segment(at(1040), false, &segment(1, false, (0, 5), 2));
        assert_eq!(queue.take_wait().is_some(), tells, "{length} B");
    }
}

/// A connection whose clock is not known says nothing while the home sends.
#[test]
fn the_home_sends_for_a_second_after_a_segment_of_500_bytes() {
    for (length, after, tells) in
        [(499, 0, true), (500, 0, false), (500, 999, false), (500, 1_000, true)]
    {
        let mut queue = RemoteQueue::default();
        let upload = Segment { length, ..segment(2, false, (0, 0), 1) };
        queue.on_segment(at(1000), false, &upload);
        looped(&mut queue, 1000 + after - 40, 40);
        assert_eq!(queue.take_wait().is_some(), tells, "{length} B, {after} ms");
    }
    // What comes to the home is nothing that it sends.
    let mut queue = RemoteQueue::default();
    queue.on_segment(at(1000), true, &segment(2, true, (0, 0), 1));
    looped(&mut queue, 1000, 40);
    assert!(queue.take_wait().is_some());
}

#[test]
fn the_home_sends_if_two_large_datagrams_of_a_connection_follow_within_20_ms() {
    let quic = |datagrams| QuicHeader { spin: Some(false), datagrams };
    // Of those that are told at once the mean counts, and several follow each other.
    for (number, bytes, sends) in [(1, 500, false), (2, 999, false), (2, 1_000, true)] {
        let mut one = Spinning::default();
        assert_eq!(one.on_home(at(0), quic(number), Bytes::new(bytes)), sends, "{number}, {bytes}");
    }
    for (apart, sends) in [(19, true), (20, false)] {
        let mut one = Spinning::default();
        one.on_home(at(0), quic(1), Bytes::new(500));
        // A small one between them is no matter.
        one.on_home(at(10), quic(1), Bytes::new(499));
        assert_eq!(one.on_home(at(apart), quic(1), Bytes::new(500)), sends, "{apart} ms");
    }
}

/// A handshake of 40 ms, and turns after 40 ms whose last is of 60 ms.
#[test]
fn turns_while_the_home_sends_show_its_path_and_no_wait() {
    for uploads in [false, true] {
        let mut queue = RemoteQueue::default();
        let mut now = shake_hands(&mut queue, 1, 1000, 50);
        if uploads {
            let upload = Segment { length: 500, ..segment(2, false, (0, 0), 1) };
            queue.on_segment(at(now), false, &upload);
        }
        now = spinning(&mut queue, 1, now, &[45, 45, 45, 45], (2, 60));
        assert_eq!(queue.take_wait().is_some(), !uploads);
        // A second after the home has sent it tells what is more than 45 ms.
        spinning(&mut queue, 1, now + 1000, &[65], (2, 60));
        assert_eq!(queue.take_wait(), Some(millis(20)));
        assert_eq!(queue.longest_path(), Some(millis(45)));
        assert_eq!(queue.wait_source(), WaitSource::SpinBit);
    }
}

#[test]
fn bytes_in_datagrams_decide_as_those_of_segments_do() {
    let mut queue = RemoteQueue::default();
    let now = shake_hands(&mut queue, 1, 0, 40);
    let now = spinning(&mut queue, 1, now, &[40; 4], (2, 60));
    ping(&mut queue, now, 50);
    queue.take_wait();
    // A ping has no bytes, and the less of the two waits.
    let end = spinning(&mut queue, 1, now + 100, &[70], (2, 60));
    ping(&mut queue, end - 52, 52);
    assert_eq!(queue.take_wait(), Some(millis(30)));
}

#[test]
fn longer_paths_are_longer_for_all_and_what_waited_is_forgotten() {
    let mut queue = RemoteQueue::default();
    let now = shake_hands(&mut queue, 1, 0, 40);
    let now = spinning(&mut queue, 1, now, &[40, 40, 40, 60], (2, 60));
    assert_eq!(queue.take_wait(), Some(millis(20)));
    queue.lengthen_paths(millis(20));
    spinning(&mut queue, 1, now, &[65], (2, 60));
    assert_eq!(queue.take_wait(), Some(millis(5)));
    // What a connection finds then is that, and not 20 ms.
    let mut queue = RemoteQueue::default();
    ping(&mut queue, 1000, 40);
    ping(&mut queue, 1100, 60);
    assert_eq!(queue.take_wait(), Some(millis(20)));
    queue.lengthen_paths(millis(20));
    looped(&mut queue, 1160, 60);
    queue.take_wait();
    assert_eq!(queue.longest_path(), Some(millis(60)));
}
