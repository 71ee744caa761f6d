//! Session descriptions (RFC 8866, with RFC 8839 for ICE, 8122 for DTLS, 8841 for SCTP): what both sides
//! of WHEP say, reduced to what a stream needs.
//!
//! [`Description`] is what was read of either side's text; [`offer`] and [`answer`] write ours.

mod parse;
mod write;

pub use parse::{Description, Extension, Format, Media, MediaKind};
pub(crate) use write::MAX_MESSAGE;
pub use write::{AnswerTerms, OfferTerms, answer, offer};

use gameway_units::{PayloadFormat, VideoCodec};

/// Transport-wide sequence number (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2).
pub const TRANSPORT_WIDE: &str =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
/// The same, by whose packets a sender can ask for a report (libwebrtc, docs/native-code/rtp-hdrext/transport-wide-cc-02).
pub const TRANSPORT_WIDE_2: &str =
    "http://www.webrtc.org/experiments/rtp-hdrext/transport-wide-cc-02";
/// To which frame a frame refers ([`crate::dependency_descriptor`]).
pub const DEPENDENCIES: &str =
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";
/// Limits of the receiver's delay, which we set to zero.
pub const PLAYOUT_DELAY: &str = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay";
/// A packet's place in its frame ([`crate::frame_extension`]); only our own client offers it.
pub const FRAME: &str = "urn:gameway:rtp-hdrext:frame";
/// Encoding name of packets with parity.
pub const REPAIR: &str = "x-gameway-repair";
/// Encoding name of packets with parity for browsers ([`crate::flexfec`]).
pub const FLEXFEC: &str = "flexfec-03";
/// Encoding name of probes and padding.
pub const PROBE: &str = "x-gameway-probe";
/// Feedback of arrival times in microseconds ([`crate::feedback::arrival_times`]).
pub const ARRIVAL_TIMES: &str = "x-gameway-arrival-times";
/// Feedback of RFC 8888 (its section 6).
pub const CONGESTION_CONTROL: &str = "ack ccfb";
/// Feedback of the transport-wide draft.
pub const TRANSPORT_CC: &str = "transport-cc";

/// Format parameter of VP8: the page takes encoded frames out of the browser, and they may be coded so.
pub const FRAMES: &str = "x-gameway-frames";

/// Feedback that asks for packets (RFC 4585 section 4.2).
pub const NACK: &str = "nack";
/// The receiver says its time and is answered (RFC 3611 section 4.4), by libwebrtc's name.
pub const REFERENCE_TIME: &str = "rrtr";

/// What a host can do beyond what each can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// Send H.265.
    pub(crate) h265: bool,
    /// Send packets again.
    pub(crate) nack: bool,
    /// Send parity packets that browsers take.
    pub(crate) parity: bool,
    /// Refer to other frames than the one before.
    pub(crate) references: bool,
}

/// What both sides agreed on. An extension's number is `None` if it was not agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Payload type of the video.
    pub video: Option<u8>,
    /// How it is coded.
    pub video_codec: VideoCodec,
    /// The payload format that it has.
    pub video_format: PayloadFormat,
    /// Its format parameters, for the encoder's profile.
    pub video_parameters: String,
    /// Payload type of Opus.
    pub audio: Option<u8>,
    /// Payload type of packets with older ones of Opus beside the newest (RFC 2198).
    pub red: Option<u8>,
    /// Payload type of packets with parity; our own client only.
    pub repair: Option<u8>,
    /// Payload type of probes and padding; our own client only.
    pub probe: Option<u8>,
    /// Payload type of retransmissions (RFC 4588) of the video; browsers take probes and padding on their stream, too.
    pub rtx: Option<u8>,
    /// Payload type of parity packets of the video ([`crate::flexfec`]); browsers only.
    pub parity: Option<u8>,
    /// The video stream's number (SSRC).
    pub video_ssrc: u32,
    /// The audio stream's number (SSRC).
    pub audio_ssrc: u32,
    /// The number (SSRC) of the stream of retransmissions.
    pub rtx_ssrc: u32,
    /// The number (SSRC) of the stream of parity packets.
    pub parity_ssrc: u32,
    /// Number of the transport-wide extension.
    pub transport_wide: Option<u8>,
    /// Whether it is the one by which a report can be asked for.
    pub reports_on_request: bool,
    /// Number of the playout delay extension.
    pub playout_delay: Option<u8>,
    /// Number of the frame extension.
    pub frame: Option<u8>,
    /// Number of the extension that says to which frame one refers; browsers only.
    pub dependencies: Option<u8>,
    /// The receiver asks for packets that are missing (RFC 4585 section 6.2.1), and they are sent again.
    pub nack: bool,
    /// The receiver says its time, to know the round trip.
    pub reference_time: bool,
    /// The receiver sends transport-wide feedback.
    pub transport_cc: bool,
    /// The receiver sends RFC 8888 feedback.
    pub congestion_control: bool,
    /// The receiver adds arrival times in microseconds.
    pub arrival_times: bool,
    /// The other side takes data channels.
    pub data: bool,
}

/// How the video is to be coded, and in which payload format. Who offers both codecs gets H.264, whose encoders are faster.
fn coding(media: &Media, abilities: Abilities) -> Option<(VideoCodec, PayloadFormat, &Format)> {
    let (own, h264) = (PayloadFormat::Own, VideoCodec::H264);
    let h265 = || media.h265().filter(|_| abilities.h265);
    let carried = || media.frames_in_vp8(h264).map(|format| (h264, PayloadFormat::Vp8, format));
    let found = media.h264().map(|format| (h264, own, format));
    found.or_else(|| h265().map(|format| (VideoCodec::H265, own, format))).or_else(carried)
}

