//! H.264 and H.265 by FFmpeg's libavcodec: encoders in hardware, and libx264 and libx265 behind the same code.
//!
//! libavcodec's licence is what [`crate::decoder`] says. Its encoders in hardware load their makers' drivers when they
//! are opened. libx264 and libx265 are here so that what hardware runs through is tested where there is none.
//!
//! Sources: FFmpeg's documentation and its `libavcodec/nvenc.c`, `qsvenc.c`, `vaapi_encode.c`, `amfenc.c`, `v4l2_m2m_enc.c`
//! and `libx264.c` between versions 5 and 7; Intel's Media SDK.
//!
//! # Model
//! There are no B frames, one slice, and one frame in flight. There is no periodic key frame; one on request carries its
//! parameter sets. An encoder proves this when it is opened, with two black pictures, both asked for as key frames: one
//! that holds frames back, or cannot be asked (amf before it had `forced_idr`), is refused. The buffer (VBV) is one frame,
//! and the rate follows from it, as with x264.
//!
//! | encoder | how it follows a rate, by its source |
//! |---|---|
//! | libx264 | looks at rate and buffer before each frame |
//! | nvenc | as well, but each change resets it and makes a key frame (`reconfig_encoder`: `resetEncoder`, `forceIDR`) |
//! | qsv | looks at them since FFmpeg 6.0, but Intel's library refuses another buffer (`mfx_h264_encode_hw.cpp`, `ProcessAndCheckNewParameters`): opened anew |
//! | vaapi, amf, v4l2m2m, libx265 | read them when they are opened only: opened anew |
//!
//! So there are two ways: each frame its own rate ([`Calibrator`]), or steps ([`Steps`]). An encoder that is asked for each
//! frame and answers with a key frame that nobody wanted goes on in steps.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | least and most buffer | 4 and 20 000 kilobit | as x264's |
//! | grain of the buffer | 1 kilobit; qsv 8 kilobit | libx264 counts kilobits, Intel's library kilobytes |
//! | options of qsv | no HRD (`strict`) | with it easy frames are filled up |
//! | distance of key frames | 2^31 - 1; 32 767 where the encoder keeps 16 bits | none is wanted: nine minutes at 60 frames/s |
//! | preset of nvenc | p1 | the fastest; quality at a rate is second to delay |
//! | mode of vaapi | VBR, else CBR | with target and maximum equal both bound a frame, but CBR fills easy frames up |
//! | wait for amf | 250 ms in looks of 0.2 ms | `amfenc.c` does not wait for the frame; far beyond what a frame takes |
//!
//! | deviation | why |
//! |---|---|
//! | the stamp is not encoded finer than the rest | only some of these take regions, and by their drivers; it is read nevertheless, at 1 Mb/s and 640x360 in 120 of 120 frames (`tests/all/libav_encoder.rs`) |
//! | in steps a frame may be above a budget that is strict after a decrease, by up to a tenth | each step costs a key frame |
//! | fills of hardware encoders at first, their key frames' sizes, and whether VA-API's drivers keep to a buffer of one frame | cannot be known without the hardware; fills are learnt |
//! | v4l2m2m waits without end for a driver that gives neither a frame nor its input back | libavcodec does |

use super::hardware::Hardware;
use super::steps::Steps;
use super::{EncodeRequest, EncodedFrame, EncoderConfig, EncoderError, VideoEncoder, check_size};
use crate::decoder::starts_decoding;
use crate::sys::libav_encoder::{Encoder, RateSettings, Setting, Settings, Unit};
use crate::sys::libav_frame::Layout;
use crate::{Picture, Size};
use gameway_media::rate_control::{Calibrator, bytes_per_frame};
use gameway_units::VideoCodec;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;

const KILOBIT: f64 = 1000.0;
const MIN_BUFFER: f64 = 4.0 * KILOBIT;
const MAX_BUFFER: f64 = 20_000.0 * KILOBIT;
const LOOKS: u32 = 1250;

