//! The thread that makes pictures and encodes them: one frame at a time, as the sender asks. Where the encoder makes one
//! slice after the other and the sender takes parts, the first slices are on their way before the last is encoded.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | clock of time stamps | 90 kHz | RFC 6184 section 8.1, RFC 7798 section 7.1 |

use crate::card;
use crate::host::encoders::OpenEncoder;
use crate::host::photon::Watched;
use crate::host::picture_feed::PictureFeed;
use crate::wake::WakeSender;
use gameway_codec::capture::FrameSource;
use gameway_codec::encoder::{self, VideoEncoder};
use gameway_codec::repair::RepairEncoder;
use gameway_codec::{Hand, Picture, Scaler, Size, Stamp, StampError, payload};
use gameway_control::FrameId;
use gameway_media::rate_control::FrameBudgets;
use gameway_media::{Level, Overhead, Train, headers_of_slices, repair_packets};
use gameway_runtime::clock::Clock;
use gameway_session::{EncodeRequest, RepairCode};
use gameway_units::{Bytes, Duration, Instant, PayloadFormat, VideoCodec};
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
    /// How it travels.
    pub format: PayloadFormat,
    /// What the sender asks for.
    pub request: EncodeRequest,
    /// Number of the newest input that the game has.
    pub input: u32,
    /// Where the player's hand is, if the player has the scene.
    pub hand: Option<Hand>,
    /// What the client can do with repair packets.
    pub code: RepairCode,
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
    /// When it was made, with its last part, if that is watched.
    pub watched: Option<Watched>,
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
    /// The clock by which it is noted when frames are made and what the test card shows in them, if one is played.
    pub watch: Option<Clock>,
    /// Counts the pictures taken: a file's sound follows them.
    pub pictures: Arc<AtomicU64>,
    /// Whom the pictures taken are shown to, beside the client whose frames these are.
    pub shown: PictureFeed,
    watched: Option<Watched>,
    encoder: Option<(VideoCodec, Size, Box<dyn VideoEncoder>)>,
    /// As the source gives it.
    picture: Picture,
    /// What is encoded of it.
    encoded: Picture,
    scaler: Scaler,
    /// Pictures of the source of which there is no frame.
    passed_over: u64,
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
            watch: None,
            pictures: Arc::default(),
            shown: PictureFeed::default(),
            watched: None,
            encoder: None,
            picture: Picture::black(size),
            encoded: Picture::black(size),
            scaler: Scaler::default(),
            passed_over: 0,
            budgets: FrameBudgets::new(frame_rate),
            repair: RepairEncoder::new(),
        }
    }

    /// Does jobs until nobody gives any.
    pub fn run(mut self, jobs: &Receiver<Job>, made: &WakeSender<Made>) {
        for job in jobs {
            let Job { session, request, .. } = job;
            let (frame, timestamp) = (request.frame, timestamp(request.captured));
            let give = |result, key_frame, watched| {
                made.send(Made { session, frame, timestamp, result, key_frame, watched })
            };
            let last = self.make(&job, &mut |part, key_frame| {
                // Who does not listen any more is found out at the end.
                give(Ok(part), key_frame, None);
            });
            let watched = self.encoded_now();
            if last.is_err() {
                self.encoder = None;
            }
            let key_frame = last.as_ref().is_ok_and(|(_, key_frame)| *key_frame);
            if !give(last.map(|(part, _)| part), key_frame, watched) {
                break;
            }
            self.pass_over(request.level);
            self.source.draw_ahead(request.frame.0 + 1 + self.passed_over);
        }
    }

    /// Makes a frame; gives its last part, after `give` got those before and whether they are of a key frame.
    fn make(
        &mut self,
        job: &Job,
        give: &mut dyn FnMut(Part, bool),
    ) -> Result<(Part, bool), String> {
        let Job { codec, format, request, input, overhead, .. } = job;
        let number = request.frame.0 + self.passed_over;
        if let Some(hand) = job.hand {
            self.source.follow(hand);
        }
        self.take_picture(request.captured, number)?;
        self.pictures.fetch_add(1, Ordering::Relaxed);
        self.scale(request.level)?;
        if self.stamped {
            let stamp =
                Stamp { frame: request.frame.0 as u32, captured: request.captured, input: *input };
            stamp.write(&mut self.encoded).map_err(|error: StampError| error.to_string())?;
        }
        let largest = overhead.payload.get() as usize;
        let mut packetizer = payload::Packetizer::new(*codec, *format, largest);
        let (mut payloads, mut given) = (Vec::new(), 0);
        let encoded = self.encode(job, &mut |slice, is_last, key_frame| {
            payloads.extend(packetizer.push(slice, key_frame));
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
        let repair = self.repair_of(job.code, &payloads, parity)?;
        payloads.extend(repair);
        let sizes = payloads.iter().map(|payload| payload.len() as u16).collect();
        let train = Train::of_packets(sizes, media, *overhead)
            .ok_or_else(|| format!("{} bytes do not fit a frame's packets", encoded.data.len()))?;
        let part = Part { payloads: payloads.split_off(given), train: Some(train) };
        Ok((part, encoded.key_frame))
    }

    /// Draws or captures the picture, which is watched if a test card is played.
    fn take_picture(&mut self, now: Instant, number: u64) -> Result<(), String> {
        let began = self.watch.map(|clock| clock.now());
        let drawn = self.source.next(now, number, &mut self.picture);
        drawn.map_err(|error| error.to_string())?;
        self.shown.show(&self.picture);
        self.watched = began.zip(self.watch).map(|(began, clock)| {
            let captured = clock.now();
            Watched { number: card::read(&self.picture), began, captured, encoded: captured }
        });
        Ok(())
    }

    /// What was seen of the frame that is encoded now.
    fn encoded_now(&mut self) -> Option<Watched> {
        let encoded = self.watch?.now();
        self.watched.take().map(|watched| Watched { encoded, ..watched })
    }

    /// The source goes on by the pictures that are left out until the next frame.
    fn pass_over(&mut self, level: Level) {
        let pictures = u64::from(level.intervals.saturating_sub(1));
        self.source.pass_over(pictures);
        self.pictures.fetch_add(pictures, Ordering::Relaxed);
        self.passed_over += pictures;
    }

    /// The picture in the size of that level.
    fn scale(&mut self, level: Level) -> Result<(), String> {
        let own = self.picture.size();
        let side = |side: usize| level.side(side as u32);
        let size = Size::new(side(own.width()), side(own.height()));
        let size = size.map_err(|error| error.to_string())?;
        if self.encoded.size() != size {
            self.encoded = Picture::black(size);
        }
        if size == own {
            std::mem::swap(&mut self.picture, &mut self.encoded);
        } else {
            self.scaler.scale(&self.picture, &mut self.encoded);
        }
        Ok(())
    }

    /// So many repair payloads for these. Parity has its size alone: it is made of the packets as they leave.
    fn repair_of(
        &mut self,
        code: RepairCode,
        media: &[Vec<u8>],
        count: usize,
    ) -> Result<Vec<Vec<u8>>, String> {
        let largest = media.iter().map(Vec::len).max().unwrap_or_default();
        match code {
            RepairCode::None => Ok(Vec::new()),
            RepairCode::Interleaved => {
                let size = largest + crate::PARITY_LENGTH.get() as usize;
                Ok(vec![vec![0; size]; count])
            }
            RepairCode::AnyForAny => {
                self.repair.protect(media, count).map_err(|error| error.to_string())
            }
        }
    }

    /// `slice` gets the access unit as it is made, whether this is all of it, and whether it is a key frame.
    fn encode(
        &mut self,
        job: &Job,
        slice: &mut dyn FnMut(&[u8], bool, bool),
    ) -> Result<encoder::EncodedFrame, String> {
        let Job { codec, request, .. } = *job;
        // A client that takes another codec than the one before, and another size, have an encoder of their own.
        let size = self.encoded.size();
        self.encoder.take_if(|(of, made_for, _)| (*of, *made_for) != (codec, size));
        let fresh = self.encoder.is_none();
        let (_, _, encoder) = match &mut self.encoder {
            Some(encoder) => encoder,
            None => {
                let opened = (self.open)(codec, size).map_err(|error| error.to_string())?;
                self.encoder.insert((codec, size, opened))
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
        let encoded = encoder.encode_in_parts(&self.encoded, asked, &mut |data| {
            to_come = to_come.saturating_sub(1);
            // There is no key frame but on request.
            slice(data, to_come == 0, key_frame);
        });
        encoded.map_err(|error| error.to_string())
    }
}

/// What is left of a frame's payload for the encoder's bytes, without headers of frame, fragments and slices' packets.
fn for_encoder(job: &Job, slices: u64) -> Bytes {
    let Job { codec, format, overhead, .. } = *job;
    let EncodeRequest { payload, repair_share, .. } = job.request;
    let header = payload::fragment_header(codec, format);
    let packets = payload.get().div_ceil(overhead.payload.get() - header);
    let of_format = payload::frame_header(format) + slices * payload::start_code(format);
    let fragments = Bytes::new(packets * header + of_format);
    let headers = headers_of_slices(packets, slices, repair_share, overhead.packet);
    payload.saturating_sub(fragments + headers).max(Bytes::new(1))
}

/// The time of the run in units of 1/90000 s; it wraps, as time stamps do.
#[must_use]
pub fn timestamp(captured: Instant) -> u32 {
    (i128::from(captured.as_nanos()) * 9 / 100_000) as u32
}

#[cfg(test)]
mod tests;
