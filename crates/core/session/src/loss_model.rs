//! How many packets are lost, and how many of them in a row: what the sender knows of it, and what follows for a frame.
//!
//! # Model
//! A chain of two states (Gilbert 1960, "Capacity of a burst-noise channel", section 2, with a bad state in which every packet is
//! lost): a packet is lost with probability `loss`, one behind a lost one with probability `again`. Bursts then have
//! `1 / (1 - again)` packets in the mean; `again = loss` is independent loss. Both are shares of counts that fade with
//! the packets that are told of.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | memory | 5000 packets | 50 losses at 1 %, so that the share is known to 14 % (one standard deviation); 5 s at 10 Mb/s |
//! | memory of what follows losses | 200 losses | bursts are of the path and change less than their number; a share of 2/3 is known to 5 % |
//! | before any packet | 0.1 % of 500 packets, independent | what a path has that nobody complains of; gone after a second |
//! | what follows a loss | independent of it for 2 losses, before any is known | one loss says nothing of bursts |
//! | packets that wait for the fate of one before | as many as the sender's history keeps | of a packet that it forgot nothing is told |
//! | most | 3/4 | at higher loss no plan helps |

use crate::history::MAX_PACKETS;
use gameway_control::PacketReport;
use std::collections::VecDeque;

const MEMORY: f64 = 5000.0;
const MEMORY_OF_LOSSES: f64 = 200.0;
const PRIOR_PACKETS: f64 = 500.0;
const PRIOR_LOSS: f64 = 0.001;
/// Beyond, nothing is planned.
const MAX_SHARE: f64 = 0.75;
/// Losses whose followers count as independent beforehand.
const PRIOR_LOSSES: f64 = 2.0;

/// Probabilities of the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LossModel {
    /// That a packet is lost.
    pub(crate) loss: f64,
    /// That a packet behind a lost one is lost.
    pub(crate) again: f64,
}

impl LossModel {
    /// The same with few digits, so that plans which are made of it change seldom: steps of an eighth. It is rounded up, since the
    /// share of late frames grows faster than the losses: a plan for a sixteenth less has two thirds more of them.
    pub(crate) fn rounded(self) -> Self {
        Self { loss: few_digits(self.loss), again: few_digits(self.again) }
    }
}

/// Keeps three bits behind the first one, rounded up.
fn few_digits(share: f64) -> f64 {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - 1 - 3;
    let rest = (1_u64 << DROPPED) - 1;
    f64::from_bits((share.to_bits() + rest) & !rest).min(MAX_SHARE)
}

/// The distribution of the number of losses, packet by packet; the greatest number stands for all from there on.
pub(crate) struct Chain {
    /// By number of losses, with the last packet received, and with it lost.
    received: Vec<f64>,
    lost: Vec<f64>,
}

impl Chain {
    /// Before the first packet, in the state that packets have in the mean.
    pub(crate) fn new(model: &LossModel, outcomes: usize) -> Self {
        let (mut received, mut lost) = (vec![0.0; outcomes], vec![0.0; outcomes]);
        (received[0], lost[0]) = (1.0 - model.loss, model.loss);
        Self { received, lost }
    }

    /// One packet more.
    pub(crate) fn step(&mut self, model: &LossModel) {
        // The share of bursts that begin, so that packets are lost with the probability of the model.
        let begins = (model.loss * (1.0 - model.again) / (1.0 - model.loss)).min(1.0);
        let last = self.received.len() - 1;
        for count in (0..=last).rev() {
            let (received, lost) = (self.received[count], self.lost[count]);
            let newly = received * begins + lost * model.again;
            self.received[count] = received * (1.0 - begins) + lost * (1.0 - model.again);
            self.lost[count] = 0.0;
            self.lost[(count + 1).min(last)] += newly;
        }
    }

    /// The probability of each number of lost packets.
    pub(crate) fn losses(&self) -> Vec<f64> {
        self.received.iter().zip(&self.lost).map(|(received, lost)| received + lost).collect()
    }
}

/// Counts of packets and losses that fade.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossEstimate {
    packets: f64,
    losses: f64,
    /// Lost packets of whose follower the fate is known, and how many of those were lost, too.
    followed: f64,
    lost_again: f64,
    /// Whether the packet counted last was lost.
    was_lost: bool,
    /// The first packet that is not counted.
    next: u64,
    /// What is known of the packets from there on.
    known: VecDeque<Option<bool>>,
}

impl LossEstimate {
    /// Packets were told of: each once, and once more if one that was taken for lost came after all.
    pub(crate) fn on_reports(&mut self, reports: &[PacketReport]) {
        for report in reports {
            let (number, lost) = (report.packet.sequence.0, report.arrival.is_none());
            match number.checked_sub(self.next) {
                Some(place) => self.note(place as usize, lost),
                None if !lost => self.losses = (self.losses - 1.0).max(0.0),
                None => {}
            }
        }
        // What is lost is told of later than what came behind it.
        while self.known.len() > MAX_PACKETS || self.known.front().is_some_and(Option::is_some) {
            let fate = self.known.pop_front().flatten();
            self.next += 1;
            if let Some(lost) = fate {
                self.count(lost);
            }
        }
    }

    fn note(&mut self, place: usize, lost: bool) {
        if self.known.len() <= place {
            self.known.resize(place + 1, None);
        }
        self.known[place] = Some(lost);
    }

    fn count(&mut self, lost: bool) {
        let fade = |count: &mut f64, memory: f64, more: bool| {
            *count = *count * (1.0 - 1.0 / memory) + f64::from(u8::from(more));
        };
        fade(&mut self.packets, MEMORY, true);
        fade(&mut self.losses, MEMORY, lost);
        if std::mem::replace(&mut self.was_lost, lost) {
            fade(&mut self.followed, MEMORY_OF_LOSSES, true);
            fade(&mut self.lost_again, MEMORY_OF_LOSSES, lost);
        }
    }

    /// What these counts say.
    pub(crate) fn model(&self) -> LossModel {
        let loss = (self.losses + PRIOR_LOSS * PRIOR_PACKETS) / (self.packets + PRIOR_PACKETS);
        let again = (self.lost_again + loss * PRIOR_LOSSES) / (self.followed + PRIOR_LOSSES);
        LossModel { loss, again: again.max(loss) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
