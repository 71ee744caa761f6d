// From the bytes of a packet to a record. What is not understood is left alone: fragments, IPv6 extension headers, IPsec,
// tunnels, more than two VLAN tags, headers that are cut short. A segment with an option of TCP that is not understood is told of, and keeps
// its window.
//
// Sources: IEEE 802.1Q (tags), RFC 2516 section 4 (PPPoE session), RFC 791, RFC 8200, RFC 768, RFC 9293 section 3.1, RFC 7323.
#pragma once

#include "kernel.h"
#include "shared.h"

#define ETHERNET 14
#define TAG 4
#define PPPOE 8
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_SERVICE_VLAN 0x88a8
#define TYPE_PPPOE_SESSION 0x8864
#define PPP_IPV4 0x0021
#define PPP_IPV6 0x0057
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define UDP_HEADER 8
#define MIN_TCP_HEADER 20
#define MAX_OPTIONS 40
#define WORD 4

enum reading { TCP, UDP, FRAGMENT, OTHER };

// Where the headers of a packet are.
struct place {
    __u32 ip;
    __u32 transport;
    __u32 size; // of the packet of IP, by its header
    __u16 type; // of IP, as Ethernet has it
    __u16 has_unknown; // 1: an option of TCP that is not understood
};

INLINE enum reading protocol_of(__u8 number) {
    return number == PROTOCOL_TCP ? TCP : number == PROTOCOL_UDP ? UDP : OTHER;
}

INLINE __u16 word_at(const struct __sk_buff *skb, __u32 offset) {
    __be16 word = 0;
    load_bytes(skb, offset, &word, sizeof word);
    return WIRE16(word);
}

// Where the header of IP begins, and its type; 0: there is none that is understood.
INLINE __u32 find_ip(const struct __sk_buff *skb, __u16 *type) {
    __u32 at = ETHERNET;
    *type = word_at(skb, at - 2);
#pragma unroll
    for (int tag = 0; tag < 2; tag++) {
        if (*type == TYPE_VLAN || *type == TYPE_SERVICE_VLAN) {
            at += TAG;
            *type = word_at(skb, at - 2);
        }
    }
    if (*type == TYPE_PPPOE_SESSION) {
        __u16 inner = word_at(skb, at + PPPOE - 2);
        at += PPPOE;
        *type = inner == PPP_IPV4 ? TYPE_IPV4 : inner == PPP_IPV6 ? TYPE_IPV6 : 0;
    }
    return *type == TYPE_IPV4 || *type == TYPE_IPV6 ? at : 0;
}

INLINE enum reading read_ipv4(const struct __sk_buff *skb, struct place *place, struct record *record) {
    __u8 header[20];
    if (load_bytes(skb, place->ip, header, sizeof header)) return OTHER;
    __u32 length = (header[0] & 0xf) * 4;
    if (header[0] >> 4 != 4 || length < sizeof header) return OTHER;
    // More fragments, or an offset: a later one has no header of TCP, and the first is one of them.
    if ((header[6] & 0x3f) || header[7]) return FRAGMENT;
    struct flow *flow = &record->flow;
    flow->protocol = header[9];
    record->traffic_class = header[1];
    place->transport = place->ip + length;
    place->size = (__u32)header[2] << 8 | header[3];
    flow->sender[10] = flow->sender[11] = flow->receiver[10] = flow->receiver[11] = 0xff;
    __builtin_memcpy(flow->sender + 12, header + 12, 4);
    __builtin_memcpy(flow->receiver + 12, header + 16, 4);
    return protocol_of(header[9]);
}

INLINE enum reading read_ipv6(const struct __sk_buff *skb, struct place *place, struct record *record) {
    __u8 header[40];
    if (load_bytes(skb, place->ip, header, sizeof header)) return OTHER;
    if (header[0] >> 4 != 6) return OTHER;
    if (header[6] == 44) return FRAGMENT;
    struct flow *flow = &record->flow;
    flow->protocol = header[6];
    record->traffic_class = header[0] << 4 | header[1] >> 4;
    place->transport = place->ip + sizeof header;
    place->size = sizeof header + ((__u32)header[4] << 8 | header[5]);
    __builtin_memcpy(flow->sender, header + 8, 16);
    __builtin_memcpy(flow->receiver, header + 24, 16);
    return protocol_of(header[6]);
}

// Kinds of options beside which the window can be another one: segment size, scale, SACK and its permission, timestamps (RFC 9293,
// RFC 7323, RFC 2018), user timeout (RFC 5482), fast open (RFC 7413), accurate ECN (RFC 9768). Not among them: signatures, which cover the
// window (19, RFC 2385; 29, RFC 5925), and MPTCP, whose windows are of the whole connection (30, RFC 8684 section 3.3.5).
#define UNDERSTOOD (1ULL << 2 | 1ULL << 3 | 1ULL << 4 | 1ULL << 5 | 1ULL << 8 | 1ULL << 28 | 1ULL << 34)
#define ACCURATE_ECN 172
#define ACCURATE_ECN_OTHER_ORDER 174

