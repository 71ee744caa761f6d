//! Who is let in: the token, the keys of devices, and codes for new devices, with the clock and the file that they need.

use crate::devices::{DeviceFile, DeviceId};
use crate::guard::WrongTokens;
use crate::pairing::{Attempt, Pairing};
use crate::secrets::Secrets;
use gameway_serving::Source;
use gameway_units::{Duration, Instant};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// How new devices are paired.
#[derive(Clone)]
pub struct PairingConfig {
    /// The file that keeps the devices.
    pub devices: PathBuf,
    /// Called with what whoever runs the host must hear.
    pub tell: Arc<dyn Fn(PairingNews) + Send + Sync>,
}

/// What whoever runs a host must hear of pairing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingNews {
    /// A new code, to be shown to who wants to pair a device.
    Code(String),
    /// A device was paired.
    Paired {
        /// What it is called.
        name: String,
        /// From where it came.
        from: IpAddr,
    },
    /// The list of devices could not be read or written: its devices are not let in, and streams that have begun go on.
    Failed(String),
}

/// Why a device is not paired.
pub(super) enum Refused {
    /// Too many wrong ones: not looked at.
    Later(Duration),
    /// This status and reason.
    Because(u16, String),
}

/// See the module's head.
pub(super) struct Access {
    began: tokio::time::Instant,
    wrong: Mutex<WrongTokens>,
    devices: Option<Devices>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Access(..)")
    }
}

struct Devices {
    file: DeviceFile,
    pairing: Mutex<Pairing>,
    tell: Arc<dyn Fn(PairingNews) + Send + Sync>,
}

impl Access {
    pub(super) fn new(pairing: Option<PairingConfig>) -> Self {
        let devices = pairing.map(|PairingConfig { devices, tell }| Devices {
            file: DeviceFile::new(devices),
            pairing: Mutex::new(Pairing::new(Secrets::from_system())),
            tell,
        });
        Self { began: tokio::time::Instant::now(), wrong: Mutex::default(), devices }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.began.elapsed().as_nanos() as i64)
    }

    /// How long this address must wait before it may show a token, a key or a code.
    pub(super) fn wait(&self, from: SocketAddr) -> Option<Duration> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.wait(Source::of(from.ip()), self.now())
    }

    pub(super) fn count_wrong(&self, from: SocketAddr) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.count(Source::of(from.ip()), self.now());
    }

    /// Whether a device has this key; `None` if the list of devices cannot be read.
    pub(super) fn knows(&self, key: &str) -> Option<bool> {
        let Some(devices) = &self.devices else { return Some(false) };
        let failed = |error: std::io::Error| (devices.tell)(PairingNews::Failed(error.to_string()));
        let list = devices.file.read().map_err(failed).ok()?;
        let place = list.find(key);
        // Who is known is let in where a full disk keeps no times, too.
        place.map(|place| devices.file.see(&list, place, since_1970()));
        Some(place.is_some())
    }

    /// Whether a device is still in the list.
    pub(super) fn has(&self, device: &DeviceId) -> bool {
        let list = self.devices.as_ref().map(|devices| devices.file.read());
        list.is_some_and(|list| list.is_ok_and(|list| list.ids().contains(device)))
    }

    /// What the file of the devices has, if devices are paired.
    pub(super) fn find(&self) -> Option<std::io::Result<Option<crate::devices::Devices>>> {
        self.devices.as_ref().map(|devices| devices.file.find())
    }

    pub(super) fn tell(&self, news: PairingNews) {
        self.devices.iter().for_each(|devices| (devices.tell)(news.clone()));
    }

    /// Shows a code, unless one that was shown is still good.
    pub(super) fn show_code(&self) {
        self.devices.iter().for_each(|devices| devices.show_code(self.now()));
    }

    /// A key for who typed the code; none for who typed nothing and wants to see one.
    pub(super) fn pair(
        &self,
        from: SocketAddr,
        user_agent: &str,
        typed: &[u8],
    ) -> Result<Option<String>, Refused> {
        let because = |status, reason: &str| Err(Refused::Because(status, reason.to_owned()));
        let Some(devices) = &self.devices else {
            return because(404, "this host pairs no devices: open the link that it gave");
        };
        let now = self.now();
        if typed.is_empty() {
            devices.show_code(now);
            return Ok(None);
        }
        if devices.file.read().map_err(|error| devices.failed(&error))?.are_full() {
            return because(
                409,
                "too many devices are paired: `gameway devices --revoke` one that is not used",
            );
        }
        let attempt = devices.with_pairing(|pairing| pairing.attempt(now, typed));
        match attempt {
            Attempt::Right => {
                let key = devices.take_in(user_agent, from);
                devices.show_code(now);
                return key.map(Some);
            }
            Attempt::Wait(wait) => return Err(Refused::Later(wait)),
            Attempt::Unreadable => return because(400, "the code has six digits"),
            Attempt::Wrong(_) | Attempt::NoneIsGood => self.count_wrong(from),
        }
        if let Attempt::Wrong(left) = attempt {
            let tries = if left == 1 { "one try is left" } else { "it may be a slip" };
            return because(403, &format!("this is not the code that the host shows; {tries}"));
        }
        devices.show_code(now);
        because(410, "that code is good no more; type the new one that the host shows now")
    }
}

impl Devices {
    fn with_pairing<T>(&self, act: impl FnOnce(&mut Pairing) -> T) -> T {
        act(&mut self.pairing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn show_code(&self, now: Instant) {
        if let Some(code) = self.with_pairing(|pairing| pairing.want(now)) {
            (self.tell)(PairingNews::Code(code));
        }
    }

    fn take_in(&self, user_agent: &str, from: SocketAddr) -> Result<String, Refused> {
        let key = self.with_pairing(Pairing::new_key);
        let add = |list: &mut crate::devices::Devices| list.add(user_agent, &key, since_1970());
        let name = self.file.change(add).map_err(|error| self.failed(&error))?;
        (self.tell)(PairingNews::Paired { name, from: from.ip().to_canonical() });
        Ok(key)
    }

    fn failed(&self, error: &std::io::Error) -> Refused {
        (self.tell)(PairingNews::Failed(error.to_string()));
        Refused::Because(500, "the host cannot use its list of devices; it says why".to_owned())
    }
}

/// The time of the calendar, for people and for servers elsewhere: nothing is decided by it here.
#[expect(clippy::disallowed_methods, reason = "the driver of signalling says when a device came")]
pub(super) fn since_1970() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
