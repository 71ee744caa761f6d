//! The parser: what it accepts, what it refuses and how it says so.

use crate::support::{KEY, RungContent, file, file_of_version, ladder};
use gameway_media::{FrameTable, FrameTableError, RecordedVideo, RecordedVideoError};
use gameway_units::{Bytes, Rate};
use proptest::prelude::*;

/// Where the first rung begins: after magic, version, rungs, frame rate, dimensions and frames.
const RUNGS_AT: usize = 4 + 2 + 2 + 8 + 4 + 4;

fn small() -> Vec<RungContent> {
    let rung = |asked, sizes: [u32; 2]| RungContent {
        asked,
        produced: asked - 1,
        sizes: sizes.to_vec(),
        forced: vec![7],
    };
    vec![rung(1_000, [KEY | 10, 5]), rung(2_000, [KEY | 20, 11])]
}

fn error(bytes: &[u8]) -> String {
    FrameTable::parse(bytes).err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn reads_what_was_written() {
    let table = FrameTable::parse(&file((60, 1), &small(), "{\"game\": \"test\"}")).unwrap();
    assert_eq!((table.frame_rate_numerator.get(), table.frame_rate_denominator.get()), (60, 1));
    assert_eq!((table.width, table.height, table.frames()), (1280, 720, 2));
    assert_eq!(table.meta, "{\"game\": \"test\"}");
    let upper = &table.rungs[1];
    assert_eq!((upper.asked, upper.produced), (Rate::from_bps(2_000), Rate::from_bps(1_999)));
    assert!(upper.frames[0].is_key() && !upper.frames[1].is_key());
    assert_eq!((upper.frames[0].size(), upper.frames[1].size()), (Bytes::new(20), Bytes::new(11)));
    assert_eq!(upper.forced_key_frames, [Bytes::new(7)]);
}

#[test]
fn messages_name_field_and_offset() {
    let good = file((60, 1), &small(), "{}");
    let patched = |offset: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[offset..offset + value.len()].copy_from_slice(value);
        error(&bytes)
    };
    assert_eq!(
        patched(0, b"RIFF"),
        "not a frame table: starts with [52, 49, 46, 46] instead of \"GWFR\""
    );
    assert_eq!(patched(4, &[3, 0]), "frame table version 3: this program reads versions 1 and 2");
    assert_eq!(patched(6, &[0, 0]), "rungs, byte 6: 0, but there must be at least one");
    assert_eq!(patched(12, &[0; 4]), "frame rate denominator, byte 12: 0, but it must be positive");
    assert_eq!(patched(20, &[0; 4]), "frames, byte 20: 0, but it must be positive");
    let second_size = RUNGS_AT + 16 + 4;
    assert_eq!(
        patched(second_size, &[0; 4]),
        "rung 0: frame sizes, byte 44: 0, but a frame must have a size"
    );
    let second_rung = RUNGS_AT + 16 + 8 + 4 + 4;
    assert_eq!(
        patched(second_rung, &1_000u64.to_le_bytes()),
        "rung 1: asked bitrate, byte 56: 1000, but rungs must ascend by asked bitrate"
    );
    assert_eq!(patched(good.len() - 2, &[b'{', 0xff]), "meta, byte 93: not UTF-8");
    let trailing = [good.as_slice(), b"xyz"].concat();
    assert_eq!(error(&trailing), "byte 94: 3 bytes after the end of the table");
}

#[test]
fn version_2_may_lack_pictures_in_all_rungs_alike() {
    let mut rungs = small();
    rungs[0].sizes[1] = 0;
    let written = |version, rungs: &[RungContent]| file_of_version(version, (60, 1), rungs, "{}");
    assert!(error(&written(1, &rungs)).ends_with("0, but a frame must have a size"));
    assert_eq!(
        error(&written(2, &rungs)),
        "rung 1: frame sizes, byte 76: 11, but a picture must be absent in all rungs or in none"
    );
    rungs[1].sizes[1] = 0;
    let table = FrameTable::parse(&written(2, &rungs)).unwrap();
    assert!(!table.rungs[0].frames[0].is_absent() && table.rungs[0].frames[1].is_absent());
    assert_eq!(RecordedVideo::new(&table).err(), Some(RecordedVideoError::KeyFramesOnly));
    rungs[0].sizes[1] = KEY;
    assert!(error(&written(2, &rungs)).ends_with("0, but a frame must have a size"));
}

#[test]
fn every_truncation_is_refused_as_such() {
    let good = file((60, 1), &small(), "{}");
    for length in 0..good.len() {
        let truncated = FrameTable::parse(&good[..length]);
        assert!(matches!(truncated, Err(FrameTableError::Truncated { .. })), "{length} bytes");
    }
}

#[test]
fn a_count_that_the_file_cannot_hold_costs_no_memory() {
    let mut bytes = file((60, 1), &small(), "{}");
    bytes[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
    let needed = u64::from(u32::MAX) * 4;
    let refused = FrameTable::parse(&bytes);
    assert!(
        matches!(refused, Err(FrameTableError::Truncated { needed: n, .. }) if n == needed),
        "{refused:?}"
    );
}

#[test]
fn a_recording_of_key_frames_only_cannot_be_played() {
    let mut rungs = small();
    rungs[1].sizes = vec![KEY | 20, KEY | 21];
    let table = FrameTable::parse(&file((60, 1), &rungs, "{}")).unwrap();
    assert_eq!(RecordedVideo::new(&table).err(), Some(RecordedVideoError::KeyFramesOnly));
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = FrameTable::parse(&bytes);
    }

    #[test]
    fn damage_is_survived_and_what_is_accepted_is_consistent(
        frames in 1usize..6,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = file((60, 1), &ladder(frames), "{\"a\": 1}");
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Ok(table) = FrameTable::parse(&bytes) {
            prop_assert!(!table.rungs.is_empty());
            prop_assert!(table.rungs.iter().all(|rung| rung.frames.len() == table.frames()));
            prop_assert!(table.rungs.windows(2).all(|pair| pair[0].asked < pair[1].asked));
            if let Ok(video) = RecordedVideo::new(&table) {
                prop_assert_eq!(video.frames(), table.frames());
            }
        }
    }
}
