//! Videos of a specification, as their players take them.

use crate::spec::{AdaptationSpec, DashSpec};
use crate::{RunError, random, read, spec_error};
use gameway_dash::{Ladder, Level, Presentation, SegmentSizes, Settings, Strategy, parse_sizes};
use gameway_path::uniform;
use gameway_units::Bytes;
use std::path::Path;

/// Segments whose sizes are drawn before they begin again: of 4 s, an hour.
const DRAWN_SEGMENTS: usize = 900;

/// What is played.
///
/// # Errors
/// If the ladder or a length makes no sense; the message names the field.
pub fn presentation(dash: &DashSpec, seed: u64) -> Result<Presentation, RunError> {
    let field = |part: &str| format!("competitor \"{}\": {part}", dash.name);
    let segment = dash.segment_length;
    let segments = dash.video_length.map(|length| {
        let (length, one) = (length.as_nanos().unsigned_abs(), segment.as_nanos().unsigned_abs());
        length.div_ceil(one.max(1))
    });
    let sizes = match (&dash.segment_sizes, dash.size_spread) {
        (Some(table), _) => SegmentSizes::Table(sizes_of(&table.file)?),
        (None, Some(spread)) => {
            let mut random = random::stream(seed, &format!("{}/sizes", dash.name));
            SegmentSizes::varying(DRAWN_SEGMENTS, spread.as_f64(), &mut || uniform(&mut random))
        }
        (None, None) => SegmentSizes::Constant,
    };
    Presentation::new(ladder(dash)?, segment, segments, sizes).map_err(|error| {
        let part = if dash.segment_sizes.is_some() { "segment_sizes" } else { "segment_length" };
        spec_error(field(part), error.to_string())
    })
}

/// A file's table of segments' sizes.
///
/// # Errors
/// If it cannot be read or is none; the message names it.
pub fn sizes_of(file: &Path) -> Result<Vec<Vec<Bytes>>, RunError> {
    let text = String::from_utf8_lossy(&read(file)?).into_owned();
    parse_sizes(&text).map_err(|error| spec_error(file.display().to_string(), error.to_string()))
}

fn ladder(dash: &DashSpec) -> Result<Ladder, RunError> {
    let Some(given) = &dash.ladder else { return Ok(Ladder::xu_claypool()) };
    let refused = |why: String| spec_error(format!("competitor \"{}\": ladder", dash.name), why);
    let level = |(size, bitrate): (&str, gameway_units::Rate)| {
        let parsed = size
            .split_once('x')
            .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        let (width, height) = parsed.ok_or_else(|| {
            refused(format!("\"{size}\" is no size of a picture; write it as \"1280x720\""))
        })?;
        Ok(Level { width, height, bitrate })
    };
    let mut levels = given.levels().map(level).collect::<Result<Vec<Level>, RunError>>()?;
    levels.sort_by_key(|level| level.bitrate);
    Ladder::new(levels).map_err(|error| refused(error.to_string()))
}

/// What its player is set to.
#[must_use]
pub fn player_settings(dash: &DashSpec) -> Settings {
    let default = Settings::default();
    let top = dash.top_buffer;
    Settings {
        strategy: match dash.adaptation {
            AdaptationSpec::Dynamic => Strategy::Dynamic,
            AdaptationSpec::Throughput => Strategy::Throughput,
            AdaptationSpec::Bola => Strategy::Bola,
        },
        buffer_target: dash.buffer.unwrap_or(default.buffer_target),
        top_buffer_target: top.unwrap_or(default.top_buffer_target),
        long_buffer_target: top.unwrap_or(default.long_buffer_target),
        ..default
    }
}
