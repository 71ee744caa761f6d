//! libx264 behind a safe face.

use crate::{Picture, Size};
use std::ffi::c_void;
use std::ptr::NonNull;
use x264_sys as ffi;

/// What a NAL unit may grow by when start code and emulation prevention come into it, as libx264 asks for it.
const fn room_for(payload: usize) -> usize {
    payload * 3 / 2 + 5 + 64
}

/// What an encoder is opened with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub size: Size,
    pub frames_per_second: u32,
    pub slices: i32,
    /// How many frames it keeps, to which later ones can refer.
    pub kept: i32,
    pub rate: RateSettings,
}

/// What may change from frame to frame; libx264 counts in kilobits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateSettings {
    pub bitrate: i32,
    pub vbv_rate: i32,
    pub vbv_size: i32,
}

/// One access unit out of libx264.
#[derive(Debug)]
pub(crate) struct Unit {
    pub data: Vec<u8>,
    pub key_frame: bool,
    pub quantizer: u8,
}

/// The NAL units of a picture, as libx264 gives them.
struct Units<'a> {
    data: Vec<u8>,
    /// How much of that was given to `part`.
    given: usize,
    part: &'a mut dyn FnMut(&[u8]),
}

/// An open encoder.
pub(crate) struct Encoder {
    handle: NonNull<ffi::x264_t>,
    parameters: Box<ffi::x264_param_t>,
    size: Size,
    next: i64,
    /// Quantizer offset of each macroblock.
    offsets: Vec<f32>,
}

// SAFETY: libx264 keeps no thread-local state; a handle may be used from any thread, by one at a time,
// which `&mut self` ensures.
unsafe impl Send for Encoder {}

impl Encoder {
    /// Opens an encoder; `None` when libx264 refuses. There is an offset for each 16x16 block.
    pub(crate) fn open(settings: Settings, offsets: Vec<f32>) -> Option<Self> {
        let (width, height) = (settings.size.width(), settings.size.height());
        assert_eq!(offsets.len(), width.div_ceil(16) * height.div_ceil(16), "an offset a block");
        let mut parameters = parameters(settings)?;
        // SAFETY: the parameters were filled by libx264's own defaults and are valid for the call.
        let handle = NonNull::new(unsafe { ffi::x264_encoder_open(&raw mut *parameters) })?;
        Some(Self { handle, parameters, size: settings.size, next: 0, offsets })
    }

    /// Sets the rate for the next frame; `false` when libx264 refuses.
    pub(crate) fn set_rate(&mut self, rate: RateSettings) -> bool {
        set_rate(&mut self.parameters, rate);
        // SAFETY: the handle is open and the parameters outlive the call, which only reads them.
        unsafe { ffi::x264_encoder_reconfig(self.handle.as_ptr(), &raw mut *self.parameters) == 0 }
    }

    /// The next frame refers to the one `back` frames before it, and no later one to those between; `false` when libx264
    /// refuses. Frames that were passed over before do not count as kept.
    pub(crate) fn refer(&mut self, back: u8) -> bool {
        let first_passed_over = self.next - i64::from(back) + 1;
        // SAFETY: the handle is open; the call marks frames that it finds by their time.
        let code = unsafe {
            ffi::x264_encoder_invalidate_reference(self.handle.as_ptr(), first_passed_over)
        };
        code == 0
    }

