//! Connections that carry media ([`crate::links`]), told from those of signalling.

use super::Shared;
use crate::ice::stun::{Class, Message};
use crate::links::TcpConnection;
use std::io;
use std::net::SocketAddr;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The most of the first byte: the first frame has less than 1 KiB.
const FRAME: u8 = 3;

/// Whether a connection that begins with this byte is to carry media.
pub(super) fn begins_with(first: u8) -> bool {
    first <= FRAME
}

/// Hands a connection whose first frame is a check to the media loop; any other is closed.
pub(super) async fn take(
    shared: &Shared,
    from: SocketAddr,
    mut stream: TcpStream,
) -> io::Result<()> {
    let length = stream.read_u16().await?;
    let mut first = vec![0; usize::from(length)];
    stream.read_exact(&mut first).await?;
    if Message::parse(&first).is_none_or(|message| message.class != Class::Request) {
        return Ok(());
    }
    let canonical = |at: SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
    let (from, at) = (canonical(from), canonical(stream.local_addr()?));
    let connection = TcpConnection { stream: stream.into_std()?, from, at, first };
    // One too many is closed.
    if shared.connections.try_send(connection).is_ok()
        && let Some(wake) = &shared.wake
    {
        wake();
    }
    Ok(())
}
