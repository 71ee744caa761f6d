//! Cutting a frame into packets, and what headers and repair cost.
//!
//! A frame becomes a *train*: media packets, filled evenly so that none is a short straggler (their
//! sizes differ by one byte at most), then repair packets. Repair is counted, not yet coded: any
//! `media packets` of the train make the frame whole, as a maximum-distance-separable code would have
//! it (Reed-Solomon does; the parity packets of RFC 8627 mend less). A repair packet is as large as the
//! largest media packet of its train, since that is what it must be able to replace.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | payload | at most 1200 B | the usual RTP payload for video; with headers below every common MTU |
//! | IPv4 header | 20 B | RFC 791, no options |
//! | UDP header | 8 B | RFC 768 |
//! | RTP header | 12 B | RFC 3550 section 5.1, no contributing sources |
//! | RTP extension | 8 B | RFC 8285 section 4.2: 4 B block header; 1 B id, 2 B transport-wide sequence number, 1 B padding |
//! | media packets | at most 4096 per frame | 4.9 MB: a tenth of a second at 390 Mb/s; bounds what a receiver keeps; a stream whose frames can be larger is refused ([`crate::rate_control::max_rate`]) |
//! | repair packets | at most as many as media packets | a share above 1 costs more than sending twice |

use gameway_units::{Bytes, Ratio};

/// Largest payload of a packet, where nobody says otherwise.
pub const MAX_PAYLOAD: Bytes = Bytes::new(1200);
/// Bytes of headers on every packet: IPv4 20, UDP 8, RTP 12, RTP header extension 8.
pub const HEADER: Bytes = Bytes::new(20 + 8 + 12 + 8);
/// Most media packets that a frame can have.
pub const MAX_MEDIA_PACKETS: u16 = 4096;
/// Most packets that a frame's train can have, repair included.
pub const MAX_TRAIN_PACKETS: u16 = 2 * MAX_MEDIA_PACKETS;

const PPM: u64 = 1_000_000;

/// The number of repair packets of `media` media packets: this share of them, rounded up.
#[must_use]
pub fn repair_packets(media: u64, share: Ratio) -> u64 {
    (media * share.as_ppm().min(PPM)).div_ceil(PPM)
}

/// What packets carry at most, and what they cost beside that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    /// Headers and trailers of every packet.
    pub packet: Bytes,
    /// What a repair packet carries at most beyond the largest media packet of its train.
    pub repair: Bytes,
    /// The most that a media packet carries.
    pub payload: Bytes,
    /// What a packet that is sent again has beyond the first time.
    pub again: Bytes,
}

impl Overhead {
    /// Of packets that have at most `mtu` on the wire, repair included; that carry [`MAX_PAYLOAD`] if nobody says.
    #[must_use]
    pub fn new(packet: Bytes, repair: Bytes, mtu: Option<Bytes>) -> Self {
        let room = |mtu: Bytes| mtu.saturating_sub(packet + repair).max(Bytes::new(1));
        let payload = mtu.map_or(MAX_PAYLOAD, room);
        Self { packet, repair, payload, again: Bytes::ZERO }
    }

    /// The same where a packet is larger by `again` when it is sent again. Payloads leave room for that if there is an MTU.
    #[must_use]
    pub fn with_again(self, again: Bytes, mtu: Option<Bytes>) -> Self {
        let room = |mtu: Bytes| mtu.saturating_sub(self.packet + self.repair.max(again));
        let payload = mtu.map_or(self.payload, room).max(Bytes::new(1)).min(self.payload);
        Self { payload, again, ..self }
    }
}

impl Default for Overhead {
    /// [`HEADER`], [`MAX_PAYLOAD`], and repair that is only counted.
    fn default() -> Self {
        Self::new(HEADER, Bytes::ZERO, None)
    }
}

/// One packet of a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketPlan {
    /// Its place in the train, from zero; repair comes after media.
    pub index: u16,
    /// Its payload in bytes.
    pub payload: u16,
    /// Whether it is repair.
    pub repair: bool,
}

/// The payloads of a frame's packets.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cut {
    /// `payload` bytes in `media` packets, whose sizes differ by one byte at most, and repair packets of the largest size.
    Even { payload: u64, media: u16, repair: u16 },
    /// As an encoder's units are to be cut, and what is coded of them; `media` of them are media packets.
    Given { payloads: Box<[u16]>, media: u16 },
}

