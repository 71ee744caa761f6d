//! Frame tables: whatever the file, a clear error or a recording that an encoder can play.
#![no_main]

use gameway_media::{EncoderCalibration, EncoderModel, FrameTable, RecordedVideo};
use gameway_units::{Bytes, Duration, Rate};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|file: &[u8]| {
    let table = match FrameTable::parse(file) {
        Ok(table) => table,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(table.frames() > 0);
    // Four bytes of file for each frame of each rung: memory cannot exceed what the file warrants.
    assert!(table.rungs.len() * table.frames() * 4 <= file.len());
    let Ok(video) = RecordedVideo::new(&table) else { return };
    let (video, interval) = (Arc::new(video), Duration::from_nanos(16_666_667));
    let seed = file.len() as u64;
    let mut encoder = EncoderModel::recorded(video, EncoderCalibration::default(), interval, seed);
    for (index, megabits) in [5, 50, 2, 2, 1_000, 0, 20, 20].into_iter().enumerate() {
        let _ = encoder.pass_absent();
        let frame = encoder.next_frame(Rate::from_mbps(megabits), index % 5 == 0);
        assert!(frame.payload > Bytes::ZERO);
    }
});
