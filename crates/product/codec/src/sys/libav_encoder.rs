//! An encoder of FFmpeg's libavcodec behind a safe face: one picture in, its access unit out.

use super::libav_frame::{Frame, Layout, Surfaces};
use super::libav_messages::{MEMORY, SILENT, explained, message};
use crate::{Picture, Size};
use ffmpeg_sys_next as ffi;
use std::ffi::CStr;
use std::ptr::{NonNull, null_mut};

/// Microseconds between two looks for a frame that is still being made.
const LOOK: u32 = 200;

/// What bounds frames, in bits and seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateSettings {
    pub bitrate: i64,
    pub buffer: i32,
}

/// An option of libavcodec: name and value.
pub(crate) type Setting = (&'static CStr, &'static CStr);

/// What an encoder is opened with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// As libavcodec has it.
    pub name: &'static CStr,
    pub size: Size,
    pub frames_per_second: u32,
    pub layout: Layout,
    /// Largest distance of key frames that the encoder knows.
    pub key_distance: i32,
    /// Options of this encoder.
    pub options: Vec<Setting>,
    /// How often to look for a frame that is not there at once.
    pub looks: u32,
    pub rate: RateSettings,
}

/// One access unit.
#[derive(Debug)]
pub(crate) struct Unit {
    pub data: Vec<u8>,
    pub key_frame: bool,
    pub quantizer: Option<u8>,
}

/// An open encoder.
pub(crate) struct Encoder {
    settings: Settings,
    /// `None` after it could not be opened anew.
    context: Option<Context>,
    surfaces: Option<Surfaces>,
    frame: Frame,
    packet: Packet,
    next: i64,
}

// SAFETY: libavcodec's contexts keep no thread-local state of their callers; they may be used from any thread, by one
// at a time, which `&mut self` ensures. What is thread-local in CUDA, libavcodec pushes and pops in each call.
unsafe impl Send for Encoder {}

impl Encoder {
    /// Opens an encoder.
    pub(crate) fn open(settings: Settings) -> Result<Self, String> {
        explained(|| {
            let codec = find(settings.name)?;
            let surfaces = match &settings.layout {
                Layout::Vaapi(device) => Some(Surfaces::open(device, settings.size)?),
                Layout::Planar | Layout::HalfPlanar => None,
            };
            let context = Some(Context::open(codec, &settings, surfaces.as_ref())?);
            let frame = Frame::with_samples(settings.size, &settings.layout)?;
            let packet = Packet::new();
            Ok(Self { settings, context, surfaces, frame, packet, next: 0 })
        })
    }

    /// Asks for another rate from the next frame on; whether the encoder minds is its own matter.
    pub(crate) fn set_rate(&mut self, rate: RateSettings) {
        self.settings.rate = rate;
        if let Some(context) = &mut self.context {
            context.set_rate(rate);
        }
    }

    /// Opens the encoder anew with another rate, on the same device.
    pub(crate) fn reopen(&mut self, rate: RateSettings) -> Result<(), String> {
        self.settings.rate = rate;
        // First: some devices have so many encoders and no more.
        self.context = None;
        let (settings, surfaces) = (&self.settings, self.surfaces.as_ref());
        let context = explained(|| Context::open(find(settings.name)?, settings, surfaces))?;
        self.context = Some(context);
        Ok(())
    }

    /// Encodes a picture of the encoder's size.
    pub(crate) fn encode(&mut self, picture: &Picture, key_frame: bool) -> Result<Unit, String> {
        assert_eq!(picture.size(), self.settings.size, "the encoder's frame has its own size");
        explained(|| {
            self.frame.fill(picture, self.settings.layout == Layout::Planar)?;
            let frame = match &mut self.surfaces {
                Some(surfaces) => surfaces.upload(&self.frame)?,
                None => &mut self.frame,
            };
            let context = self.context.as_mut().ok_or("it is closed")?;
            frame.name(self.next, key_frame);
            context.send(frame)?;
            let unit = context.receive(&mut self.packet, self.next, self.settings.looks);
            self.next += 1;
            unit
        })
    }
}

/// An open context.
struct Context(NonNull<ffi::AVCodecContext>);

impl Context {
    fn open(
        codec: NonNull<ffi::AVCodec>,
        settings: &Settings,
        surfaces: Option<&Surfaces>,
    ) -> Result<Self, String> {
        // SAFETY: allocates a struct with the defaults of this codec, or gives null.
        let context = unsafe { ffi::avcodec_alloc_context3(codec.as_ptr()) };
        let mut context = Self(NonNull::new(context).expect(MEMORY));
        context.configure(settings);
        context.set_rate(settings.rate);
        if let Some(surfaces) = surfaces {
            // SAFETY: both structs are allocated; the context has a reference of its own from now on.
            unsafe {
                let reference = ffi::av_buffer_ref(surfaces.frames.0.as_ptr());
                context.0.as_mut().hw_frames_ctx = reference;
            }
        }
        let mut options = null_mut();
        for (key, value) in &settings.options {
            // SAFETY: both texts are terminated by zero and are copied.
            unsafe { ffi::av_dict_set(&raw mut options, key.as_ptr(), value.as_ptr(), 0) };
        }
        // SAFETY: the context was allocated for this codec and is not open yet; the dictionary is ours, and what is left
        // of it is freed.
        let opened = unsafe {
            let opened = ffi::avcodec_open2(context.0.as_ptr(), codec.as_ptr(), &raw mut options);
            ffi::av_dict_free(&raw mut options);
            opened
        };
        if opened < 0 { Err(message(opened)) } else { Ok(context) }
    }

