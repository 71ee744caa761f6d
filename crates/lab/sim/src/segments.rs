//! What the home gateway reads of a simulated packet: its TCP segment, a ping's number, QUIC's spin bit.
//!
//! Streams of bytes are numbered from 0 in the simulator and with 32 bits on the wire: each end's
//! numbers begin so that those of the data wrap after a megabyte, as they do sooner or later.

use crate::packet::{Content, Packet};
use crate::tcp_header::ticks;
use gameway_experiment::HomeGateway;
use gameway_gateway::{Flags, Passage, QuicHeader, Segment, Timestamps};
use gameway_units::Instant;

/// First numbers of the end that sends data and of the other.
const INITIAL_NUMBERS: [u32; 2] = [u32::MAX - 1_000_000, 1];

/// A packet passes the gateway; the window that it carries may be lower then.
pub fn pass(gateway: &mut HomeGateway, now: Instant, passage: Passage, packet: &mut Packet) {
    let mut wire = on_the_wire(packet);
    let (header, size) = (packet.header, packet.size);
    let echo = match packet.content {
        Content::Ping(number) => Some(number as u32),
        _ => None,
    };
    let spin = match packet.content {
        Content::Quic(datagram) => Some(datagram.seen_spin()),
        Content::QuicReturn(_, spin) => Some(spin),
        _ => None,
    };
    let quic = spin.map(|spin| QuicHeader { spin, datagrams: 1 });
    let seen = gameway_gateway::Packet::new(header, size, wire.as_mut());
    let mut seen = seen.with_echo(echo).with_quic(quic);
    gateway.on_packet(now, passage, &mut seen);
    if let (Content::Tcp(segment), Some(wire)) = (&mut packet.content, wire) {
        segment.window = wire.window;
    }
}

/// What a packet's TCP segment is on the wire.
fn on_the_wire(packet: &Packet) -> Option<Segment> {
    let Content::Tcp(segment) = &packet.content else { return None };
    let [data, other] = INITIAL_NUMBERS;
    let (own, others) = if packet.journey.returning { (other, data) } else { (data, other) };
    let behind_syn = |offset: u64, first: u32| (offset as u32).wrapping_add(first).wrapping_add(1);
    let flags = segment.flags;
    Some(Segment {
        header: packet.header,
        flags: Flags { syn: flags.syn, ack: flags.ack, fin: flags.fin, rst: flags.rst },
        sequence: if flags.syn { own } else { behind_syn(segment.sequence, own) },
        acknowledgment: behind_syn(segment.acknowledgment, others),
        length: segment.length,
        window: segment.window,
        window_scale: flags.syn.then_some(segment.window_scale),
        timestamps: Some(Timestamps {
            value: ticks(segment.timestamp_value),
            echo: ticks(segment.timestamp_echo),
        }),
    })
}
