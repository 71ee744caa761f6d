//! An encoder whose frames are random bytes as large as they may be, ready after a while: a third after the other, if
//! they may come in parts.

use gameway_codec::repair::RepairEncoder;
use gameway_media::{MAX_PAYLOAD, Train, repair_packets};
use gameway_stream::host::encoding::{Job, Made, Part, timestamp};
use gameway_testbed::Random;
use gameway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// What x264 takes for a frame of 1280x720.
const TAKES: Duration = Duration::from_millis(4);

/// A frame as it was made.
#[derive(Debug, Clone)]
pub struct MadeFrame {
    pub payloads: Vec<Vec<u8>>,
    pub key_frame: bool,
    pub refers_back: u8,
    pub captured: Instant,
}

/// A frame in the making.
struct Busy {
    done: Instant,
    job: Job,
    payloads: Vec<Vec<u8>>,
    /// How many of them are given out.
    given: usize,
    /// How many parts are still to come before the last.
    parts: i64,
}

impl Busy {
    fn due(&self) -> Instant {
        self.done - TAKES / 3 * self.parts
    }
}

#[derive(Default)]
pub struct FakeEncoder {
    /// By session and frame.
    pub made: BTreeMap<(u32, u64), MadeFrame>,
    /// Fails once at the next frame.
    pub dies: bool,
    /// When it died.
    pub died: Vec<Instant>,
    /// The newest input of which a picture tells.
    pub newest_input: u32,
    /// A new one knows no other frame.
    is_new: bool,
    busy: Option<Busy>,
    repair: RepairEncoder,
}

impl FakeEncoder {
    /// When a frame or a part of it is ready.
    pub fn due(&self) -> Option<Instant> {
        self.busy.as_ref().map(Busy::due)
    }

    pub fn begin(&mut self, now: Instant, job: Job) {
        let parts = if job.request.in_parts { 2 } else { 0 };
        let payloads = payloads(&job);
        self.newest_input = job.input;
        self.busy = Some(Busy { done: now + TAKES, job, payloads, given: 0, parts });
    }

    /// The frame or the part that is ready now, if any. It dies of a frame after its first part, if there are parts.
    pub fn finish(&mut self, now: Instant) -> Option<Made> {
        let busy = self.busy.as_mut().filter(|busy| busy.due() <= now)?;
        let Job { session, request, .. } = busy.job;
        let timestamp = timestamp(request.captured);
        let made = |result, key_frame| Made {
            session,
            frame: request.frame,
            timestamp,
            result,
            key_frame,
            watched: None,
        };
        if self.dies && busy.parts < 2 {
            (self.busy, self.dies) = (None, false);
            self.died.push(now);
            self.is_new = true;
            return Some(made(Err("it died".to_owned()), false));
        }
        let key_frame = self.is_new || request.key_frame;
        if busy.parts > 0 {
            busy.parts -= 1;
            let all = busy.payloads.len();
            let ready = (all * (2 - busy.parts as usize) / 3).min(all - 1);
            let payloads = busy.payloads[busy.given..ready].to_vec();
            busy.given = ready;
            return Some(made(Ok(Part { payloads, train: None }), key_frame));
        }
        self.is_new = false;
        let Busy { job, payloads, given, .. } = self.busy.take()?;
        let captured = request.captured;
        let kept = MadeFrame {
            payloads: payloads.clone(),
            key_frame,
            refers_back: request.refers_back,
            captured,
        };
        self.made.insert((session, request.frame.0), kept);
        let (train, mut payloads) = self.protect(payloads, &job);
        let payloads = payloads.split_off(given);
        Some(made(Ok(Part { payloads, train: Some(train) }), key_frame))
    }

    fn protect(&mut self, mut payloads: Vec<Vec<u8>>, job: &Job) -> (Train, Vec<Vec<u8>>) {
        let media = payloads.len();
        let parity = repair_packets(media as u64, job.request.repair_share) as usize;
        payloads.extend(self.repair.protect(&payloads, parity).unwrap());
        let sizes = payloads.iter().map(|payload| payload.len() as u16).collect();
        (Train::of_packets(sizes, media, job.overhead).unwrap(), payloads)
    }
}

/// Random bytes, other ones for each frame of each session.
fn payloads(job: &Job) -> Vec<Vec<u8>> {
    let seed = u64::from(job.session) << 32 | job.request.frame.0;
    let mut random = Random::new(seed);
    let mut left = job.request.payload.get().max(1);
    let mut payloads = Vec::new();
    while left > 0 {
        let mut payload = vec![0; left.min(MAX_PAYLOAD.get()) as usize];
        random.fill(&mut payload);
        left -= payload.len() as u64;
        payloads.push(payload);
    }
    payloads
}
