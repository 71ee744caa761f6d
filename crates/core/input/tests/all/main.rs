//! Both ends over paths that lose, delay, repeat and reorder.

mod gamepads;
mod over_a_path;
mod script;
mod silence;
mod text;
mod vectors;
