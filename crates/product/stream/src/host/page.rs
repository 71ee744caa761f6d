//! What a browser's page tells of frames, and what it is worth on the clock of the browser's reports. Sans-IO. A page
//! tells of arrivals only where the browser does not report on request ([`crate::host::requests`]).
//!
//! A page says when a frame's last packet came as soon as the frame is whole; the browser's own report tells the same of
//! that packet some 60 ms later. The page counts from its own zero, the report from another. Both times are of one
//! arrival, so that their difference is that of the clocks: no exchange of pings is needed, and no way's delay enters.
//! It is the median over the newest frames of which both told. Until there are enough of these, and while they
//! disagree, arrivals that only the page has told of are not used.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | pairs | 8 to 31 frames | half a second at 60 frames/s: clocks drift by 50 us in it at most |
//! | disagreement | half of the pairs within 2 ms of the median | a page's clock has steps of 0.1 ms, reports of 0.25 ms (RFC 8888: 1 ms); a page that is off by more helps nobody |
//! | age | 1 s | what is older, by the page's own clock, says nothing of the path as it is |
//! | frames remembered | 256 | as long as the sender does |

use gameway_control::{FrameId, SequenceNumber};
use gameway_session::{FeedbackPacket, MediaPacket};
use gameway_units::{Duration, ReceiverInstant};
use std::collections::VecDeque;

const FEWEST_PAIRS: usize = 8;
const MAX_PAIRS: usize = 31;
const DISAGREEMENT: Duration = Duration::from_millis(2);
const MAX_AGE: Duration = Duration::from_secs(1);
const MAX_FRAMES: usize = 256;

/// What a page's news came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Frames that the page said it had.
    pub received: u64,
    /// Of these, those whose arrival the controller was told of.
    pub used: u64,
    /// Frames that were never sent, or long ago, or told of twice.
    pub strange: u64,
    /// Frames that went to the screen.
    pub presented: u64,
    /// Key frames asked for.
    pub requests: u64,
    /// Requests of a browser whose page decodes by itself, which are not heeded.
    pub unheeded: u64,
}

impl std::ops::Add for PageCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            used: self.used + other.used,
            strange: self.strange + other.strange,
            presented: self.presented + other.presented,
            requests: self.requests + other.requests,
            unheeded: self.unheeded + other.unheeded,
        }
    }
}

/// A frame on its way, and when its last packet arrived.
#[derive(Debug, Clone, Copy)]
struct Frame {
    timestamp: u32,
    frame: FrameId,
    last: Option<SequenceNumber>,
    by_page: Option<ReceiverInstant>,
    by_report: Option<ReceiverInstant>,
}

/// A frame that the page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Which one.
    pub frame: FrameId,
    /// When its last packet came on the clock of reports, if a report told.
    pub by_report: Option<ReceiverInstant>,
    /// When it is displayed, on the page's clock.
    pub time: ReceiverInstant,
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct PageReports {
    frames: VecDeque<Frame>,
    /// Report's clock less page's, newest last.
    pairs: VecDeque<Duration>,
    /// The page decodes frames, not the browser.
    pub decodes: bool,
    /// The newest that the page told of, and when it was shown.
    presented: Option<(FrameId, ReceiverInstant)>,
    /// What was counted.
    pub counts: PageCounts,
}

impl PageReports {
    /// A packet of a frame's train left, with this time stamp.
    pub fn on_sent(&mut self, packet: &MediaPacket, timestamp: u32) {
        if self.frames.back().is_none_or(|newest| newest.frame != packet.frame) {
            if self.frames.len() == MAX_FRAMES {
                self.frames.pop_front();
            }
            let frame = packet.frame;
            let new = Frame { timestamp, frame, last: None, by_page: None, by_report: None };
            self.frames.push_back(new);
        }
        if let Some(newest) = self.frames.back_mut().filter(|_| packet.is_last_of_frame()) {
            newest.last = Some(packet.sequence);
        }
    }

    /// The browser reported on packets.
    pub fn on_report(&mut self, report: &FeedbackPacket) {
        for frame in self.frames.iter_mut().filter(|frame| frame.by_report.is_none()) {
            let place = frame.last.and_then(|last| last.0.checked_sub(report.base.0));
            let packet = place.and_then(|place| *report.packets.get(place as usize)?);
            if let Some(packet) = packet {
                frame.by_report = Some(packet.arrival);
                add_pair(&mut self.pairs, frame);
            }
        }
    }

    /// What of a browser's report holds. A browser whose page decodes has no frame to decode and asks for a key frame each 0.2 to 3 s; the
    /// page says itself when it needs one.
    pub fn heeded(&mut self, mut report: FeedbackPacket) -> Option<FeedbackPacket> {
        if self.decodes && report.key_frame_request {
            self.counts.unheeded += 1;
            report.key_frame_request = false;
            let is_empty = report.packets.is_empty() && report.asked.is_empty();
            return (!is_empty).then_some(report);
        }
        Some(report)
    }

