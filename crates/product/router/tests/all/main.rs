//! The data path in the kernel of this machine, on packets that somebody else's code makes and reads. Needs root, and is left
//! out without.

mod any_bytes;
mod datagrams;
mod kernel;
mod network;
mod own_queue;
mod packets;
mod windows;
