//! What programs in real time share, the lab's link as the stream's host and client: clock and waiting, the stop
//! signal, and how late things were done.

pub mod clock;
pub mod lateness;
pub mod stop;
mod sys;