impl Negotiated {
    /// What an offer and our abilities have in common.
    #[must_use]
    pub(crate) fn from_offer(
        offer: &Description,
        [video_ssrc, audio_ssrc, rtx_ssrc, parity_ssrc]: [u32; 4],
        abilities: Abilities,
    ) -> Self {
        let mut terms = Self { video_ssrc, audio_ssrc, rtx_ssrc, parity_ssrc, ..Self::default() };
        if let Some(media) = offer.first(MediaKind::Video) {
            terms.take_video(media, abilities);
        }
        if let Some(media) = offer.first(MediaKind::Audio) {
            terms.audio = media.payload_type("opus/48000/2");
            terms.red = terms.audio.and_then(|opus| media.redundant(opus));
        }
        terms.data = offer.first(MediaKind::Application).is_some();
        terms
    }

    /// What an answer to our offer accepted.
    #[must_use]
    pub(crate) fn from_answer(answer: &Description) -> Self {
        let ssrc = |kind| answer.first(kind).and_then(|media| media.ssrc).unwrap_or(0);
        let rtx = answer.first(MediaKind::Video).and_then(|media| media.rtx_ssrc).unwrap_or(0);
        let numbers = [ssrc(MediaKind::Video), ssrc(MediaKind::Audio), rtx, 0];
        Self::from_offer(
            answer,
            numbers,
            Abilities { h265: true, nack: true, ..Abilities::default() },
        )
    }

    fn take_video(&mut self, media: &Media, abilities: Abilities) {
        let Some((codec, payload_format, format)) = coding(media, abilities) else { return };
        self.video = Some(format.payload_type);
        self.video_codec = codec;
        self.video_format = payload_format;
        self.video_parameters = match payload_format {
            PayloadFormat::Own => format.parameters.clone(),
            PayloadFormat::Vp8 => format!("{FRAMES}={codec}"),
        };
        self.repair = media.payload_type(&format!("{REPAIR}/90000"));
        self.probe = media.payload_type(&format!("{PROBE}/90000"));
        self.rtx = media.retransmission(format.payload_type);
        let on_request = media.extension(TRANSPORT_WIDE_2);
        self.transport_wide = on_request.or_else(|| media.extension(TRANSPORT_WIDE));
        self.playout_delay = media.extension(PLAYOUT_DELAY);
        self.frame = media.extension(FRAME);
        self.dependencies = media.extension(DEPENDENCIES).filter(|_| abilities.references);
        let asks = media.has_feedback(format.payload_type, NACK);
        self.nack = abilities.nack && asks && self.rtx.is_some();
        self.reference_time = media.has_feedback(format.payload_type, REFERENCE_TIME);
        if self.is_native() && !self.nack {
            // Its probes and padding have a payload type of their own.
            self.rtx = None;
        }
        self.parity = self.parity_of(media).filter(|_| abilities.parity);
        self.transport_cc =
            self.transport_wide.is_some() && media.has_feedback(format.payload_type, TRANSPORT_CC);
        self.congestion_control = media.has_feedback(format.payload_type, CONGESTION_CONTROL);
        self.arrival_times =
            self.congestion_control && media.has_feedback(format.payload_type, ARRIVAL_TIMES);
        if self.congestion_control {
            // One kind of congestion feedback (RFC 8888 section 6); the finer one. Browsers report on transport-wide
            // numbers wherever they see them, so these are left away.
            self.transport_cc = false;
            self.transport_wide = None;
        }
        self.reports_on_request = self.transport_cc && on_request.is_some();
    }

    /// The payload type of parity that the receiver takes. Its packets are numbered apart, as those on the stream of retransmissions are.
    fn parity_of(&self, media: &Media) -> Option<u8> {
        let takes_parity = !self.is_native() && self.rtx.is_some();
        media.payload_type(&format!("{FLEXFEC}/90000")).filter(|_| takes_parity)
    }

    /// Whether the receiver is a client of ours.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.frame.is_some()
    }

    /// Bytes that a packet that is sent again has beyond the first time: the number that it had and, for a client of ours,
    /// its own transport-wide number, in an extension that grows by a word.
    #[must_use]
    pub fn overhead_again(&self) -> usize {
        if self.is_native() { 2 + 4 } else { 2 }
    }

    /// Bytes that each video packet has on the wire beside its payload, over IPv4: IP 20, UDP 8, RTP 12,
    /// the extension block, and `tag` of SRTP. The playout delay, sent on key frames only, is not in it, nor are the 4 bytes by
    /// which a packet asks for a report.
    #[must_use]
    pub fn overhead(&self, tag: usize) -> usize {
        let mut elements = 0;
        if self.transport_wide.is_some() {
            elements += 3;
        }
        if self.dependencies.is_some() {
            elements += 1 + crate::dependency_descriptor::SIZE;
        }
        if self.frame.is_some() {
            elements += 1 + crate::frame_extension::SIZE;
        }
        let block = if elements == 0 { 0 } else { 4 + usize::next_multiple_of(elements, 4) };
        20 + 8 + 12 + block + tag
    }

    /// Bytes that each audio packet has on the wire beside its payload, over IPv4: it has no extensions.
    #[must_use]
    pub fn audio_overhead(tag: usize) -> usize {
        20 + 8 + 12 + tag
    }
}
