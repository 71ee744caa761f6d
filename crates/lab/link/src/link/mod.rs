//! `gameway link`: the path of an experiment between two TUN devices, in real time.

mod background;
mod capture;
mod config;
mod control;
mod flows;
mod packet;
mod path;
mod pcapng;
mod pool;
mod relay;
mod tcp_header;
pub mod wire;

pub use background::Background;
pub use config::{DeviceConfig, FlowConfig, LinkConfig, MAX_FLOWS};
pub use packet::LinkRegistry;
pub use relay::{Counts, LinkError, LinkReport, Relay};
