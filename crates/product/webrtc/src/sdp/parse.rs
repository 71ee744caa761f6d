//! Reading a session description. Bounded: [`MAX_SIZE`] bytes and [`MAX_MEDIA`] media sections.

use super::FRAMES;
use crate::error::WebrtcError;
use crate::ice::{Credentials, RemoteCandidate};
use crate::identity::Fingerprint;
use gameway_units::VideoCodec;

/// The longest text that is read.
pub const MAX_SIZE: usize = 65_536;
/// The most media sections.
pub const MAX_MEDIA: usize = 16;
/// The most candidates that are believed.
const MAX_CANDIDATES: usize = 16;

/// What a media section carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
    /// Data channels.
    Application,
    /// Something that we refuse.
    Other,
}

/// A payload type of a media section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Its number.
    pub payload_type: u8,
    /// Name, clock and channels as in `rtpmap`.
    pub encoding: String,
    /// `fmtp`.
    pub parameters: String,
}

/// A header extension of a media section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Its number.
    pub id: u8,
    /// Its name.
    pub uri: String,
}

/// A media section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// What it carries.
    pub kind: MediaKind,
    /// Its first line after `m=`, for a refusal.
    pub line: String,
    /// Whether the port is zero without `bundle-only`: the section is refused.
    pub refused: bool,
    /// `mid`.
    pub mid: String,
    /// Its formats.
    pub formats: Vec<Format>,
    /// Its extensions.
    pub extensions: Vec<Extension>,
    /// `rtcp-fb`: payload type (`None` for all) and what.
    pub feedback: Vec<(Option<u8>, String)>,
    /// The first stream's number.
    pub ssrc: Option<u32>,
    /// The number of the stream of retransmissions (RFC 5576 section 4.2: the second of a group FID).
    pub rtx_ssrc: Option<u32>,
}

/// A session description.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// ICE's name and password.
    pub credentials: Credentials,
    /// The certificate's fingerprint (SHA-256).
    pub fingerprint: Option<Fingerprint>,
    /// `setup`: who begins DTLS.
    pub setup: String,
    /// Where the sender may be.
    pub candidates: Vec<RemoteCandidate>,
    /// Media sections in order.
    pub media: Vec<Media>,
    /// The largest data message that the sender takes.
    pub max_message_size: Option<u32>,
}

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// If it is too long, has a line that is none, or lacks ICE credentials or a SHA-256 fingerprint.
    pub fn parse(text: &str) -> Result<Self, WebrtcError> {
        if text.len() > MAX_SIZE {
            return Err(WebrtcError::description(format!("longer than {MAX_SIZE} bytes")));
        }
        let mut description = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            let Some((kind, value)) = line.split_once('=').filter(|(kind, _)| kind.len() == 1)
            else {
                return Err(WebrtcError::description(format!(
                    "line {} is not TYPE=VALUE",
                    number + 1
                )));
            };
            match kind {
                "m" => description.begin_media(value)?,
                "a" => description.attribute(value),
                _ => {}
            }
        }
        description.complete()
    }

    fn complete(self) -> Result<Self, WebrtcError> {
        let Credentials { name, password } = &self.credentials;
        // RFC 8839 section 5.4: at least 4 and 22 characters, at most 256.
        if !(4..=256).contains(&name.len()) || !(22..=256).contains(&password.len()) {
            return Err(WebrtcError::description("a=ice-ufrag or a=ice-pwd missing or too short"));
        }
        if self.fingerprint.is_none() {
            return Err(WebrtcError::description(
                "a=fingerprint:sha-256 missing: only encrypted media",
            ));
        }
        if self.media.is_empty() {
            return Err(WebrtcError::description("no m= line"));
        }
        Ok(self)
    }

    fn begin_media(&mut self, value: &str) -> Result<(), WebrtcError> {
        if self.media.len() == MAX_MEDIA {
            return Err(WebrtcError::description(format!("more than {MAX_MEDIA} m= lines")));
        }
        let mut words = value.split(' ');
        let kind = match words.next() {
            Some("video") => MediaKind::Video,
            Some("audio") => MediaKind::Audio,
            Some("application") if value.contains("SCTP") => MediaKind::Application,
            _ => MediaKind::Other,
        };
        let refused = words.next() == Some("0");
        let formats = words.skip(1).filter_map(|word| word.parse().ok()).map(|payload_type| {
            Format { payload_type, encoding: String::new(), parameters: String::new() }
        });
        self.media.push(Media {
            kind,
            line: value.to_owned(),
            refused,
            mid: String::new(),
            formats: formats.filter(|format| format.payload_type < 128).collect(),
            extensions: Vec::new(),
            feedback: Vec::new(),
            ssrc: None,
            rtx_ssrc: None,
        });
        Ok(())
    }

    fn attribute(&mut self, text: &str) {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        match name {
            // Bundled sections repeat these; the first counts.
            "ice-ufrag" if self.credentials.name.is_empty() => {
                value.clone_into(&mut self.credentials.name);
            }
            "ice-pwd" if self.credentials.password.is_empty() => {
                value.clone_into(&mut self.credentials.password);
            }
            "fingerprint" if self.fingerprint.is_none() => {
                self.fingerprint = value
                    .split_once(' ')
                    .filter(|(hash, _)| hash.eq_ignore_ascii_case("sha-256"))
                    .and_then(|(_, print)| Fingerprint::parse(print.trim()));
            }
            "setup" if self.setup.is_empty() => value.clone_into(&mut self.setup),
            "candidate" if self.candidates.len() < MAX_CANDIDATES => {
                let is_new = |it: &RemoteCandidate| {
                    self.candidates.iter().all(|one| one.remote != it.remote)
                };
                self.candidates.extend(RemoteCandidate::parse(value).filter(is_new));
            }
            "max-message-size" => self.max_message_size = value.parse().ok(),
            _ => {
                if let Some(media) = self.media.last_mut() {
                    media.attribute(name, value);
                }
            }
        }
    }

    /// The first section of a kind that is not refused.
    #[must_use]
    pub fn first(&self, kind: MediaKind) -> Option<&Media> {
        self.media.iter().find(|media| media.kind == kind && !media.refused)
    }
}

