//! What queues that filter acknowledgements read of a simulated TCP segment.

use gameway_path::{SackRanges, TcpHeader};
use gameway_tcp::{AccurateEcnOption, Segment};
use gameway_units::Instant;

/// Linux ticks in milliseconds.
pub fn ticks(time: Instant) -> u32 {
    (time.as_nanos() / 1_000_000) as u32
}

/// What decides whether an acknowledgement may be dropped; numbers wrap as on the wire.
pub fn tcp_header(segment: &Segment) -> TcpHeader {
    let flags = segment.flags;
    let others = flags.syn || flags.fin || flags.rst || flags.psh || flags.ae;
    let mut sack = SackRanges::default();
    for block in segment.sack.as_slice() {
        sack.push(block.start as u32, block.end as u32);
    }
    TcpHeader {
        acknowledges: flags.ack && !flags.syn,
        is_plain: flags.ack
            && !others
            && segment.length == 0
            && segment.accurate_ecn == AccurateEcnOption::default(),
        echoes: flags.ecn() & 0b11,
        acknowledgment: segment.acknowledgment as u32,
        timestamps: Some((ticks(segment.timestamp_value), ticks(segment.timestamp_echo))),
        sack,
    }
}
