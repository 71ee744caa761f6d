//! The clipboard of a Wayland desktop with programs that are not ours: sway, wl-copy and wl-paste.

use crate::support::{Folder, Running, comes_true, said};
use gameway_desktop::{Clipboard as _, DesktopError, WaylandClipboard};
use gameway_input::clipboard::{MAX_TEXT, Outcome};
use gameway_runtime::clock::{Clock, sleep, wait};
use gameway_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const TEXT: &str = "Grüße, žluťoučký кот 猫 🎮\nzwei\n";

/// A desktop without a monitor.
struct Scene {
    clipboard: WaylandClipboard,
    clock: Clock,
    socket: PathBuf,
    _sway: Running,
    folder: Folder,
}

impl Scene {
    fn new() -> Option<Self> {
        for name in ["sway", "wl-copy", "wl-paste"] {
            if Command::new(name).arg("--version").output().is_err() {
                eprintln!("skipped: {name} is not installed");
                return None;
            }
        }
        let folder = Folder::new();
        let settings = folder.path().join("settings");
        fs::write(&settings, "xwayland disable\noutput HEADLESS-1 mode 320x180@60Hz\n")
            .expect("a file");
        // As root sway does not start: it is another user to itself, and root to all others.
        let own = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "sway"];
        let words = &own[if getuid().is_root() { 0 } else { 4 }..];
        let said = File::create(folder.path().join("said")).expect("a file");
        let sway = Command::new(words[0])
            .args(&words[1..])
            .arg("-c")
            .arg(settings)
            .env("XDG_RUNTIME_DIR", folder.path())
            .env("WLR_BACKENDS", "headless")
            .env("WLR_LIBINPUT_NO_DEVICES", "1")
            .env("WLR_RENDERER", "pixman")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("DISPLAY")
            .stderr(said)
            .spawn();
        let sway = Running(sway.expect("sway"));
        let socket = folder.path().join("wayland-1");
        assert!(
            comes_true(|| socket.exists()),
            "{:?}",
            fs::read_to_string(folder.path().join("said"))
        );
        let clipboard = WaylandClipboard::connect(Some(&socket)).expect("a compositor");
        let clock = Clock::new(Clock::monotonic_ns());
        Some(Self { clipboard, clock, socket, _sway: sway, folder })
    }

    fn program(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(name);
        command
            .args(words)
            .env("WAYLAND_DISPLAY", &self.socket)
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// Another program copies this as a kind ("text", of which it makes all names of text), and is in the clipboard when this returns.
    fn copied(&self, kind: &str, bytes: &[u8]) -> Running {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{kind}/x-gameway-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let words = ["--foreground", "--type", &name];
        let mut child = self.program("wl-copy", &words).spawn().expect("wl-copy");
        child.stdin.take().expect("its input").write_all(bytes).expect("wl-copy");
        let owner = Running(child);
        assert!(comes_true(|| self.types().lines().any(|found| found == name)));
        owner
    }

    /// What another program finds that it could paste.
    fn types(&self) -> String {
        let found = self.program("wl-paste", &["--list-types"]).output().expect("wl-paste");
        String::from_utf8(found.stdout).expect("names")
    }

    /// What another program pastes; ours answers meanwhile.
    fn pasted(&mut self, words: &[&str]) -> Vec<u8> {
        said(&mut self.program("wl-paste", words), self.folder.path(), || {
            assert_eq!(self.clipboard.poll(self.clock.now()), Ok(None));
        })
    }

    /// What is read when it is asked for, by who looks when there is something to see.
    fn read(&mut self) -> Result<String, Outcome> {
        self.clipboard.ask(self.clock.now()).expect("a compositor");
        loop {
            let found = self.clipboard.poll(self.clock.now()).expect("a compositor");
            if let Some(found) = found {
                return found;
            }
            let due = self.clipboard.next_deadline().expect("somebody is waited for");
            self.wait(due.saturating_since(self.clock.now()));
        }
    }

    /// Until the clipboard has something to do; whether it has.
    fn wait(&self, max: Duration) -> bool {
        let descriptor = self.clipboard.descriptor();
        let mut all = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        wait(&mut all, max).expect("a descriptor");
        !all[0].revents().is_empty()
    }
}

/// As long as may be, of characters of three bytes, so that pieces end within one.
fn longest() -> String {
    "猫".repeat(MAX_TEXT / 3)
}

