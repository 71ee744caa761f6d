//! What decoders and encoders of FFmpeg's libavcodec share: its errors in words.
//!
//! Why something does not open, libavcodec writes to its log, and returns "Operation not permitted" or the like. Its
//! log goes to one function for the whole process; ours keeps what is said in a thread that listens, and hands on the
//! rest. That function takes C's `va_list`, which Rust can name on x86-64 only: elsewhere the error's number has to do.

use ffmpeg_sys_next as ffi;
use std::ffi::CStr;

/// Added to the level of each message, of which libavutil reads eight bits: above all that it prints by default (32).
pub(super) const SILENT: i32 = 100;

/// Why allocations of libavutil are there.
pub(super) const MEMORY: &str = "out of memory for a codec's structs";

/// What libavutil says of an error.
pub(super) fn message(error: i32) -> String {
    let mut text = [0; ffi::AV_ERROR_MAX_STRING_SIZE];
    // SAFETY: the text has the size that is said, and is terminated by zero whatever the error is.
    let text = unsafe {
        ffi::av_strerror(error, text.as_mut_ptr(), text.len());
        CStr::from_ptr(text.as_ptr())
    };
    text.to_string_lossy().into_owned()
}

/// Does something, and gives with its error what libavcodec wrote to its log meanwhile, in place of printing it.
pub(super) fn explained<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let (result, heard) = log::overhear(call);
    result.map_err(|error| if heard.is_empty() { error } else { format!("{error} ({heard})") })
}

#[cfg(target_arch = "x86_64")]
mod log {
    use super::{SILENT, ffi};
    use std::cell::RefCell;
    use std::ffi::{CStr, c_char, c_int, c_void};
    use std::sync::Once;

    /// Longest message, and all that is kept.
    const LINE: usize = 256;
    const MAX_BYTES: usize = 400;

    thread_local! {
        /// What was heard so far; `None` while nobody listens.
        static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    pub(super) fn overhear<T>(call: impl FnOnce() -> T) -> (T, String) {
        static LISTEN: Once = Once::new();
        // SAFETY: the function lives as long as the process, and may be called from any thread.
        LISTEN.call_once(|| unsafe { ffi::av_log_set_callback(Some(hear)) });
        HEARD.set(Some(String::new()));
        let result = call();
        (result, HEARD.take().unwrap_or_default())
    }

    unsafe extern "C" fn hear(
        class: *mut c_void,
        level: c_int,
        format: *const c_char,
        arguments: *mut ffi::__va_list_tag,
    ) {
        // A thread that ends has no memory of its own any more.
        let listening = HEARD.try_with(|heard| heard.borrow().is_some()).unwrap_or(false);
        if !listening {
            // SAFETY: the arguments are passed on as they came.
            unsafe { ffi::av_log_default_callback(class, level, format, arguments) };
            return;
        }
        let level = if level >= SILENT { level - SILENT } else { level };
        if level > ffi::AV_LOG_WARNING {
            return;
        }
        let (mut line, mut prefix) = ([0; LINE], 0);
        // SAFETY: format and arguments belong together; the line has the size that is said, and is terminated by zero.
        let line = unsafe {
            ffi::av_log_format_line(
                class,
                level,
                format,
                arguments,
                line.as_mut_ptr(),
                LINE as c_int,
                &raw mut prefix,
            );
            CStr::from_ptr(line.as_ptr())
        };
        keep(line.to_string_lossy().trim());
    }

    fn keep(line: &str) {
        HEARD.with_borrow_mut(|heard| {
            if let Some(heard) = heard
                && heard.len() + line.len() < MAX_BYTES
            {
                heard.push_str(if heard.is_empty() { "" } else { "; " });
                heard.push_str(line);
            }
        });
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod log {
    pub(super) fn overhear<T>(call: impl FnOnce() -> T) -> (T, String) {
        (call(), String::new())
    }
}
