//! `gameway-devices`: see [`gameway_stream::command`].

use gameway_stream::command::{self, Names};
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(command::devices(Names::PROGRAMS, std::env::args_os().skip(1)))
}
