//! The gateway's queue for what the home sends, at the interface towards the provider.
//!
//! It is of the same kind as the one towards the home, with a guardian of its own. What has left it is read off the kernel's figures, as
//! packets pass the data path before they wait here. The gateway's pings pass it as a game's, so that they wait at the provider alone.

use crate::config::check_interface;
use crate::own_queue::{self, OwnQueue, OwnQueueStatus, QueueError, QueueKind, ShapeConfig, Way};
use gameway_units::declared::OptionError;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// A packet of 1500 B for the kernel's shapers.
const ETHERNET: f64 = 1514.0 / 1500.0;

/// What it is to be.
#[derive(Debug, Clone)]
pub struct OutConfig {
    /// The interface towards the provider.
    pub interface: String,
    /// Its rate; `None`: it follows the link.
    pub rate: Option<Rate>,
}

impl ShapeConfig {
    /// Whether the keys of the queue for what the home sends go together.
    ///
    /// # Errors
    /// The first that does not, and what is allowed.
    pub(crate) fn check(&self, home: &str) -> Result<(), OptionError> {
        let refused = |key: &str, why: &str| {
            Err(OptionError { option: Some(format!("shape.{key}")), why: why.to_owned() })
        };
        let Some(out) = &self.out else {
            return match self.out_rate {
                None => Ok(()),
                Some(_) => {
                    refused("out_rate", "needs shape.out, the interface towards the provider")
                }
            };
        };
        check_interface(out)
            .map_err(|why| OptionError { option: Some("shape.out".to_owned()), why })?;
        if out == home {
            return refused(
                "out",
                "is the interface towards the home; name the one towards the provider",
            );
        }
        if self.ping.is_none() && self.out_rate.is_none() {
            let why = "needs shape.ping, an address beyond the provider's queue, by which it follows the link, or shape.out_rate";
            return refused("out", why);
        }
        Ok(())
    }
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct OutQueue {
    queue: OwnQueue,
    fixed: Option<Rate>,
    /// What had left it when it was read last, with Ethernet headers.
    sent: Bytes,
}

impl OutQueue {
    /// Puts it there, with the target of the other one.
    pub(crate) fn install(
        config: &OutConfig,
        kind: QueueKind,
        target: Option<Duration>,
    ) -> Result<Self, QueueError> {
        let first = config.rate.unwrap_or(own_queue::OPEN);
        let queue = OwnQueue::install((&config.interface, Way::Out), kind, first, target)?;
        Ok(Self { queue, fixed: config.rate, sent: Bytes::ZERO })
    }

    /// What has left it since the last call, as IP counts it.
    pub(crate) fn left(&mut self) -> Bytes {
        let Some(sent) = self.queue.sent() else { return Bytes::ZERO };
        // One that was put back counts from nothing.
        let left = sent.saturating_sub(std::mem::replace(&mut self.sent, sent));
        Bytes::new((left.as_f64() / ETHERNET) as u64)
    }

    /// A period has ended, with this rate by the law.
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        followed: Option<Rate>,
    ) -> Result<(), QueueError> {
        self.queue.look(now);
        let wanted = self.fixed.or(followed.map(on_ethernet));
        wanted.map_or(Ok(()), |rate| self.queue.set_rate(rate))
    }

    /// As [`OwnQueue::follow`].
    pub(crate) fn follow(&mut self) -> Result<OwnQueueStatus, QueueError> {
        self.queue.follow()
    }
}

/// A rate of IP as the kernel's shapers count it, within what they take.
pub(crate) fn on_ethernet(rate: Rate) -> Rate {
    rate.mul_f64(ETHERNET).clamp(own_queue::MIN_RATE, own_queue::OPEN)
}
