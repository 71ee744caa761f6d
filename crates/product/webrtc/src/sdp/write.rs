//! Writing our offer and our answer.

use super::parse::{Description, Media, MediaKind};
use super::{
    ARRIVAL_TIMES, CONGESTION_CONTROL, DEPENDENCIES, FLEXFEC, FRAME, NACK, Negotiated,
    PLAYOUT_DELAY, PROBE, REFERENCE_TIME, REPAIR, TRANSPORT_CC, TRANSPORT_WIDE, TRANSPORT_WIDE_2,
};
use crate::ice::{CandidateLine, Credentials, LocalCandidate};
use crate::identity::Fingerprint;
use gameway_units::{PayloadFormat, VideoCodec};
use std::fmt::Write as _;

/// The largest data message that we take; said in the description (RFC 8841 section 6).
pub(crate) const MAX_MESSAGE: u32 = 65_536;
/// For how long a browser keeps packets to repair others, in microseconds: as long as libwebrtc says itself, 10 s.
const REPAIR_WINDOW: u32 = 10_000_000;
// Payload types and extension numbers of our own client's offer.
const OFFERED_VIDEO: u8 = 96;
const OFFERED_REPAIR: u8 = 97;
const OFFERED_PROBE: u8 = 98;
const OFFERED_RTX: u8 = 99;
const OFFERED_AUDIO: u8 = 111;
const OFFERED_RED: u8 = 63;
const OFFERED_FRAME: u8 = 1;

/// What an offer of ours says.
#[derive(Debug, Clone)]
pub struct OfferTerms<'a> {
    /// ICE's name and password.
    pub credentials: &'a Credentials,
    /// Our certificate's fingerprint.
    pub fingerprint: Fingerprint,
    /// A number of this session.
    pub session: u32,
    /// How the video is to be coded.
    pub codec: VideoCodec,
    /// Ask for arrival times in microseconds beside RFC 8888.
    pub arrival_times: bool,
}

/// What an answer of ours says.
#[derive(Debug, Clone)]
pub struct AnswerTerms<'a> {
    /// ICE's name and password.
    pub credentials: &'a Credentials,
    /// Our certificate's fingerprint.
    pub fingerprint: Fingerprint,
    /// A number of this session.
    pub session: u32,
    /// The ways to us, the best of each kind first.
    pub candidates: &'a [LocalCandidate],
    /// Whether we have sound to send.
    pub audio: bool,
    /// What was agreed on.
    pub negotiated: &'a Negotiated,
}

/// Lines ended as RFC 8866 wants them.
struct Lines(String);

impl Lines {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{line}\r\n");
    }

    fn session(&mut self, session: u32, mids: &[&str]) {
        self.line(format_args!("v=0"));
        self.line(format_args!("o=- {session} 1 IN IP4 127.0.0.1"));
        self.line(format_args!("s=-"));
        self.line(format_args!("t=0 0"));
        self.line(format_args!("a=group:BUNDLE {}", mids.join(" ")));
    }

    fn transport(&mut self, credentials: &Credentials, fingerprint: Fingerprint, setup: &str) {
        self.line(format_args!("c=IN IP4 0.0.0.0"));
        self.line(format_args!("a=ice-ufrag:{}", credentials.name));
        self.line(format_args!("a=ice-pwd:{}", credentials.password));
        self.line(format_args!("a=fingerprint:sha-256 {}", fingerprint.as_text()));
        self.line(format_args!("a=setup:{setup}"));
    }

    fn rtp(&mut self, mid: &str, direction: &str) {
        self.line(format_args!("a=mid:{mid}"));
        self.line(format_args!("a={direction}"));
        self.line(format_args!("a=rtcp-mux"));
        self.line(format_args!("a=rtcp-rsize"));
    }

    fn data(&mut self, mid: &str) {
        self.line(format_args!("a=mid:{mid}"));
        self.line(format_args!("a=sctp-port:5000"));
        self.line(format_args!("a=max-message-size:{MAX_MESSAGE}"));
    }

    /// The section of sound: Opus, and packets with older ones beside the newest (RFC 2198 section 5).
    fn audio(&mut self, opus: u8, red: Option<u8>) {
        let types = red.map(|red| format!(" {red}")).unwrap_or_default();
        self.line(format_args!("m=audio 9 UDP/TLS/RTP/SAVPF {opus}{types}"));
    }

    fn audio_formats(&mut self, opus: u8, red: Option<u8>) {
        self.line(format_args!("a=rtpmap:{opus} opus/48000/2"));
        self.line(format_args!("a=fmtp:{opus} minptime=10;useinbandfec=1;stereo=1"));
        if let Some(red) = red {
            self.line(format_args!("a=rtpmap:{red} red/48000/2"));
            self.line(format_args!("a=fmtp:{red} {opus}/{opus}"));
        }
    }

    /// Retransmissions of packets of payload type `of` (RFC 4588 section 8.1).
    fn rtx(&mut self, payload_type: u8, of: u8) {
        self.line(format_args!("a=rtpmap:{payload_type} rtx/90000"));
        self.line(format_args!("a=fmtp:{payload_type} apt={of}"));
    }

    fn video_format(&mut self, payload_type: u8, encoding: &str, parameters: &str) {
        self.line(format_args!("a=rtpmap:{payload_type} {encoding}/90000"));
        if !parameters.is_empty() {
            self.line(format_args!("a=fmtp:{payload_type} {parameters}"));
        }
        self.line(format_args!("a=rtcp-fb:{payload_type} nack pli"));
        self.line(format_args!("a=rtcp-fb:{payload_type} ccm fir"));
    }
}

