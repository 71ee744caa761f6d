//! All tests in one program: what they use is linked once, and they run side by side.

mod arithmetic;
mod declared;
mod units;
