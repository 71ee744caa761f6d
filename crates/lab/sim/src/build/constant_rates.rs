//! What competitors send at a constant rate, as their specification says: flows are built with it, and the oracle foresees it.

use crate::datagrams;
use gameway_experiment::spec::{CompetitorSpec, VideoChatSpec};
use gameway_units::{Bytes, Duration, Rate};

/// What OnLive sends towards the player.
pub fn onlive(competitor: &CompetitorSpec) -> (Bytes, Duration) {
    match competitor {
        CompetitorSpec::OnliveRome(_) => datagrams::ONLIVE_ROME,
        _ => datagrams::ONLIVE_UT,
    }
}

/// Of the picture, there and back.
pub fn chat_bitrates(chat: &VideoChatSpec) -> (Rate, Rate) {
    (chat.bitrate, chat.return_bitrate.unwrap_or(chat.bitrate))
}

/// The constant rates of a competitor, there and back; zero for one that has none.
pub fn rates(competitor: &CompetitorSpec) -> (Rate, Rate) {
    let rate = |(size, interval): (Bytes, Duration)| size / interval;
    match competitor {
        CompetitorSpec::Tcp(_)
        | CompetitorSpec::ShortTcp(_)
        | CompetitorSpec::Dash(_)
        | CompetitorSpec::Quic(_) => (Rate::ZERO, Rate::ZERO),
        CompetitorSpec::Udp(udp) => (udp.rate, udp.return_rate.unwrap_or(Rate::ZERO)),
        CompetitorSpec::OnliveUt(_) | CompetitorSpec::OnliveRome(_) => {
            (rate(onlive(competitor)), rate(datagrams::ONLIVE_ACTIONS))
        }
        CompetitorSpec::VideoChat(chat) => {
            let (there, back) = chat_bitrates(chat);
            (there + rate(datagrams::SOUND), back + rate(datagrams::SOUND))
        }
    }
}
