//! A sound server of its own. What it plays is captured in the tests of `gameway-codec`.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::SoundServer;
use std::process::Command;

fn pactl(server: &str, words: &[&str]) -> Option<String> {
    let done = Command::new("pactl").env("PULSE_SERVER", server).args(words).output().ok()?;
    done.status.success().then(|| String::from_utf8(done.stdout).expect("text"))
}

#[test]
fn a_sound_server_has_a_device_to_capture_and_ends() {
    let folder = Folder::new();
    let Some(server) = installed(SoundServer::start(&folder.relative())) else { return };
    assert!(server.runs() && server.server().starts_with("unix:/"));
    let name = server.server().to_owned();
    let sources = pactl(&name, &["list", "short", "sources"]).expect("pactl");
    assert!(
        sources.contains("gameway.monitor") && sources.contains("s16le 2ch 48000Hz"),
        "{sources}"
    );
    let information = pactl(&name, &["info"]).expect("pactl");
    assert!(information.contains("Default Sink: gameway"), "{information}");
    // A program that plays can neither end it nor bring code into it.
    assert_eq!(pactl(&name, &["exit"]), None);
    assert_eq!(pactl(&name, &["load-module", "module-null-sink"]), None);
    assert!(server.runs());
    drop(server);
    assert!(comes_true(|| pactl(&name, &["info"]).is_none()));
}

#[test]
fn why_there_is_no_sound_is_told() {
    let folder = Folder::new();
    for (name, why) in [("x".repeat(120), "path must be shorter"), ("a b".to_owned(), "a space")] {
        let own = folder.path().join(name);
        std::fs::create_dir(&own).expect("a folder");
        let message = SoundServer::start(&own).expect_err("no such socket").to_string();
        assert!(message.starts_with("pulseaudio: ") && message.contains(why), "{message}");
    }
    let missing = folder.path().join("missing");
    let message = SoundServer::start(&missing).expect_err("no folder").to_string();
    assert!(message.starts_with("pulseaudio: ") && message.contains("No such file"), "{message}");
}
