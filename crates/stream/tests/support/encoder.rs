//! An encoder whose frames are random bytes as large as they may be, ready after a while.

use gameway_codec::repair::RepairEncoder;
use gameway_media::{MAX_PAYLOAD, Train, repair_packets};
use gameway_stream::host::encoding::{Job, Made, timestamp};
use gameway_units::{Duration, Instant};
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;

/// What x264 takes for a frame of 1280x720.
const TAKES: Duration = Duration::from_millis(4);

/// A frame as it was made.
#[derive(Debug, Clone)]
pub struct MadeFrame {
    pub payloads: Vec<Vec<u8>>,
    pub key_frame: bool,
    pub captured: Instant,
}

#[derive(Default)]
pub struct FakeEncoder {
    /// By session and frame.
    pub made: BTreeMap<(u32, u64), MadeFrame>,
    /// Fails once at the next frame.
    pub dies: bool,
    /// When it died.
    pub died: Vec<Instant>,
    /// A new one knows no other frame.
    is_new: bool,
    busy: Option<(Instant, Job)>,
    repair: RepairEncoder,
}

impl FakeEncoder {
    /// When a frame is ready.
    pub fn due(&self) -> Option<Instant> {
        self.busy.map(|(due, _)| due)
    }

    pub fn begin(&mut self, now: Instant, job: Job) {
        self.busy = Some((now + TAKES, job));
    }

    /// The frame that is ready now, if any.
    pub fn finish(&mut self, now: Instant) -> Option<Made> {
        let (_, job) = self.busy.take_if(|(due, _)| *due <= now)?;
        let Job { session, request, .. } = job;
        let timestamp = timestamp(request.captured);
        let failed = Made {
            session,
            frame: request.frame,
            timestamp,
            result: Err("it died".to_owned()),
            key_frame: false,
        };
        if std::mem::take(&mut self.dies) {
            self.died.push(now);
            self.is_new = true;
            return Some(failed);
        }
        let key_frame = std::mem::take(&mut self.is_new) || request.key_frame;
        let payloads = payloads(&job);
        let captured = request.captured;
        let kept = MadeFrame { payloads: payloads.clone(), key_frame, captured };
        self.made.insert((session, request.frame.0), kept);
        Some(Made { result: Ok(self.protect(payloads, &job)), key_frame, ..failed })
    }

    fn protect(&mut self, mut payloads: Vec<Vec<u8>>, job: &Job) -> (Train, Vec<Vec<u8>>) {
        let media = payloads.len();
        let parity = repair_packets(media as u64, job.repair_share) as usize;
        payloads.extend(self.repair.protect(&payloads, parity).unwrap());
        let sizes = payloads.iter().map(|payload| payload.len() as u16).collect();
        (Train::of_packets(sizes, media, job.overhead).unwrap(), payloads)
    }
}

/// Random bytes, other ones for each frame of each session.
fn payloads(job: &Job) -> Vec<Vec<u8>> {
    let seed = u64::from(job.session) << 32 | job.request.frame.0;
    let mut random = super::Random::seed_from_u64(seed);
    let mut left = job.request.payload.get().max(1);
    let mut payloads = Vec::new();
    while left > 0 {
        let mut payload = vec![0; left.min(MAX_PAYLOAD.get()) as usize];
        random.fill_bytes(&mut payload);
        left -= payload.len() as u64;
        payloads.push(payload);
    }
    payloads
}
