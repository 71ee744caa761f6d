//! The program that says what of playing works here: what is not installed is told, and nothing stays.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of this test, empty: where the program looks for others, or keeps files.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

/// What the doctor says for scripts, with its exit code; its own files are in `folder`.
fn checks(folder: &Path, path: Option<&Path>) -> (Vec<Value>, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gameway-doctor"));
    command.args(["--json", "--listen", "127.0.0.1:0"]).env_remove("DISPLAY");
    command.env("XDG_RUNTIME_DIR", folder).env("XDG_STATE_HOME", folder);
    command.envs(path.map(|path| ("PATH", path)));
    let done = command.output().expect("the doctor");
    let said = serde_json::from_slice::<Value>(&done.stdout).expect("JSON");
    (said["checks"].as_array().expect("a list").clone(), done.status.code())
}

fn of<'a>(checks: &'a [Value], name: &str) -> [&'a str; 3] {
    let check = checks.iter().find(|check| check["name"] == name).expect(name);
    ["state", "found", "mend"].map(|key| check[key].as_str().unwrap_or_default())
}

/// Processes that know the folder.
fn left(folder: &Path) -> usize {
    let folder = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let words = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    words.filter(|words| String::from_utf8_lossy(words).contains(&folder)).count()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("the folder").next().is_none()
}

#[test]
fn what_is_not_installed_is_told_with_its_package() {
    let (own, empty) = (folder("without"), folder("path"));
    let (found, code) = checks(&own, Some(&empty));
    assert_eq!(code, Some(1));
    let screen = if cfg!(feature = "x11") {
        ["lacking", "Xvfb is not installed; install xvfb", "apt install xvfb"]
    } else {
        let mend = "build it with the cargo feature x11";
        ["lacking", "this build captures no screens", mend]
    };
    assert_eq!(of(&found, "screen"), screen);
    let missing = "pulseaudio is not installed; install pulseaudio and pulseaudio-utils";
    let mend = "apt install pulseaudio pulseaudio-utils";
    assert_eq!(of(&found, "sound"), ["lacking", missing, mend]);
    assert!(is_empty(&own), "nothing stays");
}

/// The twin: this machine, which has what it takes to build and test the program.
#[test]
fn what_works_is_told_and_nothing_stays() {
    let own = folder("with");
    let (found, code) = checks(&own, None);
    if cfg!(feature = "x11") {
        let told = "Xvfb starts and is captured, and input arrives there";
        assert_eq!(of(&found, "screen"), ["works", told, ""]);
    }
    let told = "PulseAudio starts, and parec hears what it plays";
    assert_eq!(of(&found, "sound"), ["works", told, ""]);
    assert_eq!(of(&found, "own screen"), ["-", "DISPLAY names none", ""]);
    assert_eq!(of(&found, "port"), ["works", "127.0.0.1:0 is free for TCP and UDP", ""]);
    let codec = if cfg!(feature = "opus") { "works" } else { "lacking" };
    assert_eq!(of(&found, "sound codec")[0], codec);
    for (name, licence) in gameway_stream::encoders() {
        let [state, told, _] = of(&found, &format!("encoder {name}"));
        assert_eq!(state, "works");
        assert!(told.ends_with(&format!(", {licence})")), "{told}");
    }
    for name in ["certificate", "ways"] {
        assert_eq!(of(&found, name)[0], "-", "{name}");
    }
    let lacking = found.iter().any(|check| check["state"] == "lacking");
    assert_eq!(code, Some(i32::from(lacking)));
    assert!(is_empty(&own), "nothing stays");
    assert_eq!(left(&own), 0, "nobody stays");
}
