//! Competing QUIC: a sans-IO download over QUIC, with the congestion controls of `gameway-tcp`.
//!
//! A [`Receiver`] connects and downloads one stream; a [`Sender`] serves it. Neither owns a clock or a socket, and
//! nothing is encrypted: a datagram says what it carries and how large it is. After every event (a datagram, a
//! deadline, a stop) the driver takes datagrams out with `poll_transmit` until it returns `None`, then asks
//! `next_deadline`. `on_deadline` is harmless when nothing is due.
//!
//! What QUIC does otherwise than TCP: a packet number is used once, so that each ACK gives an RTT and a
//! retransmission is told from what it repeats; an ACK has all ranges and how long it was delayed; a packet is lost
//! three numbers or 9/8 RTTs behind one that arrived; a probe time-out repairs the tail and reduces nothing; a window
//! falls at once, without proportional rate reduction.
//!
//! | Deviation | Why |
//! |---|---|
//! | the handshake takes a round trip with one datagram of 1200 B each way, and a request; its packets have no numbers and no ACKs: each end repeats its own by its probe time-out | a certificate is a few datagrams more, once |
//! | no flow control, but the sender's bound of 32 MiB in flight | windows of a download are made so large that they do not bind |
//! | one stream, one frame in a packet | what is lost is sent again as it was, and fits |
//! | an ACK of the client's ACKs has no size | the few bytes go once in several packets |
//! | no key updates, no migration, no path MTU discovery | nothing of them is seen from outside; the size of datagrams is given |
//!
//! # Examples
//! One megabyte over a link with 10 ms each way:
//! ```
//! use gameway_quic::{Receiver, ReceiverConfig, Sender, SenderConfig};
//! use gameway_tcp::Cubic;
//! use gameway_units::{Bytes, Duration, Instant};
//! use std::collections::VecDeque;
//!
//! let config = SenderConfig { bytes: Some(Bytes::new(1_000_000)), ..SenderConfig::default() };
//! let mut now = Instant::ZERO;
//! let mut sender = Sender::new(config, Box::new(Cubic::new(config.max_datagram_size)));
//! let mut receiver = Receiver::new(ReceiverConfig::default());
//! let (mut down, mut up) = (VecDeque::new(), VecDeque::new());
//! while !sender.is_finished() {
//!     while let Some(datagram) = sender.poll_transmit(now) {
//!         down.push_back((now + Duration::from_millis(10), datagram));
//!     }
//!     while let Some(datagram) = receiver.poll_transmit(now) {
//!         up.push_back((now + Duration::from_millis(10), datagram));
//!     }
//!     let arrivals = [down.front().map(|a| a.0), up.front().map(|a| a.0)];
//!     let deadlines = [sender.next_deadline(), receiver.next_deadline()];
//!     now = arrivals.into_iter().chain(deadlines).flatten().min().expect("something is due");
//!     if down.front().is_some_and(|arrival| arrival.0 <= now) {
//!         receiver.on_datagram(now, &down.pop_front().expect("it is there").1);
//!     } else if up.front().is_some_and(|arrival| arrival.0 <= now) {
//!         sender.on_datagram(now, &up.pop_front().expect("it is there").1);
//!     }
//!     sender.on_deadline(now);
//!     receiver.on_deadline(now);
//! }
//! assert_eq!(receiver.received(), Bytes::new(1_000_000));
//! assert_eq!(sender.stats().lost_packets, 0);
//! ```

mod ack;
mod datagram;
mod persistent;
mod receiver;
mod rtt;
mod sender;
mod sent;

pub use ack::{AckFrame, AckPolicy, EcnCounts};
pub use datagram::{
    ClientContent, ClientDatagram, MAX_DATAGRAM_SIZE, MIN_DATAGRAM_SIZE, ServerContent,
    ServerDatagram, StreamFrame,
};
pub use receiver::{Receiver, ReceiverConfig};
pub use sender::{Sender, SenderConfig, SenderStats};