/// Our client's offer: to receive video with repair and probes, and audio, and to have data channels.
#[must_use]
pub fn offer(terms: &OfferTerms<'_>) -> String {
    let mut lines = Lines(String::new());
    lines.session(terms.session, &["0", "1", "2"]);
    let transport =
        |lines: &mut Lines| lines.transport(terms.credentials, terms.fingerprint, "actpass");
    lines.line(format_args!(
        "m=video 9 UDP/TLS/RTP/SAVPF {OFFERED_VIDEO} {OFFERED_REPAIR} {OFFERED_PROBE} {OFFERED_RTX}"
    ));
    transport(&mut lines);
    lines.rtp("0", "recvonly");
    lines.line(format_args!("a=extmap:{OFFERED_FRAME} {FRAME}"));
    let parameters = match terms.codec {
        VideoCodec::H264 => {
            "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e02a"
        }
        // Main profile, main tier, level 6.2: 30 of its tenths (RFC 7798 section 7.1).
        VideoCodec::H265 => "profile-id=1;tier-flag=0;level-id=186;tx-mode=SRST",
    };
    lines.video_format(OFFERED_VIDEO, &terms.codec.to_string(), parameters);
    lines.line(format_args!("a=rtpmap:{OFFERED_REPAIR} {REPAIR}/90000"));
    lines.line(format_args!("a=rtpmap:{OFFERED_PROBE} {PROBE}/90000"));
    lines.line(format_args!("a=rtcp-fb:{OFFERED_VIDEO} {NACK}"));
    lines.rtx(OFFERED_RTX, OFFERED_VIDEO);
    lines.line(format_args!("a=rtcp-fb:* {CONGESTION_CONTROL}"));
    if terms.arrival_times {
        lines.line(format_args!("a=rtcp-fb:* {ARRIVAL_TIMES}"));
    }
    lines.audio(OFFERED_AUDIO, Some(OFFERED_RED));
    transport(&mut lines);
    lines.rtp("1", "recvonly");
    lines.audio_formats(OFFERED_AUDIO, Some(OFFERED_RED));
    lines.line(format_args!("m=application 9 UDP/DTLS/SCTP webrtc-datachannel"));
    transport(&mut lines);
    lines.data("2");
    lines.0
}

/// The host's answer: one section for each of the offer's, in its order; what we cannot serve is refused.
#[must_use]
pub fn answer(offer: &Description, terms: &AnswerTerms<'_>) -> String {
    let accepted: Vec<bool> = accepted_sections(offer, terms.negotiated);
    let pairs = offer.media.iter().zip(&accepted);
    let mids: Vec<&str> =
        pairs.clone().filter(|(_, taken)| **taken).map(|(media, _)| media.mid.as_str()).collect();
    let mut lines = Lines(String::new());
    lines.session(terms.session, &mids);
    lines.line(format_args!("a=msid-semantic: WMS gameway"));
    let mut first = true;
    for (media, taken) in pairs {
        if !taken {
            refuse(&mut lines, media);
            continue;
        }
        section(&mut lines, media, terms);
        if std::mem::take(&mut first) {
            candidates(&mut lines, terms.candidates);
        }
    }
    lines.0
}

/// The first video, audio and data section that we can serve.
fn accepted_sections(offer: &Description, negotiated: &Negotiated) -> Vec<bool> {
    let mut left = [
        (MediaKind::Video, negotiated.video.is_some()),
        (MediaKind::Audio, negotiated.audio.is_some()),
        (MediaKind::Application, negotiated.data),
    ];
    let mut accept = |media: &Media| {
        let wanted = left.iter_mut().find(|(kind, _)| *kind == media.kind && !media.refused);
        wanted.is_some_and(|(_, wanted)| std::mem::take(wanted))
    };
    offer.media.iter().map(&mut accept).collect()
}

fn refuse(lines: &mut Lines, media: &Media) {
    let mut words: Vec<&str> = media.line.split(' ').collect();
    if let Some(port) = words.get_mut(1) {
        *port = "0";
    }
    lines.line(format_args!("m={}", words.join(" ")));
    lines.line(format_args!("c=IN IP4 0.0.0.0"));
    lines.line(format_args!("a=mid:{}", media.mid));
    lines.line(format_args!("a=inactive"));
}

