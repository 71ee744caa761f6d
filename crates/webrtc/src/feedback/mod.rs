//! Reports of receivers, as the wire has them and as the session wants them.

pub mod frames;
pub mod rfc8888;