#[test]
fn a_text_that_is_given_is_pasted_by_other_programs_until_they_copy() {
    let Some(mut scene) = Scene::new() else { return };
    for text in [TEXT, "", &longest(), "the last one"] {
        scene.clipboard.give(text).expect("a compositor");
        // Which is ours to read, too.
        assert!(scene.read().as_deref() == Ok(text), "{} bytes", text.len());
        for kind in ["text/plain;charset=utf-8", "text/plain", "UTF8_STRING"] {
            let pasted = scene.pasted(&["--no-newline", "--type", kind]);
            assert!(pasted == text.as_bytes(), "{} bytes, {kind}", text.len());
        }
    }
    let _owner = scene.copied("text", b"another");
    assert_eq!(scene.read().as_deref(), Ok("another"));
    assert_eq!(scene.pasted(&["--no-newline"]), b"another");
    scene.clipboard.give("ours again").expect("a compositor");
    assert_eq!(scene.pasted(&["--no-newline"]), b"ours again");
}

#[test]
fn a_text_that_was_copied_is_read_when_it_is_asked_for() {
    let Some(mut scene) = Scene::new() else { return };
    assert_eq!(scene.read(), Err(Outcome::Nothing));
    for text in [TEXT, "", &longest()] {
        let _owner = scene.copied("text", text.as_bytes());
        assert!(scene.read().as_deref() == Ok(text), "{} bytes", text.len());
    }
    // Its program has gone, and the clipboard with it.
    assert!(comes_true(|| scene.read() == Err(Outcome::Nothing)));
}

#[test]
fn what_was_copied_before_anybody_came_is_there() {
    let Some(mut scene) = Scene::new() else { return };
    let _owner = scene.copied("text", b"copied before");
    for _ in 0..10 {
        scene.clipboard = WaylandClipboard::connect(Some(&scene.socket)).expect("a compositor");
        assert_eq!(scene.read().as_deref(), Ok("copied before"));
    }
}

#[test]
fn what_is_no_text_or_too_long_is_refused() {
    let Some(mut scene) = Scene::new() else { return };
    for (kind, bytes, outcome) in [
        ("text", vec![b'a'; MAX_TEXT + 1], Outcome::TooLong),
        ("text", vec![b'a'; 4 * MAX_TEXT], Outcome::TooLong),
        ("text", vec![0xc3, 0x28, 0xff], Outcome::NoText),
        ("image", b"a picture".to_vec(), Outcome::Nothing),
    ] {
        let _owner = scene.copied(kind, &bytes);
        assert_eq!(scene.read(), Err(outcome), "{kind}, {} bytes", bytes.len());
        assert_eq!(scene.clipboard.next_deadline(), None);
    }
    // Who has it now is read as ever.
    let _owner = scene.copied("text", b"short");
    assert_eq!(scene.read().as_deref(), Ok("short"));
}

#[test]
fn what_is_marked_with_the_mouse_is_not_the_clipboard() {
    let Some(mut scene) = Scene::new() else { return };
    let _owner = scene.copied("text", b"copied");
    let words = ["--foreground", "--primary", "--type", "text/plain", "marked"];
    let _marked = Running(scene.program("wl-copy", &words).spawn().expect("wl-copy"));
    let words = ["--primary", "--no-newline"];
    assert!(comes_true(|| scene.pasted(&words) == b"marked"));
    assert_eq!(scene.read().as_deref(), Ok("copied"));
}

/// A program that owns the clipboard and says nothing, as it has stopped.
#[test]
fn a_program_that_does_not_answer_is_not_waited_for() {
    let Some(mut scene) = Scene::new() else { return };
    let owner = scene.copied("text", b"nobody gets this");
    kill_process(Pid::from_child(&owner.0), Signal::STOP).expect("it runs");
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    scene.clipboard.ask(at(0)).expect("a compositor");
    for _ in 0..20 {
        assert_eq!(scene.clipboard.poll(at(0)), Ok(None));
        sleep(Duration::from_millis(5));
    }
    assert_eq!(scene.clipboard.poll(at(1_999)), Ok(None));
    assert_eq!(scene.clipboard.next_deadline(), Some(at(2_000)));
    assert_eq!(scene.clipboard.poll(at(2_000)), Ok(Some(Err(Outcome::NoAnswer))));
    let after = (scene.clipboard.poll(at(9_000)), scene.clipboard.next_deadline());
    assert_eq!(after, (Ok(None), None));
    // It answers at last, and is heard no more.
    kill_process(Pid::from_child(&owner.0), Signal::CONT).expect("it runs");
    while scene.wait(Duration::from_millis(200)) {
        assert_eq!(scene.clipboard.poll(at(9_000)), Ok(None));
    }
    assert_eq!(scene.read().as_deref(), Ok("nobody gets this"));
}

