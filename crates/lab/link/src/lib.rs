//! Real-time drivers: what the simulator runs in virtual time, between the interfaces of one machine.
//!
//! Whatever decides is elsewhere and is handed `now`; here are devices and threads.

#[cfg(feature = "cli")]
pub mod command;
mod document;
pub mod link;

pub mod namespace;
mod sys;
pub mod tun;
