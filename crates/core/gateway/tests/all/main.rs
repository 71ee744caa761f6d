//! All tests in one program: what they use is linked once, and they run side by side.

mod classifier;
mod home;
mod properties;
mod recorded;
mod traffic;
mod voap;
mod windows;
