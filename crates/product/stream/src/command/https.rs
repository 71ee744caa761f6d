//! Whether a host speaks HTTPS, and with which certificate.
//!
//! Browsers give game controllers and locks of keyboard and pointer to secure pages alone. A page of this machine's own counts
//! as secure without (W3C Secure Contexts section 3.1), so only a host that others reach has a certificate.

use super::{Refusal, place, placed, state};
use crate::HostConfig;
use clap::{Arg, ArgAction, ArgMatches, Command};
use gameway_webrtc::{Fingerprint, ServerIdentity};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;

const CERTIFICATE: &str = "certificate";
const KEY: &str = "certificate-key";

/// The command with the options of this.
pub fn with(command: Command) -> Command {
    let yes = "HTTPS, by a certificate of this machine's own that is made once [default: unless --listen is loopback]";
    let chain = "A real certificate for HTTPS, with those of its authorities behind it (PEM)";
    let switch = |name| Arg::new(name).long(name).action(ArgAction::SetTrue);
    command
        .arg(switch("https").help(yes).overrides_with("no-https"))
        .arg(
            switch("no-https")
                .help("Plain HTTP")
                .overrides_with("https")
                .conflicts_with(CERTIFICATE),
        )
        .arg(place(CERTIFICATE, CERTIFICATE, "FILE", chain).requires(KEY))
        .arg(
            place(KEY, KEY, "FILE", "The private key of that certificate (PEM)")
                .requires(CERTIFICATE),
        )
}

/// What a link says of HTTPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Https {
    /// Plain HTTP.
    No,
    /// By a certificate that others vouch for.
    Vouched,
    /// By the machine's own, which has this fingerprint.
    Own(Fingerprint),
}

/// Sets the host's certificate, as the options say.
pub fn set(matches: &ArgMatches, config: &mut HostConfig) -> Result<Https, Refusal> {
    if let (Some(chain), Some(key)) = (placed(matches, CERTIFICATE), placed(matches, KEY)) {
        let refused = |error: std::io::Error| Refusal::new(format!("--{CERTIFICATE}: {error}"));
        ServerIdentity::read(chain, key).map_err(refused)?;
        give(config, chain, key);
        return Ok(Https::Vouched);
    }
    let loopback = config.listen.0.ip().is_loopback();
    if matches.get_flag("no-https") || (loopback && !matches.get_flag("https")) {
        return Ok(Https::No);
    }
    let nowhere = "--https: neither XDG_STATE_HOME nor HOME says where to keep a certificate; set one, or give --no-https";
    let file = state::certificate().ok_or_else(|| Refusal::new(nowhere))?;
    let refused = |error: std::io::Error| {
        Refusal::new(format!(
            "--https: the certificate {error}; move that file away, or give --no-https"
        ))
    };
    let own = ServerIdentity::own(&file, &own_names(&config.names, &config.addresses))
        .map_err(refused)?;
    give(config, &file, &file);
    Ok(Https::Own(own.fingerprint()))
}

/// What the machine's own certificate is for: these names, all of the machine's addresses, wherever this start listens, for the
/// certificate is for the next starts, too; and those at which something in front of it hands on.
pub fn own_names(names: &[String], elsewhere: &[IpAddr]) -> Vec<String> {
    let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    let addresses = crate::host::addresses(everywhere).into_iter().map(|at| at.ip().to_string());
    let local = std::iter::once("localhost".to_owned());
    let elsewhere = elsewhere.iter().map(ToString::to_string);
    local.chain(names.iter().cloned()).chain(addresses).chain(elsewhere).collect()
}

fn give(config: &mut HostConfig, chain: &Path, key: &Path) {
    config.certificate = Some(chain.to_owned());
    config.certificate_key = Some(key.to_owned());
}
