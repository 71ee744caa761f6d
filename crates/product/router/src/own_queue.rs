//! The gateway's own queue towards the home: HTB or CAKE of the kernel at the home's interface, with a rate below the link's, so that packets wait
//! here, where a game's need not, and not in front of the home. A second one may be at the provider's interface, for what the home sends.
//!
//! Model: `layout` says of which queues and classes it consists for a rate, `kernel` sends them, and a second process
//! (`guardian`) takes them away if this one cannot. The queue is at the interface's root with a number of its own
//! ([`HANDLE`]), by which the gateway, its guardian and the next start recognise it. What the kernel has put at the root
//! by itself comes back when it goes; what somebody else has put there is refused.
//!
//! A change of the rate changes options in place: nothing that waits is lost.

mod guardian;
pub(crate) mod kernel;
mod layout;
mod shown;

pub use guardian::guard;
pub use layout::{GAME, HANDLE, is_own};
pub use shown::{Class, OwnQueueStatus};

use crate::netlink::{self, ROOT};
use gameway_runtime::clock::sleep;
use gameway_units::{Bytes, Duration, Instant, Rate};
use guardian::Guardian;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::IpAddr;

/// Before the link is known, and at the end, when what waits is let go before the queue is taken away.
pub const OPEN: Rate = Rate::from_mbps(10_000);
/// No queue has less.
pub const MIN_RATE: Rate = Rate::from_bps(100_000);
const OPEN_STEP: Duration = Duration::from_millis(1);
const OPEN_STEPS: u32 = 20;
/// Between two looks at what waits, and how many of them are kept: a second's.
const LOOK: Duration = Duration::from_millis(100);
const MAX_LOOKS: usize = 10;

/// Which queue of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// CAKE where the kernel has it, else HTB.
    #[default]
    Auto,
    /// CAKE.
    Cake,
    /// HTB with two classes, and FQ-CoDel where the kernel has it.
    Htb,
}

/// What can be set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShapeConfig {
    /// what the home gets at most, with Ethernet headers, if it is not to follow the link: below what the link carries
    #[schemars(extend("x-min" = "100 kb/s", "x-max" = "10 Gb/s", "x-none" = "it follows the link", "examples" = ["95 Mb/s"]))]
    pub rate: Option<Rate>,
    /// which queue of the kernel shapes
    pub queue: QueueKind,
    /// the interface towards the provider, at which what the home sends waits in a second queue
    #[schemars(extend("x-none" = "what the home sends has no queue of the gateway's", "examples" = ["wan"]))]
    pub out: Option<String>,
    /// what the home sends at most, with Ethernet headers, if that is not to follow the link
    #[schemars(extend("x-min" = "100 kb/s", "x-max" = "10 Gb/s", "x-none" = "it follows the link", "examples" = ["19 Mb/s"]))]
    pub out_rate: Option<Rate>,
    /// an address behind the link, beyond the provider's queue, that is pinged each 100 ms: it tells what waits where no TCP connection does
    #[schemars(extend("x-none" = "nobody is pinged", "examples" = ["192.0.2.1"]))]
    pub ping: Option<IpAddr>,
}

/// Of the queues that it can consist of, those that this kernel has, built in or as a module that could be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelQueues {
    /// CAKE (Linux 4.19).
    pub cake: bool,
    /// HTB.
    pub htb: bool,
    /// FQ-CoDel.
    pub fq_codel: bool,
}

impl KernelQueues {
    /// Asks the kernel.
    ///
    /// # Errors
    /// Who asks may not administer the network.
    pub fn of_this_kernel() -> io::Result<Self> {
        kernel::queues()
    }

    /// What is best, and why; `None` if the kernel has nothing of the kind.
    fn choice(self, wanted: QueueKind, way: Way) -> Option<(Discipline, String)> {
        let cake = Discipline::Cake { way };
        let htb = Discipline::Htb { has_fq_codel: self.fq_codel };
        match wanted {
            QueueKind::Auto if self.cake => {
                let why = "the kernel has it, and it shares by machine and flow";
                Some((cake, why.to_owned()))
            }
            QueueKind::Auto if self.htb => {
                Some((htb, format!("the kernel has no CAKE{}", self.lacks())))
            }
            QueueKind::Cake if self.cake => Some((cake, "as configured".to_owned())),
            QueueKind::Htb if self.htb => Some((htb, format!("as configured{}", self.lacks()))),
            _ => None,
        }
    }

    /// What a queue of HTB has to do without.
    const fn lacks(self) -> &'static str {
        match self.fq_codel {
            true => "",
            false => ", no FQ-CoDel: a fifo of 50 ms without ECN",
        }
    }
}

