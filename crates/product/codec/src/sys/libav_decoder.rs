//! A decoder of FFmpeg's libavcodec behind a safe face.

use super::libav_messages::{SILENT, message};
use crate::picture::MAX_SIDE;
use ffmpeg_sys_next as ffi;
use gameway_units::VideoCodec;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const MISSING: &str = "parts of the picture are missing";

/// libavcodec has room for 36 pictures (`H264_MAX_PICTURE_COUNT`), of which it keeps an abandoned one until it is opened anew:
/// 16 to refer to, the one in hand, and some in between. The eleventh left no picture for the next frame.
const MAX_ABANDONED: u32 = 8;

/// An open decoder.
pub(crate) struct Decoder {
    context: NonNull<ffi::AVCodecContext>,
    packet: NonNull<ffi::AVPacket>,
    frame: NonNull<ffi::AVFrame>,
    watched: Box<Watched>,
    /// Whether slices of a picture came that is not there yet.
    within: bool,
    /// Pictures that never got all their slices.
    abandoned: u32,
    /// Pictures before the next access unit that it does not get.
    passed_over: u32,
}

/// What is seen of libavcodec's work on an access unit.
#[derive(Default)]
struct Watched {
    /// Buffers asked for: the last is the picture's own; libavcodec asks for others in place of pictures that were
    /// lost, to go on with grey or a copy.
    buffers: AtomicU32,
    /// How many it may have: one for each picture that was passed over, too.
    allowed: AtomicU32,
    /// Rows of samples of the picture that are done, where libavcodec tells (H.264).
    rows: AtomicU32,
}

/// A decoded picture, in the decoder's memory until its next call.
pub(crate) struct Frame<'a> {
    pub width: i32,
    pub height: i32,
    pub planes: [&'a [u8]; 3],
    pub strides: [usize; 3],
}

// SAFETY: a context of one thread keeps no thread-local state; it may be used from any thread, by one at a
// time, which `&mut self` ensures.
unsafe impl Send for Decoder {}

impl Decoder {
    /// Opens a decoder.
    pub(crate) fn open(codec: VideoCodec) -> Result<Self, String> {
        let name = match codec {
            VideoCodec::H264 => ffi::AVCodecID::AV_CODEC_ID_H264,
            VideoCodec::H265 => ffi::AVCodecID::AV_CODEC_ID_HEVC,
        };
        // SAFETY: looks a codec up in libavcodec's static tables.
        let found = unsafe { ffi::avcodec_find_decoder(name) };
        if found.is_null() {
            return Err(format!("this libavcodec was built without its decoder of {codec}"));
        }
        // SAFETY: each allocates a struct with its defaults, or gives null.
        let (context, packet, frame) = unsafe {
            (ffi::avcodec_alloc_context3(found), ffi::av_packet_alloc(), ffi::av_frame_alloc())
        };
        let parts = (NonNull::new(context), NonNull::new(packet), NonNull::new(frame));
        let (Some(context), Some(packet), Some(frame)) = parts else {
            panic!("out of memory for a decoder's structs");
        };
        let mut decoder = Self {
            context,
            packet,
            frame,
            watched: Box::default(),
            within: false,
            passed_over: 0,
            abandoned: 0,
        };
        decoder.configure();
        // SAFETY: the context was allocated for this codec and is not open yet.
        let opened = unsafe { ffi::avcodec_open2(context.as_ptr(), found, std::ptr::null_mut()) };
        if opened < 0 { Err(message(opened)) } else { Ok(decoder) }
    }

    fn configure(&mut self) {
        // SAFETY: allocated in `open`, and not shared.
        let context = unsafe { self.context.as_mut() };
        context.thread_count = 1;
        context.flags |= ffi::AV_CODEC_FLAG_LOW_DELAY as i32;
        if context.codec_id == ffi::AVCodecID::AV_CODEC_ID_H264 {
            // An access unit may come in several calls; its picture is there once its last row is. What would look for
            // rows that no slice had would do so after each call: they are counted instead.
            context.flags2 |= ffi::AV_CODEC_FLAG2_CHUNKS;
            context.error_concealment = 0;
            context.draw_horiz_band = Some(count_rows);
        }
        context.err_recognition = ffi::AV_EF_EXPLODE;
        context.max_pixels = i64::from(MAX_SIDE) * i64::from(MAX_SIDE);
        context.log_level_offset = SILENT;
        context.opaque = (&raw const *self.watched).cast_mut().cast();
        context.get_buffer2 = Some(one_buffer);
    }

