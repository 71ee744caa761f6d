// What the data path and the program share: `src/record.rs` has the same layouts, and tests pass each field through both.
#pragma once

#include <linux/types.h>

// The packets of one end of a connection, by its addresses (IPv4 as ::ffff:a.b.c.d) and ports, as on the wire, and the
// protocol, in the machine's order.
struct flow {
    __u8 sender[16];
    __u8 receiver[16];
    __be16 sender_port;
    __be16 receiver_port;
    __u32 protocol;
};

// A TCP segment that passed. Numbers in the machine's order.
struct record {
    __u64 at_ns; // CLOCK_MONOTONIC
    struct flow flow;
    __u32 sequence;
    __u32 acknowledgment;
    __u32 stamp;
    __u32 echo;
    __u32 payload;       // bytes, of all segments that the kernel joined into this one
    __u16 segment;       // bytes of payload of each of them; 0: it is one
    __u16 window;        // as its receiver wrote it
    __u8 total_header;   // bytes of the headers of IP and TCP
    __u8 flags;          // of TCP, its byte 13
    __u8 scale;          // of the window-scale option; NO_SCALE: there is none
    __u8 stamped;        // 1: it has the timestamps option
    __u8 to_home;        // 1: towards the home
    __u8 traffic_class;  // of IP: DSCP and ECN
    __u8 verdict;        // on its flow, as the data path knows it
    __u8 reserved;
};
#define NO_SCALE 0xff

// A datagram of UDP that passed.
struct datagram {
    __u64 at_ns; // CLOCK_MONOTONIC
    struct flow flow;
    __u32 payload;        // bytes, of all datagrams that the kernel joined into this one
    __u32 untold_packets; // of the same flow since the last that was told; as on the wire
    __u32 untold_bytes;   // of these, with the headers of IP and UDP
    __u16 segment;        // bytes of payload of each that was joined; 0: it is one
    __u8 total_header;    // bytes of the headers of IP and UDP
    __u8 traffic_class;   // of IP: DSCP and ECN
    __u8 first;           // byte of the payload, if there is one
    __u8 to_home;         // 1: towards the home
    __u8 verdict;         // on its flow, as the data path knows it
    __u8 reserved[5];
};

// What the program thinks of a flow: bits. It writes them for both ways of a connection.
enum verdict {
    GAME = 1,    // it is one
    NO_GAME = 2, // by hand: whatever DSCP it has
    QUIET = 4,   // it is known: a datagram in SAMPLE_NS is told, and turns of the spin bit
};

// Of a flow that is told of in samples. The data path alone reads and writes it.
struct sample {
    __u64 told_ns;
    __u64 turned_ns;
    __u32 packets; // since then, untold
    __u32 bytes;
    __u32 spin; // the bit, if there was one
    __u32 reserved;
};

// What a sender may be told at most. The program writes it.
struct limit {
    __u64 wanted;   // bytes
    __u32 min;      // bytes: two segments
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

// `skb->tc_index` of a game's packet from the home to the interface towards the provider. Addresses are translated between the two, and
// Linux writes the priority of what it forwards anew from the TOS (`ip_forward`), but not this number. A filter of somebody else that ends with
// TC_ACT_OK behind ours at the home's interface, or before ours at the provider's, writes it (`tc_run`): then a game is as all others.
#define OUT_OF_A_GAME 0x4757

// Of the whole. The program writes it.
struct health {
    __u64 heartbeat_ns; // CLOCK_MONOTONIC
    __u32 settings;
    __u32 mark;     // the traffic class to write, but for ECN
    __u32 priority; // of packets of games: a class of the queue towards the home, and of the one for what the home sends
    __u32 reserved;
};

enum setting {
    TRUST_DSCP = 1,   // what says by DSCP that it waits for nothing is a game
    MARKS = 2,        // games to the home get a DSCP
    ASKS_OF_TCP = 4,  // there are verdicts on TCP
    ALL_QUIET = 8,    // nobody looks for games
    HOLDS_OUT = 16,   // there is a queue for what the home sends, with a class for games
};

enum counter {
    SEGMENTS,       // of TCP
    LOWERED,        // windows
    LOST_RECORDS,   // the ring was full
    FRAGMENTS,      // of IP, left alone
    OTHERS,         // neither TCP nor UDP, or not understood: left alone
    DATAGRAMS,      // of UDP
    LOST_DATAGRAMS, // the ring was full
    GAME_PACKETS,   // to the home, of what counts as a game
    GAMES_OUT,      // from the home, the same, as they leave
    COUNTERS,
};
