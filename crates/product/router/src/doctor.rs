//! The command that says whether a gateway can work on this router, and what to do where it cannot.
//!
//! The kernel is asked by trial where that is harmless (it verifies the data path, and nothing passes through it), else by its
//! lists ([`crate::netlink`]). Each check is ok, a warning or a fault: with a fault, a gateway does not start, or does not see
//! the downloads.

mod machine;
mod traffic;

use crate::config::check_interface;
use crate::netlink::{self, Interface};
use gameway_runtime::terminal::wrapped;
use serde::Serialize;

/// The widths of a check's name and of its state.
const NAME: usize = 18;
const STATE: usize = 7;

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// A gateway works, and does less than it could.
    Warning,
    /// A gateway does not start, or does not see the downloads.
    Fault,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do.
    pub mend: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Ok, found: found.into(), mend: None }
    }

    fn warning(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, state: State::Warning, found: found.into(), mend: Some(mend.into()) }
    }

    fn fault(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, state: State::Fault, found: found.into(), mend: Some(mend.into()) }
    }

    /// In lines for a terminal.
    #[must_use]
    pub fn shown(&self) -> String {
        let margin = NAME + STATE + 4;
        let mut text = format!("{:<NAME$}  {:<STATE$}  ", self.name, self.state.word());
        text += &wrapped(&self.found, margin);
        if let Some(mend) = &self.mend {
            text += &" ".repeat(margin);
            text += &wrapped(&format!("to do: {mend}"), margin);
        }
        text
    }
}

/// The interface of the home and what belongs to it.
#[derive(Debug)]
struct Place {
    home: Interface,
    /// Of a bridge.
    ports: Vec<Interface>,
}

impl Place {
    fn of(home: &Interface, interfaces: &[Interface]) -> Self {
        let ports = interfaces.iter().filter(|one| one.master == Some(home.index));
        Self { home: home.clone(), ports: ports.cloned().collect() }
    }

    /// The home's interface and the ports that it bridges.
    fn all(&self) -> impl Iterator<Item = &Interface> {
        std::iter::once(&self.home).chain(&self.ports)
    }
}

/// What takes packets past a gateway at this interface, if something does: tables of flows, and devices that pass on by themselves.
#[must_use]
pub fn bypasses(home: &str) -> Vec<Check> {
    let interfaces = netlink::interfaces().unwrap_or_default();
    let Some(own) = interfaces.iter().find(|one| one.name == home) else { return Vec::new() };
    let place = Place::of(own, &interfaces);
    let tables = Some(traffic::flow_tables(&place)).filter(|one| one.state == State::Fault);
    let devices = Some(traffic::offloads(&place)).filter(|one| one.state != State::Ok);
    tables.into_iter().chain(devices).collect()
}

/// All checks, in their order, for a gateway at this interface.
#[must_use]
pub fn checks(home: &str) -> Vec<Check> {
    let mut checks = vec![
        machine::kernel(),
        machine::rights(),
        machine::data_path(),
        machine::attachment(),
        machine::own_queue(),
    ];
    let found = match check_interface(home) {
        Ok(()) => netlink::interfaces().map_err(|error| error.to_string()),
        Err(why) => Err(why),
    };
    let interfaces = match found {
        Ok(interfaces) => interfaces,
        Err(why) => {
            checks.push(Check::fault("interface", why, "name the interface towards the home"));
            return checks;
        }
    };
    let Some(own) = interfaces.iter().find(|one| one.name == home) else {
        checks.push(machine::no_interface(home, &interfaces));
        return checks;
    };
    let place = Place::of(own, &interfaces);
    checks.push(machine::interface(&place, &interfaces));
    checks.push(traffic::others(&place));
    checks.push(traffic::queues(&place));
    checks.extend(traffic::wifi(&place));
    checks.push(traffic::flow_tables(&place));
    checks.push(traffic::offloads(&place));
    checks.push(Check::ok(
        "timestamps",
        "whether the machines at home use TCP timestamps (RFC 7323) shows when they download: without any, `status` says that no \
         download can tell, and no window is lowered",
    ));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_lines_of_80_columns_and_an_object_for_scripts() {
        let check = Check::fault(
            "hardware offload",
            "the table fw4 ft has devices of this home pass on packets by themselves, which the gateway then does not see",
            "switch it off",
        );
        let expected = "\
hardware offload    fault    the table fw4 ft has devices of this home pass on
                             packets by themselves, which the gateway then does
                             not see
                             to do: switch it off
";
        assert_eq!(check.shown(), expected);
        let object = serde_json::to_value(Check::ok("kernel", "Linux 6.18")).expect("JSON");
        let expected = serde_json::json!({
            "name": "kernel", "state": "ok", "found": "Linux 6.18", "mend": null
        });
        assert_eq!(object, expected);
    }

    #[test]
    fn a_name_that_is_none_is_a_fault_and_ends_the_list() {
        for home in ["a b", "gwd-nowhere"] {
            let last = checks(home).pop().expect("checks");
            assert_eq!((last.name, last.state), ("interface", State::Fault), "{home}");
        }
        // The twin: the loopback is one.
        let own = checks("lo");
        assert_eq!(own.iter().filter(|one| one.name == "interface").count(), 1);
        assert!(own.len() > 8);
    }
}
