//! ns per packet report of each controller.
fn main() {}
