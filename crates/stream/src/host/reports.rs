//! What a receiver says in RTCP, as the session wants it.

use gameway_control::SequenceNumber;
use gameway_session::FeedbackPacket;
use gameway_webrtc::feedback::rfc8888::{CongestionFeedback, FeedbackReader};
use gameway_webrtc::rtcp;

/// One thing that a receiver said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// What arrived.
    Packets(FeedbackPacket),
    /// It needs a key frame.
    KeyFrameRequest,
}

/// Continues numbers and times from report to report.
#[derive(Debug, Clone, Default)]
pub struct ReportReader {
    congestion: FeedbackReader,
}

impl ReportReader {
    /// What a compound packet says of stream `ssrc`, whose newest packet is number `newest_sent`. A report and a
    /// request that came together are one.
    pub fn read(&mut self, compound: &[u8], ssrc: u32, newest_sent: u64) -> Vec<Reported> {
        let mut reported = Vec::new();
        let mut wants_key_frame = false;
        for packet in rtcp::packets(compound) {
            wants_key_frame |= rtcp::asks_for_key_frame(&packet, ssrc);
            let Ok(feedback) = CongestionFeedback::parse(packet.bytes) else { continue };
            let newest = SequenceNumber(newest_sent);
            reported.extend(self.congestion.to_session(&feedback, ssrc, newest));
        }
        let mut said: Vec<Reported> = Vec::new();
        for mut feedback in reported {
            feedback.key_frame_request = std::mem::take(&mut wants_key_frame);
            said.push(Reported::Packets(feedback));
        }
        if wants_key_frame {
            said.push(Reported::KeyFrameRequest);
        }
        said
    }
}
