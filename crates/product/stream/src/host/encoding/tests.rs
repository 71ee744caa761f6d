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
        format: PayloadFormat::Own,
        request: EncodeRequest {
            frame: FrameId(frame),
            captured: Instant::from_nanos(frame as i64 * 16_666_667),
            rate: gameway_units::Rate::from_mbps(6),
            payload: Bytes::new(12_000),
            repair_share: Ratio::ZERO,
            bounded: false,
            key_frame: false,
            level: Level::WHOLE,
            refers_back: 1,
            in_parts: false,
        },
        input: 0,
        hand: None,
        code: RepairCode::AnyForAny,
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
    let (sender, receiver) = crate::wake::waking().expect("a descriptor");
    to_do.into_iter().for_each(|job| jobs.send(job).expect("somebody listens"));
    drop(jobs);
    encoding.run(&taken, &sender);
    std::iter::from_fn(|| receiver.take()).collect()
}

#[test]
fn a_bounded_frame_may_have_what_is_left_of_its_payload_and_others_a_third_more() {
    let ways =
        [(false, PayloadFormat::Own), (true, PayloadFormat::Own), (true, PayloadFormat::Vp8)];
    let jobs = ways.map(|(bounded, format)| {
        let mut job = Job { format, ..job(0) };
        job.request.bounded = bounded;
        job
    });
    let open: OpenEncoder = Box::new(|_, _| Ok(Box::new(Greedy)));
    let payloads: Vec<u64> = made(open, jobs)
        .into_iter()
        .map(|made| made.result.expect("frames").train.expect("a whole").payload().get())
        .collect();
    assert!((11_990..=12_000).contains(&payloads[1]), "{payloads:?}");
    assert!((11_990..=12_000).contains(&payloads[2]), "{payloads:?}");
    assert!((16_160..=16_210).contains(&payloads[0]), "{payloads:?}");
}

/// The sizes of the pictures that it is given, and of which of them it has made key frames.
struct Sized(Size, std::sync::mpsc::Sender<(Size, bool)>);

impl VideoEncoder for Sized {
    fn encode(
        &mut self,
        picture: &Picture,
        request: encoder::EncodeRequest,
    ) -> Result<encoder::EncodedFrame, EncoderError> {
        assert_eq!(picture.size(), self.0, "it was opened for that");
        let stamped = Stamp::read(picture).map(|stamp| stamp.frame);
        assert_eq!(stamped, Some((request.timestamp.as_nanos() / 16_666_667) as u32));
        self.1.send((picture.size(), request.key_frame)).expect("somebody listens");
        Ok(encoder::EncodedFrame {
            data: [&[0, 0, 0, 1][..], &[0x65; 3_000]].concat(),
            key_frame: request.key_frame,
            quantizer: None,
            timestamp: request.timestamp,
        })
    }

    fn name(&self) -> &'static str {
        "sized"
    }
}

#[test]
fn a_smaller_picture_has_an_encoder_of_its_own_and_begins_with_a_key_frame() {
    let jobs = [12, 12, 6, 6, 12, 12].into_iter().zip(0..).map(|(twelfths, frame)| {
        let mut job = job(frame);
        job.request.level.twelfths = twelfths;
        job
    });
    let (given, sizes) = std::sync::mpsc::channel();
    let open: OpenEncoder = Box::new(move |_, size| Ok(Box::new(Sized(size, given.clone()))));
    assert!(made(open, jobs).iter().all(|made| made.result.is_ok()));
    let size = |width, height| Size::new(width, height).expect("a size");
    let (whole, half) = (size(320, 180), size(160, 90));
    let expected = [(whole, true), (whole, false), (half, true), (half, false), (whole, true)];
    assert_eq!(sizes.iter().take(5).collect::<Vec<_>>(), expected);
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
    let open: OpenEncoder = Box::new(|_, _| Ok(Box::new(InSlices { encoded: 0 })));
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
    let open: OpenEncoder = Box::new(|_, _| Ok(Box::new(Mortal { encoded: 0 })));
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

/// The numbers of the pictures that it is asked for, and how many were passed over before each.
struct Numbered(std::sync::mpsc::Sender<(u64, u64)>, u64);

impl FrameSource for Numbered {
    fn next(
        &mut self,
        _now: Instant,
        number: u64,
        _picture: &mut Picture,
    ) -> Result<(), capture::CaptureError> {
        self.0.send((number, self.1)).expect("somebody listens");
        Ok(())
    }

    fn pass_over(&mut self, pictures: u64) {
        self.1 += pictures;
    }
}

#[test]
fn a_source_goes_on_by_the_pictures_that_are_left_out() {
    let (told, asked) = std::sync::mpsc::channel();
    let size = Size::new(320, 180).expect("a size");
    let open: OpenEncoder = Box::new(|_, _| Ok(Box::new(Greedy)));
    let interval = Duration::from_nanos(16_666_667);
    let encoding = Encoding::new(Box::new(Numbered(told, 0)), open, size, (interval, 60));
    let pictures = Arc::clone(&encoding.pictures);
    let (jobs, taken) = std::sync::mpsc::channel();
    let (sender, _receiver) = crate::wake::waking().expect("a descriptor");
    for (intervals, frame) in [1, 2, 2, 3, 1].into_iter().zip(0..) {
        let mut job = job(frame);
        job.request.level.intervals = intervals;
        jobs.send(job).expect("somebody listens");
    }
    drop(jobs);
    encoding.run(&taken, &sender);
    assert_eq!(asked.iter().collect::<Vec<_>>(), [(0, 0), (1, 0), (3, 1), (5, 2), (8, 4)]);
    assert_eq!(pictures.load(Ordering::Relaxed), 9, "by which a film's sound goes");
}
