//! How many repair packets a frame has beforehand, and how often a packet that is asked for is sent again: the fewest packets with
//! which the stated share of frames is whole in time.
//!
//! # Model
//! After Hairpin (Meng et al., NSDI 2024: repair packets are chosen round by round, as a Markov decision process over packets
//! missing and time left). A frame may have `n` packets, `m` of them repair packets; any `n - m` of them make it whole, or, of a
//! receiver that knows parity alone, any of which no two of a group are missing ([`RepairCode`]). What it then
//! lacks is asked for and sent again in rounds, as many as there is time for, each of `c` copies of each packet that is missing. With `V(r, j)` the least cost where `j` packets are missing and `r` rounds are left:
//!
//! ```text
//! V(r, 0) = 0        V(0, j) = price
//! V(r, j) = min over c of  j c + sum over i of P(i of j packets are lost c times) V(r - 1, i)
//! cost    = min over m of    m + sum over x of P(x of n packets are lost) V(rounds, max(0, x - m))
//! ```
//!
//! The price of a frame that is not whole in time, in packets, is the least with which the goal is met. That policy does better than
//! asked for, since packets are whole, and the one for a price below worse. Frames have one or the other in the shares with
//! which the goal is met, as is best where a mean is bounded (Altman, "Constrained Markov Decision Processes", 1999, ch. 3). Losses of a frame's packets
//! are those of [`LossModel`], bursts included; copies are sent so far apart that they are lost independently.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | repair packets | a third of a frame's packets, rounded up, and 64 | beyond, a picture of less bytes is worth more |
//! | copies | 4 | at 18 % loss the fourth reaches 99.9 % |
//! | rounds | 4 | the fifth is needed at more than 25 % loss |
//! | packets missing | 64, or beyond which a hundredth of the late frames lies | more are planned for as that many |
//! | price | found to 1 %, to 2^20 packets | where the goal cannot be met, as near as these bounds allow |
//!
//! | deviation from Hairpin | why |
//! |---|---|
//! | copies of what is missing in place of new repair packets in later rounds | browsers take nothing else; with one packet missing, the usual case, it is the same |
//! | the price is found for a goal, not given | a user can say what share of frames is to be whole, not what a frame is worth |
//! | no parity where there is time for a round | a browser asks as soon as it sees a gap, before parity can come: it would spare no repetition |
//! | of parity, losses are taken for spread at random over the groups | packets in a row are of different groups, so that bursts do less harm |
//! | computed when losses, rounds or frame sizes change, not looked up | no table of another's parameters; what is too rare to count is left out, so that it is done between two frames |

use crate::loss_model::{Chain, LossModel};
use crate::repair_code::RepairCode;
use gameway_control::FrameId;

const MAX_REPAIR: usize = 64;
pub(crate) const MAX_COPIES: u8 = 4;
pub(crate) const MAX_ROUNDS: usize = 4;
const MAX_MISSING: usize = 64;
const NEGLIGIBLE: f64 = 0.01;
const BISECTIONS: u32 = 6;
const MAX_PRICE: f64 = (1 << 20) as f64;

