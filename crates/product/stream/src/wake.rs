//! Results of a working thread for a thread that waits in ppoll(2): a channel with a descriptor.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The giving end.
#[derive(Debug, Clone)]
pub struct Giver<T> {
    sender: Sender<T>,
    bell: Arc<OwnedFd>,
}

/// The taking end.
#[derive(Debug)]
pub struct Taker<T> {
    receiver: Receiver<T>,
    bell: Arc<OwnedFd>,
}

/// A channel whose taker can wait for it with other descriptors.
///
/// # Errors
/// If the system has no descriptor left.
pub fn waking<T>() -> io::Result<(Giver<T>, Taker<T>)> {
    let (sender, receiver) = channel();
    let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    Ok((Giver { sender, bell: Arc::clone(&bell) }, Taker { receiver, bell }))
}

impl<T> Giver<T> {
    /// Gives; false if nobody takes any more.
    pub fn give(&self, value: T) -> bool {
        let taken = self.sender.send(value).is_ok();
        // A full counter rings already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        taken
    }
}

impl<T> Taker<T> {
    /// The next one, if any.
    pub fn take(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Ends the ringing; to be called before taking, so that what comes later rings anew.
    pub fn hush(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
    }
}

impl<T> AsFd for Taker<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn rings(taker: &Taker<u8>) -> bool {
        let mut descriptors = [PollFd::new(taker, PollFlags::IN)];
        poll(&mut descriptors, Some(&Timespec::default())).expect("ppoll") == 1
    }

    #[test]
    fn what_is_given_rings_until_hushed() {
        let (giver, taker) = waking().expect("a descriptor");
        assert!(!rings(&taker));
        assert!(giver.give(7));
        assert!(rings(&taker));
        taker.hush();
        assert!(!rings(&taker));
        assert_eq!(taker.take(), Some(7));
        assert_eq!(taker.take(), None);
    }
}
