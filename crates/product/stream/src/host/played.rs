//! Where the player's actions go.

use crate::host::hand::HandOfPlayer;
use crate::host::session::Session;
use crate::{HostConfig, SourceConfig};
use gameway_codec::Hand;
use gameway_units::Instant;

/// What is played.
#[derive(Debug)]
pub(super) enum Played {
    /// Nothing: who has the stream watches.
    Nothing,
    /// The built-in scene.
    Scene(HandOfPlayer),
}

impl Played {
    /// What the configuration lets a player play.
    pub(super) fn open(config: &HostConfig) -> Self {
        match config.source {
            SourceConfig::Scene if config.input => Self::Scene(HandOfPlayer::default()),
            _ => Self::Nothing,
        }
    }

    /// Does what the player of this session has done since.
    pub(super) fn take(&mut self, session: &mut Session) {
        while let Some(action) = session.poll_action() {
            match self {
                Self::Nothing => {}
                Self::Scene(hand) => hand.apply(action),
            }
        }
    }

    /// Where the player's hand is in the scene, if it is the scene that is played.
    pub(super) fn hand(&mut self, now: Instant) -> Option<Hand> {
        match self {
            Self::Nothing => None,
            Self::Scene(hand) => Some(hand.at(now)),
        }
    }
}
