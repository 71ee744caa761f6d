//! Pings of the gateway's own: what packets wait in front of the home while no TCP connection tells.
//!
//! Source: RFC 792 and RFC 4443 (echo). A thread of its own sends a request each 100 ms and waits for replies, so that a reply is
//! timed when it comes and not when the ring is looked at next.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | from ping to ping | 100 ms | ours: a link that halves is seen in two; 84 B of IPv4 each are 7 kb/s |
//! | the same while they alone tell of what downloads ([`Pings::hurry`]) | 20 ms | the period of the gateway's law; 34 kb/s. A queue grows by several ms from one of 100 ms to the next, which the law takes for jitter |
//! | size | 56 B of data | that of the usual `ping` |

use crate::own_queue;
use gameway_runtime::clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

const SPACING_NS: i64 = 100_000_000;
const SHORT_SPACING_NS: i64 = 20_000_000;
const HEADER: usize = 8;
const SIZE: usize = HEADER + 56;
/// An IPv4 header with all options, and a request.
const MAX_REPLY: usize = 60 + SIZE;

/// Why there can be no pings.
#[derive(Debug, thiserror::Error)]
#[error("no socket for pings of {target} ({why}): {}", self.mend())]
pub struct PingError {
    target: IpAddr,
    why: Errno,
}

impl PingError {
    const fn mend(&self) -> &'static str {
        match self.why {
            Errno::NETUNREACH | Errno::HOSTUNREACH => {
                "there is no route to it; start the gateway when there is one, or leave shape.ping out"
            }
            _ => {
                "allow them with `sysctl -w net.ipv4.ping_group_range=\"0 2147483647\"`, give the program CAP_NET_RAW, or leave \
                 shape.ping out"
            }
        }
    }
}

/// A request has left, or its reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// When, by CLOCK_MONOTONIC.
    pub at_ns: i64,
    /// Whether it is the reply.
    pub is_reply: bool,
    /// What both have in common.
    pub number: u16,
}

/// See the module's head.
#[derive(Debug)]
pub struct Pings {
    target: IpAddr,
    told: Receiver<Ping>,
    stop: Arc<AtomicBool>,
    hurry: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pings {
    /// Pings of this address, from now on until it is dropped.
    ///
    /// # Errors
    /// There can be no socket for them.
    pub fn start(target: IpAddr) -> Result<Self, PingError> {
        let socket = Socket::open(target).map_err(|why| PingError { target, why })?;
        // They pass a queue of the gateway's own as a game's, and are not to tell of that. Who may not put a queue may not say so, and has none.
        _ = socket2::SockRef::from(&socket.socket).set_priority(own_queue::GAME);
        let (tell, told) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let hurry = Arc::new(AtomicBool::new(false));
        let (asked, hurries) = (Arc::clone(&stop), Arc::clone(&hurry));
        #[expect(clippy::disallowed_methods, reason = "a reply is timed when it comes")]
        let thread = std::thread::spawn(move || socket.run(&asked, &hurries, &tell));
        Ok(Self { target, told, stop, hurry, thread: Some(thread) })
    }

    /// Whom they go to.
    #[must_use]
    pub const fn target(&self) -> IpAddr {
        self.target
    }

    /// Whether they come more often from now on, 100 ms later at the latest.
    pub fn hurry(&self, hurry: bool) {
        self.hurry.store(hurry, Ordering::Relaxed);
    }

    /// The next that has not been told.
    pub fn next(&self) -> Option<Ping> {
        self.told.try_recv().ok()
    }
}

impl Drop for Pings {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// A socket that is connected to the target.
struct Socket {
    socket: OwnedFd,
    is_v6: bool,
    /// Of a raw socket, which sees the replies of others, too: what requests are told by. The kernel has its own of the other
    /// kind, and gives the replies to them alone.
    identifier: Option<u16>,
}

impl Socket {
    fn open(target: IpAddr) -> Result<Self, Errno> {
        let (family, protocol) = match target {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let of = |kind| net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol));
        let (socket, identifier) = match of(SocketType::DGRAM) {
            Ok(socket) => (socket, None),
            Err(_) => (of(SocketType::RAW)?, Some(std::process::id() as u16)),
        };
        net::connect(&socket, &SocketAddr::new(target, 0))?;
        Ok(Self { socket, is_v6: target.is_ipv6(), identifier })
    }

