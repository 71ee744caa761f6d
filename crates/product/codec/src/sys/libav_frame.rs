//! Pictures as libavcodec's encoders take them: in libavutil's memory, or on a graphics card.

use super::libav_messages::{MEMORY, message};
use crate::{Picture, Size};
use ffmpeg_sys_next as ffi;
use std::ffi::{CStr, CString};
use std::ptr::{NonNull, null_mut};

/// Frames on the graphics card: the one that is filled, those that the encoder refers to, and some of its own.
const SURFACES: i32 = 8;

/// How pictures lie in the memory that an encoder reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Three planes.
    Planar,
    /// A plane of luma, and one of both chromas in turn (NV12).
    HalfPlanar,
    /// NV12 on the graphics card of this device, by VA-API.
    Vaapi(CString),
}

/// A picture in libavutil's memory, or a reference to one on the graphics card.
pub(super) struct Frame(pub(super) NonNull<ffi::AVFrame>);

impl Frame {
    fn empty() -> Self {
        // SAFETY: allocates an empty frame, or gives null.
        Self(NonNull::new(unsafe { ffi::av_frame_alloc() }).expect(MEMORY))
    }

    pub(super) fn with_samples(size: Size, layout: &Layout) -> Result<Self, String> {
        let mut frame = Self::empty();
        let format = match layout {
            Layout::Planar => ffi::AVPixelFormat::AV_PIX_FMT_YUV420P,
            Layout::HalfPlanar | Layout::Vaapi(_) => ffi::AVPixelFormat::AV_PIX_FMT_NV12,
        };
        // SAFETY: allocated above, and not shared.
        let fields = unsafe { frame.0.as_mut() };
        fields.format = format as i32;
        (fields.width, fields.height) = (size.width() as i32, size.height() as i32);
        // SAFETY: the frame has a format and a size, and no samples yet.
        let made = unsafe { ffi::av_frame_get_buffer(frame.0.as_ptr(), 0) };
        if made < 0 { Err(message(made)) } else { Ok(frame) }
    }

    /// Gives it its number, and says whether it has to be a key frame.
    pub(super) fn name(&mut self, number: i64, key_frame: bool) {
        use ffi::AVPictureType::{AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_NONE};
        // SAFETY: allocated, and not shared.
        let frame = unsafe { self.0.as_mut() };
        frame.pts = number;
        frame.pict_type = if key_frame { AV_PICTURE_TYPE_I } else { AV_PICTURE_TYPE_NONE };
    }

    /// Copies a picture's samples.
    pub(super) fn fill(&mut self, picture: &Picture, planar: bool) -> Result<(), String> {
        // SAFETY: the frame has samples; if the encoder still refers to them, it gets others.
        let made = unsafe { ffi::av_frame_make_writable(self.0.as_ptr()) };
        if made < 0 {
            return Err(message(made));
        }
        let (width, height) = (picture.size().width(), picture.size().height());
        let [luma, blue, red] = picture.planes();
        copy(self.rows(0, width, height), luma.chunks(width));
        if planar {
            copy(self.rows(1, width / 2, height / 2), blue.chunks(width / 2));
            copy(self.rows(2, width / 2, height / 2), red.chunks(width / 2));
            return Ok(());
        }
        let chroma = blue.chunks(width / 2).zip(red.chunks(width / 2));
        for (row, (blue, red)) in self.rows(1, width, height / 2).zip(chroma) {
            for (pair, (blue, red)) in row.chunks_exact_mut(2).zip(blue.iter().zip(red)) {
                (pair[0], pair[1]) = (*blue, *red);
            }
        }
        Ok(())
    }

    /// The rows of a plane.
    fn rows(
        &mut self,
        plane: usize,
        width: usize,
        height: usize,
    ) -> impl Iterator<Item = &mut [u8]> {
        // SAFETY: allocated, and not shared.
        let frame = unsafe { self.0.as_ref() };
        let stride = usize::try_from(frame.linesize[plane]).unwrap_or(0);
        assert!(!frame.data[plane].is_null() && stride >= width, "a plane of the frame's format");
        // SAFETY: `av_frame_get_buffer` gave each plane of this format and size `height` rows, `stride` bytes apart;
        // they are written by nobody else while `self` is borrowed.
        let samples = unsafe {
            std::slice::from_raw_parts_mut(frame.data[plane], stride * (height - 1) + width)
        };
        samples.chunks_mut(stride).map(move |row| &mut row[..width])
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let mut frame = self.0.as_ptr();
        // SAFETY: allocated by the counterpart and not used again.
        unsafe { ffi::av_frame_free(&raw mut frame) };
    }
}

/// A counted reference.
pub(super) struct Buffer(pub(super) NonNull<ffi::AVBufferRef>);

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut buffer = self.0.as_ptr();
        // SAFETY: gives one reference back, which is not used again.
        unsafe { ffi::av_buffer_unref(&raw mut buffer) };
    }
}

/// Frames on a graphics card.
pub(super) struct Surfaces {
    pub(super) frames: Buffer,
    frame: Frame,
}

impl Surfaces {
    pub(super) fn open(device: &CStr, size: Size) -> Result<Self, String> {
        let kind = ffi::AVHWDeviceType::AV_HWDEVICE_TYPE_VAAPI;
        let mut opened = null_mut();
        // SAFETY: the path is terminated by zero; there are no options.
        let made = unsafe {
            ffi::av_hwdevice_ctx_create(&raw mut opened, kind, device.as_ptr(), null_mut(), 0)
        };
        if made < 0 {
            return Err(format!("{}: {}", device.to_string_lossy(), message(made)));
        }
        let device = Buffer(NonNull::new(opened).expect(MEMORY));
        // SAFETY: the device is open; the frames hold a reference of their own to it.
        let frames = unsafe { ffi::av_hwframe_ctx_alloc(device.0.as_ptr()) };
        let frames = Buffer(NonNull::new(frames).expect(MEMORY));
        // SAFETY: the reference is to such a struct, which is not initialized yet and ours alone.
        let made = unsafe {
            let fields = &mut *(*frames.0.as_ptr()).data.cast::<ffi::AVHWFramesContext>();
            fields.format = ffi::AVPixelFormat::AV_PIX_FMT_VAAPI;
            fields.sw_format = ffi::AVPixelFormat::AV_PIX_FMT_NV12;
            (fields.width, fields.height) = (size.width() as i32, size.height() as i32);
            fields.initial_pool_size = SURFACES;
            ffi::av_hwframe_ctx_init(frames.0.as_ptr())
        };
        if made < 0 { Err(message(made)) } else { Ok(Self { frames, frame: Frame::empty() }) }
    }

    /// Copies a picture to the graphics card.
    pub(super) fn upload(&mut self, picture: &Frame) -> Result<&mut Frame, String> {
        let frame = self.frame.0.as_ptr();
        // SAFETY: all are allocated; what the frame referred to before, it lets go.
        let made = unsafe {
            ffi::av_frame_unref(frame);
            match ffi::av_hwframe_get_buffer(self.frames.0.as_ptr(), frame, 0) {
                0 => ffi::av_hwframe_transfer_data(frame, picture.0.as_ptr(), 0),
                failed => failed,
            }
        };
        if made < 0 { Err(message(made)) } else { Ok(&mut self.frame) }
    }
}

fn copy<'a, 'b>(to: impl Iterator<Item = &'a mut [u8]>, from: impl Iterator<Item = &'b [u8]>) {
    to.zip(from).for_each(|(to, from)| to.copy_from_slice(from));
}
