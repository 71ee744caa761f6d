//! One small network for the tests of all crates: deterministic, in virtual time.
//!
//! ```text
//!  server ── poll_down ──► Path::down ── queue, fate, delay ──► on_down ── client
//!         ◄── on_up ────── delay, fate ── Path::up ◄────────── poll_up ──
//! ```
//!
//! A [`Testbed`] has flows and a [`Path`] that they share. A flow is a pair of [`Ends`], which exchange packets of any
//! type: `Down` from server to client, `Up` back. The path is told of each packet when it is sent, and passes it on
//! with a delay, as often as it likes; what it does not pass on is lost. A path with a queue keeps packets and
//! passes them on at its own deadlines.
//!
//! Time goes from event to event. Of what is due at the same time the path comes first, then arrivals in the order
//! in which they were scheduled, then the flows' deadlines in the order of the flows. After each of them the flow
//! concerned is polled until it has nothing to send. A test that lets time stand still fails.
//!
//! The parts of a path: [`DropTail`] is a queue with a link, [`Fates`] a path that does with each packet what a
//! function says, [`Agenda`] a list of events by time, [`Random`] the only source of chance.
//!
//! The crate knows `units` alone. It is not built on `gameway-path`, because it serves the tests of crates that lie
//! below or beside `path`, and because a test of `path` or of a driver must not take its own code for the truth: sixty
//! lines of queue here are a second, independent model. Tests of a queue discipline put the queue under test into a
//! `Path` of their own.

mod agenda;
mod bed;
mod fates;
mod queue;
mod random;

pub use agenda::Agenda;
pub use bed::{Ends, Onward, Path, Testbed};
pub use fates::{Fate, FateOf, Fates, Impairment, arrives, lost, lost_if};
pub use queue::{Departed, DropTail};
pub use random::{Random, hash};

/// The smallest of some values that a share of them, 0 to 1, does not exceed; not a number of none.
pub fn percentile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Jain's index of fairness: 1 for equal rates, 1/n if one of n has all.
pub fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}
