//! All tests in one program: what they use is linked once, and they run side by side.

mod any_run;
mod bbr_versions;
mod circuit_breaker;
mod competing;
mod copa;
mod exactness;
mod gateway;
mod gcc;
mod htb;
mod ladder;
mod odd_packets;
mod oracle;
mod own_controller;
mod own_queue;
mod own_tcp;
mod packet_log;
mod path_effects;
mod planned_repair;
mod pudica;
mod queues;
mod quic_flows;
mod recognition;
mod recovery;
mod refusals;
mod repair;
mod reports;
mod scream;
mod soak;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod tcp_ecn;
mod tcp_flows;
mod video;
mod ways;
mod wifi;
