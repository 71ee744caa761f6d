//! The thread that makes pictures and encodes them: one frame at a time, as the sender asks. Where the encoder makes one
//! slice after the other and the sender takes parts, the first slices are on their way before the last is encoded.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | clock of time stamps | 90 kHz | RFC 6184 section 8.1, RFC 7798 section 7.1 |

use crate::host::encoders::OpenEncoder;
use crate::wake::Giver;
use gameway_codec::capture::FrameSource;
use gameway_codec::encoder::{self, VideoEncoder};
use gameway_codec::repair::RepairEncoder;
use gameway_codec::{Picture, Size, Stamp, StampError, payload};
use gameway_control::FrameId;
use gameway_media::rate_control::FrameBudgets;
use gameway_media::{Overhead, Train, headers_of_slices, repair_packets};
use gameway_session::EncodeRequest;
use gameway_units::{Bytes, Duration, Instant, VideoCodec};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

/// A frame to be made.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// The client's stay.
    pub session: u32,
    /// What the client takes.
    pub codec: VideoCodec,
    /// What the sender asks for.
    pub request: EncodeRequest,
    /// Number of the newest input that the game has.
    pub input: u32,
    /// What packets cost beside what they carry.
    pub overhead: Overhead,
}

/// A frame that was made, or a part of one.
#[derive(Debug)]
pub struct Made {
    /// The client's stay.
    pub session: u32,
    /// The frame's number.
    pub frame: FrameId,
    /// When it was captured, as a time stamp on the wire.
    pub timestamp: u32,
    /// What is new of it; why there is no more, if it could not be made.
    pub result: Result<Part, String>,
    /// Whether it refers to no other.
    pub key_frame: bool,
}

/// The next packets of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Their payloads.
    pub payloads: Vec<Vec<u8>>,
    /// All packets of the frame, if these are its last: media that is left, and repair.
    pub train: Option<Train>,
}

/// What makes a frame of a picture.
pub struct Encoding {
    /// Where pictures come from.
    pub source: Box<dyn FrameSource>,
    /// What makes an encoder, at first and whenever one has died.
    pub open: OpenEncoder,
    /// Time from frame to frame.
    pub frame_interval: Duration,
    /// Whether frame number, time and input are written into each picture.
    pub stamped: bool,
    /// Counts the pictures taken: a file's sound follows them.
    pub pictures: Arc<AtomicU64>,
    encoder: Option<(VideoCodec, Box<dyn VideoEncoder>)>,
    picture: Picture,
    budgets: FrameBudgets,
    repair: RepairEncoder,
}

impl Encoding {
    /// Makes frames of what `source` shows, with encoders from `open`.
    #[must_use]
    pub fn new(
        source: Box<dyn FrameSource>,
        open: OpenEncoder,
        size: Size,
        (frame_interval, frame_rate): (Duration, u32),
    ) -> Self {
        Self {
            source,
            open,
            frame_interval,
            stamped: true,
            pictures: Arc::default(),
            encoder: None,
            picture: Picture::black(size),
            budgets: FrameBudgets::new(frame_rate),
            repair: RepairEncoder::new(),
        }
    }

    /// Does jobs until nobody gives any.
    pub fn run(mut self, jobs: &Receiver<Job>, made: &Giver<Made>) {
        for job in jobs {
            let Job { session, request, .. } = job;
            let (frame, timestamp) = (request.frame, timestamp(request.captured));
            let give = |result, key_frame| {
                made.give(Made { session, frame, timestamp, result, key_frame })
            };
            let last = self.make(&job, &mut |part, key_frame| {
                // Who does not listen any more is found out at the end.
                give(Ok(part), key_frame);
            });
            if last.is_err() {
                self.encoder = None;
            }
            let key_frame = last.as_ref().is_ok_and(|(_, key_frame)| *key_frame);
            if !give(last.map(|(part, _)| part), key_frame) {
                break;
            }
            self.source.draw_ahead(request.frame.0 + 1);
        }
    }

