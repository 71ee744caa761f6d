//! libx265 behind a safe face.

use crate::{Picture, Size};
use std::ptr::NonNull;

#[expect(
    clippy::all,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    reason = "as bindgen reads libx265's header"
)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/x265.rs"));
}

/// Kilobits per second.
const ANY_RATE: i32 = 1000;

/// What an encoder is opened with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub size: Size,
    pub frames_per_second: u32,
}

/// One access unit out of libx265.
#[derive(Debug)]
pub(crate) struct Unit {
    pub data: Vec<u8>,
    pub key_frame: bool,
}

/// An open encoder.
pub(crate) struct Encoder {
    api: &'static ffi::x265_api,
    handle: NonNull<ffi::x265_encoder>,
    parameters: Parameters,
    size: Size,
    next: i64,
    /// Quantizer offset of each 16x16 block.
    offsets: Vec<f32>,
}

// SAFETY: libx265 keeps no thread-local state of its callers; a handle may be used from any thread, by one
// at a time, which `&mut self` ensures. Its own threads are its own matter.
unsafe impl Send for Encoder {}

/// Parameters in libx265's memory.
struct Parameters {
    api: &'static ffi::x265_api,
    at: NonNull<ffi::x265_param>,
}

impl Drop for Parameters {
    fn drop(&mut self) {
        // SAFETY: they were allocated by the counterpart and are not used again.
        unsafe { (self.api.param_free.expect(WHOLE))(self.at.as_ptr()) };
    }
}

/// Why functions of the table are there.
const WHOLE: &str = "libx265 fills its table";

impl Encoder {
    /// Opens an encoder; `None` when libx265 refuses. There must be an offset for each 16x16 block.
    pub(crate) fn open(settings: Settings, offsets: Vec<f32>) -> Option<Self> {
        let (width, height) = (settings.size.width(), settings.size.height());
        assert_eq!(offsets.len(), width.div_ceil(16) * height.div_ceil(16), "an offset a block");
        let mut error = 0;
        let version = ffi::X265_BUILD as i32;
        // SAFETY: asks for the table of eight bits a sample as this header has it; a library that has
        // another layout gives null. The table is static.
        let api = unsafe { ffi::x265_api_query(8, version, &raw mut error).as_ref() }?;
        let parameters = parameters(api, settings)?;
        // SAFETY: the parameters were filled by libx265's own defaults; they are copied by the call.
        let handle = unsafe { (api.encoder_open.expect(WHOLE))(parameters.at.as_ptr()) };
        let handle = NonNull::new(handle)?;
        Some(Self { api, handle, parameters, size: settings.size, next: 0, offsets })
    }

