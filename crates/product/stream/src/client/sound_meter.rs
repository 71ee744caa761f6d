//! What is measured of sound, sans-IO: how old it is when it can be heard, and how far it is from the picture.
//!
//! The built-in scene beeps as each second of its clock begins, and its pictures bear that clock. A beep whose onset can
//! be heard at `a` began at the whole second `b` that is nearest to `a - v`, where `v` is how old the newest picture was
//! when it was decoded; the offset is `(a - b) - v`, and above zero if the sound is later than the picture. It needs no
//! clock that both ends share, and nothing that packets say: only decoded samples and decoded pictures.
//!
//! How old a packet is when it is decoded needs both ends on one clock, as in a live run: its time stamp is the host's.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | values kept of each kind | the newest 4096 | 41 s of packets, an hour of beeps; the table `sound` has all |

use crate::client::sound_decoding::DecodedSound;
use gameway_codec::audio::{BEEP_INTERVAL, SAMPLE_RATE};
use gameway_units::{Duration, Instant};
use gameway_webrtc::unwrap_number;
use std::collections::VecDeque;

const MAX_WAITING: usize = 4_096;

/// Newest values of something.
#[derive(Debug, Clone, Default)]
struct Values(VecDeque<Duration>);

impl Values {
    fn add(&mut self, value: Duration) {
        if self.0.len() == MAX_WAITING {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The value that so many hundredths are below or at.
    fn percentile(&self, hundredths: usize) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len().saturating_sub(1) * hundredths).div_ceil(100)).copied()
    }
}

/// What was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SoundReport {
    /// What became of packets.
    pub counts: crate::client::sound_inbox::SoundCounts,
    /// Packets that could not be decoded.
    pub undecodable: u64,
    /// The loudest sample, of 32768.
    pub peak: u16,
    /// From a packet's first sample to its decoding: median and 99th percentile, on the host's clock.
    pub delay: Option<(Duration, Duration)>,
    /// Beeps that were heard.
    pub beeps: u64,
    /// How much later than the picture a beep was: least, median and greatest.
    pub offset: Option<(Duration, Duration, Duration)>,
}

/// What a packet's row in the table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    /// When its first sample played, on the host's clock.
    pub(super) captured: Option<Instant>,
    /// How much later than the picture its beep is, if one begins in it.
    pub(super) offset: Option<Duration>,
}

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub(super) struct SoundMeter {
    delays: Values,
    offsets: Values,
    /// How old the newest picture was.
    picture_age: Option<Duration>,
    /// The newest capture time in samples.
    newest: Option<u64>,
    undecodable: u64,
    peak: u16,
    beeps: u64,
}

impl SoundMeter {
    /// A picture that was captured then was decoded now.
    pub(super) fn see(&mut self, captured: Instant, decoded: Instant) {
        self.picture_age = Some(decoded - captured);
    }

    /// A packet was decoded.
    pub(super) fn hear(&mut self, heard: &DecodedSound) -> Measured {
        let captured = heard.packet.map(|(timestamp, _)| self.captured(timestamp, heard.at));
        if let Some(captured) = captured {
            self.delays.add(heard.at - captured);
        }
        self.undecodable += u64::from(heard.failed);
        self.peak = self.peak.max(heard.peak);
        let offset = heard.onset.and_then(|onset| {
            self.beeps += 1;
            Some(offset(heard.at + onset, self.picture_age?))
        });
        offset.into_iter().for_each(|offset| self.offsets.add(offset));
        Measured { captured, offset }
    }

    /// What was measured so far.
    pub(super) fn report(&self) -> SoundReport {
        let of = |values: &Values, hundredths| values.percentile(hundredths);
        let (delays, offsets) = (&self.delays, &self.offsets);
        let offset = || Some((of(offsets, 0)?, of(offsets, 50)?, of(offsets, 100)?));
        SoundReport {
            undecodable: self.undecodable,
            peak: self.peak,
            delay: (|| Some((of(delays, 50)?, of(delays, 99)?)))(),
            beeps: self.beeps,
            offset: offset(),
            ..SoundReport::default()
        }
    }

    /// The time stamp's own time; the first is taken to be near our own clock.
    fn captured(&mut self, timestamp: u32, now: Instant) -> Instant {
        let own = i128::from(now.as_nanos().max(0)) * i128::from(SAMPLE_RATE) / 1_000_000_000;
        let near = self.newest.unwrap_or(own as u64);
        let samples = unwrap_number(near, u64::from(timestamp), 32);
        self.newest = Some(samples.max(self.newest.unwrap_or(0)));
        let nanos = u128::from(samples) * 1_000_000_000 / u128::from(SAMPLE_RATE);
        Instant::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

/// How much later than the picture a beep is that is heard at `at`.
fn offset(at: Instant, picture_age: Duration) -> Duration {
    let interval = BEEP_INTERVAL.as_nanos();
    let late = (at - picture_age).as_nanos().rem_euclid(interval);
    Duration::from_nanos(if late > interval / 2 { late - interval } else { late })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn heard(timestamp: u32, millis: i64, onset: Option<i64>) -> DecodedSound {
        let onset = onset.map(Duration::from_millis);
        DecodedSound {
            packet: Some((timestamp, at(millis))),
            at: at(millis),
            onset,
            peak: 0,
            failed: false,
        }
    }

    #[test]
    fn a_beep_is_compared_with_the_picture_whatever_the_clocks_say() {
        for (clock, age, beep, expected) in
            // Host and client on one clock; the client's 7.3 s ahead, where only differences mean something.
            [
                (0, 30, 3_028, -2),
                (0, 30, 3_055, 25),
                (7_300, 30, 3_028, -2),
                (-2_650, 30, 3_055, 25),
            ]
        {
            let mut meter = SoundMeter::default();
            meter.see(at(2_990), at(2_990 + age + clock));
            let measured = meter.hear(&heard(480 * 300, beep - 3 + clock, Some(3)));
            assert_eq!(measured.offset, Some(Duration::from_millis(expected)), "{clock} {beep}");
            assert_eq!(meter.report().offset.map(|it| it.1), measured.offset);
        }
    }

    #[test]
    fn how_old_a_packet_is_follows_from_its_time_stamp() {
        let mut meter = SoundMeter::default();
        // A day and more: the time stamp has wrapped.
        let day = 100_000_000;
        for (packet, age) in [(0, 25), (1, 27), (2, 35)] {
            let millis = day + packet * 10;
            let timestamp = (millis as u64 * 48) as u32;
            let measured = meter.hear(&heard(timestamp, millis + age, None));
            assert_eq!(measured, Measured { captured: Some(at(millis)), offset: None });
        }
        let report = meter.report();
        let (median, max) = report.delay.expect("delays");
        assert_eq!((median, max), (Duration::from_millis(27), Duration::from_millis(35)));
        assert_eq!((report.beeps, report.offset), (0, None));
    }
}
