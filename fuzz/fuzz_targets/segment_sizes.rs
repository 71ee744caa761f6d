//! Tables of segments' sizes: whatever the file, a clear error or a video that can be played.
#![no_main]

use gameway_dash::{Ladder, Level, Presentation, SEGMENT_LENGTH, SegmentSizes, parse_sizes};
use gameway_units::{Bytes, Rate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let table = match parse_sizes(&String::from_utf8_lossy(file)) {
        Ok(table) => table,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let segments = table[0].len();
    assert!(segments > 0 && table.iter().all(|row| row.len() == segments));
    // A row of six bytes at least for each segment of each level.
    assert!(table.len() * segments * 6 <= file.len());
    let levels = (1..=table.len() as u64)
        .map(|number| Level { width: 2, height: 2, bitrate: Rate::from_mbps(number) })
        .collect();
    let Ok(ladder) = Ladder::new(levels) else { return };
    let sizes = SegmentSizes::Table(table);
    let video = Presentation::new(ladder, SEGMENT_LENGTH, None, sizes).expect("a checked table");
    for index in [0, 1, segments as u64, u64::MAX] {
        assert!(video.size(0, index) > Bytes::ZERO);
    }
});
