//! A filter in the kernel for the media socket: what is from nobody that we know wakes nobody.
//!
//! A datagram passes if it is a STUN message (first byte 0 to 3, magic cookie; RFC 7983, RFC 8489 section 5), or if it
//! comes from an address that ICE has accepted. All else a peer would refuse as well, at several microseconds each and with
//! the room of the socket's buffer. The program is of the kernel's classic BPF (Linux, Documentation/networking/filter.rst): it
//! sees a datagram from its UDP header on, and the IP header at a negative offset.

use socket2::SockFilter;
use std::net::{IpAddr, SocketAddr};

const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ABOVE: u16 = 0x25;
const SHIFT_RIGHT: u16 = 0x74;
const RETURN: u16 = 0x06;

const SOURCE_PORT: u32 = 0;
const PAYLOAD: u32 = 8;
const MAGIC_COOKIE: u32 = 0x2112_A442;
/// Where the kernel shows the IP header (SKF_NET_OFF).
const NETWORK: u32 = 0xFFF0_0000;
const SOURCE_V4: u32 = NETWORK + 12;
const SOURCE_V6: u32 = NETWORK + 8;
const ALL: u32 = u32::MAX;

const fn load(kind: u16, at: u32) -> SockFilter {
    SockFilter::new(kind, 0, 0, at)
}

/// Goes on if what was loaded is this, else jumps so far.
const fn expect(value: u32, otherwise: u8) -> SockFilter {
    SockFilter::new(JUMP_IF_EQUAL, 0, otherwise, value)
}

const fn give(bytes: u32) -> SockFilter {
    SockFilter::new(RETURN, 0, 0, bytes)
}

/// The filter that lets pass STUN, and all from these addresses.
#[must_use]
pub fn program(known: &[SocketAddr]) -> Vec<SockFilter> {
    let mut program = vec![
        load(LOAD_BYTE, PAYLOAD),
        SockFilter::new(JUMP_IF_ABOVE, 4, 0, 3),
        load(LOAD_WORD, PAYLOAD + 4),
        expect(MAGIC_COOKIE, 1),
        give(ALL),
        give(0),
    ];
    for address in known {
        program.extend(from(*address));
    }
    program.push(give(0));
    program
}

/// Lets pass what is from this address, and goes on with all else.
fn from(address: SocketAddr) -> Vec<SockFilter> {
    let (version, words) = match address.ip().to_canonical() {
        IpAddr::V4(v4) => (4, vec![(SOURCE_V4, u32::from(v4))]),
        IpAddr::V6(v6) => {
            let word = |index: u32| (u128::from(v6) >> (96 - 32 * index)) as u32;
            (6, (0..4).map(|index| (SOURCE_V6 + 4 * index, word(index))).collect())
        }
    };
    let mut checks = vec![(LOAD_HALF, SOURCE_PORT, u32::from(address.port()))];
    checks.extend(words.into_iter().map(|(at, word)| (LOAD_WORD, at, word)));
    // Behind each check: two instructions for each that follows, and the one that gives.
    let behind = |number: usize| (2 * (checks.len() - 1 - number) + 1) as u8;
    let mut program = vec![
        load(LOAD_BYTE, NETWORK),
        SockFilter::new(SHIFT_RIGHT, 0, 0, 4),
        expect(version, (2 * checks.len() + 1) as u8),
    ];
    for (number, (kind, at, value)) in checks.iter().enumerate() {
        program.push(load(*kind, *at));
        program.push(expect(*value, behind(number)));
    }
    program.push(give(ALL));
    program
}
