//! What small servers of HTTP share: one thread that serves with bounds ([`connections`]), answers that nobody else reads
//! ([`answers`]), names under which a server is asked ([`host`]), pages in one document ([`page`]), and figures for a monitor
//! ([`scrape`]). The stream's signalling and the home gateway's status are served by it.

pub mod answers;
pub mod connections;
pub mod host;
pub mod page;
pub mod scrape;
mod source;

pub use source::Source;