    /// Makes a frame; gives its last part, after `give` got those before and whether they are of a key frame.
    fn make(
        &mut self,
        job: &Job,
        give: &mut dyn FnMut(Part, bool),
    ) -> Result<(Part, bool), String> {
        let Job { codec, request, input, overhead, .. } = job;
        let drawn = self.source.next(request.captured, request.frame.0, &mut self.picture);
        drawn.map_err(|error| error.to_string())?;
        self.pictures.fetch_add(1, Ordering::Relaxed);
        if self.stamped {
            let stamp =
                Stamp { frame: request.frame.0 as u32, captured: request.captured, input: *input };
            stamp.write(&mut self.picture).map_err(|error: StampError| error.to_string())?;
        }
        let mut packetizer = payload::Packetizer::new(*codec, overhead.payload.get() as usize);
        let (mut payloads, mut given) = (Vec::new(), 0);
        let encoded = self.encode(job, &mut |slice, is_last, key_frame| {
            payloads.extend(packetizer.push(slice));
            if request.in_parts && !is_last && payloads.len() > given {
                give(Part { payloads: payloads[given..].to_vec(), train: None }, key_frame);
                given = payloads.len();
            }
        })?;
        payloads.extend(packetizer.finish());
        let media = payloads.len();
        if given == media {
            return Err("the encoder made fewer slices than it said".to_owned());
        }
        let parity = repair_packets(media as u64, request.repair_share) as usize;
        let repair = self.repair.protect(&payloads, parity).map_err(|error| error.to_string())?;
        payloads.extend(repair);
        let sizes = payloads.iter().map(|payload| payload.len() as u16).collect();
        let train = Train::of_packets(sizes, media, *overhead)
            .ok_or_else(|| format!("{} bytes do not fit a frame's packets", encoded.data.len()))?;
        let part = Part { payloads: payloads.split_off(given), train: Some(train) };
        Ok((part, encoded.key_frame))
    }

    /// `slice` gets the access unit as it is made, whether this is all of it, and whether it is a key frame.
    fn encode(
        &mut self,
        job: &Job,
        slice: &mut dyn FnMut(&[u8], bool, bool),
    ) -> Result<encoder::EncodedFrame, String> {
        let Job { codec, request, .. } = *job;
        // A client that takes another codec than the one before has an encoder of its own.
        self.encoder.take_if(|(of, _)| *of != codec);
        let fresh = self.encoder.is_none();
        let (_, encoder) = match &mut self.encoder {
            Some(encoder) => encoder,
            None => {
                let opened = (self.open)(codec).map_err(|error| error.to_string())?;
                self.encoder.insert((codec, opened))
            }
        };
        let rate = for_encoder(job, encoder.slices()) / self.frame_interval;
        let asked = encoder::EncodeRequest {
            frame_budget: match request.bounded {
                true => self.budgets.next_bounded(rate),
                false => self.budgets.next(rate),
            },
            rate,
            key_frame: request.key_frame || fresh,
            refers_back: request.refers_back,
            timestamp: request.captured,
        };
        let key_frame = asked.takes_key_frame(encoder.keeps());
        let mut to_come = encoder.slices();
        let encoded = encoder.encode_in_parts(&self.picture, asked, &mut |data| {
            to_come = to_come.saturating_sub(1);
            // There is no key frame but on request.
            slice(data, to_come == 0, key_frame);
        });
        encoded.map_err(|error| error.to_string())
    }
}

/// What is left of a frame's payload for the encoder's bytes, without headers of fragments and of slices' packets.
fn for_encoder(job: &Job, slices: u64) -> Bytes {
    let Job { codec, overhead, .. } = *job;
    let EncodeRequest { payload, repair_share, .. } = job.request;
    let header = payload::fragment_header(codec);
    let packets = payload.get().div_ceil(overhead.payload.get() - header);
    let fragments = Bytes::new(packets * header);
    let headers = headers_of_slices(packets, slices, repair_share, overhead.packet);
    payload.saturating_sub(fragments + headers).max(Bytes::new(1))
}

