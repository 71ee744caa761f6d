//! All tests in one program: what they use is linked once, and they run side by side.

mod encoder;
mod frame_table;
mod packetizer;
mod playout;
#[path = "../support/mod.rs"]
mod support;