/// A frame cut into packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Train {
    cut: Cut,
    overhead: Overhead,
}

impl Train {
    /// Cuts a frame of `payload` bytes, protected by `repair_share` repair packets per media packet.
    /// An empty frame still takes a packet; one larger than [`MAX_MEDIA_PACKETS`] hold is cut off there.
    #[must_use]
    pub fn new(payload: Bytes, repair_share: Ratio, overhead: Overhead) -> Self {
        let max = overhead.payload.get();
        let payload = payload.get().clamp(1, u64::from(MAX_MEDIA_PACKETS) * max);
        let media = payload.div_ceil(max);
        let repair = repair_packets(media, repair_share) as u16;
        Self { cut: Cut::Even { payload, media: media as u16, repair }, overhead }
    }

    /// Cuts a frame of slices, each these shares of its payload, as RTP payload formats do: a slice larger than a
    /// packet evenly into several, smaller ones together while they fit.
    #[must_use]
    pub fn of_slices(
        payload: Bytes,
        shares: &[f64],
        repair_share: Ratio,
        overhead: Overhead,
    ) -> Self {
        let (mut media, _) = cut_slices(payload, shares, overhead.payload);
        if media.is_empty() || media.len() > usize::from(MAX_MEDIA_PACKETS) {
            return Self::new(payload, repair_share, overhead);
        }
        let largest = u64::from(media.iter().copied().max().unwrap_or_default());
        let count = media.len() as u16;
        let repair = (largest + overhead.repair.get()) as u16;
        let repairs = repair_packets(u64::from(count), repair_share) as usize;
        media.extend(std::iter::repeat_n(repair, repairs));
        Self { cut: Cut::Given { payloads: media.into(), media: count }, overhead }
    }

    /// A frame that was cut already, into packets of these payloads, the first `media` of them media and the
    /// others repair; `None` if there is no media, more of it than [`MAX_MEDIA_PACKETS`], or more repair than media.
    #[must_use]
    pub fn of_packets(payloads: Vec<u16>, media: usize, overhead: Overhead) -> Option<Self> {
        let fits = (1..=usize::from(MAX_MEDIA_PACKETS)).contains(&media);
        if !fits || payloads.len() < media || payloads.len() > 2 * media {
            return None;
        }
        Some(Self { cut: Cut::Given { payloads: payloads.into(), media: media as u16 }, overhead })
    }

    /// Payload of the frame, without repair.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        Bytes::new(match &self.cut {
            Cut::Even { payload, .. } => *payload,
            Cut::Given { payloads, media } => sum(&payloads[..usize::from(*media)]),
        })
    }
    /// How many media packets it has; as many as are needed to make the frame whole.
    #[must_use]
    pub fn media_packets(&self) -> u16 {
        match &self.cut {
            Cut::Even { media, .. } | Cut::Given { media, .. } => *media,
        }
    }
    /// How many packets it has, repair included.
    #[must_use]
    pub fn packets(&self) -> u16 {
        match &self.cut {
            Cut::Even { media, repair, .. } => media + repair,
            Cut::Given { payloads, .. } => payloads.len() as u16,
        }
    }
    /// Bytes on the wire: payload, repair and headers.
    #[must_use]
    pub fn wire_size(&self) -> Bytes {
        let payload = match &self.cut {
            Cut::Even { payload, media, repair } => {
                payload + u64::from(*repair) * self.repair_payload(*payload, *media)
            }
            Cut::Given { payloads, .. } => sum(payloads),
        };
        Bytes::new(payload) + self.overhead.packet * u64::from(self.packets())
    }
    /// Of these bytes, those of repair packets.
    #[must_use]
    pub fn repair_size(&self) -> Bytes {
        let media = self.overhead.packet * u64::from(self.media_packets());
        self.wire_size().saturating_sub(self.payload() + media)
    }
    /// The packet at `index`, which must be below [`Self::packets`].
    #[must_use]
    pub fn packet(&self, index: u16) -> PacketPlan {
        let repair = index >= self.media_packets();
        let payload = match &self.cut {
            Cut::Given { payloads, .. } => u64::from(payloads[usize::from(index)]),
            Cut::Even { payload, media, .. } if repair => self.repair_payload(*payload, *media),
            Cut::Even { payload, media, .. } => {
                let (share, larger) = (payload / u64::from(*media), payload % u64::from(*media));
                share + u64::from(u64::from(index) < larger)
            }
        };
        PacketPlan { index, payload: payload as u16, repair }
    }

    fn repair_payload(&self, payload: u64, media: u16) -> u64 {
        payload.div_ceil(u64::from(media)) + self.overhead.repair.get()
    }
}

