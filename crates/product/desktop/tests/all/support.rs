//! What these tests share.

use gameway_desktop::DesktopError;
use gameway_runtime::clock::{Clock, sleep};
use gameway_units::Duration;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of a test's own, removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gameway-desktop-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The same by a way from where this program is.
    pub fn relative(&self) -> PathBuf {
        let here = std::env::current_dir().expect("a folder");
        let up = here.components().skip(1).map(|_| "..").collect::<PathBuf>();
        up.join(self.0.strip_prefix("/").expect("an absolute path"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that ends with its scene.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a program says until it ends, while something is done again and again. It goes by a file, which has room for all of it.
pub fn said(program: &mut Command, folder: &Path, mut meanwhile: impl FnMut()) -> Vec<u8> {
    let place = folder.join("said-by-a-program");
    let file = File::create(&place).expect("a file");
    let mut running = Running(program.stdout(file).spawn().expect("a program"));
    assert!(comes_true(|| {
        meanwhile();
        running.0.try_wait().expect("a program").is_some()
    }));
    fs::read(place).expect("what was said")
}

/// What was started; none, with a message, where its program is not installed.
pub fn installed<T>(started: Result<T, DesktopError>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(error @ DesktopError::NotInstalled { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Waits for something that other processes do.
pub fn comes_true(mut what: impl FnMut() -> bool) -> bool {
    let start = Clock::monotonic_ns();
    while !what() {
        if Clock::monotonic_ns() - start > 20_000_000_000 {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

/// The number of a process in a file, once it is written.
pub fn number_in(file: &Path) -> u32 {
    let mut number = None;
    let read = || {
        let text = fs::read_to_string(file).unwrap_or_default();
        number = text.ends_with('\n').then(|| text.trim().parse().expect("a number"));
        number.is_some()
    };
    assert!(comes_true(read), "{}", file.display());
    number.expect("it has come")
}

/// Whether a process runs; a zombie does not.
pub fn runs(number: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|fields| fields.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}