    fn configure(&mut self, settings: &Settings) {
        // SAFETY: allocated in `open`, and not shared.
        let context = unsafe { self.0.as_mut() };
        (context.width, context.height) =
            (settings.size.width() as i32, settings.size.height() as i32);
        context.pix_fmt = match settings.layout {
            Layout::Planar => ffi::AVPixelFormat::AV_PIX_FMT_YUV420P,
            Layout::HalfPlanar => ffi::AVPixelFormat::AV_PIX_FMT_NV12,
            Layout::Vaapi(_) => ffi::AVPixelFormat::AV_PIX_FMT_VAAPI,
        };
        let frames = settings.frames_per_second as i32;
        context.time_base = ffi::AVRational { num: 1, den: frames };
        context.framerate = ffi::AVRational { num: frames, den: 1 };
        context.color_range = ffi::AVColorRange::AVCOL_RANGE_MPEG;
        context.color_primaries = ffi::AVColorPrimaries::AVCOL_PRI_BT709;
        context.color_trc = ffi::AVColorTransferCharacteristic::AVCOL_TRC_BT709;
        context.colorspace = ffi::AVColorSpace::AVCOL_SPC_BT709;
        context.gop_size = settings.key_distance;
        context.max_b_frames = 0;
        context.thread_count = 1;
        context.slices = 1;
        // Without the flag of a global header, parameter sets come with each key frame.
        context.flags |= (ffi::AV_CODEC_FLAG_LOW_DELAY | ffi::AV_CODEC_FLAG_CLOSED_GOP) as i32;
        context.log_level_offset = SILENT;
    }

    fn set_rate(&mut self, rate: RateSettings) {
        // SAFETY: allocated in `open`, and not shared; encoders read these between calls only.
        let context = unsafe { self.0.as_mut() };
        (context.bit_rate, context.rc_max_rate) = (rate.bitrate, rate.bitrate);
        context.rc_buffer_size = rate.buffer;
    }

    fn send(&mut self, frame: &Frame) -> Result<(), String> {
        // SAFETY: the context is open, the frame has the context's format and size.
        let sent = unsafe { ffi::avcodec_send_frame(self.0.as_ptr(), frame.0.as_ptr()) };
        if sent < 0 { Err(message(sent)) } else { Ok(()) }
    }

    /// Takes the access unit of the picture `number`, which was sent last.
    fn receive(&mut self, packet: &mut Packet, number: i64, looks: u32) -> Result<Unit, String> {
        let mut looked = 0;
        let received = loop {
            // SAFETY: the context is open; the packet is allocated, and what it had is released by the call.
            let received =
                unsafe { ffi::avcodec_receive_packet(self.0.as_ptr(), packet.0.as_ptr()) };
            if received != ffi::AVERROR(ffi::EAGAIN) || looked == looks {
                break received;
            }
            looked += 1;
            // SAFETY: waits.
            unsafe { ffi::av_usleep(LOOK) };
        };
        if received == ffi::AVERROR(ffi::EAGAIN) {
            return Err("it holds frames back".to_owned());
        }
        if received < 0 {
            return Err(message(received));
        }
        packet.take(number)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut context = self.0.as_ptr();
        // SAFETY: allocated by the counterpart and not used again.
        unsafe { ffi::avcodec_free_context(&raw mut context) };
    }
}

/// A packet that is used again and again.
struct Packet(NonNull<ffi::AVPacket>);

impl Packet {
    fn new() -> Self {
        // SAFETY: allocates an empty packet, or gives null.
        Self(NonNull::new(unsafe { ffi::av_packet_alloc() }).expect(MEMORY))
    }

    fn take(&mut self, number: i64) -> Result<Unit, String> {
        // SAFETY: allocated in `new`, and not shared.
        let packet = unsafe { self.0.as_ref() };
        if packet.pts != ffi::AV_NOPTS_VALUE && packet.pts != number {
            return Err("it holds frames back".to_owned());
        }
        let size = usize::try_from(packet.size).unwrap_or(0);
        if packet.data.is_null() || size == 0 {
            return Err("it gave an empty frame".to_owned());
        }
        // SAFETY: a packet has `size` bytes at `data`.
        let data = unsafe { std::slice::from_raw_parts(packet.data, size) }.to_vec();
        let key_frame = packet.flags & ffi::AV_PKT_FLAG_KEY != 0;
        let unit = Unit { data, key_frame, quantizer: self.quantizer() };
        // SAFETY: allocated in `new`; its buffer goes back to the encoder.
        unsafe { ffi::av_packet_unref(self.0.as_ptr()) };
        Ok(unit)
    }