/// What is behind an encoder's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Hardware(Hardware),
    Libx264,
    /// libx264 that is given pictures as hardware is.
    Libx264HalfPlanar,
    Libx265,
}

/// An encoder of libavcodec, by the name that [`super::open`] knows.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    library: &'static CStr,
    codec: VideoCodec,
    maker: Maker,
}

const fn kind(name: &'static str, library: &'static CStr, codec: VideoCodec, maker: Maker) -> Kind {
    Kind { name, library, codec, maker }
}

const NVENC: Maker = Maker::Hardware(Hardware::Nvenc);
const QSV: Maker = Maker::Hardware(Hardware::Qsv);
const VAAPI: Maker = Maker::Hardware(Hardware::Vaapi);
const AMF: Maker = Maker::Hardware(Hardware::Amf);
const V4L2M2M: Maker = Maker::Hardware(Hardware::V4l2m2m);

const KINDS: [Kind; 13] = [
    kind("h264_nvenc", c"h264_nvenc", VideoCodec::H264, NVENC),
    kind("hevc_nvenc", c"hevc_nvenc", VideoCodec::H265, NVENC),
    kind("h264_qsv", c"h264_qsv", VideoCodec::H264, QSV),
    kind("hevc_qsv", c"hevc_qsv", VideoCodec::H265, QSV),
    kind("h264_vaapi", c"h264_vaapi", VideoCodec::H264, VAAPI),
    kind("hevc_vaapi", c"hevc_vaapi", VideoCodec::H265, VAAPI),
    kind("h264_amf", c"h264_amf", VideoCodec::H264, AMF),
    kind("hevc_amf", c"hevc_amf", VideoCodec::H265, AMF),
    kind("h264_v4l2m2m", c"h264_v4l2m2m", VideoCodec::H264, V4L2M2M),
    kind("hevc_v4l2m2m", c"hevc_v4l2m2m", VideoCodec::H265, V4L2M2M),
    kind("libx264", c"libx264", VideoCodec::H264, Maker::Libx264),
    kind("libx264-nv12", c"libx264", VideoCodec::H264, Maker::Libx264HalfPlanar),
    kind("libx265", c"libx265", VideoCodec::H265, Maker::Libx265),
];

const NVENC_OPTIONS: &[Setting] = &[
    (c"preset", c"p1"),
    (c"tune", c"ull"),
    (c"rc", c"cbr"),
    (c"delay", c"0"),
    (c"zerolatency", c"1"),
    (c"forced-idr", c"1"),
];
const QSV_OPTIONS: &[Setting] = &[
    (c"preset", c"veryfast"),
    (c"async_depth", c"1"),
    (c"forced_idr", c"1"),
    (c"strict", c"unofficial"),
];
const VAAPI_OPTIONS: &[Setting] = &[(c"async_depth", c"1"), (c"sei", c"0")];
const VAAPI_WAYS: &[&[Setting]] = &[
    &[(c"rc_mode", c"VBR")],
    &[(c"rc_mode", c"VBR"), (c"low_power", c"1")],
    &[(c"rc_mode", c"CBR")],
    &[(c"rc_mode", c"CBR"), (c"low_power", c"1")],
];
const AMF_OPTIONS: &[Setting] = &[
    (c"usage", c"ultralowlatency"),
    (c"quality", c"speed"),
    (c"rc", c"cbr"),
    (c"forced_idr", c"1"),
    (c"header_insertion_mode", c"idr"),
];
const LIBX264_OPTIONS: &[Setting] = &[
    (c"preset", c"ultrafast"),
    (c"tune", c"zerolatency"),
    (c"forced-idr", c"1"),
    (c"x264-params", c"scenecut=0"),
];
const LIBX265_OPTIONS: &[Setting] = &[
    (c"preset", c"ultrafast"),
    (c"tune", c"zerolatency"),
    (c"forced-idr", c"1"),
    (c"x265-params", c"log-level=none:scenecut=0:frame-threads=1"),
];