INLINE __u32 is_unknown(__u32 kind) {
    if (kind == ACCURATE_ECN || kind == ACCURATE_ECN_OTHER_ORDER) return 0;
    return kind > 63 || !(UNDERSTOOD >> kind & 1);
}

// Kinds: 0 ends the list, 1 fills a byte, 3 is the window scale, 8 the timestamps; all others have a length. `place` is told whether there is
// one that is not understood, or a list that does not add up.
INLINE void read_options(const struct __sk_buff *skb, __u32 offset, __u32 length, struct place *place, struct record *record) {
    // Longer than any list, so that what is read behind an option's place lies within.
    __u8 options[128] = {};
    // They fill whole words. Linux 6.1 does not learn from "not zero" that a length is one or more, and from a comparison with one it
    // does not for a copy: so with another number, apart from the one before, and in the register that is read with.
    if (length > MAX_OPTIONS) return;
    WITHIN(length, 63);
    if (length < WORD) return;
    if (load_bytes(skb, offset, options, length)) return;
    __u32 at = 0, unknown = 0;
    for (int round = 0; round < MAX_OPTIONS; round++) {
        WITHIN(at, 63);
        WITHIN(unknown, 1);
        if (at >= length || options[at] == 0) break;
        if (options[at] == 1) {
            at += 1;
            continue;
        }
        __u32 second = at + 1;
        WITHIN(second, 63);
        __u32 size = options[second];
        if (second >= length || size < 2 || at + size > length) {
            unknown = 1;
            break;
        }
        unknown |= is_unknown(options[at]);
        __u32 value = at + 2;
        WITHIN(value, 63);
        if (options[at] == 3 && size == 3) record->scale = options[value];
        if (options[at] == 8 && size == 10) {
            __builtin_memcpy(&record->stamp, options + value, 4);
            __builtin_memcpy(&record->echo, options + value + 4, 4);
            record->stamp = WIRE32(record->stamp);
            record->echo = WIRE32(record->echo);
            record->stamped = 1;
        }
        at += size;
    }
    place->has_unknown = unknown;
}

INLINE enum reading read_tcp(const struct __sk_buff *skb, struct place *place, struct record *record) {
    __u8 header[MIN_TCP_HEADER];
    if (load_bytes(skb, place->transport, header, sizeof header)) return OTHER;
    __u32 length = (header[12] >> 4) * 4;
    __u32 headers = place->transport - place->ip + length;
    // What the kernel joined may be larger than the field of IPv6 or IPv4 says (BIG TCP writes 0).
    __u32 size = place->size ? place->size : skb->len - place->ip;
    if (length < MIN_TCP_HEADER || headers > size || place->ip + size > skb->len) return OTHER;
    __be32 number;
    __builtin_memcpy(&number, header + 4, 4);
    record->sequence = WIRE32(number);
    __builtin_memcpy(&number, header + 8, 4);
    record->acknowledgment = WIRE32(number);
    __builtin_memcpy(&record->flow.sender_port, header, 2);
    __builtin_memcpy(&record->flow.receiver_port, header + 2, 2);
    record->flags = header[13];
    record->window = (__u16)header[14] << 8 | header[15];
    record->payload = size - headers;
    record->segment = skb->gso_size;
    record->total_header = headers;
    read_options(skb, place->transport + MIN_TCP_HEADER, length - MIN_TCP_HEADER, place, record);
    return TCP;
}

// Of a datagram, what a segment has, too: its flow, and its sizes.
INLINE enum reading read_udp(const struct __sk_buff *skb, const struct place *place, struct record *record) {
    __u8 header[UDP_HEADER];
    if (load_bytes(skb, place->transport, header, sizeof header)) return OTHER;
    __u32 length = (__u32)header[4] << 8 | header[5];
    __u32 before = place->transport - place->ip;
    if (length < UDP_HEADER || before + length > place->size || place->ip + place->size > skb->len) return OTHER;
    __builtin_memcpy(&record->flow.sender_port, header, 2);
    __builtin_memcpy(&record->flow.receiver_port, header + 2, 2);
    record->payload = length - UDP_HEADER;
    record->segment = skb->gso_size;
    record->total_header = before + UDP_HEADER;
    return UDP;
}

// Reads a whole packet.
INLINE enum reading read_packet(const struct __sk_buff *skb, struct place *place, struct record *record) {
    place->ip = find_ip(skb, &place->type);
    if (!place->ip) return OTHER;
    record->scale = NO_SCALE;
    enum reading found = place->type == TYPE_IPV4 ? read_ipv4(skb, place, record) : read_ipv6(skb, place, record);
    return found == TCP ? read_tcp(skb, place, record) : found == UDP ? read_udp(skb, place, record) : found;
}