    /// The page has all of the frame with this time stamp, since `arrival`, and said so at `generated`, both on its
    /// clock: which frame, and since when on the clock of reports, where that is known.
    pub fn on_received(
        &mut self,
        timestamp: u32,
        arrival: ReceiverInstant,
        generated: ReceiverInstant,
    ) -> Option<(FrameId, Option<ReceiverInstant>)> {
        self.counts.received += 1;
        // Time stamps of frames are different unless they are hours apart.
        let known = self.frames.iter_mut().rev().find(|frame| frame.timestamp == timestamp);
        let known = known.filter(|frame| frame.by_page.is_none() && frame.last.is_some());
        let Some(frame) = known else {
            self.counts.strange += 1;
            return None;
        };
        let (id, reported) = (frame.frame, frame.by_report);
        frame.by_page = Some(arrival);
        add_pair(&mut self.pairs, frame);
        let age = generated.saturating_since(arrival);
        let believed = (Duration::ZERO..=MAX_AGE).contains(&age) && reported.is_none();
        let offset = self.offset().filter(|_| believed);
        self.counts.used += u64::from(offset.is_some());
        Some((id, offset.map(|offset| arrival.saturating_add(offset))))
    }

    /// The page shows the frame with this time stamp. `missed` others went to its screen since the one before, without its browser
    /// telling of each: those are the frames between, if there are as many, at even distances of time. If there are more, it
    /// is not known which, and none is told of.
    pub fn on_presented(
        &mut self,
        timestamp: u32,
        time: ReceiverInstant,
        missed: u32,
    ) -> Vec<Shown> {
        self.counts.presented += 1 + u64::from(missed);
        let Some(place) = self.frames.iter().rposition(|frame| frame.timestamp == timestamp) else {
            return Vec::new();
        };
        let newest = self.frames[place].frame;
        let before = self.presented.replace((newest, time));
        let between = before.and_then(|(frame, since)| {
            let first = 1 + self.frames.iter().rposition(|known| known.frame == frame)?;
            (place.checked_sub(first) == Some(missed as usize)).then_some((first, since))
        });
        let (first, since) = between.unwrap_or((place, time));
        let parts = (place + 1 - first) as i64;
        let step = time.saturating_since(since) / parts;
        let shown = self.frames.range(first..=place).zip(1..).map(|(frame, part)| Shown {
            frame: frame.frame,
            by_report: frame.by_report,
            time: if part == parts { time } else { since.saturating_add(step * part) },
        });
        shown.collect()
    }

    /// By how much the clock of reports is ahead of the page's, once that is known.
    #[must_use]
    pub fn offset(&self) -> Option<Duration> {
        if self.pairs.len() < FEWEST_PAIRS {
            return None;
        }
        let mut sorted: Vec<Duration> = self.pairs.iter().copied().collect();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let near = |pair: &&Duration| {
            let apart = pair.saturating_sub(median);
            (-DISAGREEMENT..=DISAGREEMENT).contains(&apart)
        };
        (2 * sorted.iter().filter(near).count() >= sorted.len()).then_some(median)
    }
}

