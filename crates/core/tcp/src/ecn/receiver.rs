//! ECN at the receiver of data: what its ACKs say about marks.
//!
//! Source: RFC 3168 section 6.1.3, RFC 9768 sections 3.2.2.1 and 3.2.2.5.1; Linux `tcp_input.c`.
//! Model: classic, each ACK has ECE from a mark until the sender's CWR. Accurate, each ACK has the
//! counters; the ACK of a SYN-ACK tells instead how that arrived. Marks hurry ACKs.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | marks after which an ACK leaves at once | 2 | RFC 9768 section 3.2.2.5.1 |
//!
//! | Deviation | Why |
//! |---|---|
//! | the handshake carries no option to test whether it gets through | no middlebox here drops options |

use super::accurate::ReceivedCounters;
use super::{EcnMode, handshake_code};
use crate::segment::{AccurateEcnOption, Flags, Segment};
use gameway_units::Ecn;

const MARKS_PER_ACK: u32 = 2;

/// The state of feedback.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EcnReceiver {
    wanted: EcnMode,
    mode: EcnMode,
    /// Classic: a mark arrived, and no CWR since.
    echo: bool,
    /// Accurate.
    counters: ReceivedCounters,
    /// How the SYN-ACK arrived, until that is told.
    syn_ack: Option<Ecn>,
    previous: Ecn,
    marks_since_ack: u32,
}

impl EcnReceiver {
    pub(crate) fn new(wanted: EcnMode) -> Self {
        Self { wanted, ..Self::default() }
    }

    pub(crate) fn syn_flags(&self) -> Flags {
        Flags { syn: true, ..Flags::default() }.with_ecn(self.wanted.syn_flags())
    }

    /// A SYN-ACK arrived; only the first of them decides.
    pub(crate) fn on_syn_ack(&mut self, segment: &Segment, first: bool) {
        if first {
            self.mode = self.wanted.of_syn_ack(segment.flags.ecn());
        }
        if self.mode == EcnMode::Accurate {
            if first {
                self.counters.on_packet(segment.ecn, 0);
            }
            self.syn_ack = Some(segment.ecn);
        }
    }

    /// A segment within the window arrived; `true` if it must be acknowledged at once.
    pub(crate) fn on_segment(&mut self, segment: &Segment) -> bool {
        let marked = segment.ecn == Ecn::Ce;
        match self.mode {
            EcnMode::Off => false,
            EcnMode::Classic => {
                self.echo &= !segment.flags.cwr;
                let first = marked && !self.echo;
                self.echo |= marked;
                first
            }
            EcnMode::Accurate => {
                self.counters.on_packet(segment.ecn, u64::from(segment.length));
                self.marks_since_ack += u32::from(marked);
                let changed = marked && self.previous != Ecn::Ce;
                self.previous = segment.ecn;
                changed || self.marks_since_ack >= MARKS_PER_ACK
            }
        }
    }

    /// Puts the feedback into an ACK.
    pub(crate) fn stamp(&mut self, ack: &mut Segment) {
        match self.mode {
            EcnMode::Off => {}
            EcnMode::Classic => ack.flags.ece = self.echo,
            EcnMode::Accurate => self.stamp_counters(ack),
        }
    }

    fn stamp_counters(&mut self, ack: &mut Segment) {
        self.marks_since_ack = 0;
        let plain = ack.sack.as_slice().is_empty();
        let code = match self.syn_ack.take().filter(|_| plain) {
            Some(arrived) => handshake_code(arrived),
            None => self.counters.ace(),
        };
        ack.flags = ack.flags.with_ecn(code);
        ack.accurate_ecn = self.counters.take_option();
        if ack.accurate_ecn != AccurateEcnOption::default() {
            // Section 3.2.3.3: marks are worth more than a third block.
            ack.sack.truncate(2);
        }
    }
}
