//! Whatever headers come, one behind the other as they may be or not, a packet passes as it is, and counts as one of four kinds.
//!
//! Random bytes alone seldom have a type that the data path reads on for. Here each field by which it decides is drawn from what it
//! knows and from anything; lengths, options and what follows are drawn from anything.

use crate::any_bytes::SHORTEST;
use crate::kernel::{Loaded, loaded, runner};
use proptest::prelude::*;

const CASES: u32 = 4096;

/// One of these, or anything, once in ten.
fn known_or_any<const N: usize>(known: [u16; N]) -> impl Strategy<Value = u16> {
    prop_oneof![9 => prop::sample::select(known.to_vec()), 1 => any::<u16>()]
}

fn bytes_of(length: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), length)
}

/// Tags of VLANs with their types in front, up to one more than are read.
fn tags() -> impl Strategy<Value = Vec<u8>> {
    let tag = (prop::sample::select(vec![0x8100_u16, 0x88a8]), any::<u16>());
    prop::collection::vec(tag, 0..=3).prop_map(|tags| {
        tags.iter()
            .flat_map(|(kind, tag)| [kind.to_be_bytes(), tag.to_be_bytes()].concat())
            .collect()
    })
}

/// The type of what follows, mostly the right one; of PPPoE with its own header.
fn network_type(is_six: bool) -> impl Strategy<Value = Vec<u8>> {
    let (of_ppp, of_ethernet) = if is_six { (0x0057, 0x86dd) } else { (0x0021, 0x0800) };
    let pppoe = (bytes_of(6), known_or_any([of_ppp, of_ppp, of_ppp, 0x0021, 0x0057]))
        .prop_map(|(head, kind)| [&[0x88, 0x64][..], &head, &kind.to_be_bytes()].concat());
    let plain = known_or_any([of_ethernet, of_ethernet, of_ethernet, 0x0800, 0x86dd])
        .prop_map(|kind| kind.to_be_bytes().to_vec());
    prop_oneof![3 => plain, 1 => pppoe]
}

/// Mostly one that TCP, UDP, fragments of IPv6 and IPsec have.
fn protocol() -> impl Strategy<Value = u8> {
    known_or_any([6, 6, 6, 17, 17, 44, 50]).prop_map(|number| number as u8)
}

/// A length, as a packet says it: right, or anything.
fn length_of(right: usize) -> impl Strategy<Value = u16> {
    prop_oneof![3 => Just(right as u16), 1 => any::<u16>()]
}

/// IPv4, whose header may say that it is shorter or longer than it is.
fn ipv4(behind: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![6 => Just(0x45_u8), 3 => 0x40_u8..0x50, 1 => any::<u8>()];
    let fragment = prop_oneof![4 => Just(0_u16), 1 => Just(0x4000), 1 => any::<u16>()];
    (words, any::<u8>(), length_of(20 + behind.len()), fragment, protocol(), bytes_of(10)).prop_map(
        move |(words, class, length, fragment, protocol, rest)| {
            let [high, low] = length.to_be_bytes();
            let [flags, offset] = fragment.to_be_bytes();
            let head = [words, class, high, low, 0, 7, flags, offset, 64, protocol];
            [&head, &rest[..], &behind].concat()
        },
    )
}

fn ipv6(behind: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let version = prop_oneof![9 => 0x60_u8..0x70, 1 => any::<u8>()];
    (version, length_of(behind.len()), protocol(), bytes_of(32)).prop_map(
        move |(version, length, protocol, addresses)| {
            let [high, low] = length.to_be_bytes();
            let head = [version, 0, 0, 0, high, low, protocol, 64];
            [&head, &addresses[..], &behind].concat()
        },
    )
}

/// A header of TCP or of anything, whose 13th byte says how long it is, and what follows it.
fn transport() -> impl Strategy<Value = Vec<u8>> {
    let offset = prop_oneof![3 => (5_u8..=15).prop_map(|words| words << 4), 1 => any::<u8>()];
    (prop::collection::vec(any::<u8>(), 20..140), offset).prop_map(|(mut bytes, offset)| {
        bytes[12] = offset;
        // A datagram's length.
        bytes[4..6].copy_from_slice(&(u16::from(offset) % 140).to_be_bytes());
        bytes
    })
}

fn network() -> impl Strategy<Value = Vec<u8>> {
    (transport(), any::<bool>()).prop_flat_map(|(behind, is_six)| {
        let ip = if is_six { ipv6(behind).boxed() } else { ipv4(behind).boxed() };
        (network_type(is_six), ip).prop_map(|(kind, ip)| [kind, ip].concat())
    })
}

fn packet() -> impl Strategy<Value = Vec<u8>> {
    (bytes_of(12), tags(), network(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(addresses, tags, network, length, cut)| {
            let mut bytes = [addresses, tags, network].concat();
            // One in four is cut short.
            if cut < 64 {
                bytes.truncate(length.index(bytes.len()));
            }
            bytes.resize(bytes.len().max(SHORTEST), 0);
            bytes
        },
    )
}

/// How many packets of each kind were counted: segments, datagrams, fragments, others.
fn kinds(loaded: &Loaded) -> [u64; 4] {
    let counters = loaded.data_path().counters().expect("a map");
    [counters.segments, counters.datagrams, counters.fragments, counters.others]
}

#[test]
fn any_headers_pass_and_count_as_one_kind() {
    let Some(loaded) = loaded() else { return };
    let mut runner = runner(CASES);
    let programs = prop::sample::select(vec!["to_home", "from_home", "to_provider"]);
    let done = runner.run(&(packet(), programs), |(bytes, program)| {
        let before: u64 = kinds(&loaded).iter().sum();
        let out = loaded.pass(program, &bytes);
        while loaded.data_path().next_passed().is_some() {}
        prop_assert_eq!((out.verdict, &out.packet, out.priority), (-1, &bytes, 0));
        let counted = kinds(&loaded).iter().sum::<u64>() - before;
        prop_assert_eq!(counted, u64::from(program != "to_provider"));
        Ok(())
    });
    done.expect("nothing is changed");
    // The twin: the data path reads on in a good part of them.
    let found = kinds(&loaded);
    assert!(found.iter().all(|count| *count > u64::from(CASES) / 80), "{found:?}");
}
