//! Another controller takes over a session, which may not have begun.

use super::Session;
use crate::HostConfig;
use crate::control::Hello;
use crate::host::requests::ReportRequests;
use crate::host::terms::Terms;
use gameway_control::RateController;
use gameway_units::Instant;

impl Session {
    /// From now on this one decides, and the client reports as it asks.
    pub fn set_controller(
        &mut self,
        now: Instant,
        controller: Box<dyn RateController>,
        config: &HostConfig,
    ) {
        let (style, ecn) = Terms::follow(config, &*controller);
        self.ecn = ecn;
        let hello = Hello::new(self.number, config.frame_interval(), style);
        match (&mut self.terms, &mut self.sender) {
            (Some(terms), _) => (terms.controller, terms.hello) = (controller, hello),
            (None, Some(sender)) => sender.set_controller(now, controller),
            (None, None) => {}
        }
        if let Some(requests) = &mut self.requests {
            *requests = ReportRequests::new(style);
        }
        if let Some(channel) = self.farewell.filter(|_| self.peer.negotiated().frame.is_some()) {
            // A channel that is gone again leaves nobody to tell.
            let _ = self.peer.send_data(now, channel, &hello.to_bytes());
        }
    }
}
