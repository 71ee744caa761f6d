//! The data path in the kernel of this machine, on packets that somebody else's code makes and reads. Needs root, and is left
//! out without.

mod any_bytes;
mod any_headers;
mod datagrams;
mod games;
mod home_day;
mod kernel;
mod network;
mod own_queue;
mod packets;
#[path = "../../../../core/gateway/tests/all/traffic.rs"]
#[allow(dead_code, reason = "what tests of the classifier use")]
mod traffic;
mod windows;