fn section(lines: &mut Lines, media: &Media, terms: &AnswerTerms<'_>) {
    let negotiated = terms.negotiated;
    let transport =
        |lines: &mut Lines| lines.transport(terms.credentials, terms.fingerprint, "passive");
    match media.kind {
        MediaKind::Video => {
            let Negotiated { video: own, repair, probe, rtx, parity, .. } = *negotiated;
            let types = [own, repair, probe, rtx, parity];
            let types = types.iter().flatten().map(u8::to_string).collect::<Vec<_>>().join(" ");
            lines.line(format_args!("m=video 9 UDP/TLS/RTP/SAVPF {types}"));
            transport(lines);
            lines.rtp(&media.mid, "sendonly");
            video(lines, negotiated);
        }
        MediaKind::Audio => {
            let payload_type = negotiated.audio.unwrap_or(OFFERED_AUDIO);
            lines.audio(payload_type, negotiated.red);
            transport(lines);
            // A browser plays silence all the time for who may send: a fifth of what a page takes of a processor.
            lines.rtp(&media.mid, if terms.audio { "sendonly" } else { "inactive" });
            lines.audio_formats(payload_type, negotiated.red);
            if negotiated.congestion_control {
                // Chromium reports by RFC 8888 only if each of its sections agreed.
                lines.line(format_args!("a=rtcp-fb:* {CONGESTION_CONTROL}"));
            }
            lines.line(format_args!("a=msid:gameway audio"));
            lines.line(format_args!("a=ssrc:{} cname:gameway", negotiated.audio_ssrc));
        }
        MediaKind::Application | MediaKind::Other => {
            lines.line(format_args!("m=application 9 UDP/DTLS/SCTP webrtc-datachannel"));
            transport(lines);
            lines.data(&media.mid);
        }
    }
}

fn video(lines: &mut Lines, negotiated: &Negotiated) {
    let transport_wide =
        if negotiated.reports_on_request { TRANSPORT_WIDE_2 } else { TRANSPORT_WIDE };
    let extensions = [
        (negotiated.transport_wide, transport_wide),
        (negotiated.playout_delay, PLAYOUT_DELAY),
        (negotiated.frame, FRAME),
        (negotiated.dependencies, DEPENDENCIES),
    ];
    for (id, uri) in extensions {
        if let Some(id) = id {
            lines.line(format_args!("a=extmap:{id} {uri}"));
        }
    }
    let payload_type = negotiated.video.unwrap_or(OFFERED_VIDEO);
    let encoding = match negotiated.video_format {
        PayloadFormat::Own => negotiated.video_codec.to_string(),
        PayloadFormat::Vp8 => "VP8".to_owned(),
    };
    lines.video_format(payload_type, &encoding, &negotiated.video_parameters);
    for (repair, name) in [(negotiated.repair, REPAIR), (negotiated.probe, PROBE)] {
        if let Some(payload_type) = repair {
            lines.line(format_args!("a=rtpmap:{payload_type} {name}/90000"));
        }
    }
    if negotiated.congestion_control {
        lines.line(format_args!("a=rtcp-fb:* {CONGESTION_CONTROL}"));
    }
    if negotiated.arrival_times {
        lines.line(format_args!("a=rtcp-fb:* {ARRIVAL_TIMES}"));
    }
    if negotiated.transport_cc {
        lines.line(format_args!("a=rtcp-fb:{payload_type} {TRANSPORT_CC}"));
    }
    lines.line(format_args!("a=msid:gameway video"));
    for (agreed, name) in [(negotiated.nack, NACK), (negotiated.reference_time, REFERENCE_TIME)] {
        if agreed {
            lines.line(format_args!("a=rtcp-fb:{payload_type} {name}"));
        }
    }
    video_streams(lines, negotiated, payload_type);
}

/// The streams of the video by their numbers, and what each is for.
fn video_streams(lines: &mut Lines, negotiated: &Negotiated, payload_type: u8) {
    let (video, rtx) = (negotiated.video_ssrc, negotiated.rtx_ssrc);
    if let Some(retransmission) = negotiated.rtx {
        lines.rtx(retransmission, payload_type);
        // RFC 5576 section 4.2: the second stream serves the first.
        lines.line(format_args!("a=ssrc-group:FID {video} {rtx}"));
        lines.line(format_args!("a=ssrc:{video} cname:gameway"));
        lines.line(format_args!("a=ssrc:{rtx} cname:gameway"));
        if let Some(parity) = negotiated.parity {
            let ssrc = negotiated.parity_ssrc;
            lines.line(format_args!("a=rtpmap:{parity} {FLEXFEC}/90000"));
            lines.line(format_args!("a=fmtp:{parity} repair-window={REPAIR_WINDOW}"));
            // RFC 5956 section 4.3.
            lines.line(format_args!("a=ssrc-group:FEC-FR {video} {ssrc}"));
            lines.line(format_args!("a=ssrc:{ssrc} cname:gameway"));
        }
    } else {
        lines.line(format_args!("a=ssrc:{video} cname:gameway"));
    }
}

fn candidates(lines: &mut Lines, ways: &[LocalCandidate]) {
    for (index, way) in ways.iter().enumerate() {
        lines.line(format_args!("{}", CandidateLine(index, way)));
    }
    lines.line(format_args!("a=end-of-candidates"));
}