    /// Encodes a picture of the encoder's size with a quantizer; `None` when libx265 fails or holds the frame
    /// back.
    pub(crate) fn encode(
        &mut self,
        picture: &Picture,
        quantizer: u8,
        key_frame: bool,
    ) -> Option<Unit> {
        assert_eq!(picture.size(), self.size, "libx265 reads as many samples as it was opened for");
        let (mut input, mut output) = (self.input(picture, quantizer, key_frame), self.picture());
        let (mut nals, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: the handle is open; the input's planes have the size of the encoder (checked above) and
        // are copied before the call returns; there is an offset for each block, copied likewise; the
        // outputs are local.
        let given = unsafe {
            (self.api.encoder_encode.expect(WHOLE))(
                self.handle.as_ptr(),
                &raw mut nals,
                &raw mut count,
                &raw mut input,
                &raw mut output,
            )
        };
        self.next += 1;
        if given != 1 || count == 0 || nals.is_null() {
            return None;
        }
        // SAFETY: libx265 gives `count` NAL units, each with a payload of its size, until the next call.
        let data = unsafe {
            std::slice::from_raw_parts(nals, count as usize)
                .iter()
                .flat_map(|nal| std::slice::from_raw_parts(nal.payload, nal.sizeBytes as usize))
                .copied()
                .collect()
        };
        let key_frame = output.sliceType == ffi::X265_TYPE_IDR as i32;
        Some(Unit { data, key_frame })
    }

    /// A picture that says nothing yet.
    fn picture(&self) -> ffi::x265_picture {
        // SAFETY: all fields of this plain struct are integers, floats or pointers: zero is valid.
        let mut picture: ffi::x265_picture = unsafe { std::mem::zeroed() };
        let initialise = self.api.picture_init.expect(WHOLE);
        // SAFETY: fills the struct in place from the parameters.
        unsafe { initialise(self.parameters.at.as_ptr(), &raw mut picture) };
        picture
    }

    /// What libx265 is given: pointers to the picture's samples and to our offsets.
    fn input(&mut self, picture: &Picture, quantizer: u8, key_frame: bool) -> ffi::x265_picture {
        let mut input = self.picture();
        input.sliceType = if key_frame { ffi::X265_TYPE_IDR } else { ffi::X265_TYPE_AUTO } as i32;
        // Zero leaves the choice to libx265.
        input.forceqp = i32::from(quantizer) + 1;
        input.pts = self.next;
        input.bitDepth = 8;
        input.colorSpace = ffi::X265_CSP_I420 as i32;
        for (plane, (samples, stride)) in
            picture.planes().into_iter().zip(picture.strides()).enumerate()
        {
            input.planes[plane] = samples.as_ptr().cast_mut().cast();
            input.stride[plane] = stride as i32;
        }
        input.quantOffsets = self.offsets.as_mut_ptr();
        input
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the handle is open and is not used again.
        unsafe { (self.api.encoder_close.expect(WHOLE))(self.handle.as_ptr()) };
    }
}

fn parameters(api: &'static ffi::x265_api, settings: Settings) -> Option<Parameters> {
    // SAFETY: allocates a struct of the library's size.
    let at = NonNull::new(unsafe { (api.param_alloc.expect(WHOLE))() })?;
    let mut parameters = Parameters { api, at };
    // SAFETY: both texts are terminated by zero; the struct is written in place.
    let preset = unsafe {
        (api.param_default_preset.expect(WHOLE))(
            at.as_ptr(),
            c"ultrafast".as_ptr(),
            c"zerolatency".as_ptr(),
        )
    };
    // SAFETY: the struct has the layout of this header, as the query checked, and is ours alone.
    let p = unsafe { parameters.at.as_mut() };
    p.sourceWidth = settings.size.width() as i32;
    p.sourceHeight = settings.size.height() as i32;
    p.internalCsp = ffi::X265_CSP_I420 as i32;
    p.internalBitDepth = 8;
    p.sourceBitDepth = 8;
    (p.fpsNum, p.fpsDenom) = (settings.frames_per_second, 1);
    p.logLevel = ffi::X265_LOG_NONE;
    p.keyframeMax = i32::MAX;
    p.bOpenGOP = 0;
    p.scenecutThreshold = 0;
    p.bframes = 0;
    p.lookaheadDepth = 0;
    p.frameNumThreads = 1;
    p.bRepeatHeaders = 1;
    p.bAnnexB = 1;
    p.bEnableAccessUnitDelimiters = 0;
    p.bEmitInfoSEI = 0;
    p.bEmitHRDSEI = 0;
    p.vui.bEnableVideoSignalTypePresentFlag = 1;
    p.vui.bEnableColorDescriptionPresentFlag = 1;
    p.vui.bEnableVideoFullRangeFlag = 0;
    // ITU-T H.265 tables E.3 to E.5: 1 is BT.709.
    (p.vui.colorPrimaries, p.vui.transferCharacteristics, p.vui.matrixCoeffs) = (1, 1, 1);
    // Each picture comes with its quantizer, so that the rate is of no account; but with a constant quantizer
    // there are no offsets.
    p.rc.rateControlMode = ffi::X265_RC_METHODS_X265_RC_ABR as i32;
    p.rc.bitrate = ANY_RATE;
    // Offsets are read in this mode only; at so low a strength there are no others than ours.
    p.rc.aqMode = ffi::X265_AQ_VARIANCE as i32;
    p.rc.aqStrength = 0.001;
    p.rc.qgSize = 16;
    // SAFETY: as above.
    let profile = unsafe { (api.param_apply_profile.expect(WHOLE))(at.as_ptr(), c"main".as_ptr()) };
    (preset == 0 && profile == 0).then_some(parameters)
}
