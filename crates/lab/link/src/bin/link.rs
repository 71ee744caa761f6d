//! `gameway-link`: see [`gameway_link::command`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = gameway_link::command::link("gameway-link", std::env::args_os().skip(1));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