    /// So many pictures more do not come, to which none of the following refers; whether it can go on without.
    pub(crate) fn pass_over(&mut self, pictures: u32) -> bool {
        self.passed_over = self.passed_over.saturating_add(pictures);
        if std::mem::take(&mut self.within) {
            self.abandon();
            self.abandoned += 1;
        }
        self.abandoned <= MAX_ABANDONED
    }

    /// Forgets the picture of which slices came. Where access units come in several calls libavcodec takes all slices for those
    /// of one picture until that has all its rows; it begins anew with a call that is said to have a whole one. This one has
    /// none: an access unit delimiter (ITU-T H.264 section 7.3.2.4), which is answered by an error.
    fn abandon(&mut self) {
        const DELIMITER: [u8; 6] = [0, 0, 0, 1, 9, 0xF0];
        let chunks = ffi::AV_CODEC_FLAG2_CHUNKS;
        // SAFETY: allocated in `open`, and not shared; libavcodec reads the flag in each call.
        let in_chunks = unsafe {
            let context = self.context.as_mut();
            let before = context.flags2;
            context.flags2 &= !chunks;
            before
        };
        let _ = self.send(&DELIMITER);
        // SAFETY: the context is open; the frame is allocated, and what it had is released by the call.
        unsafe {
            ffi::avcodec_receive_frame(self.context.as_ptr(), self.frame.as_ptr());
            self.context.as_mut().flags2 = in_chunks;
        }
    }

    /// Decodes an access unit, or the next part of one: its picture, once it is there.
    pub(crate) fn decode(
        &mut self,
        part: &[u8],
        begins: bool,
    ) -> Result<Option<Frame<'_>>, String> {
        if begins {
            let allowed = 1 + std::mem::take(&mut self.passed_over);
            *self.watched = Watched { allowed: allowed.into(), ..Watched::default() };
        }
        if part.is_empty() {
            // To libavcodec that would be the end of the stream.
            return Ok(None);
        }
        self.within = true;
        self.send(part)?;
        let context = self.context.as_ptr();
        // SAFETY: the context is open; the frame is allocated, and what it had is released by the call.
        let received = unsafe { ffi::avcodec_receive_frame(context, self.frame.as_ptr()) };
        if received == ffi::AVERROR(ffi::EAGAIN) {
            return Ok(None);
        }
        self.within = false;
        if received < 0 {
            return Err(message(received));
        }
        // SAFETY: both were allocated in `open`; the frame was filled by the call above and is not changed while borrowed.
        let (context, frame) = unsafe { (self.context.as_ref(), self.frame.as_ref()) };
        if context.draw_horiz_band.is_none() {
            return picture(frame, frame.decode_error_flags).map(Some);
        }
        if i64::from(self.watched.rows.load(Relaxed)) < i64::from(frame.height) {
            return Err(MISSING.to_owned());
        }
        // Without a table of what slices had, libavcodec sets this flag with each second slice; an error in one is the
        // call's.
        let errors = frame.decode_error_flags & !ffi::FF_DECODE_ERROR_DECODE_SLICES;
        picture(frame, errors).map(Some)
    }

    /// Has libavcodec decode this.
    fn send(&mut self, part: &[u8]) -> Result<(), String> {
        let size = i32::try_from(part.len()).map_err(|_| "too large".to_owned())?;
        let (context, packet) = (self.context.as_ptr(), self.packet.as_ptr());
        // SAFETY: the packet is allocated and empty; it gets a buffer of `size` bytes, and zeros behind them
        // that the bit reader may touch. All bytes are written before they are read. The packet is empty
        // again afterwards.
        let sent = unsafe {
            let made = ffi::av_new_packet(packet, size);
            assert_eq!(made, 0, "out of memory for {size} bytes");
            std::ptr::copy_nonoverlapping(part.as_ptr(), (*packet).data, part.len());
            let sent = ffi::avcodec_send_packet(context, packet);
            ffi::av_packet_unref(packet);
            sent
        };
        if self.watched.buffers.load(Relaxed) > self.watched.allowed.load(Relaxed) {
            return Err("a picture that it refers to is missing".to_owned());
        }
        if sent < 0 { Err(message(sent)) } else { Ok(()) }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        let (mut context, mut packet, mut frame) =
            (self.context.as_ptr(), self.packet.as_ptr(), self.frame.as_ptr());
        // SAFETY: all three were allocated by their counterparts and are not used again.
        unsafe {
            ffi::avcodec_free_context(&raw mut context);
            ffi::av_packet_free(&raw mut packet);
            ffi::av_frame_free(&raw mut frame);
        }
    }
}

