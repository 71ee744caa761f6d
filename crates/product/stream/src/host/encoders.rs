//! From a configuration to what encodes.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | deaths of an encoder that nobody named | 3 | each costs a key frame; what fails as often does not get better, and software works |

use crate::host::sources::{refuse, size};
use crate::{EncoderChoice, HostConfig, StreamError};
use gameway_codec::Size;
use gameway_codec::encoder::{self, EncoderConfig, EncoderError, Hardware, VideoEncoder};
use gameway_units::VideoCodec;

const MAX_DEATHS: u32 = 3;

/// What opens an encoder of a codec and a size, again and again.
pub type OpenEncoder =
    Box<dyn FnMut(VideoCodec, Size) -> Result<Box<dyn VideoEncoder>, EncoderError> + Send>;

/// What encodes on this machine.
pub struct Encoders {
    /// Opens them.
    pub opener: Opener,
    /// Whether there is one of H.265.
    pub h265: bool,
    /// Their names, where a configuration leaves something open.
    pub chosen: Option<String>,
}

/// Finds out what encodes, by opening one of H.264, and of H.265 where hardware might.
pub fn encoders(config: &HostConfig) -> Result<Encoders, StreamError> {
    let own = EncoderConfig {
        size: size(config)?,
        frames_per_second: config.frame_rate,
        rate: config.start_bitrate,
    };
    let h264 = h264(config.encoder, own)?;
    let h265 = h265(config.encoder, own);
    let names = h265.map_or(String::new(), |name| format!(", {name} for H265"));
    let any_hardware = config.encoder == EncoderChoice::Hardware;
    let open_choice = any_hardware || config.encoder.hardware().is_some();
    let chosen = open_choice.then(|| format!("{h264} for H264{names}"));
    let opener = Opener { own, any_hardware, h264, h265, last: None, deaths: 0 };
    Ok(Encoders { opener, h265: h265.is_some(), chosen })
}

/// The name of the encoder of H.264, which opened.
fn h264(choice: EncoderChoice, own: EncoderConfig) -> Result<&'static str, StreamError> {
    if choice == EncoderChoice::Hardware {
        let found = encoder::open_hardware(VideoCodec::H264, own).map(|encoder| encoder.name());
        let why = "no encoder in hardware works here; one by name (nvenc, qsv, vaapi, amf) says why, and auto takes \
                   software";
        return found.ok_or_else(|| refuse("encoder", why.to_owned()));
    }
    let name = match (choice.hardware(), choice) {
        (Some(hardware), _) => hardware.name(VideoCodec::H264),
        (None, EncoderChoice::X264) => "x264",
        (None, EncoderChoice::Openh264) => "openh264",
        (None, _) => software(VideoCodec::H264).unwrap_or("any"),
    };
    encoder::open(name, own).map(|_| name).map_err(|error| {
        let other = if choice.hardware().is_some() { "; auto takes software" } else { "" };
        refuse("encoder", format!("{error}{other}"))
    })
}

/// The name of the encoder of H.265, if there is one: the hardware that is named, or any; else the best in software.
fn h265(choice: EncoderChoice, own: EncoderConfig) -> Option<&'static str> {
    let named = |hardware: Hardware| encoder::open(hardware.name(VideoCodec::H265), own).ok();
    let hardware = match choice {
        EncoderChoice::Hardware => encoder::open_hardware(VideoCodec::H265, own),
        _ => choice.hardware().and_then(named),
    };
    hardware.map(|encoder| encoder.name()).or_else(|| software(VideoCodec::H265))
}

/// The best encoder in software that this build has.
fn software(codec: VideoCodec) -> Option<&'static str> {
    encoder::available(codec).first().map(|(name, _)| *name)
}

/// Opens what was chosen; in its place what is in software, if nobody named it and it fails too often.
#[derive(Debug, Clone)]
pub struct Opener {
    own: EncoderConfig,
    any_hardware: bool,
    h264: &'static str,
    h265: Option<&'static str>,
    last: Option<(VideoCodec, Size)>,
    deaths: u32,
}

impl Opener {
    /// As the encoding thread takes it.
    pub fn into_open(mut self) -> OpenEncoder {
        Box::new(move |codec, size| self.open(codec, size))
    }

