//! Programs: how they end, with all that they started, and which are started again.

use crate::support::{Folder, comes_true, number_in, runs};
use gameway_desktop::{KeptProgram, News, Program, State};
use gameway_units::{Duration, Instant};
use std::ffi::OsString;
use std::process::Command;

fn shell(script: &str) -> Vec<OsString> {
    ["sh", "-c", script].map(Into::into).to_vec()
}

fn in_folder(folder: &Folder) -> Vec<(String, OsString)> {
    vec![("FOLDER".to_owned(), folder.path().into())]
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// How a program ends.
fn ending(script: &str) -> State {
    let mut program = Program::start(&shell(script), &[]).expect("a shell");
    let mut state = State::Running;
    assert!(comes_true(|| {
        state = program.poll();
        state != State::Running
    }));
    // It can be asked again.
    assert_eq!(program.poll(), state);
    state
}

fn news(program: &mut KeptProgram, now: Instant) -> News {
    let mut found = None;
    assert!(comes_true(|| {
        found = program.poll(now);
        found.is_some()
    }));
    found.expect("news")
}

#[test]
fn how_a_program_ended_is_told() {
    assert_eq!(ending("exit 0"), State::EndedWell);
    let crashed = |reason: &str| State::Crashed { reason: reason.to_owned() };
    assert_eq!(ending("exit 3"), crashed("it ended with status 3"));
    assert_eq!(ending("kill -SEGV $$"), crashed("it was ended by SIGSEGV"));
    let said = "it ended with status 1; it said: no screen";
    assert_eq!(ending("echo no screen >&2; exit 1"), crashed(said));
}

/// More than its pipe holds, of which the last lines are told and all goes on. Who runs this test sees none of it.
#[test]
fn a_program_that_says_a_lot_goes_on() {
    const INNER: &str = "GAMEWAY_TEST_SAYS_A_LOT";
    if std::env::var_os(INNER).is_some() {
        let said = "it ended with status 1; it said: 299996\n299997\n299998\n299999\n300000";
        let crashed = State::Crashed { reason: said.to_owned() };
        return assert_eq!(ending("seq 300000 >&2; exit 1"), crashed);
    }
    let inner = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "program::a_program_that_says_a_lot_goes_on"])
        .env(INNER, "1")
        .output()
        .expect("this program again");
    assert!(inner.status.success(), "{}", String::from_utf8_lossy(&inner.stdout));
    let lines = (1..=300_000).map(|number| format!("{number}\n")).collect::<String>();
    assert!(String::from_utf8_lossy(&inner.stderr) == lines, "{} bytes", inner.stderr.len());
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let start =
        |command: &[OsString]| Program::start(command, &[]).err().map(|error| error.to_string());
    let message = start(&["no-such-game".into()]).expect("no such program");
    assert!(message.starts_with("no-such-game: No such file"), "{message}");
    assert_eq!(start(&[]).as_deref(), Some("program: no command is given"));
}

#[test]
fn all_that_it_started_ends_with_it() {
    let folder = Folder::new();
    // A child in the background, and one that does not heed SIGTERM.
    let script = "sleep 100 & echo $! > $FOLDER/first
        (trap '' TERM; sleep 100 & echo $! > $FOLDER/second; wait; sleep 100) & sleep 100";
    let mut program = Program::start(&shell(script), &in_folder(&folder)).expect("a shell");
    let numbers = ["first", "second"].map(|name| number_in(&folder.path().join(name)));
    assert_eq!(program.poll(), State::Running);
    assert_eq!(numbers.map(runs), [true, true]);
    program.end();
    assert_eq!(numbers.map(runs), [false, false]);
    let reason = "it was ended by SIGTERM".to_owned();
    assert_eq!(program.poll(), State::Crashed { reason });
}

/// A shell that gives up at once must not take its game's time to write its settings.
#[test]
fn who_writes_its_settings_may_end_in_peace() {
    let folder = Folder::new();
    let script = "(trap 'sleep 0.5; echo 1 > $FOLDER/settings; exit' TERM
        echo 1 > $FOLDER/ready; while :; do sleep 0.01; done) & wait";
    let mut program = Program::start(&shell(script), &in_folder(&folder)).expect("a shell");
    number_in(&folder.path().join("ready"));
    program.end();
    assert!(folder.path().join("settings").exists());
}

#[test]
fn dropping_it_ends_it_and_its_orphans() {
    let folder = Folder::new();
    // The shell is gone long before.
    let script = "sleep 100 & echo $! > $FOLDER/orphan";
    let mut program = Program::start(&shell(script), &in_folder(&folder)).expect("a shell");
    let orphan = number_in(&folder.path().join("orphan"));
    assert!(comes_true(|| program.poll() == State::EndedWell));
    assert!(runs(orphan));
    drop(program);
    assert!(!runs(orphan));
}

/// A terminal sends SIGINT to the group of the host.
#[test]
fn a_program_is_in_a_group_of_its_own() {
    let folder = Folder::new();
    let script = "ps -o pgid= -p $$ > $FOLDER/group";
    let mut other = Program::start(&shell(script), &in_folder(&folder)).expect("a shell");
    assert!(comes_true(|| other.poll() == State::EndedWell));
    let ours = rustix::process::getpgrp().as_raw_pid().unsigned_abs();
    assert_ne!(number_in(&folder.path().join("group")), ours);
}

#[test]
fn what_crashes_is_started_again_until_it_is_too_often() {
    let folder = Folder::new();
    let script = "echo once >> $FOLDER/starts; exit 7";
    let mut program = KeptProgram::start(shell(script), in_folder(&folder)).expect("a shell");
    let reason = "it ended with status 7".to_owned();
    for start in 0..3 {
        let (now, again) = (at(5_000 * start), at(5_000 * start + 1_000));
        assert_eq!(news(&mut program, now), News::Crashed { reason: reason.clone(), again });
        assert_eq!(program.poll(again - Duration::from_nanos(1)), None);
        assert_eq!(program.poll(again), Some(News::Started));
    }
    assert_eq!(news(&mut program, at(20_000)), News::Ended { reason });
    assert_eq!(program.poll(at(1_000_000)), None);
    let starts = std::fs::read_to_string(folder.path().join("starts")).expect("starts");
    assert_eq!(starts.lines().count(), 4);
}

#[test]
fn what_ended_well_or_was_ended_stays_so() {
    let mut program = KeptProgram::start(shell("exit 0"), Vec::new()).expect("a shell");
    let reason = "it has ended".to_owned();
    assert_eq!(news(&mut program, at(0)), News::Ended { reason });
    assert_eq!(program.poll(at(10_000)), None);
    let mut program = KeptProgram::start(shell("exit 1"), Vec::new()).expect("a shell");
    assert!(matches!(news(&mut program, at(0)), News::Crashed { .. }));
    program.end();
    assert_eq!(program.poll(at(10_000)), None);
}

#[test]
fn what_cannot_be_started_again_has_ended() {
    let folder = Folder::new();
    let game = folder.path().join("game");
    std::os::unix::fs::symlink("/bin/false", &game).expect("a link");
    let mut program = KeptProgram::start(vec![game.clone().into()], Vec::new()).expect("a program");
    assert!(matches!(news(&mut program, at(0)), News::Crashed { .. }));
    std::fs::remove_file(&game).expect("the link");
    let ended = program.poll(at(1_000));
    let Some(News::Ended { reason }) = ended else { panic!("{ended:?}") };
    assert!(reason.contains("game: No such file"), "{reason}");
}
