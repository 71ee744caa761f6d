//! The command that lists and revokes the devices that a host of this machine and user lets in.

use super::{Names, Refusal, exit_code, state};
use clap::{Arg, Command};
use gameway_webrtc::devices::{Device, DeviceFile, Devices};
use std::ffi::OsString;

pub(super) fn command(names: Names) -> Command {
    let Names { devices, host, .. } = names;
    Command::new(devices)
        .about(format!("List the devices that `{host}` lets in, or revoke one."))
        .after_help(format!(
            "Example: {devices} --revoke \"Firefox on Linux\"\n\
             Next: a new device is paired by the code that `{host}` shows. A host that runs ends a revoked one's stream within \
             two seconds, and lets it in no more."
        ))
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("revoke")
                .long("revoke")
                .value_name("NAME-OR-NUMBER")
                .help("The device that shall be let in no more, as the list has it"),
        )
}

/// Lists or revokes; `words` are the arguments. Gives the exit code.
#[expect(clippy::print_stdout, reason = "a list goes to standard output")]
pub fn devices(names: Names, words: impl IntoIterator<Item = OsString>) -> u8 {
    exit_code(run(names, words).map(|told| print!("{told}")))
}

fn run(names: Names, words: impl IntoIterator<Item = OsString>) -> Result<String, Refusal> {
    let program = OsString::from(names.devices);
    let matches = command(names).try_get_matches_from(std::iter::once(program).chain(words))?;
    let nowhere = "neither XDG_STATE_HOME nor HOME says where the list of devices is; set one";
    let file = DeviceFile::new(state::devices().ok_or_else(|| Refusal::new(nowhere))?);
    let refused = |error: std::io::Error| Refusal::new(error.to_string());
    match matches.get_one::<String>("revoke") {
        None => Ok(list(&file.read().map_err(refused)?, since_1970(), names)),
        Some(which) => {
            let revoked = file.change(|devices| devices.revoke(which)).map_err(refused)?;
            let unknown = || {
                Refusal::new(format!(
                    "--revoke: no device is {which:?}; `{}` lists them",
                    names.devices
                ))
            };
            let name = revoked.ok_or_else(unknown)?;
            Ok(format!("{name} is revoked\n"))
        }
    }
}

/// A line for each device.
fn list(devices: &Devices, now: u64, names: Names) -> String {
    if devices.all().is_empty() {
        return format!("no device is paired; `{}` shows a code for a new one\n", names.host);
    }
    let width = devices.all().iter().map(|device| device.name.len()).max().unwrap_or(0);
    let line = |(place, Device { name, added, seen, .. }): (usize, &Device)| {
        let [added, seen] = [added, seen].map(|then| ago(now.saturating_sub(*then)));
        format!("{:>2}  {name:<width$}  paired {added}, last here {seen}\n", place + 1)
    };
    devices.all().iter().enumerate().map(line).collect()
}

/// How long ago that is, in the largest unit of which there are two.
fn ago(seconds: u64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or("just now".to_owned(), |(length, name)| format!("{} {name} ago", seconds / length))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command tells a person how long ago something was"
)]
fn since_1970() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_line_for_each_device() {
        command(Names::PROGRAMS).debug_assert();
        let mut devices = Devices::default();
        let told = list(&devices, 0, Names::PROGRAMS);
        assert_eq!(told, "no device is paired; `gameway-host` shows a code for a new one\n");
        devices.add("X11; Linux; Firefox/150.0", "one", 1_000);
        devices.add("", "two", 200_000);
        assert_eq!(
            list(&devices, 200_100, Names::PROGRAMS),
            " 1  Firefox on Linux  paired 2 days ago, last here 2 days ago\n \
              2  Device            paired just now, last here just now\n"
        );
    }

    #[test]
    fn a_span_is_told_in_the_largest_unit_of_which_there_are_two() {
        for (seconds, told) in [
            (119, "just now"),
            (120, "2 minutes ago"),
            (7_199, "119 minutes ago"),
            (7_200, "2 hours ago"),
            (172_800, "2 days ago"),
        ] {
            assert_eq!(ago(seconds), told);
        }
    }
}
