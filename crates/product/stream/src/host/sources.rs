//! From a configuration to what makes pictures.

use crate::{HostConfig, SourceConfig, StreamError};
use gameway_codec::capture::{self, CaptureError, FrameSource, Source};
use gameway_codec::{Picture, Size};
use gameway_units::Instant;

/// The size to which a screen is made smaller to see whether it shows anything.
const LOOKED_AT: (u32, u32) = (320, 180);

/// The size of the picture.
pub fn size(config: &HostConfig) -> Result<Size, StreamError> {
    Size::new(config.size.width, config.size.height)
        .map_err(|error| refuse("size", error.to_string()))
}

/// Where pictures come from.
pub fn source(config: &HostConfig) -> Result<Box<dyn FrameSource>, StreamError> {
    let source = match &config.source {
        SourceConfig::Scene => Source::Scene { seed: config.seed },
        SourceConfig::Portal => Source::Portal { permission: config.screen_permission.clone() },
        SourceConfig::File { path } => Source::File { path: path.clone() },
        SourceConfig::X11 { display } => {
            let authority = config.surroundings.authority.clone();
            Source::X11 { display: display.clone(), authority }
        }
    };
    capture::open(&source, size(config)?, config.frame_rate)
        .map_err(|error| refuse("source", error.to_string()))
}

/// Whether the screen of an X11 server (":0") shows anything: it is not of one colour.
///
/// # Errors
/// If there is no such screen, or this build cannot capture one.
pub fn screen_shows(display: &str) -> Result<bool, StreamError> {
    let failed = |error: CaptureError| refuse("source", error.to_string());
    let size =
        Size::new(LOOKED_AT.0, LOOKED_AT.1).map_err(|error| refuse("size", error.to_string()))?;
    let source = Source::X11 { display: Some(display.to_owned()), authority: None };
    let mut screen = capture::open(&source, size, 1).map_err(failed)?;
    let mut picture = Picture::black(size);
    screen.next(Instant::ZERO, 0, &mut picture).map_err(failed)?;
    Ok(picture.planes().iter().any(|plane| plane.iter().any(|sample| *sample != plane[0])))
}

pub(super) fn refuse(field: &'static str, why: String) -> StreamError {
    StreamError::Config { field, why }
}
