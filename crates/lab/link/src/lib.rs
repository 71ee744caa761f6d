//! Real-time drivers: what the simulator runs in virtual time, between the interfaces of one machine.
//!
//! Whatever decides is elsewhere and is handed `now`; here are clocks, devices and threads.

pub mod clock;
pub mod lateness;
pub mod link;

pub mod namespace;
pub mod stop;
mod sys;
pub mod tun;
