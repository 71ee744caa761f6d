//! Screens, sound servers and programs as they are on this machine.

#[cfg(feature = "x11")]
mod input;
mod program;
#[cfg(feature = "x11")]
mod screen;
mod sound;
mod support;
#[cfg(feature = "x11")]
mod typist;