    /// The mean quantizer, which some encoders tell as a lambda.
    fn quantizer(&self) -> Option<u8> {
        let mut size = 0;
        let kind = ffi::AVPacketSideDataType::AV_PKT_DATA_QUALITY_STATS;
        // SAFETY: the packet is allocated; gives `size` bytes that live as long as the packet's content, or null.
        let lambda = unsafe {
            let data = ffi::av_packet_get_side_data(self.0.as_ptr(), kind, &raw mut size);
            if data.is_null() || size < 4 {
                return None;
            }
            u32::from_le_bytes([*data, *data.add(1), *data.add(2), *data.add(3)])
        };
        u8::try_from(lambda / ffi::FF_QP2LAMBDA as u32).ok()
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        let mut packet = self.0.as_ptr();
        // SAFETY: allocated by the counterpart and not used again.
        unsafe { ffi::av_packet_free(&raw mut packet) };
    }
}

fn find(name: &CStr) -> Result<NonNull<ffi::AVCodec>, String> {
    // SAFETY: looks a name up in libavcodec's static tables.
    let found = unsafe { ffi::avcodec_find_encoder_by_name(name.as_ptr()) };
    NonNull::new(found.cast_mut()).ok_or_else(|| "this libavcodec was built without it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[Setting], looks: u32) -> Settings {
        Settings {
            name: c"libx264",
            size: Size::SMALLEST,
            frames_per_second: 60,
            layout: Layout::Planar,
            key_distance: i32::MAX,
            options: options.to_vec(),
            looks,
            rate: RateSettings { bitrate: 600_000, buffer: 10_000 },
        }
    }

    /// libx264 with these options; `None` where libavcodec was built without it.
    fn libx264(options: &[Setting], looks: u32) -> Option<Encoder> {
        Encoder::open(settings(options, looks))
            .inspect_err(|error| assert_eq!(error, "this libavcodec was built without it"))
            .ok()
    }

    fn encode(encoder: &mut Encoder) -> Result<Unit, String> {
        encoder.encode(&Picture::black(Size::SMALLEST), false)
    }

    const AT_ONCE: &[Setting] = &[(c"preset", c"ultrafast"), (c"tune", c"zerolatency")];

    #[test]
    fn an_encoder_that_holds_frames_back_is_an_error() {
        for looks in [0, 5] {
            let Some(mut encoder) = libx264(&[(c"preset", c"ultrafast")], looks) else { return };
            assert_eq!(encode(&mut encoder).unwrap_err(), "it holds frames back");
        }
    }

    #[test]
    fn a_device_that_is_none_is_an_error() {
        let mut settings = settings(&[], 0);
        (settings.name, settings.layout) = (c"h264_vaapi", Layout::Vaapi(c"/dev/null".into()));
        let Err(error) = Encoder::open(settings) else { panic!("/dev/null encodes") };
        let without = error == "this libavcodec was built without it";
        assert!(without || error.starts_with("/dev/null: "), "{error}");
    }

    #[test]
    fn the_units_of_earlier_pictures_are_an_error() {
        let Some(mut encoder) = libx264(AT_ONCE, 0) else { return };
        encode(&mut encoder).unwrap();
        // A picture whose unit is not fetched: the next one finds it in its place.
        encoder.frame.name(encoder.next, false);
        encoder.context.as_mut().unwrap().send(&encoder.frame).unwrap();
        encoder.next += 1;
        assert_eq!(encode(&mut encoder).unwrap_err(), "it holds frames back");
    }

    #[test]
    fn an_encoder_that_fails_amid_a_stream_says_so_each_time() {
        let Some(mut encoder) = libx264(AT_ONCE, 0) else { return };
        assert!(encode(&mut encoder).unwrap().key_frame);
        // SAFETY: the context is open; no frame ends the stream.
        let ended = unsafe {
            let context = encoder.context.as_ref().unwrap().0.as_ptr();
            ffi::avcodec_send_frame(context, std::ptr::null())
        };
        assert_eq!(ended, 0);
        assert_eq!(encode(&mut encoder).unwrap_err(), "End of file");
        assert_eq!(encode(&mut encoder).unwrap_err(), "End of file");
    }

    #[test]
    fn opened_anew_it_begins_with_a_key_frame_and_one_that_does_not_open_stays_closed() {
        let Some(mut encoder) = libx264(AT_ONCE, 0) else { return };
        assert!(encode(&mut encoder).unwrap().key_frame);
        assert!(!encode(&mut encoder).unwrap().key_frame);
        encoder.reopen(RateSettings { bitrate: 300_000, buffer: 5_000 }).unwrap();
        assert!(encode(&mut encoder).unwrap().key_frame);
        encoder.settings.options = vec![(c"preset", c"none such")];
        let error = encoder.reopen(encoder.settings.rate).unwrap_err();
        assert!(error.contains("none such"), "what libavcodec wrote to its log: {error}");
        assert_eq!(encode(&mut encoder).unwrap_err(), "it is closed");
    }
}
