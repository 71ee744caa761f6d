//! A host with a controller of one's own: the one that an example of `gameway-sim` simulates.

#[path = "../../../lab/sim/examples/own_controller/mine.rs"]
mod mine;

use gameway_control::Controllers;
use gameway_stream::command::{self, Names};
use mine::MineOptions;
use std::process::ExitCode;

/// What this repository has, and the controller.
pub fn controllers() -> Controllers {
    Controllers::standard().with::<MineOptions>()
}

/// Streams as `gameway-host` does, with the same options.
#[allow(dead_code, reason = "the test calls the host itself")]
pub fn main() -> ExitCode {
    let names = Names { host: "own_host", ..Names::PROGRAMS };
    ExitCode::from(command::host(names, controllers(), std::env::args_os().skip(1)))
}