impl Kind {
    fn profile(self) -> Setting {
        let profile = match (self.codec, self.maker) {
            (VideoCodec::H265, _) => c"main",
            (_, VAAPI | AMF) => c"constrained_baseline",
            _ => c"baseline",
        };
        (c"profile", profile)
    }

    /// Options that an encoder is opened with, the best first.
    fn options(self) -> Vec<Vec<Setting>> {
        let (common, ways): (&[Setting], &[&[Setting]]) = match self.maker {
            NVENC => (NVENC_OPTIONS, &[&[]]),
            QSV => (QSV_OPTIONS, &[&[(c"low_power", c"1")], &[(c"low_power", c"0")]]),
            VAAPI => (VAAPI_OPTIONS, VAAPI_WAYS),
            AMF => (AMF_OPTIONS, &[&[]]),
            V4L2M2M => return vec![Vec::new()],
            Maker::Libx265 => (LIBX265_OPTIONS, &[&[]]),
            _ => (LIBX264_OPTIONS, &[&[]]),
        };
        ways.iter().map(|way| [&[self.profile()], common, *way].concat()).collect()
    }

    /// How it may take pictures, the best first.
    fn layouts(self) -> Vec<Layout> {
        match self.maker {
            VAAPI => {
                let path = |device: std::path::PathBuf| CString::new(device.as_os_str().as_bytes());
                let devices = Hardware::Vaapi.devices().into_iter();
                devices.filter_map(|device| path(device).ok()).map(Layout::Vaapi).collect()
            }
            NVENC | Maker::Libx264 | Maker::Libx265 => vec![Layout::Planar],
            V4L2M2M => vec![Layout::HalfPlanar, Layout::Planar],
            _ => vec![Layout::HalfPlanar],
        }
    }

    /// Whether it looks at its rate before each frame.
    fn follows(self) -> bool {
        matches!(self.maker, NVENC | Maker::Libx264 | Maker::Libx264HalfPlanar)
    }

    /// Bits of which the buffer is a multiple.
    fn grain(self) -> f64 {
        if self.maker == QSV { 8.0 * KILOBIT } else { KILOBIT }
    }

    /// A buffer of one frame of `bytes`.
    fn rate(self, bytes: f64, frames_per_second: u32) -> RateSettings {
        let bits = (8.0 * bytes).clamp(MIN_BUFFER.max(self.grain()), MAX_BUFFER);
        let buffer = (bits / self.grain()).floor() * self.grain();
        RateSettings {
            bitrate: buffer as i64 * i64::from(frames_per_second),
            buffer: buffer as i32,
        }
    }

    fn settings(self, config: EncoderConfig, layout: Layout, options: Vec<Setting>) -> Settings {
        let share = bytes_per_frame(config.rate, config.frames_per_second);
        let key_distance = match self.maker {
            NVENC | Maker::Libx264 | Maker::Libx264HalfPlanar | Maker::Libx265 => i32::MAX,
            _ => i32::from(i16::MAX),
        };
        Settings {
            name: self.library,
            size: config.size,
            frames_per_second: config.frames_per_second,
            layout,
            key_distance,
            options,
            looks: if self.maker == AMF { LOOKS } else { 0 },
            rate: self.rate(share, config.frames_per_second),
        }
    }

    fn refused(self, config: &EncoderConfig, why: &str) -> EncoderError {
        let needs = match self.maker {
            Maker::Hardware(hardware) => format!("; {}", hardware.needs()),
            _ => String::new(),
        };
        config.refused(self.name, format!("{why}{needs}"))
    }
}

/// How an encoder comes to another rate.
enum Following {
    EachFrame,
    Steps(Steps),
}

impl Following {
    /// What came of a change: one that cost a key frame which nobody asked for is not to be had for each frame.
    fn heed(&mut self, unwanted_key_frame: bool, held: f64) {
        if unwanted_key_frame && matches!(self, Self::EachFrame) {
            *self = Self::Steps(Steps::new(held));
        }
    }
}

