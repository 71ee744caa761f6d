//! Results of a working thread for a thread that waits in ppoll(2): a channel with a descriptor.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The sending end.
#[derive(Debug, Clone)]
pub struct WakeSender<T> {
    sender: Sender<T>,
    bell: Arc<OwnedFd>,
}

/// The receiving end.
#[derive(Debug)]
pub struct WakeReceiver<T> {
    receiver: Receiver<T>,
    bell: Arc<OwnedFd>,
}

/// A channel whose receiver can wait for it with other descriptors.
///
/// # Errors
/// If the system has no descriptor left.
pub fn waking<T>() -> io::Result<(WakeSender<T>, WakeReceiver<T>)> {
    let (sender, receiver) = channel();
    let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    Ok((WakeSender { sender, bell: Arc::clone(&bell) }, WakeReceiver { receiver, bell }))
}

impl<T> WakeSender<T> {
    /// Sends; false if nobody receives any more.
    pub fn send(&self, value: T) -> bool {
        let taken = self.sender.send(value).is_ok();
        // A full counter rings already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        taken
    }
}

impl<T> WakeReceiver<T> {
    /// The next one, if any.
    pub fn take(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Ends the ringing; to be called before taking, so that what comes later rings anew.
    pub fn hush(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
    }
}

impl<T> AsFd for WakeReceiver<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn rings(receiver: &WakeReceiver<u8>) -> bool {
        let mut descriptors = [PollFd::new(receiver, PollFlags::IN)];
        poll(&mut descriptors, Some(&Timespec::default())).expect("ppoll") == 1
    }

    #[test]
    fn what_is_sent_rings_until_hushed() {
        let (sender, receiver) = waking().expect("a descriptor");
        assert!(!rings(&receiver));
        assert!(sender.send(7));
        assert!(rings(&receiver));
        receiver.hush();
        assert!(!rings(&receiver));
        assert_eq!(receiver.take(), Some(7));
        assert_eq!(receiver.take(), None);
    }
}
