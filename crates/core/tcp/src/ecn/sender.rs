//! ECN at the sender of data: how its packets leave, and what it hears of marks.
//!
//! Source: RFC 3168 sections 6.1.2 and 6.1.5, RFC 9768 sections 3.1.5 and 3.2.2, RFC 9331 section 4.2
//! (ECT(1) needs accurate feedback); Linux `tcp_ecn_send`.
//! Model: new data is ECN-capable; SYN-ACKs, retransmissions, probes and FINs without data are not.
//! A mark, or an echo of one, counts once per window of data, unless the congestion control weighs
//! marks itself. Classic, the first new data after any reduction carries CWR.
//!
//! No constants.
//!
//! | Deviation | Why |
//! |---|---|
//! | a mark reduces as a loss does; no smaller reduction (RFC 8511) | as Linux |
//! | at the least window the sender does not wait for its timer (RFC 3168 section 6.1.2) | as Linux, whose least window is two segments |
//! | continuous marking is not taken for mangling (RFC 9768 section 3.2.2.3 lets it) | a queue may mark everything for a while |

use super::accurate::{Acknowledged, FedBackCounters, Marks};
use super::{EcnMode, handshake_code};
use crate::scoreboard::AckOutcome;
use crate::segment::{Flags, Segment};
use gameway_units::Ecn;

/// The server's own counter of marked packets: nothing that it receives is ECN-capable.
const NOTHING_RECEIVED: u8 = 5;

/// The state of ECN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EcnSender {
    mode: EcnMode,
    /// How new data leaves.
    codepoint: Ecn,
    /// How the SYN arrived.
    syn: Ecn,
    /// Classic: whether the next new data says that the window was reduced.
    reduced: bool,
    /// Marks are part of an earlier one until this is acknowledged: once per window.
    handled_until: u64,
    counters: FedBackCounters,
    /// Accurate: whether the feedback can be believed.
    trusted: bool,
}

impl Default for EcnSender {
    fn default() -> Self {
        Self {
            mode: EcnMode::Off,
            codepoint: Ecn::NotEct,
            syn: Ecn::NotEct,
            reduced: false,
            handled_until: 0,
            counters: FedBackCounters::default(),
            trusted: true,
        }
    }
}

impl EcnSender {
    /// The first SYN arrived, at a server that can do `offered` and whose congestion control wants
    /// its data to leave with `codepoint`.
    pub(crate) fn on_syn(&mut self, syn: &Segment, offered: EcnMode, codepoint: Ecn) {
        self.mode = offered.of_syn(syn.flags.ecn());
        self.syn = syn.ecn;
        self.codepoint = match (self.mode, codepoint) {
            (EcnMode::Off, _) | (EcnMode::Classic, Ecn::Ect1) => Ecn::NotEct,
            (EcnMode::Classic | EcnMode::Accurate, codepoint) => codepoint,
        };
    }

    /// The SYN arrived again.
    pub(crate) fn on_repeated_syn(&mut self, syn: &Segment) {
        self.syn = syn.ecn;
    }

    pub(crate) fn syn_ack_flags(&self) -> Flags {
        let code = match self.mode {
            EcnMode::Off => 0b000,
            EcnMode::Classic => 0b001,
            EcnMode::Accurate => handshake_code(self.syn),
        };
        Flags { syn: true, ack: true, ..Flags::default() }.with_ecn(code)
    }

    /// The handshake's last ACK arrived (RFC 9768 table 4 and section 3.2.2.3); the SYN-ACK has left
    /// without ECT.
    pub(crate) fn on_established(&mut self, ack: &Segment) {
        let pure = ack.length == 0 && ack.sack.as_slice().is_empty();
        if self.mode != EcnMode::Accurate || !pure {
            return;
        }
        match ack.flags.ecn() {
            0b000 => {
                self.codepoint = Ecn::NotEct;
                self.trusted = false;
            }
            0b110 => {
                self.counters.count_syn_ack();
                self.codepoint = Ecn::NotEct;
            }
            0b011 | 0b100 => self.codepoint = Ecn::NotEct,
            _ => {}
        }
    }

    /// Flags of what is sent beside SYN-ACKs.
    pub(crate) fn flags(&self) -> Flags {
        let flags = Flags { ack: true, ..Flags::default() };
        if self.mode == EcnMode::Accurate { flags.with_ecn(NOTHING_RECEIVED) } else { flags }
    }

    /// Marks new data.
    pub(crate) fn stamp(&mut self, segment: &mut Segment) {
        if segment.length == 0 {
            return;
        }
        segment.ecn = self.codepoint;
        if self.mode == EcnMode::Classic {
            segment.flags.cwr = std::mem::take(&mut self.reduced);
        }
    }

    /// Reads the accurate feedback of an ACK; `newer` tells that its timestamp is.
    pub(crate) fn read(
        &mut self,
        ack: &Segment,
        outcome: &AckOutcome,
        newer: bool,
        segment_size: u32,
    ) -> Marks {
        // Before any data has arrived, an ACK may be one more of the handshake's.
        let of_data = ack.acknowledgment > 0 || outcome.delivered > 0;
        let superseded = outcome.delivered == 0 && !newer;
        if self.mode != EcnMode::Accurate || !self.trusted || !of_data || superseded {
            return Marks::default();
        }
        let acknowledged = Acknowledged {
            packets: u64::from(outcome.records),
            bytes: outcome.delivered,
            segment_size: u64::from(segment_size),
        };
        self.counters.on_ack(ack.flags.ecn(), &ack.accurate_ecn, acknowledged)
    }

    /// Whether an ACK that acknowledges up to `acknowledged` tells of congestion that no reduction
    /// has answered.
    pub(crate) fn is_new_congestion(&self, ack: &Segment, marks: Marks, acknowledged: u64) -> bool {
        let marked = match self.mode {
            EcnMode::Off => false,
            EcnMode::Classic => ack.flags.ece,
            EcnMode::Accurate => marks.packets > 0,
        };
        marked && acknowledged > self.handled_until
    }

    /// The window was reduced, for whatever reason, when `next` was the next new offset.
    pub(crate) fn on_reduced(&mut self, next: u64) {
        self.handled_until = next;
        self.reduced = true;
    }
}