/// An open encoder of libavcodec.
pub struct Libav {
    kind: Kind,
    encoder: Encoder,
    size: Size,
    frames_per_second: u32,
    following: Following,
    /// What the encoder was asked last.
    rate: RateSettings,
    calibrator: Calibrator,
    /// Whether nothing has come out yet that anybody saw.
    fresh: bool,
}

impl Libav {
    /// Whether there is such a name, whatever this machine has.
    pub(super) fn knows(name: &str) -> bool {
        KINDS.iter().any(|kind| kind.name == name)
    }

    /// Opens an encoder by name, in the first way that it takes, and has it prove that it works.
    ///
    /// # Errors
    /// [`EncoderError::Open`] with what libavcodec said and what the encoder needs.
    pub fn new(name: &str, config: EncoderConfig) -> Result<Self, EncoderError> {
        let Some(kind) = KINDS.into_iter().find(|kind| kind.name == name) else {
            return Err(EncoderError::Missing { name: name.to_owned(), present: super::names() });
        };
        config.check_frame_rate(kind.name)?;
        let mut reasons: Vec<String> = Vec::new();
        for layout in kind.layouts() {
            for options in kind.options() {
                let settings = kind.settings(config, layout.clone(), options);
                match open(kind.codec, settings) {
                    Ok((encoder, rate)) => return Ok(Self::with(kind, encoder, rate, config)),
                    Err(reason) if reasons.contains(&reason) => {}
                    Err(reason) => reasons.push(reason),
                }
            }
        }
        if reasons.is_empty() {
            reasons.push("there is no such device".to_owned());
        }
        Err(kind.refused(&config, &reasons.join("; ")))
    }

    fn with(kind: Kind, encoder: Encoder, rate: RateSettings, config: EncoderConfig) -> Self {
        let steps = || Following::Steps(Steps::new(f64::from(rate.buffer) / 8.0));
        Self {
            kind,
            encoder,
            size: config.size,
            frames_per_second: config.frames_per_second,
            following: if kind.follows() { Following::EachFrame } else { steps() },
            rate,
            calibrator: Calibrator::default(),
            fresh: true,
        }
    }

    /// Has the encoder make the next frame by what is asked; whether that was a change.
    fn ask(&mut self, request: EncodeRequest, share: f64, key_frame: bool) -> Result<bool, String> {
        let bytes = match &mut self.following {
            Following::EachFrame => self.calibrator.buffer(share, request.frame_budget.as_f64()),
            Following::Steps(steps) => {
                let wanted = share / self.calibrator.mean_fill();
                if !steps.change(wanted, key_frame) {
                    return Ok(false);
                }
                wanted
            }
        };
        let rate = self.kind.rate(bytes, self.frames_per_second);
        if rate == self.rate {
            return Ok(false);
        }
        self.rate = rate;
        if self.kind.follows() {
            self.encoder.set_rate(rate);
        } else {
            self.encoder.reopen(rate)?;
        }
        Ok(true)
    }

    fn make(&mut self, picture: &Picture, request: EncodeRequest) -> Result<Unit, String> {
        let share = bytes_per_frame(request.rate, self.frames_per_second).max(1.0);
        // What proved the encoder nobody has seen: the first frame refers to nothing.
        let key_frame = request.takes_key_frame(self.keeps()) || self.fresh;
        let changed = self.ask(request, share, key_frame)?;
        let opened = changed && !self.kind.follows();
        let unit = self.encoder.encode(picture, key_frame || opened)?;
        check(self.kind.codec, &unit, key_frame || opened)?;
        let buffer = f64::from(self.rate.buffer) / 8.0;
        self.following.heed(changed && unit.key_frame && !key_frame, buffer);
        self.calibrator.on_frame(unit.data.len() as f64, buffer, share, unit.key_frame);
        self.fresh = false;
        Ok(unit)
    }
}

