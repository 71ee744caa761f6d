//! From a configuration to what makes pictures and what encodes them.

use crate::{EncoderChoice, HostConfig, SourceConfig, StreamError};
use gameway_codec::Size;
use gameway_codec::capture::{self, FrameSource, Source};
use gameway_codec::encoder::{self, EncoderConfig, EncoderError, VideoEncoder};

/// What opens an encoder, again and again.
pub type OpenEncoder = Box<dyn FnMut() -> Result<Box<dyn VideoEncoder>, EncoderError> + Send>;

/// The size of the picture.
pub fn size(config: &HostConfig) -> Result<Size, StreamError> {
    let (width, height) = config.size;
    Size::new(width, height).map_err(|error| refuse("size", error.to_string()))
}

/// Where pictures come from.
pub fn source(config: &HostConfig) -> Result<Box<dyn FrameSource>, StreamError> {
    let source = match &config.source {
        SourceConfig::Scene => Source::Scene { seed: config.seed },
        SourceConfig::File { path } => Source::File { path: path.clone() },
        SourceConfig::X11 { display } => Source::X11 { display: display.clone() },
    };
    capture::open(&source, size(config)?, config.stream.frame_rate)
        .map_err(|error| refuse("source", error.to_string()))
}

/// What opens encoders; one is opened to see that it can be.
pub fn encoder(config: &HostConfig) -> Result<OpenEncoder, StreamError> {
    let own = EncoderConfig {
        size: size(config)?,
        frames_per_second: config.stream.frame_rate,
        rate: config.stream.start_bitrate.0,
    };
    let name = match config.encoder {
        EncoderChoice::Auto => encoder::available().first().map_or("any", |(name, _)| *name),
        EncoderChoice::X264 => "x264",
        EncoderChoice::Openh264 => "openh264",
    };
    let mut open: OpenEncoder = Box::new(move || encoder::open(name, own));
    open().map_err(|error| refuse("encoder", error.to_string()))?;
    Ok(open)
}

fn refuse(field: &'static str, why: String) -> StreamError {
    StreamError::Config { field, why }
}