#[test]
fn who_pastes_and_takes_nothing_is_given_up_and_others_are_not() {
    let Some(mut scene) = Scene::new() else { return };
    let text = longest();
    scene.clipboard.give(&text).expect("a compositor");
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    // Nobody reads what it says, so that it takes no more than two pipes have room for.
    let started = scene.program("wl-paste", &["--no-newline"]).spawn();
    let mut slow = Running(started.expect("wl-paste"));
    assert!(comes_true(|| {
        assert_eq!(scene.clipboard.poll(at(0)), Ok(None));
        scene.clipboard.next_deadline() == Some(at(5_000))
    }));
    while scene.wait(Duration::from_millis(200)) {
        assert_eq!(scene.clipboard.poll(at(0)), Ok(None));
    }
    scene.clock = Clock::new(Clock::monotonic_ns());
    assert!(scene.pasted(&["--no-newline"]) == text.as_bytes());
    assert_eq!(scene.clipboard.poll(at(4_999)), Ok(None));
    assert_eq!(scene.clipboard.next_deadline(), Some(at(5_000)));
    assert_eq!(scene.clipboard.poll(at(5_000)), Ok(None));
    assert_eq!(scene.clipboard.next_deadline(), None);
    let mut taken = Vec::new();
    slow.0.stdout.take().expect("its output").read_to_end(&mut taken).expect("an end");
    assert!(taken.len() < text.len() && text.as_bytes().starts_with(&taken), "{}", taken.len());
}

#[test]
fn as_many_as_may_take_at_a_time_do_and_the_next_gets_nothing() {
    let Some(mut scene) = Scene::new() else { return };
    // The end of the first one is heard of when there is another.
    scene.clipboard.give("the one before").expect("a compositor");
    scene.clipboard.give(&longest()).expect("a compositor");
    let slow = |_| Running(scene.program("wl-paste", &["--no-newline"]).spawn().expect("wl-paste"));
    let mut all: Vec<Running> = (0..9).map(slow).collect();
    let mut left = || {
        let runs = |one: &mut Running| one.0.try_wait().expect("wl-paste").is_none();
        all.iter_mut().filter_map(|one| runs(one).then_some(())).count()
    };
    assert!(comes_true(|| {
        assert_eq!(scene.clipboard.poll(Instant::ZERO), Ok(None));
        left() < 9
    }));
    while scene.wait(Duration::from_millis(300)) {
        assert_eq!(scene.clipboard.poll(Instant::ZERO), Ok(None));
    }
    assert_eq!(left(), 8);
    // What is ours needs no program to give it.
    assert!(scene.read() == Ok(longest()));
}

#[test]
fn who_does_nothing_is_not_woken() {
    let Some(mut scene) = Scene::new() else { return };
    scene.clipboard.give(&longest()).expect("a compositor");
    assert!(!scene.pasted(&["--no-newline"]).is_empty());
    let _owner = scene.copied("text", longest().as_bytes());
    assert!(scene.read().is_ok());
    assert!(!scene.wait(Duration::from_millis(300)), "all was looked at");
    assert_eq!(scene.clipboard.next_deadline(), None);
}

#[test]
fn a_compositor_that_goes_takes_its_clipboard_with_it() {
    let Some(mut scene) = Scene::new() else { return };
    kill_process(Pid::from_child(&scene._sway.0), Signal::KILL).expect("it runs");
    assert!(scene.wait(Duration::from_secs(5)));
    assert!(comes_true(|| scene.clipboard.poll(Instant::ZERO).is_err()));
    let told = scene.clipboard.poll(Instant::ZERO).expect_err("it is gone").to_string();
    assert!(told.starts_with("the desktop's clipboard: no connection any more"), "{told}");
}

#[test]
fn who_has_no_compositor_or_one_that_says_nothing_is_told() {
    let folder = Folder::new();
    let socket = folder.path().join("wayland-1");
    let told =
        |found: Result<WaylandClipboard, DesktopError>| found.expect_err("nobody").to_string();
    let nobody = told(WaylandClipboard::connect(Some(&socket)));
    assert!(nobody.contains("set WAYLAND_DISPLAY"), "{nobody}");
    // It takes who comes, and no more.
    let _listening = UnixListener::bind(&socket).expect("a socket");
    let start = Clock::monotonic_ns();
    let silent = told(WaylandClipboard::connect(Some(&socket)));
    assert!(silent.contains("does not answer"), "{silent}");
    assert!((2_000_000_000..4_000_000_000).contains(&(Clock::monotonic_ns() - start)));
}
