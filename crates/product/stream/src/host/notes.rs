//! Notes to whoever runs the host.

/// Says something to whoever runs the host.
#[expect(clippy::print_stderr, reason = "a driver's notes go to its standard error")]
pub(super) fn tell(what: &str, why: &str) {
    eprintln!("note: {what}: {why}");
}

/// How many frames could not be made.
#[derive(Debug, Default)]
pub(super) struct Failures(u64);

impl Failures {
    /// So many.
    pub(super) const fn count(&self) -> u64 {
        self.0
    }

    /// One more. It is said ever more seldom: a source that is gone fails at each frame, and nobody reads sixty lines a second.
    pub(super) fn add(&mut self, why: &str) {
        self.0 += 1;
        if self.0.is_power_of_two() {
            let told = format!("{why} ({})", self.0);
            tell("no frame was made; the encoder is made anew", &told);
        }
    }
}