    fn open(
        &mut self,
        codec: VideoCodec,
        size: Size,
    ) -> Result<Box<dyn VideoEncoder>, EncoderError> {
        // An encoder lives until a client takes another codec or pictures another size, or until it dies.
        let again = self.last.replace((codec, size)) == Some((codec, size));
        self.deaths = if again { self.deaths + 1 } else { 0 };
        let own = EncoderConfig { size, ..self.own };
        let chosen = match codec {
            VideoCodec::H264 => self.h264,
            VideoCodec::H265 => self.h265.unwrap_or("any"),
        };
        let opened = encoder::open(chosen, own);
        match software(codec) {
            Some(software) if self.any_hardware && software != chosen => match opened {
                Ok(encoder) if self.deaths < MAX_DEATHS => Ok(encoder),
                _ => encoder::open(software, own),
            },
            _ => opened,
        }
    }
}

#[cfg(all(test, feature = "x264"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(encoder: &str) -> HostConfig {
        let config = json!({
            "controller": "fixed", "start_bitrate": "2 Mb/s", "max_bitrate": "4 Mb/s",
            "listen": "127.0.0.1:0", "token": "t", "size": "320x180", "encoder": encoder,
        });
        serde_json::from_value(config).expect("a configuration")
    }

    fn name(encoders: &mut Encoders, codec: VideoCodec) -> &'static str {
        encoders.opener.open(codec, whole()).expect("an encoder").name()
    }

    fn whole() -> Size {
        size(&config("auto")).expect("a size")
    }

    /// Whether some hardware encodes H.264 here.
    fn hardware() -> Option<&'static str> {
        let config = config("hardware");
        let own = EncoderConfig {
            size: size(&config).expect("a size"),
            frames_per_second: 60,
            rate: config.start_bitrate,
        };
        Some(encoder::open_hardware(VideoCodec::H264, own)?.name())
    }

    #[test]
    fn hardware_is_what_works_or_an_error_with_what_to_do() {
        let found = encoders(&config("hardware"));
        let (mut found, expected) = match (found, hardware()) {
            (Ok(found), Some(expected)) => (found, expected),
            (found, None) => {
                let error = found.err().expect("there is none").to_string();
                assert!(error.contains("no encoder in hardware works here"), "{error}");
                assert!(error.ends_with("auto takes software"), "{error}");
                return;
            }
            (Err(error), Some(_)) => panic!("{error}"),
        };
        assert_eq!(name(&mut found, VideoCodec::H264), expected);
        let chosen = found.chosen.expect("a choice");
        assert!(chosen.starts_with(&format!("{expected} for H264")), "{chosen}");
        assert_eq!(found.h265, chosen.contains(" for H265"), "{chosen}");
    }

    #[test]
    fn software_is_what_nobody_chose_and_needs_no_words() {
        for choice in ["auto", "x264"] {
            let mut encoders = encoders(&config(choice)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(name(&mut encoders, VideoCodec::H264), "x264");
            assert_eq!(encoders.chosen, None);
            assert_eq!(encoders.h265, cfg!(feature = "x265"));
        }
    }

    #[test]
    fn hardware_that_is_named_and_does_not_open_is_an_error_with_what_to_do() {
        for choice in ["nvenc", "qsv", "vaapi", "amf", "v4l2m2m"] {
            let Err(error) = encoders(&config(choice)) else { continue };
            let text = error.to_string();
            assert!(text.contains(&format!("h264_{choice}")), "{text}");
            assert!(text.ends_with("; auto takes software"), "{text}");
        }
    }

    #[cfg(feature = "libav")]
    #[test]
    fn what_was_found_and_dies_again_and_again_makes_way_for_software() {
        let found = encoder::open("libx264", opener("libx264", true).own);
        if found.is_err() {
            return;
        }
        let names = |mut opener: Opener| -> Vec<_> {
            let open = |_| opener.open(VideoCodec::H264, whole()).expect("an encoder").name();
            (0..5).map(open).collect()
        };
        assert_eq!(
            names(opener("libx264", true)),
            ["libx264", "libx264", "libx264", "x264", "x264"]
        );
        assert_eq!(names(opener("libx264", false)), ["libx264"; 5], "somebody named it");
        assert_eq!(names(opener("h264_amf of no machine", true)), ["x264"; 5]);
    }

    #[cfg(feature = "libav")]
    fn opener(h264: &'static str, any_hardware: bool) -> Opener {
        let config = config("hardware");
        let own = EncoderConfig {
            size: size(&config).expect("a size"),
            frames_per_second: 60,
            rate: config.start_bitrate,
        };
        Opener { own, any_hardware, h264, h265: None, last: None, deaths: 0 }
    }
}
