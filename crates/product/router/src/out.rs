//! The gateway's queue for what the home sends, at the interface towards the provider.
//!
//! It is of the same kind as the one towards the home, with a guardian of its own. What has left it is read off the kernel's figures, as
//! packets pass the data path before they wait here. The gateway's pings pass it as a game's, so that they wait at the provider alone.

use crate::config::check_interface;
use crate::own_queue::{QueueError, QueueKind, ShapeConfig, Way};
use crate::shaped::{ShapedQueue, without_ethernet};
use gameway_units::declared::OptionError;
use gameway_units::{Bytes, Duration, Rate};

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
    pub(crate) shaped: ShapedQueue,
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
        let place = (&*config.interface, Way::Out);
        let shaped = ShapedQueue::install(place, kind, config.rate, target)?;
        Ok(Self { shaped, sent: Bytes::ZERO })
    }

    /// What has left it since the last call, as IP counts it.
    pub(crate) fn left(&mut self) -> Bytes {
        let Some(sent) = self.shaped.sent() else { return Bytes::ZERO };
        // One that was put back counts from nothing.
        without_ethernet(sent.saturating_sub(std::mem::replace(&mut self.sent, sent)))
    }
}
