//! Encoded frames come into the sender: whole, or in parts while their encoder is still at work on the rest.
//!
//! Packets of a part say neither how many the frame has nor that they are its last: nobody knows. Those that
//! still wait when the frame is whole are told.

use super::{Entry, Sender};
use crate::encode_request::EncodeRequest;
use crate::packet::MediaPacket;
use crate::sender_config::SenderConfig;
use crate::sender_event::SenderEvent;
use gameway_control::{FrameId, FramePart, FrameSent, PacketKind, SequenceNumber, Target};
use gameway_media::{EncoderModel, PacketPlan, Train, headers_of_slices, packets_after_slices};
use gameway_units::{Bytes, Instant};

/// A frame of which packets were given to the pacer before it was whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartialFrame {
    packets: u16,
    payload: Bytes,
    wire_size: Bytes,
    key_frame: bool,
    pub(super) first_sent: Option<Instant>,
}

/// How large a frame is that was cut.
#[derive(Debug, Clone, Copy)]
struct FrameSize {
    payload: Bytes,
    /// On the wire, with repair.
    wire: Bytes,
    /// Of that, repair packets.
    repair: Bytes,
    packets: u16,
}

/// What a model made of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFrame {
    /// Its packets.
    pub train: Train,
    /// Whether it refers to no other.
    pub key_frame: bool,
    /// How many of its packets can leave after each of its slices; the last count is that of all media. Nothing, if it
    /// leaves whole.
    pub after_slices: Vec<u16>,
}

impl Sender {
    /// The next packets of the frame last asked for are cut, with these payloads; more will come, by this function
    /// again and at the end by [`Self::on_encoded`], which has to bring one packet at least. Only for frames that were
    /// asked for in parts.
    pub fn on_encoded_part(&mut self, now: Instant, payloads: &[u16], key_frame: bool) {
        let Some((request, target)) = self.encoding else { return };
        if payloads.is_empty() {
            return;
        }
        if self.begun.is_none() {
            self.waiting.push_back(target.requests.probes_per_frame);
            self.note_entry(&request, key_frame);
        }
        let begun = self.begun.get_or_insert_default();
        begun.key_frame = key_frame;
        let (frame, first, header) = (self.next_frame, begun.packets, self.header());
        let reference = (key_frame, request.refers_back);
        let packets: Vec<(MediaPacket, Bytes)> = (first..)
            .zip(payloads)
            .map(|(index, &payload)| PacketPlan { index, payload, repair: false })
            .map(|plan| of_train(plan, frame, (0, 0), header, reference))
            .collect();
        if let Some(begun) = &mut self.begun {
            begun.packets += packets.len() as u16;
            begun.wire_size += packets.iter().map(|(_, size)| *size).sum();
            begun.payload += Bytes::new(payloads.iter().map(|size| u64::from(*size)).sum());
        }
        let all = Train::new(request.payload, request.repair_share, self.config.overhead).packets();
        let part = FramePart { expected: usize::from(all), last: false };
        self.pacer.enqueue_part(now, frame, part, packets.into_iter());
    }

    /// The frame last asked for is encoded and cut, all of it; poll for packets afterwards.
    pub fn on_encoded(&mut self, now: Instant, train: &Train, key_frame: bool) {
        let Some((request, target)) = self.encoding.take() else { return };
        let begun = self.begun.take();
        if begun.is_none() {
            self.note_entry(&request, key_frame);
            self.waiting.push_back(target.requests.probes_per_frame);
        }
        let frame = self.next_frame;
        let size = FrameSize {
            payload: train.payload(),
            wire: train.wire_size(),
            repair: train.repair_size(),
            packets: train.packets(),
        };
        let event = self.frame_made((request, target), size, key_frame);
        let counts = (train.media_packets(), train.packets());
        let reference = (key_frame, request.refers_back);
        for packet in self.pacer.waiting_mut().rev().take_while(|packet| packet.frame == frame) {
            (packet.media_packets, packet.train_packets) = counts;
        }
        let header = self.header();
        let first = begun.map_or(0, |begun| begun.packets).min(counts.1);
        let rest = (first..counts.1)
            .map(|index| of_train(train.packet(index), frame, counts, header, reference));
        if self.is_controlled(frame) {
            self.controller.on_frame(now, &event);
        }
        let part = FramePart { expected: usize::from(counts.1), last: true };
        self.pacer.enqueue_part(now, frame, part, rest);
        self.tell_first_sent(frame, begun);
        self.capture_late(now);
    }

