//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1), which
//! browsers send: of each packet in a range whether it arrived, and when, in steps of 250 µs.
//!
//! rtc-rtcp reads and writes it; here it becomes a flat list. It carries no ECN field, and no time of the report itself:
//! the newest arrival stands for it.

use crate::error::WebrtcError;
use crate::rtcp::{self, RtcpPacket};
use crate::sequence::unwrap_number;
use gameway_control::SequenceNumber;
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::{Ecn, ReceiverInstant};
use rtc_rtcp::transport_feedbacks::transport_layer_cc::{
    PacketStatusChunk, RecvDelta, StatusChunkTypeTcc, StatusVectorChunk, SymbolSizeTypeTcc,
    SymbolTypeTcc, TYPE_TCC_DELTA_SCALE_FACTOR as STEP_US, TransportLayerCc,
};

/// The packet's format; its type is that of transport layer feedback.
pub const FORMAT: u8 = 15;
const STEP_NS: i64 = 250_000;
const REFERENCE_NS: i64 = 64_000_000;
/// Two-bit symbols of a chunk.
const SYMBOLS: usize = 7;

/// A feedback packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportFeedback {
    /// Who reports.
    pub sender_ssrc: u32,
    /// A stream of the sender.
    pub ssrc: u32,
    /// Number of the first packet.
    pub base: u16,
    /// In 64 ms, 24 bits, signed.
    pub reference: i32,
    /// Counts these packets.
    pub count: u8,
    /// Of each packet from `base` on, its difference to the one before, in 250 µs; `None` if it did not arrive.
    pub packets: Vec<Option<i16>>,
}

fn malformed(problem: &'static str) -> WebrtcError {
    WebrtcError::Malformed { packet: "transport-wide feedback", problem }
}

impl TransportFeedback {
    /// Reads one packet of a compound.
    ///
    /// # Errors
    /// If it is another kind of packet or shorter than its own counts.
    pub fn parse(packet: &RtcpPacket<'_>) -> Result<Self, WebrtcError> {
        let packet: TransportLayerCc = packet.read()?;
        if packet.packet_status_count == 0 {
            return Err(malformed("reports on no packet"));
        }
        let mut differences = packet.recv_deltas.iter().map(|it| (it.delta / STEP_US) as i16);
        let packets: Result<_, _> = symbols(&packet)
            .into_iter()
            .map(|symbol| match symbol {
                SymbolTypeTcc::PacketNotReceived => Ok(None),
                SymbolTypeTcc::PacketReceivedWithoutDelta => {
                    Err(malformed("the reserved symbol 3"))
                }
                _ => match differences.next() {
                    None => Err(malformed("fewer arrival times than packets")),
                    difference => Ok(difference),
                },
            })
            .collect();
        Ok(Self {
            sender_ssrc: packet.sender_ssrc,
            ssrc: packet.media_ssrc,
            base: packet.base_sequence_number,
            // 24 bits with a sign.
            reference: (packet.reference_time << 8).cast_signed() >> 8,
            count: packet.fb_pkt_count,
            packets: packets?,
        })
    }

    /// Appends the packet to `bytes`, with vectors of two-bit symbols.
    ///
    /// # Errors
    /// Never for fewer than 65536 packets.
    pub fn write(&self, bytes: &mut Vec<u8>) -> Result<(), WebrtcError> {
        let chunk = |packets: &[Option<i16>]| {
            PacketStatusChunk::StatusVectorChunk(StatusVectorChunk {
                type_tcc: StatusChunkTypeTcc::StatusVectorChunk,
                symbol_size: SymbolSizeTypeTcc::TwoBit,
                symbol_list: packets.iter().map(|packet| symbol(*packet)).collect(),
            })
        };
        let delta = |difference: &i16| RecvDelta {
            type_tcc_packet: symbol(Some(*difference)),
            delta: i64::from(*difference) * STEP_US,
        };
        let packet = TransportLayerCc {
            sender_ssrc: self.sender_ssrc,
            media_ssrc: self.ssrc,
            base_sequence_number: self.base,
            packet_status_count: self.packets.len() as u16,
            reference_time: self.reference.cast_unsigned() & 0xFF_FFFF,
            fb_pkt_count: self.count,
            packet_chunks: self.packets.chunks(SYMBOLS).map(chunk).collect(),
            recv_deltas: self.packets.iter().flatten().map(delta).collect(),
        };
        rtcp::write(&packet, bytes)
    }
}

fn symbol(packet: Option<i16>) -> SymbolTypeTcc {
    match packet {
        None => SymbolTypeTcc::PacketNotReceived,
        Some(0..=255) => SymbolTypeTcc::PacketReceivedSmallDelta,
        Some(_) => SymbolTypeTcc::PacketReceivedLargeDelta,
    }
}

/// One of each packet that is reported on.
fn symbols(packet: &TransportLayerCc) -> Vec<SymbolTypeTcc> {
    let mut symbols = Vec::new();
    for chunk in &packet.packet_chunks {
        match chunk {
            PacketStatusChunk::RunLengthChunk(run) => {
                let symbol = run.packet_status_symbol;
                symbols.extend(std::iter::repeat_n(symbol, usize::from(run.run_length)));
            }
            PacketStatusChunk::StatusVectorChunk(vector) => symbols.extend(&vector.symbol_list),
        }
    }
    symbols.truncate(usize::from(packet.packet_status_count));
    symbols
}

/// Makes session feedback of it on the sender's side: numbers and times are continued.
#[derive(Debug, Clone, Default)]
pub struct TransportFeedbackReader {
    newest_reference: u64,
}

impl TransportFeedbackReader {
    /// The report; `newest_sent` is the transport-wide number of the newest packet sent.
    #[must_use]
    pub fn to_session(
        &mut self,
        packet: &TransportFeedback,
        newest_sent: SequenceNumber,
    ) -> FeedbackPacket {
        let low = u64::from(packet.reference as u32 & 0xFF_FFFF);
        let reference = unwrap_number(self.newest_reference, low, 24);
        self.newest_reference = self.newest_reference.max(reference);
        let mut time = i64::try_from(reference).unwrap_or(i64::MAX).saturating_mul(REFERENCE_NS);
        let mut newest = time;
        let arrivals = packet.packets.iter().map(|difference| {
            time = time.saturating_add(i64::from((*difference)?) * STEP_NS);
            newest = newest.max(time);
            let arrival = ReceiverInstant::from_nanos(time);
            Some(ReceivedPacket { arrival, ecn: Ecn::NotEct })
        });
        let mut packets: Vec<_> = arrivals.collect();
        // The session's reports end with a packet that arrived.
        while packets.last().is_some_and(Option::is_none) {
            packets.pop();
        }
        FeedbackPacket {
            base: SequenceNumber(unwrap_number(newest_sent.0, u64::from(packet.base), 16)),
            packets,
            generated: ReceiverInstant::from_nanos(newest),
            ..FeedbackPacket::default()
        }
    }
}
