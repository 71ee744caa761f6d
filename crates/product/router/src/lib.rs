//! The home gateway on a Linux router.
//!
//! The way of a packet: `bpf/gateway.bpf.c`, on tc at the interface of the home, tells the program of each TCP segment and of
//! datagrams of UDP by rings ([`record`]), lowers the windows of acknowledgments whose senders are limited, and gives packets of
//! games a class ([`data_path`]). The program ([`program`]) hands the segments to the algorithm of `gameway-gateway`, unchanged,
//! reads off them how long packets wait in front of the home, and writes what the algorithm wants into a map; likewise it hands the
//! datagrams to the classifier of that crate, and writes which flows are games ([`games`]).
//!
//! What a person has of it: [`command`], which reads a file ([`config`]) and asks a gateway that runs ([`control`]) what is so
//! ([`status`]).

pub mod board;
mod claim;
pub mod command;
pub mod config;
pub mod control;
pub mod data_path;
pub mod doctor;
pub mod exceptions;
#[doc(hidden)]
pub mod fuzzed;
pub mod games;
pub mod history;
mod home_interface;
mod home_queue;
pub mod leases;
mod metrics;
mod netlink;
pub mod out;
pub mod own_queue;
pub mod page;
mod pings;
pub mod program;
pub mod record;
pub mod recording;
mod shaped;
pub mod status;
mod watch;
