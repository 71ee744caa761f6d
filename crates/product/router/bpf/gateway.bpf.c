// The data path of the home gateway, on tc at the interface of the home: it tells the program of each TCP segment and of the
// datagrams of UDP, lowers the windows of those acknowledgments whose senders the program has limited, and gives packets of
// games a class of the queue there. Where there is a queue for what the home sends, `to_provider` does so at that one's interface.
//
// Whatever fails, the packet passes as it is. Nothing is done, and nothing told, once the program's heartbeat is a second
// old. The rules of the window are those of `gameway_gateway::Direction`: never above the receiver's own; two segments at
// least; never left of data that has passed; a duplicate acknowledgment repeats the window of the first.
#include "counters.h"
#include "games.h"
#include "kernel.h"
#include "packet.h"
#include "shared.h"

#define HEARTBEAT_NS 1000000000ULL
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
#define WINDOW 14   // bytes from the header of TCP on
#define CHECKSUM 16 // likewise
#define MAX_SHIFT 14
// Numbers further apart do not belong together: the largest window (RFC 7323 section 2.3).
#define FURTHEST (1 << 30)
#define NEXT (-1) // whatever else there is on this interface: TC_ACT_UNSPEC, TCX_NEXT

struct map_definition records SECTION("maps") = {
    .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 1 << 21,
};
struct map_definition limits SECTION("maps") = {
    .type = BPF_MAP_TYPE_HASH, .key_size = sizeof(struct flow), .value_size = sizeof(struct limit), .max_entries = 4096,
};
struct map_definition windows SECTION("maps") = {
    .type = BPF_MAP_TYPE_LRU_HASH, .key_size = sizeof(struct flow), .value_size = sizeof(struct told), .max_entries = 8192,
};
struct map_definition healths SECTION("maps") = {
    .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = sizeof(struct health), .max_entries = 1,
};

// What the program says of itself, if it lives.
INLINE const struct health *alive(__u64 now_ns) {
    __u32 zero = 0;
    const struct health *health = map_lookup(&healths, &zero);
    return health && now_ns - health->heartbeat_ns < HEARTBEAT_NS ? health : 0;
}

// How far `later` is beyond `earlier` among numbers that wrap.
INLINE __s32 ahead(__u32 later, __u32 earlier) {
    return (__s32)(later - earlier);
}

INLINE struct flow reverse(const struct flow *flow) {
    struct flow other = {.sender_port = flow->receiver_port, .receiver_port = flow->sender_port, .protocol = flow->protocol};
    __builtin_memcpy(other.sender, flow->receiver, 16);
    __builtin_memcpy(other.receiver, flow->sender, 16);
    return other;
}

// What was told of this limited flow; begun where nothing is known.
INLINE struct told *told_of(const struct flow *flow, const struct limit *limit) {
    struct told *told = map_lookup(&windows, flow);
    if (told) return told;
    struct told begin = {.highest = limit->highest};
    map_update(&windows, flow, &begin, BPF_NOEXIST);
    return map_lookup(&windows, flow);
}

// A limited sender's data passes.
INLINE void on_data(const struct record *record) {
    const struct limit *limit = map_lookup(&limits, &record->flow);
    if (!limit) return;
    struct told *told = told_of(&record->flow, limit);
    __u32 end = record->sequence + record->payload + !!(record->flags & FIN);
    if (!told) return;
    __s32 step = ahead(end, told->highest);
    if (step > 0 && step < FURTHEST) told->highest = end;
}

// The window to write for an acknowledgment.
INLINE __u16 window_to_write(const struct record *record, const struct limit *limit, struct told *told) {
    int is_bare = record->payload == 0 && !(record->flags & FIN);
    if (is_bare && told->known && told->acknowledgment == record->acknowledgment && told->receivers == record->window)
        return told->written;
    __s32 used = ahead(told->highest, record->acknowledgment);
    __u64 min = used > 0 && (__u32)used > limit->min ? (__u32)used : limit->min;
    __u32 shift = limit->shift > MAX_SHIFT ? MAX_SHIFT : limit->shift;
    __u64 wanted = limit->wanted >> shift;
    __u64 units = (min + (1ULL << shift) - 1) >> shift;
    if (units < wanted) units = wanted;
    if (units < 1) units = 1;
    return units < record->window ? units : record->window;
}

