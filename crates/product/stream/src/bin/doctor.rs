//! `gameway-doctor`: see [`gameway_stream::command`].

use gameway_stream::command::{self, Names};
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(command::doctor(Names::PROGRAMS, std::env::args_os().skip(1), Vec::new))
}
