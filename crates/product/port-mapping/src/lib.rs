//! Asks a router to hand on a host's port from outside, UDP and TCP, while the host runs: by PCP (RFC 6887), else NAT-PMP (RFC 6886),
//! else UPnP (UPnP Forum, `WANIPConnection:1` and `:2`). A driver: it owns its thread and its sockets.
//!
//! Only the machine's default gateway is believed. What another device of the network answers is refused, since links that are given to
//! others name the address that was answered.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | lifetime | 600 s | a host that is killed leaves its port open so long; RFC 6886 section 3.3 proposes 7200 s, which is long for that |
//! | renewed | at half of it | the same section; not sooner than 4 s, RFC 6887 section 11.2.1 |
//! | again after a refusal | 60 s | a router that restarts takes about as long; what was refused because of a former host is free after a lifetime |
//! | wait at the end | 2 s | a deletion that is not answered is left to the lifetime |

mod direct;
mod gateway;
mod outside;
mod upnp;

use direct::{Direct, Protocol};
pub use gateway::MappingRequest;
pub use outside::why_not_internet;
use std::io;
use std::net::SocketAddrV4;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use tokio::runtime::Runtime;
use upnp::Upnp;

const LIFETIME: Duration = Duration::from_secs(600);
const SOONEST: Duration = Duration::from_secs(4);
const AGAIN: Duration = Duration::from_secs(60);
const LAST_WAIT: Duration = Duration::from_secs(2);

/// What the router hands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapped {
    /// By which protocol it was asked.
    pub by: &'static str,
    /// Where UDP comes in.
    pub udp: SocketAddrV4,
    /// Where TCP comes in.
    pub tcp: SocketAddrV4,
    /// How long it does so without being asked again.
    pub lifetime: Duration,
}

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The router hands on from now on, or otherwise than before.
    Mapped(Mapped),
    /// It does not: what was asked and what was answered.
    Refused(String),
}

/// A mapping that is kept up until this is dropped; then it is deleted.
#[derive(Debug)]
pub struct PortMapping {
    stop: Option<Sender<()>>,
    /// Closed when the thread has ended.
    news: Receiver<News>,
    mapped: Option<Mapped>,
}

impl PortMapping {
    /// Asks from now on.
    ///
    /// # Errors
    /// If there is no thread.
    #[expect(clippy::disallowed_methods, reason = "the driver owns its thread")]
    pub fn ask(request: MappingRequest) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = mpsc::channel();
        let (sender, news) = mpsc::channel();
        let keep = move || keep(&runtime, request, &stopped, &sender);
        // It is not waited for longer than its last question may take.
        drop(std::thread::Builder::new().name("port mapping".to_owned()).spawn(keep)?);
        Ok(Self { stop: Some(stop), news, mapped: None })
    }

    /// What has changed since this was last asked, if it changes within this time.
    pub fn news(&mut self, within: Duration) -> Option<News> {
        let news = self.news.recv_timeout(within).ok()?;
        self.mapped = match &news {
            News::Mapped(mapped) => Some(*mapped),
            News::Refused(_) => None,
        };
        Some(news)
    }

    /// What the router hands on now.
    #[must_use]
    pub fn mapped(&self) -> Option<Mapped> {
        self.mapped
    }
}

impl Drop for PortMapping {
    fn drop(&mut self) {
        drop(self.stop.take());
        // What it had to tell is read, then it ends.
        while self.news.recv_timeout(LAST_WAIT).is_ok() {}
    }
}

/// What a router has granted.
enum Held {
    Direct(Direct),
    Upnp(Upnp),
}

impl Held {
    fn mapped(&self) -> Mapped {
        match self {
            Self::Direct(direct) => direct.mapped(),
            Self::Upnp(upnp) => upnp.mapped(),
        }
    }

    fn renew(&mut self, runtime: &Runtime) -> Result<(), String> {
        match self {
            Self::Direct(direct) => runtime.block_on(direct.renew()),
            Self::Upnp(upnp) => upnp.renew(),
        }
    }

    fn delete(self, runtime: &Runtime) {
        match self {
            Self::Direct(direct) => runtime.block_on(direct.delete()),
            Self::Upnp(upnp) => upnp.delete(),
        }
    }
}

/// Keeps the mapping up until `stopped` is closed.
fn keep(runtime: &Runtime, request: MappingRequest, stopped: &Receiver<()>, news: &Sender<News>) {
    let mut held: Option<Held> = None;
    let mut told: Option<News> = None;
    loop {
        let renewed = held.as_mut().map(|held| held.renew(runtime));
        let got = match renewed {
            Some(Ok(())) => Ok(()),
            // What could not be renewed is kept, so that it is deleted at the end.
            _ => obtain(runtime, &request).map(|new| held = Some(new)),
        };
        let now = match (got, &held) {
            (Ok(()), Some(held)) => News::Mapped(held.mapped()),
            (Err(why), _) => News::Refused(why),
            (Ok(()), None) => return,
        };
        let wait = wait(&now);
        if is_new(told.as_ref(), &now) && news.send(now.clone()).is_err() {
            break;
        }
        told = Some(now);
        if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    if let Some(held) = held {
        held.delete(runtime);
    }
}

/// How long until the router is asked again.
fn wait(now: &News) -> Duration {
    match now {
        News::Mapped(mapped) => (mapped.lifetime / 2).clamp(SOONEST, LIFETIME / 2),
        News::Refused(_) => AGAIN,
    }
}

/// Whether it is to be told: that a router refuses is, once.
fn is_new(told: Option<&News>, now: &News) -> bool {
    match (told, now) {
        (Some(News::Refused(_)), News::Refused(_)) => false,
        (Some(News::Mapped(told)), News::Mapped(now)) => (told.udp, told.tcp) != (now.udp, now.tcp),
        _ => true,
    }
}

/// By the first protocol that the router grants it by.
fn obtain(runtime: &Runtime, request: &MappingRequest) -> Result<Held, String> {
    let mut answers = Vec::new();
    for protocol in [Protocol::Pcp, Protocol::NatPmp] {
        match runtime.block_on(direct::obtain(protocol, request, LIFETIME)) {
            Ok(direct) => return Ok(Held::Direct(direct)),
            Err(why) => answers.push(format!("{}: {why}", protocol.name())),
        }
    }
    match upnp::obtain(request, LIFETIME) {
        Ok(upnp) => return Ok(Held::Upnp(upnp)),
        Err(why) => answers.push(format!("UPnP: {why}")),
    }
    Err(format!("the router {} was asked by {}", request.router(), answers.join("; by ")))
}

#[cfg(test)]
mod tests;
