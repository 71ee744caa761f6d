//! All tests in one program: what they use is linked once, and they run side by side.

mod breaker;
mod h265;
mod hostile;
mod page;
mod programs;
mod repeated;
mod sound;
mod support;
mod survival;