impl VideoEncoder for Libav {
    fn encode(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
    ) -> Result<EncodedFrame, EncoderError> {
        let encoder = self.kind.name;
        check_size(encoder, self.size, picture)?;
        let unit = self.make(picture, request);
        let unit = unit.map_err(|reason| EncoderError::Failed { encoder, reason })?;
        Ok(EncodedFrame {
            data: unit.data,
            key_frame: unit.key_frame,
            quantizer: unit.quantizer,
            timestamp: request.timestamp,
        })
    }

    fn name(&self) -> &'static str {
        self.kind.name
    }
}

/// Opens an encoder, and has it encode two pictures.
fn open(codec: VideoCodec, settings: Settings) -> Result<(Encoder, RateSettings), String> {
    let (black, rate) = (Picture::black(settings.size), settings.rate);
    let mut encoder = Encoder::open(settings)?;
    for _ in 0..2 {
        let unit = encoder.encode(&black, true)?;
        check(codec, &unit, true)?;
    }
    Ok((encoder, rate))
}

/// Whether decoding can begin where it was asked to, or where the encoder says so.
fn check(codec: VideoCodec, unit: &Unit, key_frame: bool) -> Result<(), String> {
    if key_frame && !unit.key_frame {
        return Err("it gave no key frame when asked".to_owned());
    }
    if unit.key_frame && !starts_decoding(codec, &unit.data) {
        return Err("its key frames come without parameter sets".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_that_answers_changes_with_key_frames_goes_on_in_steps() {
        let mut following = Following::EachFrame;
        following.heed(false, 5_000.0);
        assert!(matches!(following, Following::EachFrame));
        following.heed(true, 5_000.0);
        let Following::Steps(mut steps) = following else { panic!("it does not step") };
        assert!(!steps.change(5_000.0, true), "what it holds, it has");
        assert!(steps.change(4_000.0, false));
    }

    #[test]
    fn a_unit_is_what_was_asked_for_or_an_error() {
        let unit = |kinds: &[u8], key_frame| {
            let data = kinds.iter().flat_map(|kind| [0, 0, 0, 1, *kind, 0x80]).collect();
            Unit { data, key_frame, quantizer: None }
        };
        let check = |unit: &Unit, asked| check(VideoCodec::H264, unit, asked);
        assert_eq!(check(&unit(&[0x67, 0x68, 0x65], true), true), Ok(()));
        assert_eq!(check(&unit(&[0x41], false), false), Ok(()));
        let refused = check(&unit(&[0x41], false), true).unwrap_err();
        assert_eq!(refused, "it gave no key frame when asked");
        let refused = check(&unit(&[0x65], true), false).unwrap_err();
        assert_eq!(refused, "its key frames come without parameter sets");
    }

    #[test]
    fn a_buffer_is_one_frame_in_whole_grains() {
        let kind = |name| KINDS.into_iter().find(|kind| kind.name == name).unwrap();
        let rate = |name, bytes| kind(name).rate(bytes, 60);
        let settings = |bitrate, buffer| RateSettings { bitrate, buffer };
        assert_eq!(rate("h264_nvenc", 10_416.7), settings(4_980_000, 83_000));
        assert_eq!(rate("h264_qsv", 10_416.7), settings(4_800_000, 80_000));
        assert_eq!(rate("hevc_qsv", 10.0), settings(480_000, 8_000));
        assert_eq!(rate("libx264", 10.0), settings(240_000, 4_000));
        assert_eq!(rate("hevc_vaapi", 1e9), settings(1_200_000_000, 20_000_000));
    }

    #[test]
    fn names_are_libavcodecs_and_each_hardware_has_both() {
        for hardware in Hardware::TRIED.into_iter().chain([Hardware::V4l2m2m]) {
            for codec in [VideoCodec::H264, VideoCodec::H265] {
                let kind = KINDS.iter().find(|kind| kind.name == hardware.name(codec)).unwrap();
                assert_eq!((kind.codec, kind.maker), (codec, Maker::Hardware(hardware)));
                assert_eq!(kind.library.to_str(), Ok(kind.name));
            }
        }
    }
}
