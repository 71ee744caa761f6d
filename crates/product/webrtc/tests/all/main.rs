//! All tests but the browser's in one program: what they use is linked once, and they run side by side.
//! A browser needs both cores.

mod feedback;
mod hostile;
mod https;
mod lab;
mod links;
mod pairing;
mod peers;
mod sockets;
mod support;
mod wire;
