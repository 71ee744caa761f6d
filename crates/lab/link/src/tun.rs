//! TUN devices: whole IP packets to and from the kernel (Linux, Documentation/networking/tuntap).
//!
//! The device is there already, made persistent by whoever set up the namespace; it is only attached to.

use crate::namespace;
use crate::sys::{self, NAME_ROOM};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// The driver.
const DRIVER: &str = "/dev/net/tun";
/// Counters of the devices of the thread's namespace.
const COUNTERS: &str = "/proc/thread-self/net/dev";
/// Which of a device's counters is that of packets dropped on their way out: bytes, packets and errors stand
/// before it, behind the eight of the way in.
const DROPPED_OUT: usize = 8 + 3;

/// A device that this process is attached to.
#[derive(Debug)]
pub struct Tun {
    name: String,
    device: OwnedFd,
    counters: File,
}

impl Tun {
    /// Attaches to the device of this name, in the namespace of that path.
    ///
    /// # Errors
    /// If there is no such device, it is taken, or the user may not.
    pub fn attach(namespace: Option<&Path>, name: &str) -> io::Result<Self> {
        let refused = |error: io::Error| {
            let place =
                namespace.map_or_else(String::new, |path| format!(" in {}", path.display()));
            io::Error::new(error.kind(), format!("TUN device \"{name}\"{place}: {error}"))
        };
        namespace::within(namespace, || {
            let mut counters = File::open(COUNTERS)?;
            // TUNSETIFF would make a device of a name that is not there.
            counter(&mut counters, name)?;
            Ok(Self { name: name.to_owned(), device: device(name)?, counters })
        })
        .map_err(refused)
    }

    /// Takes a packet that the kernel sends; its length, or `None` if there is none.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.device, into) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands a packet to the kernel.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.device, packet)?;
        Ok(())
    }

    /// Packets that the kernel dropped in front of the device since it was made: its queue was full.
    ///
    /// # Errors
    /// If the counters cannot be read, or the device is not among them.
    pub fn dropped_by_kernel(&mut self) -> io::Result<u64> {
        counter(&mut self.counters, &self.name)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn device(name: &str) -> io::Result<OwnedFd> {
    let mut padded = [0; NAME_ROOM];
    // The last byte stays zero.
    match padded[..NAME_ROOM - 1].get_mut(..name.len()) {
        Some(place) if !name.is_empty() => place.copy_from_slice(name.as_bytes()),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    }
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = open(DRIVER, flags, Mode::empty())?;
    sys::attach_tun(&device, padded)?;
    Ok(device)
}

fn counter(counters: &mut File, name: &str) -> io::Result<u64> {
    let mut text = String::new();
    counters.rewind()?;
    counters.read_to_string(&mut text)?;
    dropped(&text, name).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "is not there"))
}

/// See proc_net(5): a line for each device, its name before a colon.
fn dropped(counters: &str, name: &str) -> Option<u64> {
    let mut lines = counters.lines().filter_map(|line| line.split_once(':'));
    let (_, values) = lines.find(|(device, _)| device.trim() == name)?;
    values.split_whitespace().nth(DROPPED_OUT)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_of_dropped_packets_is_found() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes packets ...\n\
                    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                  gw0:  21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        assert_eq!(dropped(text, "gw0"), Some(32));
        assert_eq!(dropped(text, "lo"), Some(12));
        assert_eq!(dropped(text, "gw"), None);
        assert_eq!(dropped("gw0: 1 2", "gw0"), None);
    }

    #[test]
    fn a_name_without_a_device_is_refused() {
        for name in ["", "a-name-of-sixteen", "no-such-device0"] {
            assert!(Tun::attach(None, name).is_err(), "{name}");
        }
    }
}
