//! `gameway-gateway`: see [`gameway_router::command`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gameway_router::command::gateway(std::env::args_os().skip(1)))
}
