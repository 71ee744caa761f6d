//! What a home gateway does for a game: it finds the stream among all traffic, by behaviour alone.

pub mod classifier;