// An acknowledgment for a limited sender passes.
INLINE void on_acknowledgment(struct __sk_buff *skb, const struct place *place, const struct record *record) {
    struct flow data = reverse(&record->flow);
    const struct limit *limit = map_lookup(&limits, &data);
    if (!limit) return;
    struct told *told = told_of(&data, limit);
    if (!told) return;
    __u16 window = window_to_write(record, limit, told);
    told->acknowledgment = record->acknowledgment;
    told->receivers = record->window;
    told->written = window;
    told->known = 1;
    if (window == record->window) return;
    __be16 from = WIRE16(record->window), to = WIRE16(window);
    // The checksum first: where it cannot be mended, nothing was changed.
    if (mend_checksum(skb, place->transport + CHECKSUM, from, to, sizeof to)) return;
    if (store_bytes(skb, place->transport + WINDOW, &to, sizeof to, 0)) {
        mend_checksum(skb, place->transport + CHECKSUM, to, from, sizeof to);
        return;
    }
    count(LOWERED);
}

INLINE void tell(const struct record *record) {
    struct record *told = ring_reserve(&records, sizeof *told, 0);
    if (!told) {
        count(LOST_RECORDS);
        return;
    }
    *told = *record;
    // The program looks every few milliseconds: to wake it for each segment costs more than all the rest.
    ring_submit(told, BPF_RB_NO_WAKEUP);
}

INLINE void pass_datagram(struct __sk_buff *skb, const struct place *place, struct record *record) {
    count(DATAGRAMS);
    const struct health *health = alive(record->at_ns);
    if (!health) return;
    __u32 silence = health->settings & ALL_QUIET ? QUIET : 0;
    record->verdict = verdict_on(&record->flow) | silence;
    if (!tell_datagram(skb, place, record)) count(LOST_DATAGRAMS);
    put_first(skb, place, record, health);
}

INLINE void pass_segment(struct __sk_buff *skb, const struct place *place, struct record *record) {
    count(SEGMENTS);
    const struct health *health = alive(record->at_ns);
    if (health) {
        if (health->settings & ASKS_OF_TCP) record->verdict = verdict_on(&record->flow);
        tell(record);
        put_first(skb, place, record, health);
    }
    if (record->flags & (SYN | RST)) return;
    // While the program is silent, too: a window that is written after that must not end left of what has passed.
    on_data(record);
    if (health && record->flags & ACK && !place->has_unknown) on_acknowledgment(skb, place, record);
}

INLINE int pass(struct __sk_buff *skb, __u8 to_home) {
    struct record record = {.at_ns = monotonic_ns(), .to_home = to_home};
    struct place place = {};
    switch (read_packet(skb, &place, &record)) {
    case TCP:
        pass_segment(skb, &place, &record);
        break;
    case UDP:
        pass_datagram(skb, &place, &record);
        break;
    case FRAGMENT:
        count(FRAGMENTS);
        break;
    case OTHER:
        count(OTHERS);
    }
    return NEXT;
}

SECTION("classifier") int to_home(struct __sk_buff *skb) {
    return pass(skb, 1);
}

SECTION("classifier") int from_home(struct __sk_buff *skb) {
    return pass(skb, 0);
}

// At the interface towards the provider, in front of the queue there.
SECTION("classifier") int to_provider(struct __sk_buff *skb) {
    const struct health *health = alive(monotonic_ns());
    if (health && skb->tc_index == OUT_OF_A_GAME) {
        skb->priority = health->priority;
        count(GAMES_OUT);
    }
    return NEXT;
}

// No helper that is used here asks for the GPL.
SECTION("license") char terms[] = "MIT";
