//! How long frames and pauses of a Wi-Fi medium last.
//!
//! Model: a frame lasts preamble + symbols + signal extension, where the symbols carry 16 service bits, the
//! MAC frame, and 6 tail bits for each encoder. A packet's exchange is [RTS, SIFS, CTS, SIFS,] data, SIFS,
//! acknowledgement; after it the medium must be idle for SIFS + some slots before back-offs count on, after
//! a frame that nobody could read for EIFS = SIFS + acknowledgement at 6 Mb/s + those.
//!
//! Sources: IEEE 802.11-2016, 10.3.2.3 (interframe spaces), 10.3.8 (signal extension), 17.4.3, 18.5.3 and
//! equations 19-32, 19-90, 21-62, 21-108 (durations), as ns-3 and INET cite them.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | SIFS of g; n and ac (5 GHz) | 10; 16 | us | Tables 18-5 and 17-21 |
//! | signal extension of g | 6 | us | 10.3.8 |
//! | preamble and header of a and g | 20 | us | 17.4.3 |
//! | HT-mixed | 32 + 4 for each long training field (1, 2, 4, 4) | us | 19.3.2 |
//! | VHT | 36 + 4 for each long training field (1, 2, 4, 4) | us | 21.3.2 |
//! | service, tail | 16, 6 | bits | 17.3.5 |
//! | MAC header + FCS of g; n and ac | 24 + 4; 26 + 4 | B | 9.3.2.1 (with QoS control) |
//! | LLC and SNAP | 8 | B | IEEE 802.2, RFC 1042 |
//! | acknowledgement and CTS, RTS, block acknowledgement | 14, 20, 32 | B | 9.3.1 |
//! | delimiter; padding to | 4; 4 | B | 9.7.1 |
//!
//! | deviation | why |
//! |---|---|
//! | no propagation delay on the air | below 0.1 us in a home |
//! | no encryption header (8 or 16 B) | the papers' networks have none |
//! | 802.11n as at 5 GHz | at 2.4 GHz SIFS + signal extension is the same 16 us |

use super::config::WifiConfig;
use super::rates::{DataRate, Generation};
use gameway_units::{Bytes, Duration, Rate};

const MAX_SYMBOL: Duration = Duration::from_micros(4);
const LEGACY_PREAMBLE: Duration = Duration::from_micros(20);
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
const LLC_SNAP: u64 = 8;
const DELIMITER: u64 = 4;
const ACK: Bytes = Bytes::new(14);
const CTS: Bytes = Bytes::new(14);
const RTS: Bytes = Bytes::new(20);
const BLOCK_ACK: Bytes = Bytes::new(32);

/// The closed forms of one medium.
#[derive(Debug, Clone)]
pub struct Timing {
    config: WifiConfig,
    preamble: Duration,
    extension: Duration,
    sifs: Duration,
    mac_header: u64,
    ack: Duration,
    block_ack: Duration,
    rts: Duration,
    cts: Duration,
    eifs: Duration,
    max_bytes: u64,
}

/// The number of long training fields for this number of spatial streams.
fn training(streams: u32) -> i64 {
    if streams == 3 { 4 } else { i64::from(streams) }
}

fn preamble(data: DataRate) -> Duration {
    match data {
        DataRate::Ofdm(_) => LEGACY_PREAMBLE,
        DataRate::Ht(spatial) => Duration::from_micros(32 + 4 * training(spatial.streams)),
        DataRate::Vht(spatial) => Duration::from_micros(36 + 4 * training(spatial.streams)),
    }
}

impl Timing {
    /// The times of this medium, which must have passed its check.
    #[must_use]
    pub fn new(config: WifiConfig) -> Self {
        let (sifs, extension, mac_header) = match config.data.generation() {
            Generation::G => (10, 6, 28),
            Generation::N | Generation::Ac => (16, 0, 30),
        };
        let (sifs, extension) = (Duration::from_micros(sifs), Duration::from_micros(extension));
        let control = |mbps, size| legacy_frame(mbps, size) + extension;
        let basic = |size| control(config.basic_mbps, size);
        let mut timing = Self {
            preamble: preamble(config.data),
            extension,
            sifs,
            mac_header,
            ack: basic(ACK),
            block_ack: basic(BLOCK_ACK),
            rts: basic(RTS),
            cts: basic(CTS),
            eifs: Duration::ZERO,
            max_bytes: 0,
            config,
        };
        timing.eifs = sifs + control(6, ACK) + timing.ifs();
        timing.max_bytes = timing.bytes_within(config.aggregation.time);
        timing
    }

    /// The medium.
    #[must_use]
    pub const fn config(&self) -> &WifiConfig {
        &self.config
    }

    /// The pause before back-offs count on: DIFS, or AIFS of best effort.
    #[must_use]
    pub fn ifs(&self) -> Duration {
        self.sifs + self.config.slot * i64::from(self.config.ifs_slots)
    }

    /// That after a frame that could not be read.
    #[must_use]
    pub const fn eifs(&self) -> Duration {
        self.eifs
    }