/// How many packets of [`Train::of_slices`] can leave after each slice, while the next one is being encoded: what is
/// smaller than a packet waits for that.
#[must_use]
pub fn packets_after_slices(payload: Bytes, shares: &[f64], overhead: Overhead) -> Vec<u16> {
    cut_slices(payload, shares, overhead.payload).1
}

/// Payloads of the packets of slices, and how many of them are cut after each slice.
fn cut_slices(payload: Bytes, shares: &[f64], max: Bytes) -> (Vec<u16>, Vec<u16>) {
    let max = max.get();
    let (mut payloads, mut waiting) = (Vec::new(), 0);
    let mut after = Vec::with_capacity(shares.len());
    let (mut share, mut cut) = (0.0, 0);
    for (index, part) in shares.iter().enumerate() {
        share += part;
        let is_last = index + 1 == shares.len();
        let end = if is_last { payload } else { Bytes::from_f64(payload.as_f64() * share) };
        let slice = end.get().saturating_sub(cut);
        cut += slice;
        if waiting > 0 && waiting + slice > max {
            payloads.push(waiting as u16);
            waiting = 0;
        }
        if slice <= max {
            waiting += slice;
        } else {
            let count = slice.div_ceil(max);
            let larger = slice % count;
            payloads.extend((0..count).map(|at| (slice / count + u64::from(at < larger)) as u16));
        }
        if is_last {
            payloads.extend((waiting > 0).then_some(waiting as u16));
        }
        after.push(payloads.len() as u16);
    }
    (payloads, after)
}

/// What slices cost in headers beyond an even cut of their frame into `packets`: the packet that each ends with is half
/// full in the mean. Slices that are smaller than a packet share some.
#[must_use]
pub fn headers_of_slices(packets: u64, slices: u64, repair_share: Ratio, header: Bytes) -> Bytes {
    let boundaries = slices.min(packets).saturating_sub(1);
    let more = boundaries + repair_packets(boundaries, repair_share);
    Bytes::new(header.get() * more / 2)
}

fn sum(payloads: &[u16]) -> u64 {
    payloads.iter().map(|&size| u64::from(size)).sum()
}

/// The payload of a frame whose packets may take this number of bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameBudget {
    /// Bytes on the wire that the frame may take.
    pub wire: Bytes,
    /// Repair packets per media packet.
    pub repair_share: Ratio,
    /// What each packet costs.
    pub overhead: Overhead,
}

impl FrameBudget {
    /// The largest payload whose train stays within the budget; at least one byte, because a frame
    /// cannot be empty, even where the headers alone exceed the budget.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        let full = (self.overhead.payload + self.overhead.packet).get();
        // This number of full packets and their repair take all the budget: a bound on the count from above,
        // which the rounding of the repair count lowers by one or two.
        let packets = (self.wire.get() / full).min(u64::from(MAX_TRAIN_PACKETS)) + 1;
        let max = packets * PPM / (PPM + self.repair_share.as_ppm().min(PPM)) + 1;
        let counts = (1..=max.min(u64::from(MAX_MEDIA_PACKETS))).rev();
        let fits = |media: u64| {
            let payload = self.payload_in(media);
            // What fits fewer packets is cut into fewer.
            (payload > (media - 1) * self.overhead.payload.get()).then_some(payload)
        };
        Bytes::new(counts.into_iter().find_map(fits).unwrap_or(1))
    }

    /// The payload that fits into exactly `media` media packets.
    fn payload_in(&self, media: u64) -> u64 {
        let repair = repair_packets(media, self.repair_share);
        let packets = media + repair;
        let fixed = packets * self.overhead.packet.get() + repair * self.overhead.repair.get();
        let Some(payload) = self.wire.get().checked_sub(fixed) else { return 0 };
        let (each, left) = (payload / packets, payload % packets);
        if each >= self.overhead.payload.get() {
            return media * self.overhead.payload.get();
        }
        // What is left makes some media packets a byte larger, and then every repair packet too.
        media * each + left.saturating_sub(repair).min(media)
    }
}

#[cfg(test)]
mod tests;
