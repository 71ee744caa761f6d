//! How many repair packets a frame has beforehand, and how often a packet that is asked for is sent again: the fewest packets with
//! which the stated share of frames is whole in time.
//!
//! # Model
//! After Hairpin (Meng et al., NSDI 2024: repair packets are chosen round by round, as a Markov decision process over packets
//! missing and time left). A frame of `k` media packets leaves with `m` repair packets; any `k` of them make it whole. What it
//! then lacks is asked for and sent again in rounds, as many as there is time for, each of `c` copies of each packet that is
//! missing. With `V(r, j)` the least cost where `j` packets are missing and `r` rounds are left:
//!
//! ```text
//! V(r, 0) = 0        V(0, j) = price
//! V(r, j) = min over c of  j c + sum over i of P(i of j packets are lost c times) V(r - 1, i)
//! cost    = min over m of    m + sum over x of P(x of k + m packets are lost) V(rounds, max(0, x - m))
//! ```
//!
//! The price of a frame that is not whole in time, in packets, is the least with which the goal is met. That policy does better than
//! asked for, since packets are whole, and the one for a price below worse. Frames have one or the other in the shares with
//! which the goal is met, as is best where a mean is bounded (Altman, "Constrained Markov Decision Processes", 1999, ch. 3). Losses of a frame's packets
//! are those of [`LossModel`], bursts included; copies are sent so far apart that they are lost independently.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | repair packets | half of the media packets, 64 | beyond, a picture of less bytes is worth more |
//! | copies | 4 | at 18 % loss the fourth reaches 99.9 % |
//! | rounds | 4 | the fifth is needed at more than 25 % loss |
//! | packets missing | 64 | more are planned for as 64 |
//! | price | found to 1 %, to 2^20 packets | where the goal cannot be met, as near as these bounds allow |
//!
//! | deviation from Hairpin | why |
//! |---|---|
//! | copies of what is missing in place of new repair packets in later rounds | browsers take nothing else; with one packet missing, the usual case, it is the same |
//! | the price is found for a goal, not given | a user can say what share of frames is to be whole, not what a frame is worth |
//! | computed when losses, rounds or frame sizes change, not looked up | 0.1 ms; no table of another's parameters |

use crate::loss_model::{Chain, LossModel};
use gameway_control::FrameId;

const MAX_REPAIR: usize = 64;
const MAX_COPIES: u8 = 4;
pub(crate) const MAX_ROUNDS: usize = 4;
const MAX_MISSING: usize = 64;
const BISECTIONS: u32 = 6;
const MAX_PRICE: f64 = (1 << 20) as f64;

/// What a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Situation {
    pub(crate) model: LossModel,
    /// Media packets of a frame.
    pub(crate) media: usize,
    /// How often there is time to send again.
    pub(crate) rounds: usize,
    /// Whether the receiver can use repair packets.
    pub(crate) coded: bool,
    /// The share of frames that may be late.
    pub(crate) late: f64,
}

/// What is done for a frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    /// Repair packets that leave with it.
    pub(crate) first: usize,
    /// Copies, by rounds left from zero and packets missing.
    copies: Vec<Vec<u8>>,
    /// Share of such frames that will not be whole in time.
    pub(crate) late: f64,
    /// Packets beyond the media, of such a frame in the mean.
    pub(crate) cost: f64,
}

impl Policy {
    /// How often each of so many missing packets is sent when there is time for so many rounds, this one included.
    pub(crate) fn copies(&self, rounds: usize, missing: usize) -> u8 {
        let Some(by_missing) = self.copies.get(rounds.min(self.copies.len() - 1)) else { return 1 };
        by_missing.get(missing.min(MAX_MISSING)).copied().unwrap_or(1)
    }
}

/// See the module's head.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepairPlan {
    /// The cheapest policy that meets the goal.
    safe: Policy,
    /// The one that is next cheaper and does not, and the share of frames that can have it.
    frugal: Option<(Policy, f64)>,
}

impl RepairPlan {
    /// The cheapest plan that meets the goal.
    pub(crate) fn new(situation: &Situation) -> Self {
        let losses = losses_by_repair(situation);
        let at = |price| policy(situation, &losses, price);
        let (mut high, mut safe, mut frugal) = (1.0, at(1.0), None);
        while safe.late > situation.late && high < MAX_PRICE {
            high *= 2.0;
            frugal = Some(std::mem::replace(&mut safe, at(high)));
        }
        let mut low = high / 2.0;
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            let between = at(middle);
            match between.late > situation.late {
                true => (low, frugal) = (middle, Some(between)),
                false => (high, safe) = (middle, between),
            }
        }
        let room = (situation.late - safe.late).max(0.0);
        let frugal = frugal.map(|frugal| (room / (frugal.late - safe.late), frugal));
        let frugal = frugal.filter(|(share, _)| (0.0..1.0).contains(share));
        Self { safe, frugal: frugal.map(|(share, frugal)| (frugal, share)) }
    }

    /// What is done for this frame: policies take turns.
    pub(crate) fn of(&self, frame: FrameId) -> &Policy {
        match &self.frugal {
            Some((frugal, share)) if takes_turn(frame, *share) => frugal,
            _ => &self.safe,
        }
    }
}

