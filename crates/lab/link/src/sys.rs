//! The system call that no safe wrapper offers.
#![allow(
    unsafe_code,
    reason = "a system call without a safe wrapper; the block says why it is sound"
)]

use rustix::fd::AsFd;
use rustix::ioctl::{Opcode, Setter, ioctl};
use std::io;

/// Room for a device's name, with the zero at its end (`IFNAMSIZ`).
pub const NAME_ROOM: usize = libc::IFNAMSIZ;

/// The part of Linux's `struct ifreq` that `TUNSETIFF` reads, padded to the size of the whole.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_ROOM],
    flags: i16,
    rest: [u8; 22],
}

/// `TUNSETIFF`: makes this descriptor of `/dev/net/tun` the device of that name, for whole IP packets.
pub fn attach_tun(descriptor: impl AsFd, name: [u8; NAME_ROOM]) -> io::Result<()> {
    const CODE: Opcode = libc::TUNSETIFF as Opcode;
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    let request = InterfaceRequest { name, flags, rest: [0; 22] };
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` (40 bytes on 64-bit Linux, of which this is the
    // layout: a name of 16 bytes, then a union that begins with 16 bits of flags); `Setter` hands the kernel a
    // pointer to a live, properly aligned value of that size for the time of the call, and keeps nothing.
    unsafe { ioctl(descriptor, Setter::<CODE, InterfaceRequest>::new(request)) }?;
    Ok(())
}
