//! What both ends ask of s2n-quic alike.

use crate::config::Transport;
use crate::{DownloadConfig, DownloadError};
use gameway_units::Duration;
use s2n_quic::provider::io::tokio::{Builder, Provider};
use s2n_quic::provider::limits::Limits;
use std::net::{IpAddr, SocketAddr};
use std::time;

/// Headers of IPv4 and UDP.
const IP_UDP_BYTES: u16 = 28;
/// The most that s2n-quic takes; it gives credit anew as data is read.
const FLOW_CONTROL_WINDOW: u64 = u32::MAX as u64;
const SEND_BUFFER: u32 = 32 << 20;
const ACK_RANGES: u8 = 64;
/// Of the sockets; the kernel gives what it allows.
const SOCKET_BUFFER: usize = 4 << 20;
/// From the end of the run on nothing is waited for.
const LONGER_THAN_RUN: Duration = Duration::from_secs(60);

/// The socket of an end, and the size of its packets.
pub fn io(transport: &Transport, address: IpAddr, port: u16) -> Result<Provider, DownloadError> {
    let mtu = transport.datagram_size + IP_UDP_BYTES;
    Ok(Builder::default()
        .with_receive_address(SocketAddr::new(address, port))?
        .with_recv_buffer_size(SOCKET_BUFFER)?
        .with_send_buffer_size(SOCKET_BUFFER)?
        .with_max_mtu(mtu)?
        .with_initial_mtu(mtu)?
        .with_base_mtu(mtu)?
        .build()?)
}

/// What an end allows the other, and how it acknowledges.
pub fn limits(config: &DownloadConfig, transport: &Transport) -> Result<Limits, DownloadError> {
    let patience = std_duration(config.duration + LONGER_THAN_RUN);
    Limits::new()
        .with_data_window(FLOW_CONTROL_WINDOW)
        .and_then(|limits| limits.with_bidirectional_local_data_window(FLOW_CONTROL_WINDOW))
        .and_then(|limits| limits.with_bidirectional_remote_data_window(FLOW_CONTROL_WINDOW))
        .and_then(|limits| limits.with_max_send_buffer_size(SEND_BUFFER))
        .and_then(|limits| limits.with_max_ack_delay(std_duration(transport.max_ack_delay)))
        .and_then(|limits| limits.with_max_ack_ranges(ACK_RANGES))
        .and_then(|limits| limits.with_max_handshake_duration(patience))
        .and_then(|limits| limits.with_max_idle_timeout(patience))
        .map_err(DownloadError::quic)
}

/// The same span as the standard library has it; none if it is negative.
pub fn std_duration(span: Duration) -> time::Duration {
    time::Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(0))
}