/// Where what passes a queue goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the home.
    ToHome,
    /// From the home to the provider.
    Out,
}

/// Of which queues of the kernel it consists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Discipline {
    Cake { way: Way },
    Htb { has_fq_codel: bool },
}

impl Discipline {
    const fn name(self) -> &'static str {
        match self {
            Self::Cake { .. } => "CAKE",
            Self::Htb { has_fq_codel: true } => "HTB and FQ-CoDel",
            Self::Htb { has_fq_codel: false } => "HTB and a fifo",
        }
    }
}

/// Why there is no queue, or none any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The kernel has not what was asked for.
    #[error(
        "the kernel has no {0} (sch_htb, sch_cake); load the module, take another `shape.queue`, or mode \"windows\""
    )]
    Lacking(&'static str),
    /// Somebody else's queue is in its place.
    #[error(
        "{interface} has a queue of somebody else, {kind} {:x}:, which the gateway leaves alone; `tc qdisc delete dev {interface} root` takes it away, or take mode \"windows\"",
        handle >> 16
    )]
    Foreign {
        /// The interface.
        interface: String,
        /// "htb", "cake", ...
        kind: String,
        /// Its number.
        handle: u32,
    },
    /// The interface has gone.
    #[error(
        "the interface {0} has vanished, and the gateway's queue with it; start the gateway when it is back"
    )]
    Vanished(String),
    /// What the kernel said otherwise.
    #[error("the gateway's queue at {interface}: {what}: {why}")]
    Kernel {
        /// The interface.
        interface: String,
        /// What was tried.
        what: &'static str,
        /// Its answer.
        why: io::Error,
    },
}

/// Takes away what gateways that were killed have left at this interface. Gives whether there was anything.
///
/// # Errors
/// What the kernel says.
pub fn remove_left(interface: &str) -> Result<bool, QueueError> {
    let failed =
        |why| QueueError::Kernel { interface: interface.to_owned(), what: "what was left", why };
    let all = netlink::interfaces().map_err(failed)?;
    match all.iter().find(|one| one.name == interface) {
        Some(own) => kernel::remove(own.index).map_err(failed),
        None => Ok(false),
    }
}

/// Whether a gateway's queue is at this interface.
///
/// # Errors
/// What the kernel says.
pub fn is_at(interface: &str) -> io::Result<bool> {
    let all = netlink::interfaces()?;
    let own = all.iter().find(|one| one.name == interface).map(|one| one.index);
    let queues = netlink::qdiscs()?;
    Ok(queues.iter().any(|one| Some(one.interface) == own && one.handle == HANDLE))
}

/// What was counted at the queue at the root of an interface, whoever put it there; `None` if there is none.
///
/// # Errors
/// There is no such interface, or its queue counts nothing.
pub(crate) fn at_root(interface: u32) -> io::Result<Option<Class>> {
    kernel::at_root(interface)
}

/// The queue while it is there; it goes when this is dropped.
#[derive(Debug)]
pub struct OwnQueue {
    name: String,
    interface: u32,
    discipline: Discipline,
    why: String,
    rate: Rate,
    target: Duration,
    guardian: Guardian,
    /// How often somebody else took it away, or its guardian while this process did not run.
    renewals: u64,
    looked: Instant,
    /// What games and others waited at each look since it was told last.
    waits: Vec<[Duration; 2]>,
}

impl OwnQueue {
    /// Puts it at an interface, at which packets go this way; what is no game waits `target`, if given, before CoDel acts.
    ///
    /// # Errors
    /// Somebody else's queue is there, the kernel has none of the kind or refuses it; then nothing of it is left.
    pub fn install(
        (interface, way): (&str, Way),
        kind: QueueKind,
        rate: Rate,
        target: Option<Duration>,
    ) -> Result<Self, QueueError> {
        let target = target.unwrap_or(layout::TARGET);
        Self::install_guarded_by(guardian::OWN_PROGRAM, (interface, way), kind, (rate, target))
    }

