//! `gameway-play`: see [`gameway_stream::command`].

use gameway_control::Controllers;
use gameway_stream::command::{self, Names};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1);
    ExitCode::from(command::play(Names::PROGRAMS, Controllers::standard(), words))
}
