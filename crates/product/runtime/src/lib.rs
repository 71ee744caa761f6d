//! What programs in real time share, the lab's link, the stream's host and client, and the gateway: clock and waiting, the stop
//! signal, a socket by which they are asked, and how late things were done.

pub mod bell;
pub mod clock;
pub mod lateness;
pub mod lines;
pub mod stop;
mod sys;
pub mod terminal;
