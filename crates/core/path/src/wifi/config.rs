//! What can be set of a Wi-Fi medium.

use super::error::WifiError;
use super::rates::{DataRate, Generation, OFDM_RATES};
use gameway_units::{Bytes, Duration, Ratio};

/// How a back-off counter treats a slot in which another node begins to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Countdown {
    /// The counter stops and goes on with that slot: DCF (10.3.4.3).
    Frozen,
    /// It is counted: EDCA (10.22.2.4), and the model of Bianchi 2000.
    Counted,
}

/// How many packets to one receiver are sent as one frame (A-MPDU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// The most packets: 1 for none, up to the 64 of a block acknowledgement.
    pub packets: usize,
    /// The most bytes of the frame.
    pub bytes: Bytes,
    /// The longest time on the air.
    pub time: Duration,
}

/// A medium; see the modules `rates` and `timing` for where the numbers come from.
///
/// | constant | value | unit | origin (IEEE 802.11-2016) |
/// |---|---|---|---|
/// | cw_min, cw_max | 15, 1023 | slots | Tables 17-21, 18-5, 19-25; Table 9-137 (best effort) |
/// | attempts | 7 | frames | dot11ShortRetryLimit, Annex C |
/// | ifs_slots | 2; 3 | slots | DIFS, 10.3.2.3.5; AIFSN of best effort, Table 9-137 |
/// | slot | 9 (20 with 802.11b nodes near) | us | Table 18-5 |
/// | basic rate | 24 | Mb/s | the highest mandatory one: a choice |
/// | A-MPDU | 65 535; 1 048 575 | B | 9.4.2.56.3, 9.4.2.158.2 |
/// | A-MPDU | 64 | packets | compressed block acknowledgement, 9.3.1.9.3 |
/// | PPDU | 5.484 | ms | aPPDUMaxTime of VHT, Table 21-29; taken for HT too (L-SIG cannot say more) |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WifiConfig {
    /// How data is sent.
    pub data: DataRate,
    /// Rate of acknowledgements, RTS and CTS, in Mb/s, of those of 802.11a and g.
    pub basic_mbps: u32,
    /// A slot.
    pub slot: Duration,
    /// Slots between SIFS and the first slot of the back-off.
    pub ifs_slots: u32,
    /// How the back-off counts.
    pub countdown: Countdown,
    /// The least contention window.
    pub cw_min: u32,
    /// The greatest.
    pub cw_max: u32,
    /// How often a packet is sent before it is given up.
    pub attempts: u32,
    /// Share of packets on the air that the channel damages.
    pub error_rate: Ratio,
    /// Frames of more bytes (MAC header included) are sent after RTS and CTS.
    pub rts_above: Option<Bytes>,
    /// Packets in a frame.
    pub aggregation: Aggregation,
}

impl WifiConfig {
    /// A medium at this rate with the defaults of its generation.
    ///
    /// # Errors
    /// If the standard has no such rate.
    pub fn new(data: DataRate) -> Result<Self, WifiError> {
        let (ifs_slots, countdown, packets, bytes) = match data.generation() {
            Generation::G => (2, Countdown::Frozen, 1, 4095),
            Generation::N => (3, Countdown::Counted, 64, 65_535),
            Generation::Ac => (3, Countdown::Counted, 64, 1_048_575),
        };
        let time = Duration::from_micros(5_484);
        let config = Self {
            data,
            basic_mbps: 24,
            slot: Duration::from_micros(9),
            ifs_slots,
            countdown,
            cw_min: 15,
            cw_max: 1023,
            attempts: 7,
            error_rate: Ratio::ZERO,
            rts_above: None,
            aggregation: Aggregation { packets, bytes: Bytes::new(bytes), time },
        };
        config.check().map(|()| config)
    }

    /// Whether it can be.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn check(&self) -> Result<(), WifiError> {
        self.data.check()?;
        if !OFDM_RATES.contains(&self.basic_mbps) {
            return Err(WifiError::BasicRate(self.basic_mbps));
        }
        let Self { cw_min, cw_max, .. } = *self;
        if cw_min > cw_max || cw_max > 32_767 {
            return Err(WifiError::Windows { cw_min, cw_max });
        }
        if self.attempts == 0 {
            return Err(WifiError::Attempts);
        }
        if self.error_rate >= Ratio::ONE {
            return Err(WifiError::ErrorRate(self.error_rate));
        }
        match (self.aggregation.packets, self.data.generation()) {
            (1, _) => Ok(()),
            (2..=64, Generation::G) => Err(WifiError::NoAggregation),
            (2..=64, _) => Ok(()),
            (packets, _) => Err(WifiError::Aggregate(packets)),
        }
    }
}
