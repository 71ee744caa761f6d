// What the data path and the program share: `src/record.rs` has the same layouts, and tests pass each field through both.
#pragma once

#include <linux/types.h>

// The data of one end of a connection, by its addresses (IPv4 as ::ffff:a.b.c.d) and ports, as on the wire.
struct flow {
    __u8 sender[16];
    __u8 receiver[16];
    __be16 sender_port;
    __be16 receiver_port;
};

// A TCP segment that passed. Numbers in the machine's order.
struct record {
    __u64 at_ns; // CLOCK_MONOTONIC
    struct flow flow;
    __u32 sequence;
    __u32 acknowledgment;
    __u32 stamp;
    __u32 echo;
    __u32 payload;      // bytes, of all segments that the kernel joined into this one
    __u32 segment;      // bytes of payload of each of them; 0: it is one
    __u16 window;       // as its receiver wrote it
    __u16 total_header; // bytes of the headers of IP and TCP
    __u8 flags;         // of TCP, its byte 13
    __u8 scale;         // of the window-scale option; NO_SCALE: there is none
    __u8 stamped;       // 1: it has the timestamps option
    __u8 to_home;       // 1: towards the home
    __u32 reserved;
};
#define NO_SCALE 0xff

// What a sender may be told at most. The program writes it.
struct limit {
    __u64 wanted;   // bytes
    __u32 least;    // bytes: two segments
    __u32 highest;  // the number behind all data that has passed, as the program knew it
    __u32 shift;    // of the receiver's windows
    __u32 reserved;
};

// What was told. The data path writes it; the program begins it.
struct told {
    __u32 highest;
    __u32 acknowledgment;
    __u16 receivers;
    __u16 written;
    __u32 known; // 1: the three before are of a segment
};

// Of the whole.
struct health {
    __u64 heartbeat_ns; // CLOCK_MONOTONIC; the program writes it
};

enum counter {
    SEGMENTS,     // of TCP
    LOWERED,      // windows
    LOST_RECORDS, // the ring was full
    FRAGMENTS,    // of IP, left alone
    OTHERS,       // not TCP, or not understood: left alone
    COUNTERS,
};
