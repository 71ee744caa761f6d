//! One gateway for an interface: two would lower each other's windows, and one that ends would take the other's limits for its own.
//!
//! Who has an interface listens at a name in the abstract namespace of Unix sockets, which the kernel keeps for each network
//! namespace apart and frees with the process, however that ends (unix(7)). The name has the interface's number, which stays when
//! the interface is renamed.

use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// An interface is this process's until it is dropped.
#[derive(Debug)]
pub struct Claim {
    _listener: UnixListener,
}

/// Why an interface cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// Another gateway has it.
    #[error("a gateway is at {interface} already{}; end it with `gameway-gateway down`", process.map_or_else(String::new, |one| format!(" (process {one})")))]
    Taken {
        /// The interface.
        interface: String,
        /// Who has it, if the kernel says so.
        process: Option<i32>,
    },
    /// The kernel gives no socket.
    #[error("{interface} cannot be claimed: {why}")]
    Refused {
        /// The interface.
        interface: String,
        /// What the kernel said.
        why: io::Error,
    },
}

impl Claim {
    /// Takes an interface; `None` if there is none of this name.
    ///
    /// # Errors
    /// If another process has it.
    pub fn of(interface: &str) -> Result<Option<Self>, ClaimError> {
        let refused = |why: io::Error| ClaimError::Refused { interface: interface.to_owned(), why };
        let any = socket(AddressFamily::UNIX, SocketType::DGRAM, None);
        let any = any.map_err(|error| refused(error.into()))?;
        let Ok(index) = netdevice::name_to_index(&any, interface) else { return Ok(None) };
        let address = address(&index.to_string()).map_err(refused)?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Some(Self { _listener: listener })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let process = UnixStream::connect_addr(&address).ok().and_then(|stream| {
                    Some(socket_peercred(&stream).ok()?.pid.as_raw_nonzero().get())
                });
                Err(ClaimError::Taken { interface: interface.to_owned(), process })
            }
            Err(error) => Err(refused(error)),
        }
    }

    /// Takes the queue at the interface of this number, which one process guards; `None` while another one has it.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn of_queue(index: u32) -> io::Result<Option<Self>> {
        match UnixListener::bind_addr(&address(&format!("{index}/queue"))?) {
            Ok(listener) => Ok(Some(Self { _listener: listener })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn address(what: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("gameway-gateway/{what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_had_once_and_its_process_is_named() {
        let first = Claim::of("lo").expect("nobody has it");
        let told = Claim::of("lo").map(|_| ()).expect_err("it is taken").to_string();
        let own = std::process::id();
        assert_eq!(
            told,
            format!(
                "a gateway is at lo already (process {own}); end it with `gameway-gateway down`"
            )
        );
        drop(first);
        assert!(Claim::of("lo").expect("it is free again").is_some());
        assert!(Claim::of("gwd-nowhere").expect("nobody has it").is_none());
    }
}
