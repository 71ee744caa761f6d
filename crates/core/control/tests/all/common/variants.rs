//! Every controller in its main variants.

/// A controller with options.
pub type Variant = (&'static str, &'static [(&'static str, &'static str)]);

/// Every controller that adapts, in its main variants.
pub const ADAPTIVE: &[Variant] = &[
    ("copa", &[]),
    ("copa", &[("mode", "competitive")]),
    ("gcc", &[]),
    (
        "gcc",
        &[
            ("loss", "threshold"),
            ("throughput", "bayesian"),
            ("recovery_probing", "on"),
            ("application_limited_probing", "off"),
        ],
    ),
    ("gcc", &[("loss_recovery", "on")]),
    ("nada", &[]),
    ("nada", &[("priority", "2")]),
    ("pudica", &[]),
    ("pudica", &[("bur", "sqp")]),
    ("pudica", &[("bur", "salsify")]),
    ("pudica", &[("bur", "salsify"), ("trigger", "own")]),
    ("pudica", &[("additive_only", "on")]),
    ("pudica", &[("longer_path", "on")]),
    ("salsify", &[]),
    ("scream", &[]),
    ("scream", &[("ecn", "classic")]),
    ("scream", &[("ecn", "off")]),
    ("sqp", &[]),
];

/// What has no promises in `recovery.rs`: this network reports on whole frames, and SCReAM's reference, whose window may be
/// less than a frame, is made for a receiver that reports within them, too.
const OTHERS: &[Variant] = &[
    ("fixed", &[]),
    ("scream", &[("version", "reference")]),
    ("scream", &[("version", "reference"), ("ecn", "off")]),
];

/// Every controller in its main variants.
pub fn variants() -> impl Iterator<Item = Variant> {
    ADAPTIVE.iter().chain(OTHERS).copied()
}
