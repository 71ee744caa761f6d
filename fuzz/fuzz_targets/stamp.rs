//! Pictures of any content: a stamp or none, and a stamp that is read is read again after it is written.
#![no_main]

use gameway_codec::{Picture, Size, Stamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut picture = Picture::black(Size::new(128, 64).expect("an even size"));
    // A byte for each block, and what is left over them.
    let (blocks, rest) = bytes.split_at(bytes.len().min(128));
    let luma = &mut picture.planes_mut()[0];
    for (block, brightness) in blocks.iter().enumerate() {
        for row in 0..8 {
            let start = (block / 16 * 8 + row) * 128 + block % 16 * 8;
            luma[start..start + 8].fill(*brightness);
        }
    }
    luma.iter_mut().zip(rest).for_each(|(sample, byte)| *sample ^= byte >> 2);
    if let Some(stamp) = Stamp::read(&picture) {
        stamp.write(&mut picture).expect("the picture is large enough");
        assert_eq!(Stamp::read(&picture), Some(stamp));
    }
});
