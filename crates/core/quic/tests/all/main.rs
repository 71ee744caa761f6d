//! Downloads over the test network: what must hold whatever the path does, and what each mechanism does.

mod appendix;
mod common;
mod dynamics;
mod mechanisms;
mod reliability;
mod scripted;
mod scripted_sender;