/// Whether a frame is among this share of all, which are spread evenly.
fn takes_turn(frame: FrameId, share: f64) -> bool {
    let before = |frames: u64| (frames as f64 * share).floor();
    before(frame.0.wrapping_add(1)) > before(frame.0)
}

/// Least cost and share of late frames, by packets missing.
struct Round {
    cost: Vec<f64>,
    late: Vec<f64>,
}

/// For each number of repair packets, with what probability so many packets of the frame are missing.
fn losses_by_repair(situation: &Situation) -> Vec<Vec<f64>> {
    let Situation { model, media, coded, .. } = situation;
    let most = if *coded { (media / 2).clamp(1, MAX_REPAIR) } else { 0 };
    let mut chain = Chain::new(model, MAX_MISSING + most + 1);
    (0..*media).for_each(|_| chain.step(model));
    let mut all = Vec::with_capacity(most + 1);
    for repair in 0..=most {
        let lost = chain.losses();
        let whole = lost[..=repair].iter().sum();
        let (near, beyond) = lost[repair + 1..].split_at(MAX_MISSING);
        let mut missing: Vec<f64> = std::iter::once(whole).chain(near.iter().copied()).collect();
        missing[MAX_MISSING] += beyond.iter().sum::<f64>();
        all.push(missing);
        chain.step(model);
    }
    all
}

/// The best policy where a frame that is late costs so much.
fn policy(situation: &Situation, losses: &[Vec<f64>], price: f64) -> Policy {
    let late: Vec<f64> =
        (0..=MAX_MISSING).map(|missing| f64::from(u8::from(missing > 0))).collect();
    let mut round = Round { cost: late.iter().map(|late| late * price).collect(), late };
    let mut copies = vec![vec![1; MAX_MISSING + 1]];
    for _ in 0..situation.rounds.min(MAX_ROUNDS) {
        let (before, chosen) = round_before(&round, situation.model.loss);
        round = before;
        copies.push(chosen);
    }
    let expected = |values: &[f64], chances: &[f64]| -> f64 {
        values.iter().zip(chances).map(|(value, chance)| value * chance).sum()
    };
    let costs = losses
        .iter()
        .enumerate()
        .map(|(first, chances)| (first, first as f64 + expected(&round.cost, chances)));
    let (first, total) = costs.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0));
    let late = expected(&round.late, &losses[first]);
    Policy { first, late, cost: total - price * late, copies }
}

/// What one round more makes of it, and the copies of that round.
fn round_before(next: &Round, loss: f64) -> (Round, Vec<u8>) {
    let mut round = Round { cost: vec![0.0], late: vec![0.0] };
    let mut chosen = vec![1];
    // By number of copies, with what probability so many of the packets missing are lost with all copies.
    let mut lost: Vec<Vec<f64>> = vec![vec![1.0]; usize::from(MAX_COPIES)];
    for missing in 1..=MAX_MISSING {
        let mut best = (f64::INFINITY, 0.0, 1);
        let mut all_lost = 1.0;
        for (copies, lost) in (1..=MAX_COPIES).zip(&mut lost) {
            all_lost *= loss;
            one_more(lost, all_lost);
            let expected = |values: &[f64]| -> f64 {
                values.iter().zip(&*lost).map(|(value, chance)| value * chance).sum()
            };
            let cost = missing as f64 * f64::from(copies) + expected(&next.cost);
            if cost < best.0 {
                best = (cost, expected(&next.late), copies);
            }
        }
        round.cost.push(best.0);
        round.late.push(best.1);
        chosen.push(best.2);
    }
    (round, chosen)
}

/// The distribution of failures with one trial more that fails with this probability.
fn one_more(failures: &mut Vec<f64>, probability: f64) {
    failures.push(0.0);
    for count in (0..failures.len()).rev() {
        let before = if count > 0 { failures[count - 1] } else { 0.0 };
        failures[count] = failures[count] * (1.0 - probability) + before * probability;
    }
}

#[cfg(test)]
mod tests;
