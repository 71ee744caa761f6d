//! What the client tells of a stream: frames, inputs, sound, events.

use crate::client::decoding::DecodedPicture;
use crate::client::sound_decoding::DecodedSound;
use crate::client::sound_meter::Measured;
use crate::cpu::{self, ThreadTime};
use gameway_control::FrameId;
use gameway_events::{
    ClientFrameRecord, EventRecord, InputRecord, Name, RunEvent, Sink, SinkError, SoundRecord,
};
use gameway_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// Frames that may wait for their picture at once.
const MAX_OPEN: usize = 1024;
/// Inputs that may wait for a picture at once.
const MAX_INPUTS: usize = 1024;

/// Of the scripted player's inputs, which are numbered from 1: it presses its key and releases it in turn.
const fn is_press(input: u32) -> bool {
    !input.is_multiple_of(2)
}

/// How often it has pressed the key by then.
const fn presses(input: u32) -> u32 {
    input.div_ceil(2)
}

/// Makes events of what happens, for a sink.
#[derive(Debug)]
pub struct ClientLog {
    sink: Box<dyn Sink>,
    stream: Name,
    session: u32,
    /// Frames that are whole or were given up, without their pictures.
    open: BTreeMap<u64, ClientFrameRecord>,
    /// Inputs whose effect was not seen yet, oldest first.
    waiting: VecDeque<InputRecord>,
}