    /// As [`Self::install`], for tests, whose own program guards nothing.
    ///
    /// # Errors
    /// As of [`Self::install`].
    #[doc(hidden)]
    pub fn install_guarded_by(
        program: &'static str,
        (interface, way): (&str, Way),
        kind: QueueKind,
        (rate, target): (Rate, Duration),
    ) -> Result<Self, QueueError> {
        let failed =
            |what| move |why| QueueError::Kernel { interface: interface.to_owned(), what, why };
        let all = netlink::interfaces().map_err(failed("interfaces"))?;
        let own = all.iter().find(|one| one.name == interface);
        let own = own.ok_or_else(|| QueueError::Vanished(interface.to_owned()))?;
        let has = KernelQueues::of_this_kernel().map_err(failed("what the kernel has"))?;
        let (discipline, why) = has.choice(kind, way).ok_or(QueueError::Lacking(match kind {
            QueueKind::Cake => "CAKE",
            QueueKind::Htb => "HTB",
            QueueKind::Auto => "CAKE and no HTB",
        }))?;
        // It waits until that of a killed gateway has done its work.
        let guardian = Guardian::start(program, own.index).map_err(failed("its guardian"))?;
        kernel::remove(own.index).map_err(failed("what was left"))?;
        let (name, interface) = (own.name.clone(), own.index);
        let (looked, waits) = (Instant::ZERO, Vec::new());
        let queue = Self {
            name,
            interface,
            discipline,
            why,
            rate,
            target,
            guardian,
            renewals: 0,
            looked,
            waits,
        };
        queue.check_place()?;
        queue.put()?;
        Ok(queue)
    }

    fn failed(&self, what: &'static str) -> impl Fn(io::Error) -> QueueError {
        let interface = self.name.clone();
        move |why| QueueError::Kernel { interface: interface.clone(), what, why }
    }

    /// Whether the root of the interface is free: the kernel's own choice has no number.
    fn check_place(&self) -> Result<(), QueueError> {
        let all = netlink::qdiscs().map_err(self.failed("queues"))?;
        let is_foreign = |one: &&netlink::Qdisc| {
            one.interface == self.interface
                && one.parent == ROOT
                && one.handle & !0xffff != 0
                && one.handle != HANDLE
        };
        match all.iter().find(is_foreign) {
            Some(one) => Err(QueueError::Foreign {
                interface: self.name.clone(),
                kind: one.kind.clone(),
                handle: one.handle,
            }),
            None => Ok(()),
        }
    }

    /// All or nothing.
    fn put(&self) -> Result<(), QueueError> {
        let pieces = layout::layout(self.discipline, self.rate, self.target);
        kernel::put(self.interface, &pieces).map_err(self.failed("the kernel does not take it"))
    }

    /// The rate that it has.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes its rate; what waits stays.
    ///
    /// # Errors
    /// As of [`Self::follow`].
    pub fn set_rate(&mut self, rate: Rate) -> Result<(), QueueError> {
        if rate == self.rate {
            return Ok(());
        }
        let old = std::mem::replace(&mut self.rate, rate);
        match self.send_difference([old, rate]) {
            Err(error) if kernel::is_missing(&error) => self.renew(),
            other => other.map_err(self.failed("its rate")),
        }
    }

    /// From a rate to another one.
    fn send_difference(&self, rates: [Rate; 2]) -> io::Result<()> {
        let [is, wanted] = rates.map(|rate| layout::layout(self.discipline, rate, self.target));
        kernel::change(self.interface, wanted.iter().filter(|piece| !is.contains(piece)))
    }

    /// It is not there any more: puts it back, unless somebody else's is there.
    fn renew(&mut self) -> Result<(), QueueError> {
        self.current()?;
        self.check_place()?;
        kernel::remove(self.interface).map_err(self.failed("what was left"))?;
        self.put()?;
        self.renewals += 1;
        Ok(())
    }

    /// The interface as it is now; the queue is at its number, whatever its name.
    fn current(&self) -> Result<netlink::Interface, QueueError> {
        netlink::interface_at(self.interface).map_err(|error| {
            if kernel::is_missing(&error) {
                return QueueError::Vanished(self.name.clone());
            }
            self.failed("its interface")(error)
        })
    }

    /// Says to the guardian that this process lives, follows the interface, and gives what was counted. Each second.
    ///
    /// # Errors
    /// The interface has vanished, somebody else's queue is in place of this one, or the kernel does not answer.
    pub fn follow(&mut self) -> Result<OwnQueueStatus, QueueError> {
        if !self.guardian.beat() {
            let program = self.guardian.program;
            self.guardian =
                Guardian::start(program, self.interface).map_err(self.failed("its guardian"))?;
        }
        self.name = self.current()?.name;
        let classes = match kernel::classes(self.interface, self.discipline) {
            Err(error) if kernel::is_missing(&error) => {
                self.renew()?;
                kernel::classes(self.interface, self.discipline)
            }
            other => other,
        };
        let [game, others] = classes.map_err(self.failed("its figures"))?;
        let micros = |wait: Duration| (wait.as_secs_f64() * 1e6) as u64;
        let recent = self.waits.drain(..).map(|both| both.map(micros)).collect();
        Ok(OwnQueueStatus {
            kind: self.discipline.name().to_owned(),
            why: self.why.clone(),
            rate_bps: self.rate.as_bps(),
            renewals: self.renewals,
            recent_waits_us: recent,
            game,
            others,
        })
    }

