//! The payloads of frames that arrive, kept until a frame is decided.
//!
//! [`gameway_session::Receiver`] counts packets and decides; this keeps their bytes, for as many frames as its
//! window has, and brings missing media packets back from repair.

use gameway_codec::repair::{self, RepairDecoder};
use gameway_control::FrameId;
use gameway_session::MediaPacket;
use std::collections::VecDeque;

/// As many frames as a receiver's window (`gameway_media::Reassembly`).
pub(crate) const WINDOW: u64 = 256;
/// Bytes that are kept at most: a second at 256 Mb/s. A peer cannot make the client keep more.
pub const MAX_BYTES: usize = 32 << 20;

/// A frame's payloads by index.
#[derive(Debug, Default)]
struct Slot {
    /// Zero until a packet tells: those that leave while the frame is being encoded do not.
    media_packets: u16,
    /// As many as the train has packets, once a packet tells.
    payloads: Vec<Option<Vec<u8>>>,
    bytes: usize,
    received: u16,
    /// How many media packets, from the first on, were given out before the frame was whole.
    given: usize,
}

impl Slot {
    /// Whether a packet goes with those before it: the first that tells says how the train is. Makes room for it.
    fn agrees(&mut self, packet: &MediaPacket) -> bool {
        let (index, train) = (usize::from(packet.index), usize::from(packet.train_packets));
        if packet.media_packets == 0 {
            if self.media_packets == 0 {
                self.payloads.resize(self.payloads.len().max(index + 1), None);
            }
            return true;
        }
        if self.media_packets == 0 && self.payloads.len() <= train {
            self.media_packets = packet.media_packets;
            self.payloads.resize(train, None);
        }
        self.media_packets == packet.media_packets && self.payloads.len() == train
    }
}

/// What arrived of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingFrame {
    /// Payloads of its media packets in order, without those that were given out before; `None` if they cannot be had.
    pub payloads: Option<Vec<Vec<u8>>>,
    /// Different packets that arrived, repair included.
    pub received: u16,
    /// Media packets that repair brought back.
    pub recovered: u16,
}

/// See the module's head.
#[derive(Default)]
pub struct Inbox {
    repair: RepairDecoder,
    base: u64,
    slots: VecDeque<Slot>,
    bytes: usize,
}

impl Inbox {
    /// Keeps a packet's payload.
    pub fn put(&mut self, packet: &MediaPacket, payload: Vec<u8>) {
        let Some(place) = self.place(packet) else { return };
        let slot = &mut self.slots[place];
        if !slot.agrees(packet) {
            return;
        }
        let Some(kept) = slot.payloads.get_mut(usize::from(packet.index)) else { return };
        if kept.is_none() {
            slot.bytes += payload.len();
            slot.received += 1;
            self.bytes += payload.len();
            *kept = Some(payload);
        }
        while self.bytes > MAX_BYTES {
            self.forget_front();
        }
    }

    /// Where the packet's frame is, if it can have one.
    fn place(&mut self, packet: &MediaPacket) -> Option<usize> {
        let plausible = packet.is_of_frame() && packet.place().is_consistent();
        let frame = packet.frame.0;
        if !plausible || frame < self.base || frame == u64::MAX {
            return None;
        }
        if frame - self.base >= WINDOW {
            self.forget_before(FrameId(frame + 1 - WINDOW));
        }
        let place = (frame - self.base) as usize;
        while self.slots.len() <= place {
            self.slots.push_back(Slot::default());
        }
        Some(place)
    }

    /// Copies of the payloads that a frame has of its media packets from its first on, without those that were given out
    /// before; none while the last of them is not one at which `ends`.
    pub fn give(&mut self, frame: FrameId, ends: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
        let place = frame.0.checked_sub(self.base).and_then(|place| usize::try_from(place).ok());
        let Some(slot) = place.and_then(|place| self.slots.get_mut(place)) else { return vec![] };
        // While nobody tells how many media packets there are, there is no repair.
        let media = match slot.media_packets {
            0 => slot.payloads.len(),
            known => usize::from(known),
        };
        let media = slot.payloads.iter().take(media);
        let fresh: Vec<&Vec<u8>> = media.skip(slot.given).map_while(Option::as_ref).collect();
        let end = fresh.iter().rposition(|payload| ends(payload)).map_or(0, |last| last + 1);
        let given = fresh[..end].iter().map(|payload| (*payload).clone()).collect();
        slot.given += end;
        given
    }

