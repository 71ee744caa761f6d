//! A host and its port as they stand together in headers, links and options (RFC 3986 section 3.2.2: brackets around an address of IPv6).

/// What stands for the host, without brackets, and the port: the `usual` one where none is said. Nothing if a bracket is left open
/// or the port cannot be one.
#[must_use]
pub fn split(text: &str, usual: u16) -> Option<(&str, u16)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None => usual,
    };
    Some((host, port))
}
