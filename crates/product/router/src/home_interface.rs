//! What the kernel tells of the interface towards the home: its addresses, and what its queues have counted.
//!
//! A thread of its own asks. The kernel answers questions about interfaces one after the other (rtnetlink(7); its lock is also held
//! while somebody configures a device, which may take seconds), and whoever steers has a heartbeat to keep.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | from look to look at the queues | 20 ms | the period of the gateway's law |
//! | the same at addresses and ports | 10 s | a provider gives others now and then |
//! | looks that wait to be read | 64 | a second of them: who reads none for longer has lost its heartbeat |

use crate::home_queue::{Counted, Place};
use crate::netlink::{self, StationQueue, Wifi};
use crate::own_queue;
use gameway_runtime::clock::Clock;
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);
const LOOKS_PER_LIST: u64 = 500;
const WAITING: usize = 64;

/// What the kernel told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KernelReport {
    /// The interface's own addresses.
    Addresses(Vec<IpAddr>),
    /// What the queues had counted at this time of CLOCK_MONOTONIC.
    Queues(i64, BTreeMap<Place, Counted>),
}

/// Asks while it is there. See the module's head.
#[derive(Debug)]
pub(crate) struct HomeInterface {
    told: Receiver<KernelReport>,
    /// Nothing is sent: the thread ends when this is dropped.
    lives: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HomeInterface {
    /// Asks about the interface of this name: for its addresses, and for its queues if `queues`.
    ///
    /// # Errors
    /// There can be no thread.
    #[expect(clippy::disallowed_methods, reason = "the kernel may let it wait for seconds")]
    pub(crate) fn watch(home: String, queues: bool) -> io::Result<Self> {
        let (tell, told) = sync_channel(WAITING);
        let (lives, ends) = channel();
        let asking = move || Asking::new(home, queues).run(&tell, &ends);
        let thread = std::thread::Builder::new().name("home".to_owned()).spawn(asking)?;
        Ok(Self { told, lives: Some(lives), thread: Some(thread) })
    }

    /// The next that has not been told.
    pub(crate) fn next(&self) -> Option<KernelReport> {
        self.told.try_recv().ok()
    }
}

impl Drop for HomeInterface {
    fn drop(&mut self) {
        self.lives = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// The thread's.
#[derive(Debug)]
struct Asking {
    home: String,
    queues: bool,
    /// The interface, or a bridge's ports: by their numbers, whether they are of Wi-Fi.
    ports: BTreeMap<u32, bool>,
    wifi: Option<Wifi>,
}

impl Asking {
    const fn new(home: String, queues: bool) -> Self {
        Self { home, queues, ports: BTreeMap::new(), wifi: None }
    }

    fn run(mut self, tell: &SyncSender<KernelReport>, ends: &Receiver<()>) {
        for look in 0_u64.. {
            // Where the kernel does not answer, all is as it was told last.
            if look.is_multiple_of(LOOKS_PER_LIST)
                && let Ok(addresses) = self.list()
            {
                _ = tell.try_send(KernelReport::Addresses(addresses));
            }
            if self.queues {
                let at_ns = Clock::monotonic_ns();
                _ = tell.try_send(KernelReport::Queues(at_ns, self.counted()));
            }
            if ends.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Looks for the interface's addresses and ports.
    fn list(&mut self) -> io::Result<Vec<IpAddr>> {
        let all = netlink::interfaces()?;
        let Some(home) = all.iter().find(|one| one.name == self.home) else {
            self.ports.clear();
            return Ok(Vec::new());
        };
        let ports: Vec<_> = all.iter().filter(|one| one.master == Some(home.index)).collect();
        let found = if ports.is_empty() { vec![home] } else { ports };
        self.ports = found.iter().map(|one| (one.index, netlink::is_wifi(&one.name))).collect();
        Ok(netlink::addresses(home.index)?.iter().map(IpNet::addr).collect())
    }

    /// What all queues have counted. A port that has gone has none.
    fn counted(&mut self) -> BTreeMap<Place, Counted> {
        let ports: Vec<_> = self.ports.iter().map(|(&index, &is_wifi)| (index, is_wifi)).collect();
        let mut all = BTreeMap::new();
        for (interface, is_wifi) in ports {
            let root = own_queue::at_root(interface).ok().flatten();
            all.extend(root.map(|class| {
                let counted = Counted { sent: class.sent_bytes, backlog: class.backlog_bytes };
                (Place::Root(interface), counted)
            }));
            if is_wifi {
                self.count_stations(interface, &mut all);
            }
        }
        all
    }

    fn count_stations(&mut self, interface: u32, all: &mut BTreeMap<Place, Counted>) {
        if self.wifi.is_none() {
            self.wifi = Wifi::open().ok();
        }
        let stations = self.wifi.as_ref().map(|wifi| wifi.stations(interface));
        let Some(Ok(stations)) = stations else {
            // An answer that comes late is not to be taken for that to another question.
            self.wifi = None;
            return;
        };
        all.extend(stations.iter().flat_map(|station| {
            station.queues.iter().map(move |one: &StationQueue| {
                let place = Place::Station(interface, station.address, one.identifier);
                let [sent, backlog] = [one.sent_bytes, one.backlog_bytes].map(u64::from);
                (place, Counted { sent, backlog })
            })
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(home: &str, queues: bool, count: usize) -> Vec<KernelReport> {
        let home = HomeInterface::watch(home.to_owned(), queues).expect("a thread");
        home.told.iter().take(count).collect()
    }

    #[test]
    fn the_loopback_has_its_address_and_no_queue_that_counts() {
        let found = told("lo", true, 3);
        let KernelReport::Addresses(own) = &found[0] else { panic!("{found:?}") };
        assert!(own.contains(&IpAddr::from([127, 0, 0, 1])), "{own:?}");
        let at_ns = |told: &KernelReport| match told {
            KernelReport::Queues(at_ns, counted) => (*at_ns, counted.len()),
            KernelReport::Addresses(_) => panic!("{found:?}"),
        };
        let looks = [at_ns(&found[1]), at_ns(&found[2])];
        assert_eq!(looks.map(|(_, queues)| queues), [0, 0]);
        assert!(looks[1].0 - looks[0].0 >= 20_000_000, "{looks:?}");
    }

    #[test]
    fn what_is_not_there_has_nothing_and_who_asks_for_no_queues_is_told_none() {
        let found = told("gwd-nowhere", true, 2);
        assert_eq!(found[0], KernelReport::Addresses(Vec::new()));
        assert!(matches!(&found[1], KernelReport::Queues(_, counted) if counted.is_empty()));
        let home = HomeInterface::watch("lo".to_owned(), false).expect("a thread");
        assert!(matches!(home.told.recv(), Ok(KernelReport::Addresses(_))));
        let soon = home.told.recv_timeout(3 * LOOK);
        assert_eq!(soon, Err(RecvTimeoutError::Timeout));
    }

    #[test]
    fn an_interface_without_wifi_has_no_stations_and_that_is_asked_for_anew() {
        let mut asking = Asking::new("lo".to_owned(), true);
        asking.ports.insert(1, true);
        assert!(asking.counted().is_empty());
        assert!(asking.wifi.is_none());
    }
}
