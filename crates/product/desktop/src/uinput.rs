//! The way to devices of our own, and why there is none.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use thiserror::Error;

const UINPUT: &str = "/dev/uinput";

/// Why there are no devices, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{found}")]
pub struct NoDevices {
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub mend: &'static str,
}

impl NoDevices {
    pub(crate) fn of(error: &std::io::Error) -> Self {
        let (found, mend) = match error.kind() {
            ErrorKind::PermissionDenied => (
                format!("{UINPUT} is closed to this user"),
                "as root: echo 'KERNEL==\"uinput\", GROUP=\"input\", MODE=\"0660\"' > /etc/udev/rules.d/70-uinput.rules, \
                 udevadm control --reload, udevadm trigger /dev/uinput, usermod -aG input USER; then log in again",
            ),
            ErrorKind::NotFound => (
                format!("there is no {UINPUT}: the kernel has not loaded uinput"),
                "as root: modprobe uinput, and echo uinput > /etc/modules-load.d/uinput.conf; a kernel without the module has no devices",
            ),
            _ => {
                (format!("{UINPUT}: {error}"), "as root: modprobe uinput, and see what dmesg says")
            }
        };
        Self { found, mend }
    }
}

/// Whether devices can be made.
pub(crate) fn look() -> Result<(), NoDevices> {
    let opened = OpenOptions::new().read(true).write(true).open(UINPUT);
    opened.map(drop).map_err(|error| NoDevices::of(&error))
}
