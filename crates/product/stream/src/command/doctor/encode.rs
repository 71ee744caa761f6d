//! Checks of encoders: each encodes the built-in scene.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | picture, frame rate | 1280x720, 60 | a host's defaults |
//! | bitrate | 20 Mb/s | what that takes where the network has it |
//! | frames | 15, the first left out | a quarter of a second; the first is a key frame, and finds nothing in caches |

use super::{Finding, Trial, trial};
use gameway_codec::encoder::{
    self, EncodeRequest, EncoderConfig, EncoderError, VideoEncoder, open_hardware,
};
use gameway_codec::{Picture, Scene, Size};
use gameway_runtime::clock::Clock;
use gameway_units::{Bytes, Duration, Instant, Rate, VideoCodec};

const SIDES: (u32, u32) = (1280, 720);
const FRAME_RATE: u32 = 60;
const RATE: Rate = Rate::from_kbps(20_000);
const FRAMES: u32 = 15;
const CODECS: [(VideoCodec, &str); 2] = [(VideoCodec::H264, "H.264"), (VideoCodec::H265, "H.265")];

/// One for each encoder of this build, and one for the machine's hardware.
pub fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    for (codec, codec_name) in CODECS {
        for (name, licence) in encoder::available(codec) {
            let about = format!("{codec_name}, {licence}");
            let open = move |config| encoder::open(name, config);
            all.push(trial(format!("encoder {name}"), move || software(&about, open)));
        }
    }
    if all.is_empty() {
        let mend = "build it with the cargo feature x264";
        all.push(trial("encoder", move || Finding::lacking("this build has none", mend)));
    }
    all.push(trial("hardware", hardware));
    all
}

fn software(
    about: &str,
    open: impl FnOnce(EncoderConfig) -> Result<Box<dyn VideoEncoder>, EncoderError>,
) -> Finding {
    let measured = config().and_then(|config| {
        let mut encoder = open(config).map_err(|error| error.to_string())?;
        milliseconds(&mut *encoder, config)
    });
    match measured {
        Ok(cost) => Finding::works(format!("{cost:.1} ms a frame of 1280x720 ({about})")),
        Err(error) => Finding::lacking(error, "build it anew, with the system's packages of today"),
    }
}

/// What works of the machine's hardware; none is needed.
fn hardware() -> Finding {
    if !cfg!(feature = "libav") {
        return Finding::unneeded(
            "this build looks for no encoder in hardware (cargo feature libav)",
        );
    }
    let Ok(config) = config() else { return Finding::unneeded("none") };
    let found = CODECS.into_iter().filter_map(|(codec, _)| {
        let mut encoder = open_hardware(codec, config)?;
        let cost = milliseconds(&mut *encoder, config).ok()?;
        Some(format!("{} {cost:.1} ms a frame of 1280x720", encoder.name()))
    });
    let found: Vec<String> = found.collect();
    if found.is_empty() {
        return Finding::unneeded("no encoder in hardware works here; software does it");
    }
    Finding::works(found.join(", "))
}

fn config() -> Result<EncoderConfig, String> {
    let size = Size::new(SIDES.0, SIDES.1).map_err(|error| error.to_string())?;
    Ok(EncoderConfig { size, frames_per_second: FRAME_RATE, rate: RATE })
}

/// The median of what a frame takes to encode.
fn milliseconds(encoder: &mut dyn VideoEncoder, config: EncoderConfig) -> Result<f64, String> {
    let scene = Scene::new(0, config.size);
    let mut picture = Picture::black(config.size);
    let clock = Clock::new(Clock::monotonic_ns());
    let interval = Duration::from_nanos(1_000_000_000 / i64::from(FRAME_RATE));
    let mut captured = Instant::ZERO;
    let mut costs = Vec::new();
    for frame in 0..FRAMES {
        scene.draw(frame.into(), &mut picture);
        let request = EncodeRequest {
            frame_budget: Bytes::new(RATE.as_bps() / 8 / u64::from(FRAME_RATE)),
            rate: RATE,
            key_frame: frame == 0,
            refers_back: 1,
            timestamp: captured,
        };
        let begun = clock.now();
        encoder.encode(&picture, request).map_err(|error| error.to_string())?;
        costs.push(clock.now().saturating_since(begun));
        captured += interval;
    }
    let rest = &mut costs[1..];
    rest.sort_unstable();
    Ok(rest[rest.len() / 2].as_millis_f64())
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use gameway_codec::encoder::EncodedFrame;

    /// It takes a millisecond and 40 for a key frame, and fails at this frame.
    struct Slow(u32);

    impl VideoEncoder for Slow {
        fn encode(
            &mut self,
            _: &Picture,
            request: EncodeRequest,
        ) -> Result<EncodedFrame, EncoderError> {
            if self.0 == 0 {
                return Err(EncoderError::Failed { encoder: "slow", reason: "tired".to_owned() });
            }
            self.0 -= 1;
            let takes = if request.key_frame { 41 } else { 1 };
            gameway_runtime::clock::sleep(Duration::from_millis(takes));
            let EncodeRequest { key_frame, timestamp, .. } = request;
            Ok(EncodedFrame { data: Vec::new(), key_frame, quantizer: None, timestamp })
        }

        fn name(&self) -> &'static str {
            "slow"
        }
    }

    #[test]
    fn an_encoder_is_told_with_what_a_frame_takes() {
        let found = software("H.264, none", |_| Ok(Box::new(Slow(FRAMES))));
        assert_eq!((found.state, found.mend), (State::Works, None));
        let (cost, about) = found.found.split_once(" ms a frame of ").expect("a cost");
        // The key frame is not the median, nor part of it.
        let cost: f64 = cost.parse().expect("a number");
        assert!((1.0..30.0).contains(&cost), "{cost}");
        assert_eq!(about, "1280x720 (H.264, none)");
        let found = software("H.264, none", |_| Ok(Box::new(Slow(FRAMES - 1))));
        assert_eq!(found.state, State::Lacking);
        assert_eq!(found.found, "slow failed: tired; make a new one");
    }
}
