//! Memory of this process, as Linux tells it.

/// The line of this name in `/proc/self/status`, such as `VmRSS` or `VmHWM`, in MB.
pub fn megabytes(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}
