//! Puts together what sender, path and receiver know of each frame, and writes it once all is known.

use gameway_control::FrameId;
use gameway_events::{FrameRecord, Name, RunEvent};
use gameway_experiment::Recorder;
use gameway_session::{MediaPacket, SenderEvent};
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// Frames that may be open at once: beyond it the oldest is written as it is, so that memory is bounded
/// also where a blackout keeps packets for minutes.
const MAX_OPEN: usize = 4096;

struct OpenFrame {
    record: FrameRecord,
    /// Packets that have arrived or are gone for good.
    accounted: u16,
    /// Whether it is encoded: a frame in parts leaves before.
    encoded: bool,
    /// Whether the receiver has shown it or given it up.
    decided: bool,
}

impl OpenFrame {
    fn is_closed(&self) -> bool {
        self.decided && self.encoded && self.accounted >= self.record.packets
    }
}

/// Frames whose fate is not fully known, in order.
pub struct FrameLog {
    stream: Name,
    open: VecDeque<OpenFrame>,
    /// Number of the first open frame.
    first: u64,
}

impl FrameLog {
    /// An empty log.
    pub fn new(stream: Name) -> Self {
        Self { stream, open: VecDeque::new(), first: 0 }
    }

    fn get(&mut self, frame: FrameId) -> Option<&mut OpenFrame> {
        let index = frame.0.checked_sub(self.first)?;
        self.open.get_mut(usize::try_from(index).ok()?)
    }

    /// The frame, opened if it is the next one.
    fn get_or_open(&mut self, frame: FrameId) -> Option<&mut OpenFrame> {
        if frame.0 == self.first + self.open.len() as u64 {
            let record = FrameRecord {
                stream: self.stream.clone(),
                frame: frame.0 as u32,
                captured_ns: 0,
                target_bps: 0,
                payload_bytes: 0,
                wire_bytes: 0,
                packets: 0,
                key_frame: false,
                first_sent_ns: None,
                last_sent_ns: None,
                complete_ns: None,
                shown_ns: None,
                lost_packets: 0,
                first_packet_queue_delay_ns: None,
            };
            let (accounted, encoded, decided) = (0, false, false);
            self.open.push_back(OpenFrame { record, accounted, encoded, decided });
        }
        self.get(frame)
    }

    /// The sender encoded a frame or sent packets of one.
    pub fn on_sender_event(&mut self, event: &SenderEvent) {
        match *event {
            SenderEvent::FrameEncoded {
                frame,
                captured,
                target,
                payload,
                wire_size,
                packets,
                key_frame,
                ..
            } => {
                let Some(open) = self.get_or_open(frame) else { return };
                open.encoded = true;
                open.record.captured_ns = captured.as_nanos();
                open.record.target_bps = target.as_bps();
                open.record.payload_bytes = payload.get() as u32;
                open.record.wire_bytes = wire_size.get() as u32;
                open.record.packets = packets;
                open.record.key_frame = key_frame;
            }
            SenderEvent::FrameFirstSent { frame, at } => {
                if let Some(open) = self.get(frame) {
                    open.record.first_sent_ns = Some(at.as_nanos());
                }
            }
            SenderEvent::FrameLastSent { frame, at } => {
                if let Some(open) = self.get(frame) {
                    open.record.last_sent_ns = Some(at.as_nanos());
                }
            }
            SenderEvent::FrameSkipped { .. }
            | SenderEvent::KeyFrameWanted { .. }
            | SenderEvent::Level { .. }
            | SenderEvent::CircuitBreaker { .. } => {}
        }
    }

    /// A packet of a frame left the bottleneck after waiting so long.
    pub fn met_queue(&mut self, frame: FrameId, queueing: Duration) {
        if let Some(open) = self.get_or_open(frame) {
            open.record.first_packet_queue_delay_ns.get_or_insert(queueing.as_nanos());
        }
    }

    /// A packet arrived or is gone for good.
    pub fn accounted_for(&mut self, packet: &MediaPacket, gone: bool) {
        if !packet.is_train() {
            return;
        }
        if let Some(open) = self.get_or_open(packet.frame) {
            open.accounted = open.accounted.saturating_add(1);
            open.record.lost_packets += u16::from(gone);
        }
    }

    /// The frame is whole; gives its payload.
    pub fn complete(&mut self, frame: FrameId, at: Instant) -> Bytes {
        let Some(open) = self.get(frame) else { return Bytes::ZERO };
        open.record.complete_ns = Some(at.as_nanos());
        Bytes::new(u64::from(open.record.payload_bytes))
    }

    /// The frame was shown.
    pub fn shown(&mut self, frame: FrameId, at: Instant) {
        if let Some(open) = self.get(frame) {
            open.record.shown_ns = Some(at.as_nanos());
            open.decided = true;
        }
    }

    /// The frames `first..=last` will not be shown.
    pub fn decided(&mut self, first: FrameId, last: FrameId) {
        for number in first.0.max(self.first)..=last.0 {
            if let Some(open) = self.get(FrameId(number)) {
                open.decided = true;
            }
        }
    }

    /// Writes the frames, from the oldest, of which nothing more will be known.
    pub fn write_closed(&mut self, log: &mut Recorder) {
        while self.open.front().is_some_and(OpenFrame::is_closed) || self.open.len() > MAX_OPEN {
            self.write_front(log);
        }
    }

    /// Writes all, at the end of the run.
    pub fn write_all(&mut self, log: &mut Recorder) {
        while !self.open.is_empty() {
            self.write_front(log);
        }
    }

    fn write_front(&mut self, log: &mut Recorder) {
        if let Some(open) = self.open.pop_front() {
            self.first += 1;
            // One that the run's end finds in the encoder is no frame, though packets of it may have left.
            if open.encoded {
                log.tell(RunEvent::Frame(open.record));
            }
        }
    }
}