    fn run(&self, stop: &AtomicBool, hurry: &AtomicBool, tell: &Sender<Ping>) {
        let (mut number, mut next_ns) = (0_u16, Clock::monotonic_ns());
        while !stop.load(Ordering::Relaxed) {
            let now_ns = Clock::monotonic_ns();
            if now_ns >= next_ns {
                let hurries = hurry.load(Ordering::Relaxed);
                next_ns = now_ns + if hurries { SHORT_SPACING_NS } else { SPACING_NS };
                number = number.wrapping_add(1);
                // What cannot be sent has no reply: nobody tells.
                if net::send(&self.socket, &self.request(number), SendFlags::DONTWAIT).is_ok()
                    && tell.send(Ping { at_ns: now_ns, is_reply: false, number }).is_err()
                {
                    return;
                }
            }
            self.wait(next_ns - now_ns);
            let mut bytes = [0; MAX_REPLY];
            while let Ok((_, length)) = net::recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                let at_ns = Clock::monotonic_ns();
                if let Some(number) = self.reply(&bytes[..length.min(MAX_REPLY)])
                    && tell.send(Ping { at_ns, is_reply: true, number }).is_err()
                {
                    return;
                }
            }
        }
    }

    fn wait(&self, max_ns: i64) {
        let max = Timespec { tv_sec: 0, tv_nsec: max_ns.clamp(1, SPACING_NS) as _ };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        // Interrupted or not: the loop looks.
        _ = poll(&mut fds, Some(&max));
    }

    fn request(&self, number: u16) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[0] = if self.is_v6 { 128 } else { 8 };
        bytes[4..6].copy_from_slice(&self.identifier.unwrap_or_default().to_be_bytes());
        bytes[6..8].copy_from_slice(&number.to_be_bytes());
        // That of ICMPv6 is the kernel's business; so is that of a datagram socket, which overwrites this one.
        let sum = checksum(&bytes);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// The number of the reply to one of ours.
    fn reply(&self, bytes: &[u8]) -> Option<u16> {
        let is_raw = self.identifier.is_some();
        let header = match bytes.first() {
            Some(first) if is_raw && !self.is_v6 => usize::from(first & 0xf) * 4,
            _ => 0,
        };
        let message = bytes.get(header..header + HEADER)?;
        let kind = if self.is_v6 { 129 } else { 0 };
        let word = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        let is_ours = self.identifier.is_none_or(|identifier| word(4) == identifier);
        (message[0] == kind && is_ours).then(|| word(6))
    }
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|two| u32::from(two[0]) << 8 | u32::from(two.get(1).copied().unwrap_or_default()));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(target: &str, identifier: Option<u16>) -> Socket {
        let target: IpAddr = target.parse().expect("an address");
        Socket { identifier, ..Socket::open(target).expect("root may ping") }
    }

    #[test]
    fn a_request_has_the_checksum_of_rfc_1071() {
        // The example of its section 3.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        let request = socket("127.0.0.1", Some(7)).request(9);
        assert_eq!(checksum(&request), 0);
    }

    #[test]
    fn replies_to_others_and_what_is_cut_short_are_none() {
        let raw = socket("127.0.0.1", Some(7));
        let mut bytes = vec![0x45; 20];
        bytes.extend([0, 0, 0, 0, 0, 7, 0, 9]);
        assert_eq!(raw.reply(&bytes), Some(9));
        assert!((0..bytes.len()).all(|length| raw.reply(&bytes[..length]).is_none()));
        bytes[25] = 8;
        assert_eq!(raw.reply(&bytes), None);
        let datagram = socket("127.0.0.1", None);
        assert_eq!(datagram.reply(&[0, 0, 0, 0, 0, 1, 0, 9]), Some(9));
        assert_eq!(datagram.reply(&[8, 0, 0, 0, 0, 1, 0, 9]), None);
    }

    #[test]
    fn each_ping_of_this_machine_has_its_reply_behind_its_request() {
        let pings = Pings::start("127.0.0.1".parse().expect("an address")).expect("root may ping");
        let mut told = Vec::new();
        while told.len() < 6 {
            told.push(pings.told.recv().expect("the thread runs"));
        }
        for pair in told.chunks(2) {
            assert_eq!((pair[0].is_reply, pair[1].is_reply), (false, true), "{told:?}");
            assert_eq!(pair[0].number, pair[1].number, "{told:?}");
            assert!(pair[0].at_ns <= pair[1].at_ns, "{told:?}");
        }
        // The shortest of some: a busy machine makes any of them longer.
        let shortest = |count: usize| {
            let sent = std::iter::from_fn(|| pings.told.recv().ok()).filter(|one| !one.is_reply);
            let sent: Vec<i64> = sent.take(count).map(|one| one.at_ns).collect();
            sent.windows(2).map(|two| two[1] - two[0]).min().expect("two")
        };
        assert!(shortest(3) >= SPACING_NS);
        pings.hurry(true);
        let hurried = shortest(12);
        assert!((SHORT_SPACING_NS..SPACING_NS).contains(&hurried), "{hurried} ns");
    }
}