/// What a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Situation {
    pub(crate) model: LossModel,
    /// Packets that a frame may have, those of repair among them.
    pub(crate) packets: usize,
    /// How often there is time to send again.
    pub(crate) rounds: usize,
    /// What the receiver can do with repair packets.
    pub(crate) code: RepairCode,
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
    /// The number of copies of each missing packet that are sent now, where `missing` packets are missing and there is time for
    /// `rounds` rounds, this one included.
    pub(crate) fn copies(&self, rounds: usize, missing: usize) -> u8 {
        let Some(by_missing) = self.copies.get(rounds.min(self.copies.len() - 1)) else { return 1 };
        by_missing.get(missing).or(by_missing.last()).copied().unwrap_or(1)
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
        let chances = Chances::new(situation);
        let at = |price| policy(situation, &chances, price);
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

/// What can be lost of a frame and of what is sent again.
struct Chances {
    /// For each number of repair packets and of packets missing, the probability that the frame misses that number of packets.
    missing: Vec<Vec<f64>>,
    /// For each number of packets missing and of copies, from one, the probability of each number of packets lost with all copies.
    lost: Vec<Vec<Vec<f64>>>,
}

impl Chances {
    fn new(situation: &Situation) -> Self {
        let missing = missing_by_repair(situation);
        let max = missing[0].len() - 1;
        let mut so_far = vec![vec![1.0]; usize::from(MAX_COPIES)];
        let mut lost = vec![so_far.clone()];
        for _ in 0..max {
            let mut all_copies = 1.0;
            for of_copies in &mut so_far {
                all_copies *= situation.model.loss;
                one_more(of_copies, all_copies);
            }
            lost.push(so_far.clone());
        }
        Self { missing, lost }
    }
}

/// Up to the number of packets missing that counts: more are as rare as not to matter, and stand as that many.
fn missing_by_repair(situation: &Situation) -> Vec<Vec<f64>> {
    let Situation { model, packets, code, late, rounds } = situation;
    let max_repair = match code {
        RepairCode::None => 0,
        RepairCode::Interleaved if *rounds > 0 => 0,
        _ => packets.div_ceil(3).min(MAX_REPAIR),
    };
    let mut chain = Chain::new(model, MAX_MISSING + max_repair + 1);
    (0..*packets).for_each(|_| chain.step(model));
    let mut beyond = 1.0;
    let counts = chain.losses().iter().position(|chance| {
        beyond -= chance;
        beyond < late * NEGLIGIBLE
    });
    let max = counts.unwrap_or(MAX_MISSING).clamp(1, MAX_MISSING);
    let mut all = Vec::with_capacity(max_repair + 1);
    for repair in 0..=max_repair {
        // There is a media packet in any case.
        if repair == *packets {
            chain.step(model);
        }
        all.push(missing(*code, &chain.losses(), repair, *packets, max));
    }
    all
}

/// The probability of each number of missing packets up to `max`; `lost` has the probability of each number of lost packets.
fn missing(code: RepairCode, lost: &[f64], repair: usize, packets: usize, max: usize) -> Vec<f64> {
    let mut missing = vec![0.0; max + 1];
    for (losses, chance) in lost.iter().enumerate() {
        let mended = code.mends(losses, repair, packets);
        missing[0] += chance * mended;
        // Two losses in one group leave all of them missing: some more than there are.
        missing[code.missing(losses, repair).min(max)] += chance * (1.0 - mended);
    }
    missing
}

/// The best policy where a late frame costs `price`, in packets.
fn policy(situation: &Situation, chances: &Chances, price: f64) -> Policy {
    let counts = chances.lost.len();
    let late: Vec<f64> = (0..counts).map(|missing| f64::from(u8::from(missing > 0))).collect();
    let mut round = Round { cost: late.iter().map(|late| late * price).collect(), late };
    let mut copies = vec![vec![1; counts]];
    for _ in 0..situation.rounds.min(MAX_ROUNDS) {
        let (before, chosen) = round_before(&round, &chances.lost);
        round = before;
        copies.push(chosen);
    }
    let costs = chances.missing.iter().enumerate();
    let costs =
        costs.map(|(first, missing)| (first, first as f64 + expected(&round.cost, missing)));
    let (first, total) = costs.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0));
    let late = expected(&round.late, &chances.missing[first]);
    Policy { first, late, cost: total - price * late, copies }
}

/// What one round more makes of it, and the copies of that round.
fn round_before(next: &Round, lost: &[Vec<Vec<f64>>]) -> (Round, Vec<u8>) {
    let mut round = Round { cost: Vec::new(), late: Vec::new() };
    let mut chosen = Vec::new();
    for (missing, by_copies) in lost.iter().enumerate() {
        let costs = (1..=MAX_COPIES).zip(by_copies).map(|(copies, lost)| {
            (copies, missing as f64 * f64::from(copies) + expected(&next.cost, lost))
        });
        let best = costs.min_by(|one, other| one.1.total_cmp(&other.1));
        let (copies, cost) = best.unwrap_or((1, 0.0));
        round.cost.push(cost);
        round.late.push(expected(&next.late, &by_copies[usize::from(copies) - 1]));
        chosen.push(copies);
    }
    (round, chosen)
}

fn expected(values: &[f64], chances: &[f64]) -> f64 {
    values.iter().zip(chances).map(|(value, chance)| value * chance).sum()
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