    /// The bytes that have left it, with Ethernet headers; `None`: the kernel does not tell, which the next [`Self::follow`] does.
    #[must_use]
    pub fn sent(&self) -> Option<Bytes> {
        let classes = kernel::classes(self.interface, self.discipline).ok()?;
        Some(Bytes::new(classes.iter().map(|class| class.sent_bytes).sum()))
    }

    /// Notes what waits, if the last look is long enough ago. What fails here, the next [`Self::follow`] tells.
    pub fn look(&mut self, now: Instant) {
        if now.saturating_since(self.looked) < LOOK || self.waits.len() >= MAX_LOOKS {
            return;
        }
        self.looked = now;
        if let Ok(classes) = kernel::classes(self.interface, self.discipline) {
            self.waits.push(classes.map(|class| class.wait(self.rate)));
        }
    }

    /// Lets go what waits, as far as the home takes it at once.
    fn empty(&self) {
        if self.send_difference([self.rate, OPEN]).is_err() {
            return;
        }
        for _ in 0..OPEN_STEPS {
            let classes = kernel::classes(self.interface, self.discipline);
            if classes.is_err()
                || classes.is_ok_and(|all| all.iter().all(|one| one.backlog_bytes == 0))
            {
                return;
            }
            sleep(OPEN_STEP);
        }
    }
}

/// In a line, what a gateway that shapes would use here; `None`: this kernel has nothing of the kind.
#[must_use]
pub fn told(has: KernelQueues) -> Option<String> {
    let (discipline, why) = has.choice(QueueKind::Auto, Way::ToHome)?;
    Some(format!("mode \"shape\" would use {}: {why}", discipline.name()))
}

impl Drop for OwnQueue {
    fn drop(&mut self) {
        self.empty();
        // What fails here, the guardian does when its pipe ends, right after this.
        let _ = kernel::remove(self.interface);
    }
}

#[cfg(test)]
#[path = "../tests/all/network.rs"]
mod network;

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: KernelQueues = KernelQueues { cake: true, htb: true, fq_codel: true };

    #[test]
    fn what_the_kernel_has_decides_and_the_reason_is_said() {
        let without_cake = KernelQueues { cake: false, ..ALL };
        let fifo_alone = KernelQueues { fq_codel: false, ..without_cake };
        let nothing = KernelQueues { htb: false, ..fifo_alone };
        for (has, wanted, name, why) in [
            (ALL, QueueKind::Auto, "CAKE", "the kernel has it"),
            (ALL, QueueKind::Htb, "HTB and FQ-CoDel", "as configured"),
            (without_cake, QueueKind::Auto, "HTB and FQ-CoDel", "the kernel has no CAKE"),
            (
                fifo_alone,
                QueueKind::Auto,
                "HTB and a fifo",
                "the kernel has no CAKE, no FQ-CoDel: a fifo of 50 ms without ECN",
            ),
        ] {
            let (discipline, told) = has.choice(wanted, Way::Out).expect("a queue");
            assert_eq!(discipline.name(), name);
            assert!(told.starts_with(why), "{told}");
        }
        assert!(without_cake.choice(QueueKind::Cake, Way::Out).is_none());
        assert!(
            [QueueKind::Auto, QueueKind::Htb].map(|kind| nothing.choice(kind, Way::Out))
                == [None, None]
        );
        assert_eq!(told(nothing), None);
    }

    #[test]
    fn a_queue_of_somebody_else_is_named_with_what_to_do() {
        let interface = "lan".to_owned();
        let told = QueueError::Foreign { interface, kind: "tbf".to_owned(), handle: 0x5_0000 };
        assert_eq!(
            told.to_string(),
            "lan has a queue of somebody else, tbf 5:, which the gateway leaves alone; \
             `tc qdisc delete dev lan root` takes it away, or take mode \"windows\""
        );
    }

    #[test]
    fn of_a_queue_of_which_the_kernel_refuses_a_part_nothing_is_left() {
        if !network::has_network() {
            return;
        }
        let all = netlink::interfaces().expect("interfaces");
        let home = all.iter().find(|one| one.name == "lan").expect("it is there").index;
        let is_there = || is_at("lan").expect("the kernel tells");
        let mut pieces = layout::layout(
            Discipline::Htb { has_fq_codel: false },
            Rate::from_mbps(10),
            layout::TARGET,
        );
        kernel::put(home, &pieces).expect("a queue");
        assert!(is_there());
        assert!(kernel::remove(home).expect("it goes"));
        // The last piece is to be below a class that is not there.
        pieces.last_mut().expect("a leaf").parent = HANDLE | 0x99;
        let refused = kernel::put(home, &pieces).expect_err("no such class");
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        assert!(!is_there());
    }
}