    /// The frame last asked for cannot be encoded. The next one is a key frame: a new encoder knows no other. What there
    /// is of it in the pacer still leaves; the receiver finds out that the rest does not come.
    pub fn on_encoder_failed(&mut self, now: Instant) {
        let Some((request, target)) = self.encoding.take() else { return };
        self.entry = Entry::Wanted(None);
        let Some(begun) = self.begun.take() else {
            self.events.push_back(SenderEvent::FrameSkipped { captured: request.captured });
            return;
        };
        let frame = self.next_frame;
        // Repair comes behind the last slice.
        let (payload, wire) = (begun.payload, begun.wire_size);
        let size = FrameSize { payload, wire, repair: Bytes::ZERO, packets: begun.packets };
        let event = self.frame_made((request, target), size, begun.key_frame);
        if self.is_controlled(frame) {
            self.controller.on_frame(now, &event);
        }
        // Nothing was queued behind it: if packets wait, the newest is its last.
        let last = self.pacer.waiting_mut().next_back();
        let waits = last.map(|last| last.train_packets = last.index + 1).is_some();
        if !waits {
            self.frame_is_over();
        }
        let part = FramePart { expected: usize::from(begun.packets), last: true };
        self.pacer.enqueue_part(now, frame, part, std::iter::empty());
        self.tell_first_sent(frame, Some(begun));
    }

    /// What a model makes of the frame that is to be encoded now, if any: for [`Self::on_encoded`], when it is done.
    pub fn encode_by(&mut self, encoder: &mut EncoderModel) -> Option<ModelFrame> {
        let request = self.poll_encode()?;
        if encoder.pass_absent() {
            self.encoding = None;
            return None;
        }
        // The model's own interval: a frame that comes half as often has a target twice as high.
        let SenderConfig { overhead, frame_interval, .. } = self.config;
        let EncodeRequest { payload, repair_share, bounded, in_parts, .. } = request;
        let EncodeRequest { key_frame, refers_back, .. } = request;
        let packets = payload.get().div_ceil(overhead.payload.get());
        let slices = encoder.slices(key_frame).len() as u64;
        let headers = headers_of_slices(packets, slices, repair_share, overhead.packet);
        let rate = payload.saturating_sub(headers).max(Bytes::new(1)) / frame_interval;
        encoder.refer(refers_back);
        encoder.resize(request.level);
        let encoded = match bounded {
            true => encoder.next_bounded_frame(rate, key_frame),
            false => encoder.next_frame(rate, key_frame),
        };
        let train = match encoded.slices {
            [] => Train::new(encoded.payload, repair_share, overhead),
            shares => Train::of_slices(encoded.payload, shares, repair_share, overhead),
        };
        let after_slices = match in_parts {
            true => packets_after_slices(encoded.payload, encoded.slices, overhead),
            false => Vec::new(),
        };
        Some(ModelFrame { train, key_frame: encoded.key_frame, after_slices })
    }

    /// Has a model encode the frame that is to be encoded now, if any, in no time.
    pub fn encode_with(&mut self, now: Instant, encoder: &mut EncoderModel) {
        let Some(frame) = self.encode_by(encoder) else { return };
        self.on_encoded(now, &frame.train, frame.key_frame);
    }

    fn note_entry(&mut self, request: &EncodeRequest, key_frame: bool) {
        if key_frame || request.refers_back > 1 {
            self.entry = Entry::UnderWay;
        }
    }

    /// Numbers the frame and tells of it.
    fn frame_made(
        &mut self,
        (request, target): (EncodeRequest, Target),
        size: FrameSize,
        key_frame: bool,
    ) -> FrameSent {
        let frame = self.next_frame;
        self.next_frame.0 += 1;
        self.references.on_encoded(frame, key_frame, request.refers_back);
        self.events.push_back(SenderEvent::FrameEncoded {
            frame,
            captured: request.captured,
            target: target.bitrate,
            encoder_target: request.rate,
            payload: size.payload,
            wire_size: size.wire,
            repair_size: size.repair,
            packets: size.packets,
            key_frame,
        });
        FrameSent::new(frame, target.bitrate, size.wire, size.packets.into())
    }

    fn tell_first_sent(&mut self, frame: FrameId, begun: Option<PartialFrame>) {
        let at = begun.and_then(|begun| begun.first_sent);
        self.events.extend(at.map(|at| SenderEvent::FrameFirstSent { frame, at }));
    }
}

/// A packet of a train with these counts of media packets and of all packets, and its size on the wire.
fn of_train(
    plan: PacketPlan,
    frame: FrameId,
    (media_packets, train_packets): (u16, u16),
    header: u16,
    (key_frame, refers_back): (bool, u8),
) -> (MediaPacket, Bytes) {
    let packet = MediaPacket {
        sequence: SequenceNumber(0),
        frame,
        index: plan.index,
        media_packets,
        train_packets,
        payload: plan.payload,
        header,
        kind: if plan.repair { PacketKind::Repair } else { PacketKind::Media },
        key_frame,
        refers_back,
        last_probe: false,
        original: None,
    };
    (packet, packet.wire_size())
}
