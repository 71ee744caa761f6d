//! Packets of the wire, made byte by byte.

use super::*;
use proptest::prelude::*;

/// The ones' complement sum of RFC 1071.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

const TCP_SYN: [u8; 32] = [
    0x30, 0x39, 0x01, 0xbb, // ports 12345 and 443
    0, 0, 0, 7, 0, 0, 0, 9, // numbers
    0x80, 0x12, 0xfa, 0xf0, 0, 0, 0, 0, // 32 bytes, SYN and ACK, window 64240
    1, 3, 3, 7, // padding, window scale 7
    1, 1, 2, 4, 5, 0xb4, 0, 0, // padding, MSS, end
];

fn ipv4(tos: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, tos, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet.extend([10, 77, 0, 1, 10, 78, 0, 1]);
    let checksum = !sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(payload);
    packet
}

fn ipv6(traffic_class: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60 | traffic_class >> 4, traffic_class << 4, 0, 0, 0, 0, next, 64];
    packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    packet.extend([0xfd; 16]);
    packet.extend([0xfc; 16]);
    packet.extend(payload);
    packet
}

/// The sum over TCP's pseudo-header (of IPv4) and segment; all ones where the checksum is right.
fn tcp_sum(packet: &[u8]) -> u16 {
    let segment = &packet[20..];
    let mut all = packet[12..20].to_vec();
    all.extend([0, 6]);
    all.extend((segment.len() as u16).to_be_bytes());
    all.extend(segment);
    sum(&all)
}

fn tcp_over_ipv4() -> Vec<u8> {
    let mut packet = ipv4(0, TCP, &TCP_SYN);
    let checksum = !tcp_sum(&packet);
    packet[36..38].copy_from_slice(&checksum.to_be_bytes());
    packet
}

#[test]
fn a_tcp_segment_is_read_over_either_version() {
    for packet in [ipv4(0b1011_1001, TCP, &TCP_SYN), ipv6(0b1011_1001, TCP, &TCP_SYN)] {
        let found = parse(&packet).expect("it is a packet");
        assert_eq!(found.size, Bytes::new(packet.len() as u64));
        assert_eq!((found.header.source.port, found.header.destination.port), (12345, 443));
        assert_eq!((found.header.protocol, found.header.dscp), (Protocol::Tcp, Dscp(46)));
        assert_eq!(found.ecn, Ecn::Ect1);
        let tcp = found.tcp.expect("it is TCP");
        let segment = segment(&packet, found.header, found.size, tcp).expect("it is whole");
        assert!(segment.flags.syn && segment.flags.ack && !segment.flags.fin);
        assert_eq!((segment.sequence, segment.acknowledgment, segment.length), (7, 9, 0));
        assert_eq!((segment.window, segment.window_scale), (64240, Some(7)));
    }
}

#[test]
fn extension_headers_are_looked_through() {
    let mut payload = vec![FRAGMENT, 0, 0, 0, 0, 0, 0, 0];
    payload.extend([UDP, 0, 0, 1, 0, 0, 0, 5]);
    payload.extend([0x13, 0x8c, 0x20, 0xfb, 0, 8, 0, 0]);
    let found = parse(&ipv6(0, HOP_BY_HOP, &payload)).expect("it is a packet");
    assert_eq!((found.header.protocol, found.header.source.port), (Protocol::Udp, 5004));
    // A fragment behind the first has no ports.
    payload[8 + 3] = 0x08;
    let found = parse(&ipv6(0, HOP_BY_HOP, &payload)).expect("it is a packet");
    assert_eq!((found.header.protocol, found.header.source.port), (Protocol::Icmp, 0));
}

#[test]
fn an_echo_and_its_reply_have_the_same_number() {
    let echo = |kind: u8| [kind, 0, 0, 0, 0x12, 0x34, 0, 7];
    let of_v4 = |kind| parse(&ipv4(0, ICMP, &echo(kind))).expect("it is a packet").echo;
    let of_v6 = |kind| parse(&ipv6(0, ICMP_V6, &echo(kind))).expect("it is a packet").echo;
    assert_eq!([8, 0, 3].map(of_v4), [Some(0x1234_0007), Some(0x1234_0007), None]);
    assert_eq!([128, 129, 8].map(of_v6), [Some(0x1234_0007), Some(0x1234_0007), None]);
    assert_eq!(parse(&ipv4(0, ICMP, &echo(8)[..7])).expect("a packet").echo, None);
}

