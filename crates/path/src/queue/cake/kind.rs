//! How experiment files name CAKE and its options: with the words of tc-cake(8).

use crate::queue::codel::ECN_OPTION;
use crate::queue::{QueueKind, QueueOption};

/// The name, and the options.
pub const KIND: QueueKind = QueueKind {
    name: "cake",
    summary: "a shaper, tins by DSCP, a queue per flow with turns shared by host, and COBALT in each",
    source: "Linux, sch_cake.c; arXiv 1804.07617",
    options: &[
        QueueOption {
            name: "size",
            default: "4 rtt at the bandwidth, 4 MiB to 15.5 MB",
            summary: "what may wait in all queues, as of drop-tail; more costs the longest queue its \
                      oldest packet",
        },
        QueueOption {
            name: "bandwidth",
            default: "unlimited",
            summary: "the rate at which packets leave; above the capacity of the link the queue still \
                      waits here, but only the link holds packets back",
        },
        QueueOption {
            name: "rtt",
            default: "100 ms",
            summary: "COBALT's interval, a long round trip; its target is a twentieth; or datacentre (100 us), \
                      lan (1 ms), metro (10 ms), regional (30 ms), internet (100 ms), oceanic (300 ms), \
                      satellite (1 s), interplanetary (1000 s)",
        },
        QueueOption {
            name: "isolation",
            default: "triple-isolate",
            summary: "what shares the link fairly: triple-isolate, dual-srchost, dual-dsthost, flows, \
                      hosts, srchost, dsthost or flowblind",
        },
        QueueOption {
            name: "diffserv",
            default: "diffserv3",
            summary: "tins: diffserv3 (bulk, best effort, voice), diffserv4 (video too), diffserv8, \
                      precedence (eight by the upper three bits) or besteffort (one)",
        },
        QueueOption {
            name: "framing",
            default: "raw",
            summary: "overhead, mpu and cells by tc's words, several with spaces between them: raw, \
                      conservative, ethernet, ether-vlan, docsis, pppoe-ptm, bridged-ptm, pppoa-vcmux, \
                      pppoa-llc, pppoe-vcmux, pppoe-llcsnap, bridged-vcmux, bridged-llcsnap, ipoa-vcmux, \
                      ipoa-llcsnap, via-ethernet; the next three, if given, take the place of what they say",
        },
        QueueOption {
            name: "overhead",
            default: "0 B",
            summary: "bytes that a packet is longer on the link that the bandwidth is of, -64 B to 256 B",
        },
        QueueOption { name: "mpu", default: "0 B", summary: "least length of a packet there" },
        QueueOption {
            name: "cells",
            default: "none",
            summary: "what packets are cut into there: none, atm or ptm",
        },
        QueueOption {
            name: "ack_filter",
            default: "off",
            summary: "off, on (of two acknowledgements that a later one makes needless one is dropped) or \
                      aggressive (also a single one)",
        },
        QueueOption {
            name: "ingress",
            default: "off",
            summary: "on: what is dropped counts in the bandwidth, as it has come through the link already",
        },
        QueueOption {
            name: "wash",
            default: "off",
            summary: "on: DSCPs are cleared when the tin is chosen; ECN is kept",
        },
        ECN_OPTION,
    ],
};
