//! What a congestion control must have so that a file can name it, and one with its options.
//!
//! An algorithm declares its options once, as the fields of its configuration ([`gameway_units::declared`]).

use super::CongestionControl;
use gameway_units::declared::Configuration;
use std::fmt;
use std::sync::Arc;

/// A congestion control that a file can name, by its configuration.
pub trait TcpAlgorithm: Configuration + Send + Sync + 'static {
    /// Whether it needs to know how many packets were marked, and not only that one was.
    const NEEDS_ACCURATE_ECN: bool = false;

    /// A fresh instance for segments of `segment_size`; `seed` is for what it draws.
    fn build(&self, segment_size: u32, seed: u64) -> Box<dyn CongestionControl>;
}

type Build = dyn Fn(u32, u64) -> Box<dyn CongestionControl> + Send + Sync;

/// A congestion control with its options, for any number of connections.
#[derive(Clone)]
pub struct ConfiguredTcp {
    name: &'static str,
    needs_accurate_ecn: bool,
    build: Arc<Build>,
}

impl ConfiguredTcp {
    /// That of this configuration.
    #[must_use]
    pub fn new<A: TcpAlgorithm>(algorithm: A) -> Self {
        let build = Arc::new(move |segment_size, seed| algorithm.build(segment_size, seed));
        Self { name: A::NAME, needs_accurate_ecn: A::NEEDS_ACCURATE_ECN, build }
    }

    /// Its name in files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it needs to know how many packets were marked, and not only that one was.
    #[must_use]
    pub const fn needs_accurate_ecn(&self) -> bool {
        self.needs_accurate_ecn
    }

    /// A fresh instance for a connection with segments of `segment_size`; `seed` is for what it draws.
    #[must_use]
    pub fn build(&self, segment_size: u32, seed: u64) -> Box<dyn CongestionControl> {
        (self.build)(segment_size, seed)
    }
}

impl fmt::Debug for ConfiguredTcp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ConfiguredTcp({})", self.name)
    }
}
