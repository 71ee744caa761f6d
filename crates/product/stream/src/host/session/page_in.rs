//! What a browser's page tells of frames.

use super::{Session, SessionEvent};
use crate::host::page::Shown;
use gameway_units::Instant;
use gameway_webrtc::feedback::frames::{FrameNews, FrameReports};

impl Session {
    pub(super) fn on_page(&mut self, now: Instant, message: &[u8]) {
        let Ok(reports) = FrameReports::parse(message) else { return };
        if reports.records.iter().any(|record| record.news == FrameNews::CountsWanted) {
            self.tell_counts(now);
        }
        let takes_references = self.peer.negotiated().dependencies.is_some();
        let Some(sender) = &mut self.sender else { return };
        self.page_clock.on_message(now, reports.generated);
        for record in reports.records {
            match record.news {
                FrameNews::Received { .. } => {
                    let (stamp, arrival) = (record.rtp_timestamp, record.time);
                    let found = self.page.on_received(stamp, arrival, reports.generated);
                    let last = found
                        .and_then(|(frame, arrival)| sender.on_frame_received(now, frame, arrival));
                    self.reported_end = self.reported_end.max(last.map_or(0, |last| last.0 + 1));
                }
                FrameNews::Presented { by_page, missed, .. } => {
                    self.page.decodes = by_page;
                    for Shown { frame, by_report, time } in
                        self.page.on_presented(record.rtp_timestamp, record.time, missed)
                    {
                        if takes_references {
                            sender.on_shown(frame);
                        }
                        let complete = by_report.and_then(|at| self.report_clock.at_host(at));
                        let shown = self.page_clock.at_host(time);
                        if let Some(at) = shown {
                            self.counts.on_displayed(frame, at);
                        }
                        let event = |shown| SessionEvent::Shown { frame, complete, shown };
                        self.events.extend(shown.map(event));
                    }
                }
                FrameNews::KeyFrameNeeded => {
                    self.page.counts.requests += 1;
                    sender.on_key_frame_request(now, None);
                }
                FrameNews::CountsWanted => continue,
            }
            self.events.push(SessionEvent::Page(record));
        }
    }
}