impl ClientLog {
    /// Tells `sink`.
    #[must_use]
    pub fn new(sink: Box<dyn Sink>, stream: &str) -> Self {
        Self {
            sink,
            stream: stream.into(),
            session: 0,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Whether the sink has failed; [`Self::finish`] says why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.sink.has_failed()
    }

    /// The host counts this stay so.
    pub fn session(&mut self, session: u32) {
        self.session = session;
    }

    /// Something happened.
    pub fn event(&mut self, at: Instant, event: &str, value: f64) {
        let (flow, event) = (self.stream.clone(), event.into());
        self.sink.take(RunEvent::Flow(EventRecord { time_ns: at.as_nanos(), flow, event, value }));
    }

    /// Enough of a frame's packets arrived.
    pub fn complete(&mut self, frame: FrameId, at: Instant) {
        self.record(frame).complete_ns = Some(at.as_nanos());
    }

    /// A frame goes to the decoder.
    pub fn arrived(&mut self, frame: FrameId, received: u16, recovered: u16) {
        let record = self.record(frame);
        record.received_packets = received;
        record.recovered_packets = recovered;
    }

    /// A frame will not be decoded.
    pub fn given_up(&mut self, frame: FrameId, received: u16) {
        self.record(frame).received_packets = received;
        self.close(frame);
    }

    /// A frame was decoded to this picture, if it could be decoded.
    pub fn decoded(&mut self, frame: FrameId, shown: Option<DecodedPicture>) {
        let stamp = shown.and_then(|shown| shown.stamp);
        let record = self.record(frame);
        record.decoded_ns = shown.map(|shown| shown.at.as_nanos());
        record.picture_frame = stamp.map(|stamp| i64::from(stamp.frame));
        record.picture_captured_ns = stamp.map(|stamp| stamp.captured.as_nanos());
        if let Some(DecodedPicture { at, stamp, card }) = shown {
            if let Some(stamp) = stamp {
                self.seen(stamp.input, at);
            }
            if let Some(number) = card {
                self.seen_card(number, at);
            }
        }
        self.close(frame);
    }

    /// A packet of sound was decoded, or concealed.
    pub(super) fn heard(&mut self, heard: &DecodedSound, measured: &Measured) {
        self.sink.take(RunEvent::Sound(SoundRecord {
            stream: self.stream.clone(),
            session: self.session,
            captured_ns: measured.captured.map(Instant::as_nanos),
            arrived_ns: heard.packet.map(|(_, arrived)| arrived.as_nanos()),
            decoded_ns: heard.at.as_nanos(),
            offset_to_picture_ns: measured.offset.map(Duration::as_nanos),
        }));
    }

    /// An input leaves.
    pub fn input(&mut self, input: u32, sent: Instant) {
        self.waiting.push_back(InputRecord {
            stream: self.stream.clone(),
            session: self.session,
            input,
            sent_ns: sent.as_nanos(),
            picture_ns: None,
        });
        while self.waiting.len() > MAX_INPUTS {
            self.end_input(None);
        }
    }

    /// Tells of what is left and of each thread.
    ///
    /// # Errors
    /// If the sink could not keep an event.
    pub fn finish(mut self, threads: &[ThreadTime]) -> Result<(), SinkError> {
        while let Some((_, record)) = self.open.pop_first() {
            self.sink.take(RunEvent::ClientFrame(record));
        }
        while !self.waiting.is_empty() {
            self.end_input(None);
        }
        cpu::tell(&mut *self.sink, &format!("client/{}", self.stream), threads);
        self.sink.finish()
    }

    /// A picture shows the effect of this input, and so of those before it.
    fn seen(&mut self, input: u32, at: Instant) {
        while self.waiting.front().is_some_and(|waiting| waiting.input <= input) {
            self.end_input(Some(at));
        }
    }

    /// A picture shows this number of the test card, which counts presses since its start and nothing else.
    fn seen_card(&mut self, number: u8, at: Instant) {
        let answers =
            |one: &&InputRecord| is_press(one.input) && presses(one.input) as u8 == number;
        let Some(newest) = self.waiting.iter().rev().find(answers).map(|one| one.input) else {
            return;
        };
        while let Some(input) =
            self.waiting.front().map(|one| one.input).filter(|&one| one <= newest)
        {
            self.end_input(is_press(input).then_some(at));
        }
    }

    fn end_input(&mut self, at: Option<Instant>) {
        let Some(mut record) = self.waiting.pop_front() else { return };
        record.picture_ns = at.map(Instant::as_nanos);
        self.sink.take(RunEvent::Input(record));
    }

    fn record(&mut self, frame: FrameId) -> &mut ClientFrameRecord {
        let (stream, session) = (&self.stream, self.session);
        self.open.entry(frame.0).or_insert_with(|| ClientFrameRecord {
            stream: stream.clone(),
            session,
            frame: frame.0 as u32,
            ..ClientFrameRecord::default()
        })
    }

    fn close(&mut self, frame: FrameId) {
        if let Some(record) = self.open.remove(&frame.0) {
            self.sink.take(RunEvent::ClientFrame(record));
        }
        while self.open.len() > MAX_OPEN {
            if let Some((_, record)) = self.open.pop_first() {
                self.sink.take(RunEvent::ClientFrame(record));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Of each input its number and the millisecond of its picture, where the test card shows these numbers at these milliseconds.
    fn answered(inputs: u32, card: &[(i64, u8)]) -> Vec<(u32, Option<i64>)> {
        let (sink, events) = channel();
        let mut log = ClientLog::new(Box::new(sink), "game");
        (1..=inputs).for_each(|input| log.input(input, Instant::ZERO));
        for (frame, &(millis, number)) in (0..).zip(card) {
            let at = Instant::ZERO + Duration::from_millis(millis);
            log.decoded(
                FrameId(frame),
                Some(DecodedPicture { at, stamp: None, card: Some(number) }),
            );
        }
        log.finish(&[]).expect("a channel");
        let input = |event| match event {
            RunEvent::Input(one) => {
                Some((one.input, one.picture_ns.map(|nanos| nanos / 1_000_000)))
            }
            _ => None,
        };
        events.iter().filter_map(input).collect()
    }

    #[test]
    fn the_test_card_answers_presses_and_no_releases() {
        let found = answered(6, &[(10, 0), (20, 1), (30, 1), (40, 3), (50, 9)]);
        let expected =
            [(1, Some(20)), (2, None), (3, Some(40)), (4, None), (5, Some(40)), (6, None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn its_number_begins_anew_after_255() {
        let found = answered(600, &[(10, 200), (20, 1)]);
        let at = |input: u32| found[input as usize - 1];
        // The 200th press, and the 257th.
        assert_eq!([at(399), at(400), at(513)], [(399, Some(10)), (400, None), (513, Some(20))]);
        assert_eq!(at(515), (515, None));
    }
}
