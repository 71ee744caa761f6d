//! Whatever comes passes as it is: bytes that are cut short, changed, or no packet at all; and everything once the program is
//! silent.

use crate::kernel::{loaded, now_ns};
use crate::packets::{any_segment, packet, plain, read, told};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// The kernel runs no program on a frame that is shorter.
pub const ETHERNET: usize = 14;
/// Nor on one of IP whose header is.
pub const SHORTEST: usize = ETHERNET + 40;

#[test]
fn any_bytes_pass() {
    let Some(loaded) = loaded() else { return };
    let bytes = prop::collection::vec(any::<u8>(), SHORTEST..200);
    let mut runner = TestRunner::deterministic();
    let done = runner.run(&bytes, |bytes| {
        told(&loaded, "to_home", &bytes);
        let out = loaded.pass("to_provider", &bytes);
        prop_assert_eq!((out.verdict, &out.packet, out.priority), (-1, &bytes, 0));
        Ok(())
    });
    done.expect("nothing is changed");
}

#[test]
fn what_is_cut_short_or_changed_is_read_as_others_read_it_or_left_alone() {
    let Some(loaded) = loaded() else { return };
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let cases = (any_segment(), changes, any::<prop::sample::Index>(), any::<bool>());
    let mut runner = TestRunner::deterministic();
    let done = runner.run(&cases, |(wanted, changes, length, whole)| {
        let mut bytes = packet(&wanted, false);
        // Addresses of Ethernet and its type stay.
        for (place, value) in changes {
            let place = ETHERNET + place.index(bytes.len() - ETHERNET);
            bytes[place] = value;
        }
        if !whole {
            bytes.truncate(SHORTEST + length.index(bytes.len() - SHORTEST + 1));
        }
        if let Some(record) = told(&loaded, "from_home", &bytes) {
            let others = read(&bytes, wanted.below);
            // Others are stricter: of lengths, and of options, which they do not read behind a wrong one.
            if let Some(others) = others {
                prop_assert_eq!(record.segment.header, others.header);
                prop_assert_eq!(record.segment.sequence, others.sequence);
                prop_assert_eq!(record.segment.length, others.length);
            }
        }
        Ok(())
    });
    done.expect("nothing is changed");
}

#[test]
fn fragments_and_others_are_counted_and_left_alone() {
    let Some(loaded) = loaded() else { return };
    let whole = packet(&plain(), true);
    assert!(told(&loaded, "to_home", &whole).is_some());
    let mut first = whole.clone();
    first[20] |= 0x20;
    let mut later = whole.clone();
    later[21] = 10;
    let mut other = whole.clone();
    other[23] = 50;
    let mut short = whole.clone();
    short.truncate(50);
    for (packet, is_fragment) in [(first, true), (later, true), (other, false), (short, false)] {
        let before = loaded.data_path().counters().expect("a map");
        assert_eq!(told(&loaded, "to_home", &packet), None);
        let after = loaded.data_path().counters().expect("a map");
        let counted = (after.fragments - before.fragments, after.others - before.others);
        assert_eq!(counted, if is_fragment { (1, 0) } else { (0, 1) });
    }
    let counters = loaded.data_path().counters().expect("a map");
    assert_eq!((counters.segments, counters.lowered, counters.lost_records), (1, 0, 0));
}

#[test]
fn a_silent_program_is_told_nothing_after_a_second() {
    let Some(loaded) = loaded() else { return };
    let whole = packet(&plain(), true);
    for (age_ms, heard) in [(900, true), (1100, false), (100, true)] {
        loaded.data_path().beat(now_ns() - age_ms * 1_000_000).expect("a map");
        let passed = loaded.pass_unwatched("to_home", &whole, 1).0;
        assert_eq!((passed.verdict, &passed.packet), (-1, &whole));
        assert_eq!(loaded.next_record().is_some(), heard, "{age_ms} ms");
    }
    // A clock that was wrong: a heartbeat of the future counts as none.
    loaded.data_path().beat(now_ns() + 60_000_000_000).expect("a map");
    loaded.pass_unwatched("to_home", &whole, 1);
    assert!(loaded.next_record().is_none());
}

#[test]
fn a_full_ring_is_counted() {
    let Some(loaded) = loaded() else { return };
    let whole = packet(&plain(), true);
    loaded.pass_often("to_home", &whole, 60_000);
    let counters = loaded.data_path().counters().expect("a map");
    let mut told = 0;
    while loaded.next_record().is_some() {
        told += 1;
    }
    assert_eq!(counters.segments, 60_000);
    assert_eq!(told + counters.lost_records, 60_000);
    // 2 MiB of records of 80 bytes, each with a head of 8.
    assert_eq!(told, (1 << 21) / 88);
}
