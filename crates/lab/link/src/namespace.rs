//! Doing something in another network namespace (network_namespaces(7), setns(2)).

use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// That of this thread.
const OWN: &str = "/proc/thread-self/ns/net";

fn opened(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

fn enter(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Does `work` in the namespace of this path, or where the thread is if there is none.
///
/// # Errors
/// If the namespace cannot be entered, or left again; and those of `work`.
pub fn within<T>(namespace: Option<&Path>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let Some(path) = namespace else { return work() };
    let own = opened(Path::new(OWN))?;
    enter(&opened(path)?)?;
    let done = work();
    enter(&own)?;
    done
}