    /// The duration of a data frame of `psdu` bytes, MAC headers included.
    #[must_use]
    pub fn data_frame(&self, psdu: Bytes) -> Duration {
        let tail = TAIL_BITS * u64::from(self.config.data.encoders());
        let bits = SERVICE_BITS + 8 * psdu.get() + tail;
        let symbols = bits.div_ceil(u64::from(self.config.data.bits_per_symbol()));
        let span = self.config.data.symbol().as_nanos() * symbols as i64;
        // With the short guard interval, a frame ends with a whole symbol of 4 us.
        let whole = MAX_SYMBOL.as_nanos();
        self.preamble + Duration::from_nanos((span + whole - 1) / whole * whole) + self.extension
    }

    /// Bytes with all MAC headers of a packet sent alone.
    #[must_use]
    pub fn alone(&self, packet: Bytes) -> Bytes {
        let mpdu = self.mpdu(packet);
        // 802.11ac knows aggregates only, also of one.
        let vht = self.config.data.generation() == Generation::Ac;
        Bytes::new(if vht { subframe(mpdu) } else { mpdu })
    }

    /// Bytes that a packet adds to an aggregate.
    #[must_use]
    pub fn aggregated(&self, packet: Bytes) -> Bytes {
        Bytes::new(subframe(self.mpdu(packet)))
    }

    /// The largest packet that an aggregate of `psdu` bytes has room for.
    #[must_use]
    pub fn room(&self, psdu: Bytes) -> Bytes {
        let left = self.max_bytes().saturating_sub(psdu).get();
        let mpdu = left.saturating_sub(DELIMITER) / DELIMITER * DELIMITER;
        Bytes::new(mpdu.saturating_sub(LLC_SNAP + self.mac_header))
    }

    const fn mpdu(&self, packet: Bytes) -> u64 {
        packet.get() + LLC_SNAP + self.mac_header
    }

    /// The most bytes of an aggregate, by size and by time on the air.
    #[must_use]
    pub fn max_bytes(&self) -> Bytes {
        Bytes::new(self.max_bytes).min(self.config.aggregation.bytes)
    }

    fn bytes_within(&self, time: Duration) -> u64 {
        // A frame ends with a whole symbol of 4 us: what the time has beyond those holds nothing.
        let whole = MAX_SYMBOL.as_nanos();
        let span = (time - self.preamble - self.extension).as_nanos().max(0) / whole * whole;
        let symbols = (span / self.config.data.symbol().as_nanos()).unsigned_abs();
        let bits = symbols * u64::from(self.config.data.bits_per_symbol());
        let tail = TAIL_BITS * u64::from(self.config.data.encoders());
        bits.saturating_sub(SERVICE_BITS + tail) / 8
    }

    /// RTS, CTS and the pauses behind them, in front of a frame of this size; nothing for most.
    #[must_use]
    pub fn reservation(&self, psdu: Bytes) -> Duration {
        if self.reserves(psdu) {
            self.rts + self.sifs + self.cts + self.sifs
        } else {
            Duration::ZERO
        }
    }

    fn reserves(&self, psdu: Bytes) -> bool {
        self.config.rts_above.is_some_and(|max| psdu > max)
    }

    /// What is on the air when a frame of this size meets another: the frame, or its RTS.
    #[must_use]
    pub fn exposed(&self, psdu: Bytes) -> Duration {
        if self.reserves(psdu) { self.rts } else { self.data_frame(psdu) }
    }

    /// The pause behind a data frame and its acknowledgement.
    #[must_use]
    pub fn acknowledgement(&self, packets: usize) -> Duration {
        self.sifs + if packets > 1 { self.block_ack } else { self.ack }
    }

    /// The time that a frame of this size with `packets` packets takes, from its first bit to the last of its
    /// acknowledgement.
    #[must_use]
    pub fn exchange(&self, psdu: Bytes, packets: usize) -> Duration {
        self.reservation(psdu) + self.data_frame(psdu) + self.acknowledgement(packets)
    }

    /// What one node that always has packets of this size gets through when nobody else sends: a packet or a
    /// full aggregate for each pause, mean back-off and exchange.
    #[must_use]
    pub fn saturation(&self, packet: Bytes) -> Rate {
        let each = self.aggregated(packet).get();
        let fitting = (self.max_bytes().get() / each.max(1)) as usize;
        let packets = fitting.clamp(1, self.config.aggregation.packets);
        let psdu = if packets > 1 { Bytes::new(each * packets as u64) } else { self.alone(packet) };
        let back_off = self.config.slot * i64::from(self.config.cw_min) / 2;
        let cycle = self.ifs() + back_off + self.exchange(psdu, packets);
        Bytes::new(packet.get() * packets as u64) / cycle
    }
}

/// An MPDU with its delimiter, padded.
const fn subframe(mpdu: u64) -> u64 {
    DELIMITER + mpdu.next_multiple_of(DELIMITER)
}

/// A frame of 802.11a or g, without signal extension.
fn legacy_frame(mbps: u32, psdu: Bytes) -> Duration {
    let bits = SERVICE_BITS + 8 * psdu.get() + TAIL_BITS;
    let symbols = bits.div_ceil(u64::from(mbps) * 4);
    LEGACY_PREAMBLE + MAX_SYMBOL * symbols as i64
}