/// Both have told of the frame: what their clocks differ by.
fn add_pair(pairs: &mut VecDeque<Duration>, frame: &Frame) {
    let (Some(by_page), Some(by_report)) = (frame.by_page, frame.by_report) else { return };
    if pairs.len() == MAX_PAIRS {
        pairs.pop_front();
    }
    pairs.push_back(by_report.saturating_since(by_page));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media_packet;
    use gameway_control::PacketKind;
    use gameway_session::ReceivedPacket;
    use gameway_units::Ecn;

    /// The reports' clock is so much ahead of the page's.
    const OFFSET: Duration = Duration::from_millis(-7_654_321);

    fn page_time(micros: i64) -> ReceiverInstant {
        ReceiverInstant::ZERO + Duration::from_micros(micros)
    }

    /// Frame `number` of two packets leaves.
    fn send(reports: &mut PageReports, number: u64) {
        for index in 0..2 {
            let packet = MediaPacket {
                sequence: SequenceNumber(2 * number + u64::from(index)),
                frame: FrameId(number),
                index,
                media_packets: 2,
                train_packets: 2,
                payload: 1_000,
                header: 64,
                ..media_packet::packet(PacketKind::Media)
            };
            reports.on_sent(&packet, number as u32 * 1_500);
        }
    }

    /// The browser's report on frames up to this one: its packets arrived at `arrival` of the page's clock.
    fn report(reports: &mut PageReports, number: u64, arrival: ReceiverInstant) {
        let arrival = arrival.saturating_add(OFFSET);
        let packet = Some(ReceivedPacket { arrival, ecn: Ecn::NotEct });
        reports.on_report(&FeedbackPacket {
            base: SequenceNumber(2 * number),
            packets: vec![packet; 2],
            generated: arrival,
            ..FeedbackPacket::default()
        });
    }

    /// The page has the frame; what it comes to.
    fn receive(
        reports: &mut PageReports,
        number: u64,
    ) -> Option<(FrameId, Option<ReceiverInstant>)> {
        let arrival = page_time(number as i64 * 16_667);
        let generated = arrival.saturating_add(Duration::from_millis(2));
        reports.on_received(number as u32 * 1_500, arrival, generated)
    }

    /// Forty frames; the report on each comes four frames later, its time is off by `error` of the number.
    fn offset_with(error: impl Fn(u64) -> i64) -> (PageReports, Option<Duration>) {
        let mut reports = PageReports::default();
        for number in 0..40 {
            send(&mut reports, number);
            assert!(receive(&mut reports, number).is_some());
            if let Some(late) = number.checked_sub(4) {
                let arrival = page_time(late as i64 * 16_667 + error(late));
                report(&mut reports, late, arrival);
            }
        }
        let offset = reports.offset();
        (reports, offset)
    }

    #[test]
    fn an_arrival_told_by_both_gives_the_clocks_difference() {
        // Steps of 0.25 ms, and one frame in ten is far off.
        let (mut reports, offset) =
            offset_with(|n| if n % 10 == 3 { 90_000 } else { n as i64 % 3 * 100 });
        let error = offset.expect("an offset") - OFFSET;
        assert!((Duration::ZERO..=Duration::from_micros(200)).contains(&error), "{error}");
        // The first is known after eight pairs, of which the last came with frame 11.
        assert_eq!((reports.counts.received, reports.counts.used), (40, 28));
        send(&mut reports, 40);
        let (frame, arrival) = receive(&mut reports, 40).expect("it was sent");
        let expected = page_time(40 * 16_667).saturating_add(OFFSET).saturating_add(error);
        assert_eq!((frame, arrival), (FrameId(40), Some(expected)));
    }

    #[test]
    fn a_page_whose_times_are_no_arrivals_is_not_believed() {
        let (reports, offset) = offset_with(|n| n as i64 * 7_919 % 50_000);
        assert_eq!((offset, reports.counts.used), (None, 0), "{:?}", reports.counts);
    }

    #[test]
    fn strange_frames_and_old_news_are_not_used() {
        let (mut reports, _) = offset_with(|_| 0);
        assert_eq!(receive(&mut reports, 39), None, "twice");
        assert_eq!(receive(&mut reports, 77), None, "never sent");
        send(&mut reports, 40);
        send(&mut reports, 41);
        let late = page_time(5_000_000);
        let now = late.saturating_add(Duration::from_millis(1_001));
        let old = reports.on_received(40 * 1_500, late, now);
        assert_eq!(old, Some((FrameId(40), None)), "a second old");
        let early = reports.on_received(41 * 1_500, now, late);
        assert_eq!(early, Some((FrameId(41), None)), "from the future");
        assert_eq!(reports.counts.strange, 2);
    }

    #[test]
    fn pictures_that_the_page_only_counted_stand_between_their_neighbours() {
        let mut reports = PageReports::default();
        (0..20).for_each(|number| send(&mut reports, number));
        let mut show = |number: u32, micros, missed| {
            let shown = reports.on_presented(number * 1_500, page_time(micros), missed);
            let told = shown.iter().map(|it| (it.frame.0, it.time));
            told.collect::<Vec<_>>()
        };
        let at = |number, micros| (number, page_time(micros));
        assert_eq!(show(3, 10_000, 0), [at(3, 10_000)], "nothing is known before it");
        assert_eq!(show(4, 20_000, 0), [at(4, 20_000)]);
        let three = [at(5, 30_000), at(6, 40_000), at(7, 50_000)];
        assert_eq!(show(7, 50_000, 2), three);
        assert_eq!(show(10, 90_000, 1), [at(10, 90_000)], "one of two: which is not known");
        assert_eq!(show(12, 95_000, 0), [at(12, 95_000)], "a frame that was not shown");
        assert_eq!(show(11, 99_000, 5), [at(11, 99_000)], "older than the one before");
        assert_eq!(show(77, 99_000, 1), [], "never sent");
        assert_eq!(reports.counts.presented, 16);
    }

    #[test]
    fn requests_of_a_browser_without_frames_are_not_heeded() {
        let mut reports = PageReports::default();
        let asks = FeedbackPacket { key_frame_request: true, ..FeedbackPacket::default() };
        let asked = vec![SequenceNumber(7)];
        let more = FeedbackPacket { asked: asked.clone(), ..asks.clone() };
        assert_eq!(reports.heeded(asks.clone()), Some(asks.clone()));
        reports.decodes = true;
        assert_eq!(reports.heeded(asks.clone()), None);
        let rest = FeedbackPacket { asked, ..FeedbackPacket::default() };
        assert_eq!(reports.heeded(more), Some(rest.clone()), "what else it says holds");
        assert_eq!(reports.heeded(rest.clone()), Some(rest));
        reports.decodes = false;
        assert_eq!(reports.heeded(asks.clone()), Some(asks));
        assert_eq!(reports.counts.unheeded, 2);
    }
}
