//! Readers of what others say to the program, for the fuzz targets: no part of what the crate promises.

use crate::board::Board;
use crate::config::{GatewayConfig, StatusConfig};
use crate::own_queue::kernel::{counted, tins};
use crate::{control, leases, netlink, page};
use gameway_runtime::stop::Stop;
use gameway_serving::answers::Answer;
use hyper::Request;
use hyper::body::Incoming;
use std::net::IpAddr;

/// What the control socket answers to a line.
#[must_use]
pub fn control_line(line: &[u8]) -> String {
    control::answer(line, &Board::default(), &Stop::new())
}

/// Reads a configuration and all that is made of it; `Err` with what a person reads.
///
/// # Errors
///
/// It is none.
pub fn configuration(text: &str) -> Result<(), String> {
    let config = GatewayConfig::parse(text, None).map_err(|error| error.to_string())?;
    config.exceptions().map_err(|error| error.to_string())?;
    config.games_config().map_err(|error| error.to_string())?;
    Ok(())
}

/// Reads a datagram of the kernel as each kind of answer; how many were understood.
#[must_use]
pub fn netlink(datagram: &[u8]) -> usize {
    let messages = netlink::messages(datagram);
    let kinds = |message: &[u8]| {
        [
            netlink::interface(message).is_some(),
            netlink::address(message).is_some(),
            netlink::qdisc(message).is_some(),
            netlink::filter(message).is_some(),
            netlink::flow_table(message).is_some(),
            !netlink::active_features(message).is_empty(),
            netlink::station(message).is_some(),
            counted(message).is_some(),
            tins(message).is_some(),
        ]
    };
    messages.flat_map(|(_, message)| kinds(message)).filter(|is_read| *is_read).count()
}

/// Reads a line of a list of leases.
#[must_use]
pub fn lease(line: &str) -> Option<(IpAddr, String)> {
    leases::lease(line)
}

/// What the page answers to a request from this address, the second one of its connection, at a home whose interface is `lo`.
#[must_use]
pub fn page(from: IpAddr, request: &Request<Incoming>) -> Answer {
    page::Site::of_lo(StatusConfig::default()).answer(from, 1, request)
}
