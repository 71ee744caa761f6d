//! All tests in one program: what they use is linked once, and they run side by side.

mod access_point;
mod any_run;
mod bbr_versions;
mod changes;
mod circuit_breaker;
mod coming_back;
mod competing;
mod copa;
mod ended;
mod exactness;
mod gateway;
mod gcc;
mod home;
mod home_spin;
mod htb;
mod ladder;
mod odd_packets;
mod oracle;
#[cfg(feature = "parquet")]
mod own_controller;
mod own_gateway;
#[cfg(feature = "parquet")]
mod own_queue;
#[cfg(feature = "parquet")]
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
#[cfg(feature = "parquet")]
mod tables;
mod tcp_ecn;
mod tcp_flows;
mod video;
mod way_out;
mod ways;
mod wifi;