    /// Takes out a frame that is whole, and forgets those before it. Packets of its own that come later are not
    /// kept.
    pub fn take(&mut self, frame: FrameId) -> IncomingFrame {
        self.forget_before(frame);
        let slot = self.slots.pop_front().unwrap_or_default();
        self.base = self.base.max(frame.0.saturating_add(1));
        self.bytes -= slot.bytes;
        let received = slot.received;
        let mut payloads = slot.payloads;
        let parity = payloads.split_off(payloads.len().min(usize::from(slot.media_packets)));
        let mended = self.repair.repair(repair::Received { media: &payloads, parity: &parity });
        let mended = mended.unwrap_or_default();
        let recovered = mended.len() as u16;
        for (place, payload) in mended {
            payloads[place] = Some(payload);
        }
        let whole = !payloads.is_empty() && payloads.iter().all(Option::is_some);
        let payloads = whole.then(|| payloads.into_iter().skip(slot.given).flatten().collect());
        IncomingFrame { payloads, received, recovered }
    }

    /// How many different packets of a frame that will not be decoded arrived; forgets it and those before it.
    pub fn give_up(&mut self, frame: FrameId) -> u16 {
        if frame.0 < self.base {
            return 0;
        }
        self.forget_before(frame);
        let received = self.slots.front().map_or(0, |slot| slot.received);
        self.forget_before(FrameId(frame.0.saturating_add(1)));
        received
    }

