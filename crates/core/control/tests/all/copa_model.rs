//! A model of Copa as published (section 2.1, delta 0.1), for itself: no code of the controller is in it. A velocity is
//! lost at once where the direction turns, as in mvfst, and the window at most doubles in a round trip, as in genericCC.
//!
//! One flow on a link with an endless queue, an acknowledgement for each packet, time in steps of a fourth of a packet.

use std::collections::VecDeque;

const DELTA: f64 = 0.1;
const PACKET_BITS: f64 = 1_248.0 * 8.0;
const FRAME: f64 = 1.0 / 60.0;

/// What there is to send.
#[derive(Clone, Copy, PartialEq)]
pub enum Source {
    /// Always something, as in the paper.
    Backlogged,
    /// Each frame interval window / smoothed round trip, less a fourth of what is still there.
    Frames,
}

pub struct Model {
    source: Source,
    rate: f64,
    rtt: f64,
    window: f64,
    velocity: f64,
    slow_start: bool,
    upwards: bool,
    held: u32,
    judged: (f64, f64),
    smoothed: f64,
    /// When acknowledged, and the round trip: the growing values of 10 s, and of half a round trip.
    min: VecDeque<(f64, f64)>,
    standing: VecDeque<(f64, f64)>,
}

fn insert(kept: &mut VecDeque<(f64, f64)>, now: f64, trip: f64, window: f64) {
    while kept.back().is_some_and(|(_, value)| *value >= trip) {
        kept.pop_back();
    }
    kept.push_back((now, trip));
    while kept.front().is_some_and(|(time, _)| *time < now - window) {
        kept.pop_front();
    }
}

impl Model {
    pub fn new(source: Source, mbps: u64, rtt_ms: i64) -> Self {
        let (rate, rtt) = (mbps as f64 * 1e6 / PACKET_BITS, rtt_ms as f64 / 1e3);
        Self {
            source,
            rate,
            rtt,
            window: 10.0,
            velocity: 1.0,
            slow_start: true,
            upwards: true,
            held: 0,
            judged: (0.0, 10.0),
            smoothed: rtt,
            min: VecDeque::new(),
            standing: VecDeque::new(),
        }
    }

    fn on_acknowledged(&mut self, now: f64, trip: f64) {
        self.smoothed += (trip - self.smoothed) / 8.0;
        insert(&mut self.min, now, trip, 10.0);
        insert(&mut self.standing, now, trip, self.smoothed / 2.0);
        let standing = self.standing[0].1;
        let below = self.window * DELTA * (standing - self.min[0].1) <= standing;
        if self.slow_start && below {
            self.window += 1.0;
            return;
        }
        self.slow_start = false;
        if now - self.judged.0 >= self.smoothed {
            self.judge(now);
        }
        if below != self.upwards && self.velocity > 1.0 {
            self.turn(below);
        }
        let max = if below { 1.0 } else { 0.5 };
        let step = (self.velocity / (DELTA * self.window)).min(max);
        self.window = (self.window + if below { step } else { -step }).max(2.0);
    }

    fn judge(&mut self, now: f64) {
        let upwards = self.window > self.judged.1;
        self.judged = (now, self.window);
        if upwards != self.upwards {
            self.turn(upwards);
            return;
        }
        self.held += 1;
        if self.held >= 3 {
            self.velocity *= 2.0;
        }
    }

    fn turn(&mut self, upwards: bool) {
        (self.upwards, self.held, self.velocity) = (upwards, 0, 1.0);
    }

    fn frame(&self, left: f64) -> f64 {
        match self.source {
            Source::Backlogged => f64::INFINITY,
            Source::Frames => left + (self.window / self.smoothed * FRAME - left / 4.0).max(0.0),
        }
    }

    /// Utilization, and the mean queue as a multiple of 1.25/delta packets, from 20 s to 60 s.
    pub fn run(mut self) -> (f64, f64) {
        let mut acknowledgements: VecDeque<(f64, f64)> = VecDeque::new();
        let (mut link_free, mut next_send, mut next_frame, mut waiting) = (0.0, 0.0, 0.0, 0.0);
        let (mut sent, mut queued) = (0.0, 0.0);
        for step in 0..(60.0 * self.rate * 4.0) as u64 {
            let now = step as f64 / self.rate / 4.0;
            while let Some(&(at, left)) = acknowledgements.front().filter(|(at, _)| *at <= now) {
                acknowledgements.pop_front();
                self.on_acknowledged(at, at - left);
            }
            if now >= next_frame {
                (waiting, next_frame) = (self.frame(waiting), next_frame + FRAME);
            }
            let standing = self.standing.front().map_or(self.rtt, |kept| kept.1);
            while (acknowledgements.len() as f64) < self.window
                && next_send <= now
                && waiting >= 1.0
            {
                waiting -= 1.0;
                next_send = f64::max(next_send, now) + standing / (2.0 * self.window);
                if now > 20.0 {
                    (sent, queued) = (sent + 1.0, queued + f64::max(link_free - now, 0.0));
                }
                link_free = f64::max(link_free, now) + 1.0 / self.rate;
                acknowledgements.push_back((link_free + self.rtt, now));
            }
        }
        (sent / 40.0 / self.rate, queued / sent * self.rate / (1.25 / DELTA))
    }
}
