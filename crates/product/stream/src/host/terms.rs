//! What a session is to be, from the configuration of its host.

use crate::control::Hello;
use crate::{HostConfig, StreamError};
use gameway_control::{Controllers, FeedbackStyle, RateController};
use gameway_media::LadderConfig;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, Ratio, Recovery, Repair};

/// What a session's sender is made of.
pub struct Terms {
    /// Its controller.
    pub controller: Box<dyn RateController>,
    /// When the first frame may be captured.
    pub start: Instant,
    /// Time from frame to frame.
    pub frame_interval: Duration,
    /// Repair packets per media packet, for a client that can use them.
    pub repair_share: Ratio,
    /// What is done about losses, for a client that agrees.
    pub repair: Repair,
    /// What follows a frame that the client has given up, if it says what it has shown.
    pub recovery: Recovery,
    /// By what size and frame rate of the picture follow the bitrate, if they do.
    pub ladder: Option<LadderConfig>,
    /// The rate to which the circuit breaker lets the stream fall; `None` for no circuit breaker.
    pub circuit_breaker: Option<Rate>,
    /// The most that a packet of it has on the wire.
    pub mtu: Option<Bytes>,
    /// The ECN field of media packets.
    pub ecn: Ecn,
    /// Whether a browser is told that it may play.
    pub plays: bool,
    /// Whether who plays may use the clipboard of the screen.
    pub clipboard: bool,
    /// Whether a test card is played, of which a page may ask.
    pub card: bool,
    /// Whether there is sound.
    pub audio: bool,
    /// What a client of ours is told when it comes.
    pub hello: Hello,
}

impl Terms {
    /// The same for who watches beside the client that plays.
    #[must_use]
    pub(super) fn without_input(self) -> Self {
        Self { plays: false, card: false, ..self }
    }

    /// Another controller: what follows of it for reports and the ECN field.
    pub(super) fn follow(
        config: &HostConfig,
        controller: &dyn RateController,
    ) -> (FeedbackStyle, Ecn) {
        let style = config.reports.or_native(controller.feedback_style());
        (style, config.ecn.or_native(controller.ecn()))
    }
}

pub(super) fn terms(
    config: &HostConfig,
    known: &Controllers,
    session: u32,
    audio: bool,
) -> Result<Terms, StreamError> {
    let controller = config.build_controller(known)?;
    let frame_interval = config.frame_interval();
    let (style, ecn) = Terms::follow(config, &*controller);
    Ok(Terms {
        start: Instant::ZERO + config.start,
        frame_interval,
        repair_share: config.fec,
        repair: config.repair,
        recovery: config.recovery,
        ladder: config.ladder(),
        circuit_breaker: config.circuit_breaker.then_some(config.min_bitrate),
        mtu: config.mtu,
        ecn,
        plays: config.input,
        clipboard: config.shares_clipboard(),
        card: config.card.is_some(),
        audio,
        hello: Hello::new(session, frame_interval, style),
        controller,
    })
}
