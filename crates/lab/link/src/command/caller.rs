//! Who asked for what root does: by sudo, what a link writes is the caller's.

use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

const ROOT: u32 = 0;

/// Places in which files are made; what is made there is the caller's when this is dropped.
#[derive(Debug)]
pub struct Owner {
    /// User and group; `None` where root calls for itself, or another.
    caller: Option<(u32, u32)>,
    /// Of each place the topmost folder that was not there, or itself.
    places: Vec<PathBuf>,
}

impl Owner {
    /// That of what is made from now on.
    pub fn of(places: &[&Path]) -> Self {
        Self {
            caller: caller(),
            places: places.iter().map(|place| first_to_be_made(place)).collect(),
        }
    }
}

/// User and group of who called, by sudo.
fn caller() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let root = rustix::process::geteuid().is_root();
    let caller = number("SUDO_UID").zip(number("SUDO_GID"));
    caller.filter(|(user, _)| root && *user != ROOT)
}

/// Gives the caller what was made for use while the link runs.
pub fn give_now(place: &Path) {
    if let Some(caller) = caller() {
        give(place, caller);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(caller) = self.caller {
            self.places.iter().for_each(|place| give(place, caller));
        }
    }
}

fn first_to_be_made(place: &Path) -> PathBuf {
    let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let missing = place.ancestors().take_while(|above| !above.exists()).last();
    missing.unwrap_or(&place).to_owned()
}

/// Gives what is root's in a place, and the place. What cannot be given stays root's, and a link does not fail for it.
fn give(place: &Path, (user, group): (u32, u32)) {
    let Ok(found) = place.symlink_metadata() else { return };
    if found.uid() == ROOT {
        let _ = lchown(place, Some(user), Some(group));
    }
    if found.is_dir() {
        let inner = std::fs::read_dir(place).into_iter().flatten().flatten();
        inner.for_each(|one| give(&one.path(), (user, group)));
    }
}
