//! A made-up recording in the file format, for tests that need one of known content.

/// One rung: asked and produced b/s, frame sizes (bit 31: key frame), forced key frame sizes.
#[derive(Debug, Clone)]
pub struct RungContent {
    pub asked: u64,
    pub produced: u64,
    pub sizes: Vec<u32>,
    pub forced: Vec<u32>,
}

pub const KEY: u32 = 1 << 31;

/// The file, at `rate` frames per second.
pub fn file(rate: (u32, u32), rungs: &[RungContent], meta: &str) -> Vec<u8> {
    file_of_version(1, rate, rungs, meta)
}

/// The same in another version of the format.
pub fn file_of_version(
    version: u16,
    rate: (u32, u32),
    rungs: &[RungContent],
    meta: &str,
) -> Vec<u8> {
    let frames = rungs.first().map_or(0, |rung| rung.sizes.len()) as u32;
    let mut bytes = b"GWFR".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend((rungs.len() as u16).to_le_bytes());
    bytes.extend(rate.0.to_le_bytes());
    bytes.extend(rate.1.to_le_bytes());
    bytes.extend(1280u16.to_le_bytes());
    bytes.extend(720u16.to_le_bytes());
    bytes.extend(frames.to_le_bytes());
    for rung in rungs {
        bytes.extend(rung.asked.to_le_bytes());
        bytes.extend(rung.produced.to_le_bytes());
        bytes.extend(rung.sizes.iter().flat_map(|size| size.to_le_bytes()));
        bytes.extend((rung.forced.len() as u32).to_le_bytes());
        bytes.extend(rung.forced.iter().flat_map(|size| size.to_le_bytes()));
    }
    bytes.extend((meta.len() as u32).to_le_bytes());
    bytes.extend(meta.as_bytes());
    bytes
}

/// A ladder from 2 to 50 Mb/s at 60 fps whose frames fill 60% to 100% of their budget, each rung's a
/// little differently; the first frame is a key frame.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn ladder(frames: usize) -> Vec<RungContent> {
    let rung = |(index, megabits): (usize, u64)| {
        let budget = megabits * 1_000_000 / 8 / 60;
        let size = |frame: usize| {
            let percent = 60 + (frame * 37 + frame * frame * 11 + index * 5) % 41;
            (budget * percent as u64 / 100) as u32
        };
        let mut sizes: Vec<u32> = (0..frames).map(size).collect();
        sizes[0] = KEY | budget as u32;
        let asked = megabits * 1_000_000;
        RungContent { asked, produced: asked * 8 / 10, sizes, forced: vec![budget as u32; 3] }
    };
    [2, 5, 10, 20, 35, 50].into_iter().enumerate().map(rung).collect()
}
