//! Where a host keeps what it must know at its next start: `$XDG_STATE_HOME/gameway`, else `~/.local/state/gameway` (XDG Base
//! Directory Specification 0.8).

use std::path::PathBuf;

/// The file of the devices that a host lets in.
pub fn devices() -> Option<PathBuf> {
    Some(folder()?.join("devices.json"))
}

/// The file of this machine's own certificate, and its key.
pub fn certificate() -> Option<PathBuf> {
    Some(folder()?.join("certificate.pem"))
}

/// The file of the user's permission to capture a screen of Wayland.
pub fn screen_permission() -> Option<PathBuf> {
    Some(folder()?.join("screen.permission"))
}

/// The folder, if the environment says where.
fn folder() -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from);
    folder_of(named("XDG_STATE_HOME"), named("HOME"))
}

/// A path that is not absolute counts as none, by the same specification.
fn folder_of(state: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let state = state.filter(absolute);
    let base = state.or_else(|| Some(home.filter(absolute)?.join(".local/state")));
    Some(base?.join("gameway"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_where_the_environment_says() {
        let found = |state: Option<&str>, home: Option<&str>| {
            folder_of(state.map(PathBuf::from), home.map(PathBuf::from))
        };
        let path = |text| Some(PathBuf::from(text));
        assert_eq!(found(Some("/s"), Some("/h")), path("/s/gameway"));
        assert_eq!(found(None, Some("/h")), path("/h/.local/state/gameway"));
        assert_eq!(found(Some("s"), Some("/h")), path("/h/.local/state/gameway"));
        assert_eq!(found(Some(""), None), None);
        assert_eq!(found(None, Some("")), None);
    }
}
