//! What wakes a thread that waits for descriptors.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

/// A counter of the kernel that a thread can wait for, beside descriptors: readable while it has rung.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// One that is still.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Who hears it has ended where this fails.
    pub fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// It was heard.
    pub fn still(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
