//! All tests in one program: what they use is linked once, and they run side by side.

mod hostile;
mod in_parts;
mod planned;
mod repeated;
mod stream;
mod support;
