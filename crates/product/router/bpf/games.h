// Which packets are of games, and which datagrams the program is told of.
//
// A flow without a verdict is told of whole, so that the program can judge it. One that is quiet is told of in samples, and what
// passed between two of them is told as a sum; the law of the gateway's own queue counts rates over 70 ms or more, of which a
// sample is 3 %. A sample is also told where QUIC's spin bit turns (RFC 9000 section 17.4), which
// is once a round trip; where it is random (section 17.4 lets an endpoint do so), no more often than once in TURN_NS.
#pragma once

#include "counters.h"
#include "kernel.h"
#include "packet.h"
#include "shared.h"

#define SAMPLE_NS 2000000ULL
#define TURN_NS 1000000ULL
#define LONG_HEADER 0x80 // of QUIC's version 1 (RFC 9000 section 17.2); the next bit may have any value (RFC 9287)
#define SPIN 0x20
// EF (RFC 3246); CS4, CS5 (RFC 4594: interactive games, signals of calls), AF41 to AF43 (RFC 2597: video of calls).
#define TRUSTED (1ULL << 46 | 1ULL << 32 | 1ULL << 40 | 1ULL << 34 | 1ULL << 36 | 1ULL << 38)
#define ECN 3

struct map_definition datagrams SECTION("maps") = {
    .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 1 << 20,
};
struct map_definition verdicts SECTION("maps") = {
    .type = BPF_MAP_TYPE_LRU_HASH, .key_size = sizeof(struct flow), .value_size = 4, .max_entries = 16384,
};
struct map_definition samples SECTION("maps") = {
    .type = BPF_MAP_TYPE_LRU_HASH, .key_size = sizeof(struct flow), .value_size = sizeof(struct sample), .max_entries = 16384,
};

INLINE __u32 verdict_on(const struct flow *flow) {
    const __u32 *verdict = map_lookup(&verdicts, flow);
    return verdict ? *verdict : 0;
}

// How many datagrams the kernel joined into this one.
INLINE __u32 joined(const struct record *record) {
    __u32 size = record->segment;
    return size && record->payload > size ? (record->payload + size - 1) / size : 1;
}

// Whether a datagram of a quiet flow is told; what passed since the last goes into the datagram. Two processors that pass
// packets of one flow at the same time may lose one of the sum.
INLINE int is_sample(const struct record *record, struct datagram *told) {
    struct sample *sample = map_lookup(&samples, &record->flow);
    if (!sample) {
        struct sample begin = {.told_ns = record->at_ns, .spin = told->first & SPIN};
        map_update(&samples, &record->flow, &begin, BPF_NOEXIST);
        return 1;
    }
    __u32 spin = told->first & SPIN;
    int turns = !(told->first & LONG_HEADER) && spin != sample->spin && record->at_ns - sample->turned_ns >= TURN_NS;
    if (turns) {
        sample->spin = spin;
        sample->turned_ns = record->at_ns;
    }
    if (!turns && record->at_ns - sample->told_ns < SAMPLE_NS) {
        __u32 count = joined(record);
        sample->packets += count;
        sample->bytes += record->payload + count * record->total_header;
        return 0;
    }
    told->untold_packets = sample->packets;
    told->untold_bytes = sample->bytes;
    sample->packets = sample->bytes = 0;
    sample->told_ns = record->at_ns;
    return 1;
}

// Tells of a datagram, or counts it for the next that is told. Gives whether there was room.
INLINE int tell_datagram(const struct __sk_buff *skb, const struct place *place, const struct record *record) {
    struct datagram datagram = {
        .at_ns = record->at_ns,
        .flow = record->flow,
        .payload = record->payload,
        .segment = record->segment,
        .total_header = record->total_header,
        .traffic_class = record->traffic_class,
        .to_home = record->to_home,
        .verdict = record->verdict,
    };
    if (record->payload) load_bytes(skb, place->transport + UDP_HEADER, &datagram.first, 1);
    if (record->verdict & QUIET && !is_sample(record, &datagram)) return 1;
    struct datagram *told = ring_reserve(&datagrams, sizeof *told, 0);
    if (!told) return 0;
    *told = datagram;
    ring_submit(told, BPF_RB_NO_WAKEUP);
    return 1;
}

// Writes the DSCP; ECN stays.
INLINE void write_mark(struct __sk_buff *skb, const struct place *place, const struct record *record, __u32 mark) {
    __u8 class = mark | (record->traffic_class & ECN);
    __u8 start[2];
    if (class == record->traffic_class || load_bytes(skb, place->ip, start, sizeof start)) return;
    if (place->type == TYPE_IPV6) {
        start[0] = (start[0] & 0xf0) | class >> 4;
        start[1] = (start[1] & 0x0f) | (__u8)(class << 4);
        store_bytes(skb, place->ip, start, sizeof start, 0);
        return;
    }
    __be16 from, to;
    __builtin_memcpy(&from, start, sizeof from);
    start[1] = class;
    __builtin_memcpy(&to, start, sizeof to);
    // The checksum first: where it cannot be mended, nothing was changed.
    if (mend_header_checksum(skb, place->ip + 10, from, to, sizeof to)) return;
    if (store_bytes(skb, place->ip, &to, sizeof to, 0)) mend_header_checksum(skb, place->ip + 10, to, from, sizeof to);
}

// Whether a packet counts as a game's.
INLINE int is_of_game(const struct record *record, __u32 settings) {
    if (record->verdict & GAME) return 1;
    if (record->verdict & NO_GAME || !(settings & TRUST_DSCP)) return 0;
    return TRUSTED >> (record->traffic_class >> 2) & 1;
}

// A packet passes, and goes first if it is of a game.
INLINE void put_first(struct __sk_buff *skb, const struct place *place, const struct record *record, const struct health *health) {
    __u32 settings = health->settings, mark = health->mark, priority = health->priority;
    if (!is_of_game(record, settings)) return;
    if (!record->to_home) {
        if (settings & HOLDS_OUT) skb->tc_index = OUT_OF_A_GAME;
        return;
    }
    skb->priority = priority;
    count(GAME_PACKETS);
    if (record->verdict & GAME && settings & MARKS) write_mark(skb, place, record, mark);
}
