//! The thread that decodes pictures and reads what they say of themselves, in the order of frames. A frame's first slices are
//! decoded while its last are on their way, so that little is left when it is whole.

use crate::card;
use crate::wake::WakeSender;
use gameway_codec::Stamp;
use gameway_codec::decoder::Decoder;
use gameway_codec::payload::Depacketizer;
use gameway_codec::payload::PayloadError;
use gameway_control::FrameId;
use gameway_media::MAX_BACK;
use gameway_runtime::clock::Clock;
use gameway_units::{Instant, VideoCodec};
use std::sync::mpsc::Receiver;

/// A frame to be decoded, or slices of one of which more will come.
#[derive(Debug)]
pub struct Job {
    /// Its number.
    pub frame: FrameId,
    /// The payloads of its media packets, in order, after those that came before; `None` if they cannot be had.
    pub payloads: Option<Vec<Vec<u8>>>,
    /// Whether these are the last.
    pub last: bool,
}

/// What became of it.
#[derive(Debug)]
pub struct Decoded {
    /// Its number.
    pub frame: FrameId,
    /// Its picture; why there is none, if it could not be decoded.
    pub result: Result<DecodedPicture, String>,
}

/// A picture.
#[derive(Debug, Clone, Copy)]
pub struct DecodedPicture {
    /// When it was there.
    pub at: Instant,
    /// What it says of itself, if it is one of the built-in scene.
    pub stamp: Option<Stamp>,
    /// The number that the test card shows in it.
    pub card: Option<u8>,
}

/// Decodes until nobody gives any more.
pub fn run(codec: VideoCodec, jobs: &Receiver<Job>, decoded: &WakeSender<Decoded>, clock: Clock) {
    let mut decoding = Decoding { codec, decoder: None, decoded: None, begun: None };
    for job in jobs {
        if let Some(result) = decoding.take(&job, clock)
            && !decoded.send(Decoded { frame: job.frame, result })
        {
            break;
        }
    }
}

/// A frame of which slices were decoded.
struct PartialFrame {
    frame: FrameId,
    depacketizer: Depacketizer,
    /// Why its rest cannot be decoded.
    failed: Option<String>,
}

struct Decoding {
    codec: VideoCodec,
    decoder: Option<Decoder>,
    /// The frame that was decoded last.
    decoded: Option<FrameId>,
    begun: Option<PartialFrame>,
}

impl Decoding {
    /// Decodes what a job has; what became of the frame, after its last.
    fn take(&mut self, job: &Job, clock: Clock) -> Option<Result<DecodedPicture, String>> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            empty => match Decoder::new(self.codec) {
                Ok(decoder) => empty.insert(decoder),
                Err(why) => return job.last.then(|| Err(why.to_string())),
            },
        };
        let mut begun = match self.begun.take() {
            Some(begun) if begun.frame == job.frame => begun,
            _ => {
                if let Some(decoded) = self.decoded {
                    // The rest of one that was begun is among those that never came.
                    pass_over(decoder, job.frame.0.saturating_sub(decoded.0.saturating_add(1)));
                }
                let depacketizer = Depacketizer::new(self.codec);
                PartialFrame { frame: job.frame, depacketizer, failed: None }
            }
        };
        let done = match &begun.failed {
            Some(why) => Err(why.clone()),
            None => begun.decode(decoder, job, clock),
        };
        match &done {
            Ok(_) if job.last => self.decoded = Some(job.frame),
            Ok(_) => {}
            Err(_) => decoder.lose(),
        }
        match done {
            Ok(shown) if job.last => Some(shown.ok_or_else(|| "no picture".to_owned())),
            Err(why) if job.last => Some(Err(why)),
            done => {
                begun.failed = done.err();
                self.begun = Some(begun);
                None
            }
        }
    }
}

/// So many frames do not come; what is decoded next is a key frame, or refers to none of them.
fn pass_over(decoder: &mut Decoder, frames: u64) {
    match u32::try_from(frames) {
        Ok(0) => {}
        Ok(few) if few < u32::from(MAX_BACK) => decoder.pass_over(few),
        _ => decoder.lose(),
    }
}

impl PartialFrame {
    /// The picture, after the last of its slices.
    fn decode(
        &mut self,
        decoder: &mut Decoder,
        job: &Job,
        clock: Clock,
    ) -> Result<Option<DecodedPicture>, String> {
        let text = |error: PayloadError| error.to_string();
        let payloads = job.payloads.as_ref().ok_or("packets of it cannot be had")?;
        payloads.iter().try_for_each(|payload| self.depacketizer.push(payload)).map_err(text)?;
        if !job.last {
            let slices = self.depacketizer.take().map_err(text)?;
            if !slices.is_empty() {
                decoder.begin(slices).map_err(|error| error.to_string())?;
            }
            return Ok(None);
        }
        let rest = self.depacketizer.finish().map_err(text)?;
        let picture = decoder.decode(rest).map_err(|error| error.to_string())?;
        let at = clock.now();
        let stamp = Stamp::read(picture);
        let card = if stamp.is_none() { card::read(picture) } else { None };
        Ok(Some(DecodedPicture { at, stamp, card }))
    }
}
