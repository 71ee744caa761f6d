//! All tests in one program: what they use is linked once, and they run side by side.

mod a_frames_way;
mod captures;
mod follows_the_target;
mod h265;
mod libav_encoder;
mod references;
mod simulated_encoder;
mod sizes;
mod sounds;
#[path = "../support/mod.rs"]
mod support;
