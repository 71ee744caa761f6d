//! What a host plays on: a screen and a sound server of its own, the program that is played, and the player's input.
//!
//! ```text
//! Action ─► Injector ─► Screen (Xvfb) ◄── Program ──► SoundServer (PulseAudio)
//!                          │                              │
//!                          ├► capture::X11Screen           ▼ audio::PulseMonitor     (both of gameway-codec)
//!                          ▼
//!                       Pointer ─► Shape, Drawings
//!
//! text ─► Clipboard ◄─► selections of the screen, or data control of the desktop's compositor
//!
//! gamepad::Action ─► Gamepads (uinput) ◄── Program
//!                       └► Felt
//!
//! Action ─► InputDevices (uinput) ─► the desktop's own screen ─► SharedScreen (portal) ─► capture::WaylandScreen (of gameway-codec)
//! ```
//!
//! A host starts a [`Screen`] and a [`SoundServer`], tells the program of both by [`Surroundings`], and keeps it running by a
//! [`KeptProgram`]. All three are child processes, each in a process group of its own, so that Ctrl-C in a terminal reaches the host
//! alone, which ends them in order: dropping one ends all of its group. Only this user can draw on the screen or hear the
//! sound: the screen asks for a cookie that is random, the sound server for the user's number.
//!
//! Nothing here has a thread, and who uses it polls. Starting and ending a process wait, for a stated time at most.
//!
//! | limit | why |
//! |---|---|
//! | a process that leaves its group (`setsid`) is not ended | only a control group holds all; without screen most end by themselves |
//! | what the program has started outlives a host that is killed by SIGKILL | the kernel kills only what the host itself has started (`PR_SET_PDEATHSIG`) |

mod authority;
pub mod card;
#[cfg(feature = "x11")]
mod card_window;
#[cfg(feature = "x11")]
mod clipboard;
#[cfg(feature = "wayland")]
mod devices;
#[cfg(feature = "x11")]
mod drawings;
mod error;
#[cfg(feature = "x11")]
mod gamepad;
mod group;
#[cfg(feature = "x11")]
mod inject;
mod keeper;
#[cfg(feature = "wayland")]
mod pace;
#[cfg(feature = "wayland")]
mod permission;
#[cfg(feature = "x11")]
mod pointer;
#[cfg(feature = "wayland")]
mod portal;
mod program;
mod screen;
mod server;
mod sound;
mod surroundings;
#[cfg(feature = "x11")]
mod typing;
#[cfg(feature = "x11")]
mod uinput;
#[cfg(feature = "x11")]
mod x11;

#[cfg(feature = "x11")]
pub use card_window::show_card;
#[cfg(feature = "wayland")]
pub use clipboard::WaylandClipboard;
#[cfg(feature = "x11")]
pub use clipboard::{Clipboard, X11Clipboard};
#[cfg(feature = "wayland")]
pub use devices::InputDevices;
#[cfg(feature = "x11")]
pub use drawings::Drawings;
pub use error::DesktopError;
#[cfg(feature = "x11")]
pub use gamepad::Gamepads;
#[cfg(feature = "x11")]
pub use inject::Injector;
pub use keeper::{Fate, KeptProgram, News, RestartPolicy};
#[cfg(feature = "x11")]
pub use pointer::Pointer;
#[cfg(feature = "wayland")]
pub use portal::{Portal, SharedScreen};
pub use program::{Program, State};
pub use screen::Screen;
pub use sound::SoundServer;
pub use surroundings::Surroundings;
#[cfg(feature = "x11")]
pub use uinput::NoDevices;
#[cfg(feature = "x11")]
pub use x11::{connect, pointer};
