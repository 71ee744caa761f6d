//! Screens, sound servers and programs as they are on this machine.

#[cfg(feature = "x11")]
mod card;
#[cfg(feature = "x11")]
mod clipboard;
#[cfg(feature = "x11")]
mod drawings;
#[cfg(feature = "x11")]
mod input;
#[cfg(feature = "x11")]
mod pointer;
mod program;
#[cfg(feature = "x11")]
mod screen;
mod sound;
mod support;
#[cfg(feature = "x11")]
mod text;
#[cfg(feature = "x11")]
mod typist;
#[cfg(feature = "wayland")]
mod wayland_clipboard;
