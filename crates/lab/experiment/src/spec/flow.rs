//! What every flow has: a name, a time, a way through the network, and headers.

use super::{HeaderSpec, Way};
use gameway_units::Duration;

/// What every flow has.
#[derive(Debug, Clone, Copy)]
pub struct Common<'a> {
    /// Its name in tables.
    pub name: &'a str,
    /// When it starts.
    pub start: Duration,
    /// When it stops if before the end of the run.
    pub stop: Option<Duration>,
    /// Its way through the network.
    pub way: Way<'a>,
    /// What its packets' headers are to say.
    pub header: &'a HeaderSpec,
}

/// Declares a flow by what is its own; what every flow has is the same for all.
macro_rules! flow_spec {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// its name in tables: letters, digits, - and _
            pub name: String,
            $($own)*
            /// when it starts
            #[serde(default)]
            #[schemars(extend("x-min" = "0 s", "x-max" = "8784 h"))]
            pub start: gameway_units::Duration,
            /// when it stops sending, or begins nothing more
            #[serde(default)]
            #[schemars(extend("x-min" = "1 ns", "x-max" = "8784 h", "x-none" = "with the run"))]
            pub stop: Option<gameway_units::Duration>,
            /// its own round-trip time of the empty path, half of it each way
            #[serde(default)]
            #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h", "x-none" = "the path's"))]
            pub base_rtt: Option<gameway_units::Duration>,
            /// bottlenecks towards the clients that its packets pass: all, path for the path's own alone, or the name of a hop
            #[serde(default = "super::all")]
            pub via: String,
            /// down: from server to client; up: from client to server, and what answers comes down
            #[serde(default)]
            pub direction: super::Direction,
            /// what its packets' headers say
            #[serde(default)]
            #[schemars(extend("x-none" = "as of any flow"))]
            pub header: super::HeaderSpec,
        }

        impl $name {
            /// What every flow has.
            #[must_use]
            pub fn common(&self) -> super::Common<'_> {
                let Self { name, start, stop, base_rtt, via, direction, header, .. } = self;
                let way = super::Way { base_rtt: *base_rtt, via, direction: *direction };
                super::Common { name, start: *start, stop: *stop, way, header }
            }
        }
    };
}