/// A buffer for the picture of this access unit, and for those that were passed over.
unsafe extern "C" fn one_buffer(
    context: *mut ffi::AVCodecContext,
    frame: *mut ffi::AVFrame,
    flags: i32,
) -> i32 {
    // SAFETY: libavcodec calls with the context that it was opened with, whose counters live as long as it.
    let watched = unsafe { &*(*context).opaque.cast::<Watched>() };
    if watched.buffers.fetch_add(1, Relaxed) >= watched.allowed.load(Relaxed) {
        return ffi::AVERROR(ffi::ENOMEM);
    }
    // SAFETY: the arguments are passed on as they came.
    unsafe { ffi::avcodec_default_get_buffer2(context, frame, flags) }
}

/// So many rows are done.
unsafe extern "C" fn count_rows(
    context: *mut ffi::AVCodecContext,
    _frame: *const ffi::AVFrame,
    _offsets: *mut i32,
    _from: i32,
    _structure: i32,
    height: i32,
) {
    // SAFETY: as above.
    let rows = unsafe { &(*(*context).opaque.cast::<Watched>()).rows };
    rows.fetch_add(height.unsigned_abs(), Relaxed);
}

/// The picture of a frame, if it is one that the encoder meant.
fn picture(frame: &ffi::AVFrame, errors: i32) -> Result<Frame<'_>, String> {
    if errors != 0 || frame.flags & ffi::AV_FRAME_FLAG_CORRUPT != 0 {
        return Err(MISSING.to_owned());
    }
    // The second is the first in full range: what it means to a screen, not how it lies in memory.
    let planar = [ffi::AVPixelFormat::AV_PIX_FMT_YUV420P, ffi::AVPixelFormat::AV_PIX_FMT_YUVJ420P];
    if !planar.iter().any(|format| frame.format == *format as i32) {
        return Err("its samples are not 4:2:0 of eight bits".to_owned());
    }
    let (Ok(width), Ok(height)) = (usize::try_from(frame.width), usize::try_from(frame.height))
    else {
        return Err("its size is negative".to_owned());
    };
    let (mut planes, mut strides) = ([&[][..]; 3], [0; 3]);
    for plane in 0..3 {
        let (width, height) =
            if plane == 0 { (width, height) } else { (width.div_ceil(2), height.div_ceil(2)) };
        let stride = usize::try_from(frame.linesize[plane]).unwrap_or(0);
        if frame.data[plane].is_null() || stride < width || height == 0 {
            return Err("a plane is missing".to_owned());
        }
        // SAFETY: libavcodec gives each plane of this format `height` rows of `width` samples, `stride`
        // bytes apart, which live as long as the frame holds its reference: until the decoder's next call.
        planes[plane] =
            unsafe { std::slice::from_raw_parts(frame.data[plane], stride * (height - 1) + width) };
        strides[plane] = stride;
    }
    Ok(Frame { width: frame.width, height: frame.height, planes, strides })
}