impl Media {
    fn attribute(&mut self, name: &str, value: &str) {
        let (first, rest) = value.split_once(' ').unwrap_or((value, ""));
        match name {
            "mid" => value.clone_into(&mut self.mid),
            "rtpmap" => {
                if let Some(format) = self.format_mut(first) {
                    rest.clone_into(&mut format.encoding);
                }
            }
            "fmtp" => {
                if let Some(format) = self.format_mut(first) {
                    rest.clone_into(&mut format.parameters);
                }
            }
            "rtcp-fb" if first == "*" => self.feedback.push((None, rest.to_owned())),
            "rtcp-fb" => {
                if let Ok(payload_type) = first.parse() {
                    self.feedback.push((Some(payload_type), rest.to_owned()));
                }
            }
            // RFC 9143 section 6: offered with port zero, to be taken in a bundle alone. Firefox writes so.
            "bundle-only" => self.refused = false,
            "extmap" => self.extend(first, rest),
            "ssrc" if self.ssrc.is_none() => self.ssrc = first.parse().ok(),
            "ssrc-group" if first == "FID" && self.rtx_ssrc.is_none() => {
                self.rtx_ssrc = rest.split(' ').nth(1).and_then(|number| number.parse().ok());
            }
            _ => {}
        }
    }

    /// RFC 8285 section 5: a number, perhaps a direction, a name; one-byte headers have 1 to 14.
    fn extend(&mut self, first: &str, rest: &str) {
        let id = first.split('/').next().and_then(|number| number.parse().ok());
        let uri = rest.split(' ').next().unwrap_or("");
        if let Some(id) = id.filter(|id| (1..=14).contains(id)) {
            self.extensions.push(Extension { id, uri: uri.to_owned() });
        }
    }

    fn format_mut(&mut self, payload_type: &str) -> Option<&mut Format> {
        let payload_type: u8 = payload_type.parse().ok()?;
        self.formats.iter_mut().find(|format| format.payload_type == payload_type)
    }

    /// The payload type of an encoding.
    #[must_use]
    pub fn payload_type(&self, encoding: &str) -> Option<u8> {
        let same = |format: &&Format| format.encoding.eq_ignore_ascii_case(encoding);
        self.formats.iter().find(same).map(|format| format.payload_type)
    }

    /// The payload type of retransmissions of another (RFC 4588 section 8.1).
    #[must_use]
    pub fn retransmission(&self, of: u8) -> Option<u8> {
        let of = of.to_string();
        let found = self.formats.iter().find(|format| {
            format.encoding.eq_ignore_ascii_case("rtx/90000")
                && parameter(&format.parameters, "apt") == Some(&of)
        });
        found.map(|format| format.payload_type)
    }

    /// The payload type of packets whose blocks are all of another (RFC 2198 section 5).
    #[must_use]
    pub fn redundant(&self, of: u8) -> Option<u8> {
        let of = of.to_string();
        let found = self.formats.iter().find(|format| {
            format.encoding.eq_ignore_ascii_case("red/48000/2")
                && format.parameters.split('/').all(|block| block == of)
        });
        found.map(|format| format.payload_type)
    }

    /// The number of an extension.
    #[must_use]
    pub fn extension(&self, uri: &str) -> Option<u8> {
        self.extensions.iter().find(|extension| extension.uri == uri).map(|it| it.id)
    }

    /// Whether `what` is among the feedback for a payload type.
    #[must_use]
    pub fn has_feedback(&self, payload_type: u8, what: &str) -> bool {
        self.feedback
            .iter()
            .any(|(of, feedback)| of.is_none_or(|of| of == payload_type) && feedback == what)
    }

    /// H.265 (RFC 7798 section 7.1).
    #[must_use]
    pub fn h265(&self) -> Option<&Format> {
        self.formats.iter().find(|format| format.encoding.eq_ignore_ascii_case("H265/90000"))
    }

    /// VP8 whose frames may be coded otherwise, since the page takes them out of the browser.
    #[must_use]
    pub fn frames_in_vp8(&self, codec: VideoCodec) -> Option<&Format> {
        let wanted = codec.to_string();
        self.formats.iter().find(|format| {
            format.encoding.eq_ignore_ascii_case("VP8/90000")
                && parameter(&format.parameters, FRAMES) == Some(&wanted)
        })
    }

    /// H.264 in fragments (packetization-mode 1), constrained baseline before others (RFC 6184 section 8).
    #[must_use]
    pub fn h264(&self) -> Option<&Format> {
        let fragments = |format: &&Format| {
            format.encoding.eq_ignore_ascii_case("H264/90000")
                && parameter(&format.parameters, "packetization-mode") == Some("1")
        };
        let rank = |format: &&Format| {
            let profile = parameter(&format.parameters, "profile-level-id").unwrap_or("42");
            match profile.to_ascii_lowercase().get(..4) {
                Some("42e0") => 0,
                Some("4200") => 1,
                _ => 2,
            }
        };
        self.formats.iter().filter(fragments).min_by_key(rank)
    }
}

fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let value = |part: &'a str| part.trim().split_once('=').filter(|(key, _)| *key == name);
    parameters.split(';').find_map(value).map(|(_, value)| value)
}