/// The spin bit of QUIC's short header; a long header has none; what else begins otherwise, and a fragment or what is no UDP does not.
#[test]
fn a_datagram_may_begin_as_quic() {
    let datagram = |first: u8| [0x13, 0x8c, 0x01, 0xbb, 0, 9, 0, 0, first];
    let spin = |packet: &[u8]| parse(packet).expect("a packet").quic.map(|quic| quic.spin);
    let of_v4 = |first| spin(&ipv4(0, UDP, &datagram(first)));
    let of_v6 = |first| spin(&ipv6(0, UDP, &datagram(first)));
    for (first, expected) in [
        (0x40, Some(Some(false))),
        (0x7f, Some(Some(true))),
        (0xc0, Some(None)),
        (0x20, Some(Some(true))),
        (0x80, Some(None)),
    ] {
        assert_eq!([of_v4(first), of_v6(first)], [expected; 2], "{first:#x}");
    }
    assert_eq!(spin(&ipv4(0, UDP, &datagram(0x60)[..8])), None);
    assert_eq!(spin(&ipv4(0, ICMP, &datagram(0x60))), None);
}

#[test]
fn what_is_not_whole_is_no_packet() {
    let packet = ipv4(0, UDP, &[0; 8]);
    assert!(parse(&packet).is_some());
    assert_eq!(parse(&packet[..27]), None);
    assert_eq!(parse(&ipv6(0, UDP, &[0; 8])[..47]), None);
    assert_eq!(parse(&[]), None);
    assert_eq!(parse(&[0x00; 40]), None);
}

#[test]
fn a_mark_keeps_the_checksum_right_and_all_else_as_it_was() {
    for tos in [0b01, 0b10, 0b1011_1010] {
        let before = ipv4(tos, UDP, &[0x13, 0x8c, 0x20, 0xfb, 0, 8, 0, 0]);
        let mut after = before.clone();
        mark(&mut after);
        assert_eq!(parse(&after).map(|found| found.ecn), Some(Ecn::Ce));
        assert_eq!(sum(&after[..20]), 0xffff);
        assert_eq!(after[1], tos | 0b11);
        assert_eq!((&after[2..10], &after[12..]), (&before[2..10], &before[12..]));
    }
    let before = ipv6(0b1011_1010, UDP, &[0; 8]);
    let mut after = before.clone();
    mark(&mut after);
    let (was, is) = (parse(&before).expect("packet"), parse(&after).expect("packet"));
    assert_eq!((is.header, is.ecn), (was.header, Ecn::Ce));
}

#[test]
fn a_washed_code_point_keeps_the_checksum_right_and_ecn_as_it_was() {
    for (dscp, new) in [(46, 0), (46, 8), (0, 63), (12, 12)] {
        for ecn in [0b00, 0b10, 0b11] {
            let payload = [0x13, 0x8c, 0x20, 0xfb, 0, 8, 0, 0];
            for before in
                [ipv4(dscp << 2 | ecn, UDP, &payload), ipv6(dscp << 2 | ecn, UDP, &payload)]
            {
                let mut after = before.clone();
                set_dscp(&mut after, Dscp(new));
                let (was, is) = (parse(&before).expect("packet"), parse(&after).expect("packet"));
                assert_eq!((is.header.dscp, is.ecn), (Dscp(new), was.ecn));
                assert_eq!((is.header.source, is.size), (was.header.source, was.size));
                assert_eq!(before[12..], after[12..]);
                if before[0] >> 4 == 4 {
                    assert_eq!(sum(&after[..20]), 0xffff);
                }
            }
        }
    }
}

#[test]
fn a_lower_window_keeps_the_checksum_right() {
    let mut packet = tcp_over_ipv4();
    assert_eq!(tcp_sum(&packet), 0xffff);
    set_window(&mut packet, 20, 1234);
    assert_eq!(tcp_sum(&packet), 0xffff);
    let found = parse(&packet).expect("packet");
    assert_eq!(segment(&packet, found.header, found.size, 20).map(|one| one.window), Some(1234));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0_u8..3) {
        if let Some(first) = bytes.first_mut() && version > 0 {
            *first = *first & 0xf | [0x40, 0x60][usize::from(version) - 1];
        }
        let before = bytes.clone();
        if let Some(found) = parse(&bytes) {
            prop_assert!(found.size.get() as usize <= bytes.len());
            if let Some(tcp) = found.tcp {
                let one = segment(&bytes, found.header, found.size, tcp);
                prop_assert!(one.is_some());
                set_window(&mut bytes, tcp, 7);
            }
            mark(&mut bytes);
            let after = parse(&bytes).expect("it was a packet");
            prop_assert_eq!((after.ecn, after.size), (Ecn::Ce, found.size));
            prop_assert_eq!(after.header, found.header);
        }
        prop_assert_eq!(bytes.len(), before.len());
    }

    #[test]
    fn mending_is_computing_anew(words in prop::collection::vec(any::<u16>(), 2..20), new in any::<u16>(), at in 0_usize..20) {
        let at = at % words.len();
        let bytes = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let checksum = !sum(&bytes(&words));
        let mut changed = words.clone();
        changed[at] = new;
        let mended = mended(checksum, words[at], new);
        // With what it sums, a right checksum gives all ones.
        changed.push(mended);
        prop_assert_eq!(sum(&bytes(&changed)), 0xffff);
    }
}
