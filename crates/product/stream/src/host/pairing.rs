//! How a host pairs devices, and what it says of that.

use crate::{HostConfig, StreamError};
use gameway_webrtc::devices::DeviceFile;
use gameway_webrtc::http::{PairingConfig, PairingNews};
use std::sync::Arc;

/// What signalling needs for it, if devices are paired.
///
/// # Errors
/// If the list of devices cannot be read.
pub fn pairing(config: &HostConfig) -> Result<Option<PairingConfig>, StreamError> {
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
                "note: devices are not let in: {why}; mend that file, or move it away and pair anew"
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
