//! Signalling of a host: its certificate, how it pairs devices, and what it says of that.

use crate::host::servers;
use crate::wake::WakeSender;
use crate::{HostConfig, StreamError};
use gameway_webrtc::ServerIdentity;
use gameway_webrtc::devices::DeviceFile;
use gameway_webrtc::http::{PairingConfig, PairingNews, SignalingConfig, SignalingServer};
use std::sync::Arc;

/// Listens; `bell` rings when a request waits.
///
/// # Errors
/// If the address is taken, or a file that it needs cannot be read.
pub fn start_signaling(
    config: &HostConfig,
    bell: WakeSender<()>,
) -> Result<SignalingServer, StreamError> {
    let ring = move || {
        bell.send(());
    };
    SignalingServer::start(SignalingConfig {
        listen: config.listen.0,
        token: config.token.clone(),
        names: config.names.clone(),
        pairing: pairing(config)?,
        certificate: certificate(config)?,
        lab: config.lab.clone(),
        servers: servers::for_browsers(config)?,
        wake: Some(Arc::new(ring)),
    })
    .map_err(|error| not_there("listen", config.listen, &error))
}

/// Nobody can listen there.
pub fn not_there(
    field: &'static str,
    listen: impl std::fmt::Display,
    error: &std::io::Error,
) -> StreamError {
    let why = format!(
        "{listen} cannot be listened at: {error}; give an address of this machine, or another port"
    );
    StreamError::Config { field, why }
}

fn certificate(config: &HostConfig) -> Result<Option<ServerIdentity>, StreamError> {
    let (Some(chain), Some(key)) = (&config.certificate, &config.certificate_key) else {
        return Ok(None);
    };
    let why = |error: std::io::Error| StreamError::Config {
        field: "certificate",
        why: error.to_string(),
    };
    ServerIdentity::read(chain, key).map(Some).map_err(why)
}

/// What signalling needs to pair devices, if devices are paired.
///
/// # Errors
/// If the list of devices cannot be read.
fn pairing(config: &HostConfig) -> Result<Option<PairingConfig>, StreamError> {
    let Some(devices) = config.devices.clone() else { return Ok(None) };
    DeviceFile::new(devices.clone())
        .read()
        .map_err(|error| StreamError::Host(error.to_string()))?;
    Ok(Some(PairingConfig { devices, tell: Arc::new(tell) }))
}

#[expect(clippy::print_stderr, reason = "a driver's notes go to its standard error")]
fn tell(news: PairingNews) {
    eprintln!("{}", told(&news));
}

fn told(news: &PairingNews) -> String {
    match news {
        PairingNews::Code(code) => {
            let (first, second) = code.split_at(code.len() / 2);
            format!("code for a new device: {first} {second} (good once, for two minutes)")
        }
        PairingNews::Paired { name, from } => format!(
            "note: a device was paired: {name}, from {from}; `gameway devices` lists and revokes"
        ),
        PairingNews::Failed(why) => {
            format!(
                "note: devices are not let in: {why}; streams that have begun go on; mend that file, or move it away, which \
                 ends all devices' streams, and pair anew"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_told_in_two_halves() {
        let told = told(&PairingNews::Code("012345".to_owned()));
        assert_eq!(told, "code for a new device: 012 345 (good once, for two minutes)");
    }

    #[test]
    fn a_host_whose_list_cannot_be_read_does_not_start() {
        let config = |devices| HostConfig { devices, ..HostConfig::default() };
        assert!(pairing(&config(None)).expect("no pairing").is_none());
        // A folder is no file.
        let error = pairing(&config(Some(std::env::temp_dir()))).map(|_| ()).expect_err("no list");
        let error = error.to_string();
        assert!(error.starts_with("the list of devices \"/"), "{error}");
    }
}