    /// Encodes a picture of the encoder's size; `part` gets each slice as soon as it is made, and what goes before it.
    /// `None` when libx264 fails or holds the frame back.
    pub(crate) fn encode(
        &mut self,
        picture: &Picture,
        key_frame: bool,
        part: &mut dyn FnMut(&[u8]),
    ) -> Option<Unit> {
        assert_eq!(picture.size(), self.size, "libx264 reads as many samples as it was opened for");
        // SAFETY: all fields of these plain structs are integers or pointers, so zero is valid.
        let (mut input, mut output): (ffi::x264_picture_t, ffi::x264_picture_t) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        // SAFETY: initializes the struct in place.
        unsafe { ffi::x264_picture_init(&raw mut input) };
        let mut units = Units { data: Vec::new(), given: 0, part };
        input.i_type =
            if key_frame { ffi::X264_TYPE_IDR as i32 } else { ffi::X264_TYPE_AUTO as i32 };
        input.i_pts = self.next;
        input.opaque = (&raw mut units).cast();
        input.img.i_csp = ffi::X264_CSP_I420 as i32;
        input.img.i_plane = 3;
        for (plane, (samples, stride)) in
            picture.planes().into_iter().zip(picture.strides()).enumerate()
        {
            input.img.plane[plane] = samples.as_ptr().cast_mut();
            input.img.i_stride[plane] = stride as i32;
        }
        input.prop.quant_offsets = self.offsets.as_mut_ptr();
        let (mut nals, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: the handle is open; the input's planes have the size of the encoder (checked above),
        // and there is an offset for each macroblock; all are only read, and copied before the call
        // returns, since without lookahead no picture is kept, so that `units` is used in this call only; the
        // outputs are local.
        let size = unsafe {
            ffi::x264_encoder_encode(
                self.handle.as_ptr(),
                &raw mut nals,
                &raw mut count,
                &raw mut input,
                &raw mut output,
            )
        };
        self.next += 1;
        if size <= 0 || units.data.is_empty() || units.given < units.data.len() {
            return None;
        }
        let quantizer = output.i_qpplus1.saturating_sub(1).clamp(0, 51) as u8;
        Some(Unit { data: units.data, key_frame: output.b_keyframe != 0, quantizer })
    }
}

/// libx264 has made a NAL unit.
unsafe extern "C" fn on_unit(
    handle: *mut ffi::x264_t,
    nal: *mut ffi::x264_nal_t,
    opaque: *mut c_void,
) {
    // SAFETY: this is what `encode` gave libx264 for the picture; it lives until the call that we are in returns, and
    // nobody else uses it meanwhile. There is one thread, so no two of these calls overlap.
    let units = unsafe { &mut *opaque.cast::<Units<'_>>() };
    // SAFETY: libx264 gives a valid unit.
    let (payload, kind) = unsafe { ((*nal).i_payload, (*nal).i_type) };
    let start = units.data.len();
    units.data.resize(start + room_for(usize::try_from(payload).unwrap_or_default()), 0);
    // SAFETY: there is as much room behind `start` as libx264 asks for; it tells the unit's new size in `nal`.
    let size = unsafe {
        ffi::x264_nal_encode(handle, units.data[start..].as_mut_ptr(), nal);
        (*nal).i_payload
    };
    units.data.truncate(start + usize::try_from(size).unwrap_or_default());
    // ITU-T H.264 table 7-1.
    let is_slice = matches!(kind, 1 | 5);
    if is_slice {
        (units.part)(&units.data[units.given..]);
        units.given = units.data.len();
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the handle is open and is not used again.
        unsafe { ffi::x264_encoder_close(self.handle.as_ptr()) };
    }
}

fn parameters(settings: Settings) -> Option<Box<ffi::x264_param_t>> {
    // SAFETY: the struct is plain data of integers, floats and pointers, for which zero is valid.
    let mut p: Box<ffi::x264_param_t> = Box::new(unsafe { std::mem::zeroed() });
    // SAFETY: both texts are terminated by zero; the struct is written in place.
    let preset = unsafe {
        ffi::x264_param_default_preset(&raw mut *p, c"ultrafast".as_ptr(), c"zerolatency".as_ptr())
    };
    p.i_width = settings.size.width() as i32;
    p.i_height = settings.size.height() as i32;
    p.i_csp = ffi::X264_CSP_I420 as i32;
    p.i_fps_num = settings.frames_per_second;
    p.i_fps_den = 1;
    p.i_timebase_num = 1;
    p.i_timebase_den = settings.frames_per_second;
    p.b_vfr_input = 0;
    p.i_keyint_max = ffi::X264_KEYINT_MAX_INFINITE as i32;
    p.i_scenecut_threshold = 0;
    p.i_bframe = 0;
    // The search stays with one frame; the others are kept for [`Encoder::refer`].
    p.i_dpb_size = settings.kept;
    p.b_repeat_headers = 1;
    p.b_annexb = 1;
    p.b_aud = 0;
    p.i_threads = 1;
    p.b_sliced_threads = 0;
    p.i_slice_count = settings.slices;
    p.nalu_process = Some(on_unit);
    p.i_log_level = ffi::X264_LOG_NONE;
    p.vui.b_fullrange = 0;
    // ITU-T H.264 tables E-3 to E-5: 1 is BT.709.
    (p.vui.i_colorprim, p.vui.i_transfer, p.vui.i_colmatrix) = (1, 1, 1);
    p.rc.i_rc_method = ffi::X264_RC_ABR as i32;
    p.rc.b_filler = 0;
    // Offsets are read in this mode only; at so low a strength there are no others than ours.
    p.rc.i_aq_mode = ffi::X264_AQ_VARIANCE as i32;
    p.rc.f_aq_strength = 0.001;
    p.rc.i_qp_max = 60;
    set_rate(&mut p, settings.rate);
    // SAFETY: as above.
    let profile = unsafe { ffi::x264_param_apply_profile(&raw mut *p, c"baseline".as_ptr()) };
    (preset == 0 && profile == 0).then_some(p)
}

fn set_rate(parameters: &mut ffi::x264_param_t, rate: RateSettings) {
    parameters.rc.i_bitrate = rate.bitrate;
    parameters.rc.i_vbv_max_bitrate = rate.vbv_rate;
    parameters.rc.i_vbv_buffer_size = rate.vbv_size;
}