/// The time of the run in units of 1/90000 s; it wraps, as time stamps do.
#[must_use]
pub fn timestamp(captured: Instant) -> u32 {
    (i128::from(captured.as_nanos()) * 9 / 100_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_codec::capture::{self, Source};
    use gameway_codec::encoder::EncoderError;
    use gameway_units::Ratio;

    #[test]
    fn time_stamps_count_ninety_a_millisecond() {
        assert_eq!(timestamp(Instant::ZERO), 0);
        assert_eq!(timestamp(Instant::from_nanos(1_000_000)), 90);
        assert_eq!(timestamp(Instant::from_nanos(1_000_000_000)), 90_000);
        let later = Instant::from_nanos(47_721_858_844_500);
        assert_eq!(timestamp(later), 0, "2^32 ticks are 47721.858... s, rounded down");
    }

    /// Its third frame kills it; who asks what is written down as it comes.
    struct Mortal {
        encoded: u32,
    }

    impl VideoEncoder for Mortal {
        fn encode(
            &mut self,
            _picture: &Picture,
            request: encoder::EncodeRequest,
        ) -> Result<encoder::EncodedFrame, EncoderError> {
            self.encoded += 1;
            if self.encoded == 3 {
                return Err(EncoderError::Failed { encoder: "mortal", reason: "it died".into() });
            }
            Ok(encoder::EncodedFrame {
                data: [&[0, 0, 0, 1][..], &[0x65; 3_000]].concat(),
                key_frame: request.key_frame,
                quantizer: None,
                timestamp: request.timestamp,
            })
        }

        fn name(&self) -> &'static str {
            "mortal"
        }
    }

    fn job(frame: u64) -> Job {
        Job {
            session: 0,
            codec: VideoCodec::H264,
            request: EncodeRequest {
                frame: FrameId(frame),
                captured: Instant::from_nanos(frame as i64 * 16_666_667),
                rate: gameway_units::Rate::from_mbps(6),
                payload: Bytes::new(12_000),
                repair_share: Ratio::ZERO,
                bounded: false,
                key_frame: false,
                refers_back: 1,
                in_parts: false,
            },
            input: 0,
            overhead: Overhead::default(),
        }
    }

    /// Its frames are as large as their budgets.
    struct Greedy;

    impl VideoEncoder for Greedy {
        fn encode(
            &mut self,
            _picture: &Picture,
            request: encoder::EncodeRequest,
        ) -> Result<encoder::EncodedFrame, EncoderError> {
            let unit = vec![0x65; request.frame_budget.get() as usize];
            Ok(encoder::EncodedFrame {
                data: [&[0, 0, 0, 1], &unit[..]].concat(),
                key_frame: request.key_frame,
                quantizer: None,
                timestamp: request.timestamp,
            })
        }

        fn name(&self) -> &'static str {
            "greedy"
        }
    }

    fn made(open: OpenEncoder, to_do: impl IntoIterator<Item = Job>) -> Vec<Made> {
        let size = Size::new(320, 180).expect("a size");
        let source = capture::open(&Source::Scene { seed: 1 }, size, 60).expect("a scene");
        let encoding = Encoding::new(source, open, size, (Duration::from_nanos(16_666_667), 60));
        let (jobs, taken) = std::sync::mpsc::channel();
        let (giver, taker) = crate::wake::waking().expect("a descriptor");
        to_do.into_iter().for_each(|job| jobs.send(job).expect("somebody listens"));
        drop(jobs);
        encoding.run(&taken, &giver);
        std::iter::from_fn(|| taker.take()).collect()
    }

    #[test]
    fn a_bounded_frame_may_have_what_is_left_of_its_payload_and_others_a_third_more() {
        let jobs = [false, true].map(|bounded| {
            let mut job = job(0);
            job.request.bounded = bounded;
            job
        });
        let open: OpenEncoder = Box::new(|_| Ok(Box::new(Greedy)));
        let payloads: Vec<u64> = made(open, jobs)
            .into_iter()
            .map(|made| made.result.expect("frames").train.expect("a whole").payload().get())
            .collect();
        assert!((11_990..=12_000).contains(&payloads[1]), "{payloads:?}");
        assert!((16_160..=16_210).contains(&payloads[0]), "{payloads:?}");
    }

    /// Its frames have three slices, each given as it is made; it dies of its fourth frame, after the first.
    struct InSlices {
        encoded: u8,
    }

    impl VideoEncoder for InSlices {
        fn encode(
            &mut self,
            _picture: &Picture,
            _request: encoder::EncodeRequest,
        ) -> Result<encoder::EncodedFrame, EncoderError> {
            unreachable!("a host takes parts")
        }

        fn encode_in_parts(
            &mut self,
            _picture: &Picture,
            request: encoder::EncodeRequest,
            part: &mut dyn FnMut(&[u8]),
        ) -> Result<encoder::EncodedFrame, EncoderError> {
            self.encoded += 1;
            let mut data = Vec::new();
            for size in [2_500, 300, 1_500] {
                let slice = [&[0, 0, 0, 1, 0x65][..], &vec![self.encoded; size]].concat();
                part(&slice);
                data.extend(slice);
                if self.encoded == 4 {
                    let reason = "it died".into();
                    return Err(EncoderError::Failed { encoder: "slicing", reason });
                }
            }
            let (key_frame, timestamp) = (request.key_frame, request.timestamp);
            Ok(encoder::EncodedFrame { data, key_frame, quantizer: None, timestamp })
        }

        fn name(&self) -> &'static str {
            "slicing"
        }

        fn slices(&self) -> u64 {
            3
        }
    }

    #[test]
    fn slices_leave_as_they_are_made_if_they_may() {
        let jobs = (0..4).map(|frame| {
            let mut job = job(frame);
            job.request.in_parts = frame > 0;
            job.request.repair_share = Ratio::from_ppm(200_000);
            job
        });
        let open: OpenEncoder = Box::new(|_| Ok(Box::new(InSlices { encoded: 0 })));
        let mut made = made(open, jobs).into_iter();
        let mut next = || made.next().map(|made| (made.frame.0, made.key_frame, made.result));
        let (frame, _, whole) = next().expect("a frame");
        let whole = whole.expect("it lives").payloads;
        // Three fragments, a small one and two fragments; a fifth of them repair.
        assert_eq!((frame, whole.len()), (0, 8));
        let sizes: Vec<usize> = whole.iter().map(Vec::len).collect();
        for number in [1, 2] {
            let (mut parts, mut trains) = (Vec::new(), Vec::new());
            for _ in 0..2 {
                let (frame, key_frame, part) = next().expect("a part");
                assert_eq!((frame, key_frame), (number, false));
                let part = part.expect("it lives");
                parts.push(part.payloads.iter().map(Vec::len).collect::<Vec<_>>());
                trains.extend(part.train);
            }
            // The small slice waits for what may share a packet with it.
            assert_eq!(parts, [&sizes[..3], &sizes[3..]]);
            assert_eq!((trains.len(), trains[0].media_packets(), trains[0].packets()), (1, 6, 8));
        }
        let (frame, _, part) = next().expect("a part");
        assert_eq!((frame, part.map(|part| part.train)), (3, Ok(None)));
        assert!(matches!(next(), Some((3, false, Err(_)))) && next().is_none());
    }

    #[test]
    fn an_encoder_that_dies_is_replaced_and_the_next_begins_with_a_key_frame() {
        let open: OpenEncoder = Box::new(|_| Ok(Box::new(Mortal { encoded: 0 })));
        let made = made(open, (0..6).map(job));
        let whole: Vec<bool> = made.iter().map(|made| made.result.is_ok()).collect();
        assert_eq!(whole, [true, true, false, true, true, false]);
        let keys: Vec<bool> = made.iter().map(|made| made.key_frame).collect();
        assert_eq!(keys, [true, false, false, true, false, false]);
        assert_eq!(made[2].result, Err("mortal failed: it died; make a new one".to_owned()));
    }

    #[test]
    fn headers_of_fragments_and_of_packets_that_slices_cost_are_taken_off() {
        use VideoCodec::{H264, H265};
        let of = |codec, payload, slices| {
            let mut job = job(0);
            (job.codec, job.request.payload) = (codec, Bytes::new(payload));
            for_encoder(&job, slices).get()
        };
        assert_eq!(of(H264, 12_000, 1), 12_000 - 11 * 2);
        assert_eq!(of(H265, 12_000, 1), 12_000 - 11 * 3);
        assert_eq!(of(H264, 12_000, 4), 12_000 - 11 * 2 - 48 * 3 / 2);
        assert_eq!(of(H264, 1_300, 4), 1_300 - 2 * 2 - 48 / 2, "two packets have one boundary");
        assert_eq!(of(H264, 1, 4), 1);
    }
}