    /// Bytes of payload that are kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn forget_before(&mut self, frame: FrameId) {
        while self.base < frame.0 {
            if self.slots.is_empty() {
                self.base = frame.0;
            } else {
                self.forget_front();
            }
        }
    }

    fn forget_front(&mut self) {
        if let Some(slot) = self.slots.pop_front() {
            self.bytes -= slot.bytes;
            self.base += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media_packet;
    use gameway_codec::repair::RepairEncoder;
    use gameway_control::PacketKind;
    use proptest::prelude::*;

    fn packet(frame: u64, index: u16, media_packets: u16, train_packets: u16) -> MediaPacket {
        MediaPacket {
            frame: FrameId(frame),
            index,
            media_packets,
            train_packets,
            ..media_packet::packet(PacketKind::Media)
        }
    }

    /// Media and repair of a frame.
    fn train(media: u16, parity: u16) -> Vec<Vec<u8>> {
        let mut payloads: Vec<Vec<u8>> =
            (0..media).map(|index| vec![index as u8; 100 + usize::from(index)]).collect();
        let repair = RepairEncoder::new().protect(&payloads, usize::from(parity));
        payloads.extend(repair.expect("parity"));
        payloads
    }

    proptest! {
        #[test]
        fn any_packets_as_many_as_media_bring_all_media_back(
            media in 1u16..40,
            parity in 0u16..40,
            order in any::<u64>(),
        ) {
            let parity = parity.min(media);
            let all = train(media, parity);
            // Some order: which packets come first is arbitrary, only so many come.
            let mut indices: Vec<u16> = (0..media + parity).collect();
            indices.sort_by_key(|index| (u64::from(*index) + 1).wrapping_mul(order | 1));
            let mut inbox = Inbox::default();
            for &index in &indices[..usize::from(media)] {
                let payload = all[usize::from(index)].clone();
                inbox.put(&packet(7, index, media, media + parity), payload);
            }
            let frame = inbox.take(FrameId(7));
            prop_assert_eq!(frame.payloads.as_deref(), Some(&all[..usize::from(media)]));
            prop_assert_eq!(frame.received, media);
            let lost = indices[usize::from(media)..].iter().filter(|&&index| index < media).count();
            prop_assert_eq!(usize::from(frame.recovered), lost);
            prop_assert_eq!(inbox.bytes, 0);
        }
    }

    #[test]
    fn one_packet_too_few_is_no_frame() {
        let all = train(4, 2);
        let mut inbox = Inbox::default();
        for index in [0, 2, 5] {
            inbox.put(&packet(0, index, 4, 6), all[usize::from(index)].clone());
        }
        assert_eq!(
            inbox.take(FrameId(0)),
            IncomingFrame { payloads: None, received: 3, recovered: 0 }
        );
    }

    #[test]
    fn what_is_there_in_order_is_given_once_and_the_rest_at_the_end() {
        let all: Vec<Vec<u8>> = (0..6).map(|index| vec![index; 9]).collect();
        let repair = RepairEncoder::new().protect(&all, 1).expect("parity");
        let mut inbox = Inbox::default();
        let put = |inbox: &mut Inbox, index: u16| {
            let payload = all.get(usize::from(index)).unwrap_or(&repair[0]).clone();
            inbox.put(&packet(5, index, 6, 7), payload);
        };
        let odd = |payload: &[u8]| payload[0] % 2 == 1;
        assert!(inbox.give(FrameId(5), odd).is_empty(), "nothing came");
        put(&mut inbox, 1);
        assert!(inbox.give(FrameId(5), odd).is_empty(), "the first is missing");
        put(&mut inbox, 0);
        put(&mut inbox, 2);
        assert_eq!(inbox.give(FrameId(5), odd), all[..2], "the third ends nothing");
        put(&mut inbox, 6);
        assert!(inbox.give(FrameId(5), odd).is_empty() && inbox.give(FrameId(4), odd).is_empty());
        for index in [4, 5] {
            put(&mut inbox, index);
        }
        assert!(inbox.give(FrameId(5), odd).is_empty(), "the fourth is missing");
        let frame = inbox.take(FrameId(5));
        assert_eq!((frame.payloads.as_deref(), frame.recovered), (Some(&all[2..]), 1));
        assert!(inbox.give(FrameId(5), odd).is_empty());
    }

    #[test]
    fn what_left_before_the_frame_was_whole_is_given_and_mended() {
        let all = train(5, 2);
        let mut inbox = Inbox::default();
        let mut put = |index: u16, known: bool| {
            let (media, train) = if known { (5, 7) } else { (0, 0) };
            inbox.put(&packet(2, index, media, train), all[usize::from(index)].clone());
            inbox.give(FrameId(2), |_| true)
        };
        assert_eq!(put(0, false), all[..1]);
        assert!(put(2, false).is_empty(), "the second is missing");
        assert!(put(6, true).is_empty() && put(5, true).is_empty(), "repair is not given");
        assert!(put(3, true).is_empty());
        let frame = inbox.take(FrameId(2));
        assert_eq!((frame.payloads.as_deref(), frame.recovered), (Some(&all[1..5]), 2));
        // Nobody says how many there are, or what is said contradicts what was there before.
        inbox.put(&packet(3, 4, 0, 0), vec![1]);
        inbox.put(&packet(3, 1, 2, 2), vec![2]);
        inbox.put(&packet(3, 4095, 0, 0), vec![3]);
        inbox.put(&packet(3, 4096, 0, 0), vec![4]);
        assert_eq!((inbox.slots[0].payloads.len(), inbox.slots[0].received), (4096, 2));
        assert_eq!(inbox.take(FrameId(3)).payloads, None);
        assert_eq!(inbox.bytes, 0);
    }

    #[test]
    fn copies_and_contradictions_are_not_kept() {
        let mut inbox = Inbox::default();
        inbox.put(&packet(3, 0, 2, 2), vec![1]);
        inbox.put(&packet(3, 0, 2, 2), vec![2]);
        inbox.put(&packet(3, 1, 3, 3), vec![3]);
        inbox.put(&packet(3, 2, 2, 2), vec![4]);
        inbox.put(&packet(3, 1, 2, 2), vec![5]);
        assert_eq!(inbox.take(FrameId(3)).payloads, Some(vec![vec![1], vec![5]]));
        inbox.put(&packet(3, 0, 2, 2), vec![6]);
        assert_eq!(inbox.give_up(FrameId(3)), 0, "what comes after the decision is not kept");
        inbox.put(&packet(4, 0, 2, 2), vec![6]);
        assert_eq!(inbox.give_up(FrameId(4)), 1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut inbox = Inbox::default();
        for frame in 0..2_000 {
            for index in 0..40 {
                inbox.put(&packet(frame, index, 41, 41), vec![0; 60_000]);
            }
            assert!(inbox.bytes <= MAX_BYTES && inbox.slots.len() as u64 <= WINDOW);
        }
        inbox.put(&packet(u64::MAX - 1, 0, 1, 1), vec![0]);
        assert!(inbox.slots.len() as u64 <= WINDOW);
        assert_eq!(inbox.take(FrameId(u64::MAX - 1)).payloads, Some(vec![vec![0]]));
    }
}
