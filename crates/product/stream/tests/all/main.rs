//! All tests but that of H.265 in one program: what they use is linked once, and they run side by side.
//! libx265 in real time needs a core to itself.

mod breaker;
mod clipboard;
mod doctor;
mod handover;
mod hostile;
mod inputs;
mod own_controller;
mod page;
mod programs;
mod repeated;
mod sound;
mod support;
mod survival;
