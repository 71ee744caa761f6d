//! The pseudo-code of RFC 9002, appendices A and B, written down as it stands, beside the sender: after each event
//! both have the same packets in flight, losses, congestion events, time-outs and round-trip times.

use crate::common::Flow;
use gameway_quic::{
    AckFrame, AckPolicy, ClientContent, ClientDatagram, SenderConfig, ServerContent, ServerDatagram,
};
use gameway_testbed::{Ends, Fates, Impairment, Testbed};
use gameway_units::{Bytes, Duration, Instant};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PACKET_THRESHOLD: u64 = 3;
const GRANULARITY: Duration = Duration::from_millis(1);
const INITIAL_RTT: Duration = Duration::from_millis(333);
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Appendix A.3 and B.2, in the RFC's names.
#[derive(Default)]
struct Appendix {
    latest_rtt: Duration,
    smoothed_rtt: Duration,
    rttvar: Duration,
    min_rtt: Duration,
    has_sample: bool,
    sent_packets: BTreeMap<u64, (Instant, u64)>,
    largest_acked_packet: Option<u64>,
    loss_time: Option<Instant>,
    time_of_last_ack_eliciting_packet: Instant,
    pto_count: u32,
    bytes_in_flight: u64,
    /// The RFC compares times of sending; numbers tell apart what has the same time.
    recovery_start: u64,
    next: u64,
    /// first_rtt_sample, and what became of each packet, by number: when it left, whether it is lost now.
    first_rtt_sample: Option<Instant>,
    history: Vec<(Instant, bool)>,
    /// Packets below it were part of an earlier persistent congestion.
    answered: usize,
    persistent_congestions: u64,
    lost: u64,
    congestion_events: u64,
    timeouts: u64,
}

impl Appendix {
    fn on_packet_sent(&mut self, now: Instant, number: u64, size: u64) {
        self.sent_packets.insert(number, (now, size));
        self.bytes_in_flight += size;
        self.time_of_last_ack_eliciting_packet = now;
        self.next = number + 1;
        assert_eq!(self.history.len() as u64, number);
        self.history.push((now, false));
    }

    fn on_ack_received(&mut self, now: Instant, ack: &AckFrame) {
        let Some(largest) = ack.largest() else { return };
        self.largest_acked_packet = self.largest_acked_packet.max(Some(largest));
        let is_acked = |number: &u64| ack.ranges.iter().any(|run| (run.0..run.1).contains(number));
        let newly: Vec<u64> = self.sent_packets.keys().copied().filter(is_acked).collect();
        // A packet that arrives after it was judged lost is not in sent_packets. Section 6.2.1 resets the back-off with
        // every acknowledgement, so it counts.
        let mut late = false;
        for number in ack.ranges.iter().flat_map(|run| run.0..run.1) {
            late |= std::mem::take(&mut self.history[number as usize].1);
        }
        if newly.is_empty() && !late {
            return;
        }
        if newly.last() == Some(&largest) {
            self.update_rtt(now, now - self.sent_packets[&largest].0, ack.delay);
        }
        for number in &newly {
            self.bytes_in_flight -= self.sent_packets.remove(number).map_or(0, |packet| packet.1);
        }
        self.detect_and_remove_lost_packets(now);
        self.pto_count = 0;
    }

    fn update_rtt(&mut self, now: Instant, latest: Duration, ack_delay: Duration) {
        self.first_rtt_sample.get_or_insert(now);
        self.latest_rtt = latest;
        if !self.has_sample {
            self.has_sample = true;
            (self.min_rtt, self.smoothed_rtt, self.rttvar) = (latest, latest, latest / 2);
            return;
        }
        self.min_rtt = self.min_rtt.min(latest);
        let ack_delay = ack_delay.min(MAX_ACK_DELAY);
        let mut adjusted = latest;
        if latest >= self.min_rtt + ack_delay {
            adjusted = latest - ack_delay;
        }
        let sample = self.smoothed_rtt.max(adjusted) - self.smoothed_rtt.min(adjusted);
        self.rttvar = self.rttvar * 3 / 4 + sample / 4;
        self.smoothed_rtt = self.smoothed_rtt * 7 / 8 + adjusted / 8;
    }

    fn detect_and_remove_lost_packets(&mut self, now: Instant) {
        self.loss_time = None;
        let loss_delay = (self.latest_rtt.max(self.smoothed_rtt) * 9 / 8).max(GRANULARITY);
        let Some(largest) = self.largest_acked_packet else { return };
        let mut lost = Vec::new();
        for (&number, &(sent, _)) in self.sent_packets.range(..=largest) {
            if sent + loss_delay <= now || largest >= number + PACKET_THRESHOLD {
                lost.push(number);
            } else {
                let due = sent + loss_delay;
                self.loss_time = Some(self.loss_time.map_or(due, |other| other.min(due)));
            }
        }
        for number in &lost {
            self.bytes_in_flight -= self.sent_packets.remove(number).map_or(0, |packet| packet.1);
            self.history[*number as usize].1 = true;
        }
        self.lost += lost.len() as u64;
        // OnCongestionEvent with the last lost packet.
        if lost.last().is_some_and(|last| *last >= self.recovery_start) {
            self.recovery_start = self.next;
            self.congestion_events += 1;
        }
        if lost.first().is_some_and(|first| self.is_in_persistent_congestion(*first as usize)) {
            self.persistent_congestions += 1;
            self.recovery_start = 0;
        }
    }

    /// InPersistentCongestion, of which appendix B.8 has no more than the name: section 7.6.2 word by word. Two lost
    /// packets that left after the first RTT sample, further apart than the duration, and all between lost. The later
    /// one is newly lost, and neither was part of an earlier one.
    fn is_in_persistent_congestion(&mut self, newly: usize) -> bool {
        let duration = (self.smoothed_rtt + (self.rttvar * 4).max(GRANULARITY) + MAX_ACK_DELAY) * 3;
        let Some(first_sample) = self.first_rtt_sample else { return false };
        let counts = |&(sent, lost): &(Instant, bool)| lost && sent > first_sample;
        let mut pairs = (self.answered..self.history.len()).flat_map(|early| {
            (early.max(newly)..self.history.len()).map(move |late| (early, late))
        });
        let is_one = |&(early, late): &(usize, usize)| {
            let run = &self.history[early..=late];
            run[run.len() - 1].0 - run[0].0 > duration && run.iter().all(counts)
        };
        let found = pairs.by_ref().filter(is_one).map(|pair| pair.1).max();
        self.answered = found.map_or(self.answered, |late| late + 1);
        found.is_some()
    }

    /// GetLossTimeAndSpace and GetPtoTimeAndSpace.
    fn timer(&self) -> Option<Instant> {
        let pto = self.smoothed_rtt + (self.rttvar * 4).max(GRANULARITY) + MAX_ACK_DELAY;
        let pto = self.time_of_last_ack_eliciting_packet + pto * (1 << self.pto_count);
        self.loss_time.or((self.bytes_in_flight > 0).then_some(pto))
    }

    fn on_loss_detection_timeout(&mut self, now: Instant) {
        if self.loss_time.is_some() {
            return self.detect_and_remove_lost_packets(now);
        }
        self.timeouts += 1;
        self.pto_count += 1;
    }
}

/// A flow with the appendix beside it.
struct Beside {
    flow: Flow,
    appendix: Appendix,
    /// When the answer to the Initial left, and how often.
    handshake: (Instant, u32),
}

impl Beside {
    #[track_caller]
    fn assert_same(&self) {
        let (stats, appendix) = (self.flow.sender.stats(), &self.appendix);
        assert_eq!(stats.in_flight, Bytes::new(appendix.bytes_in_flight));
        assert_eq!(
            (
                stats.lost_packets,
                stats.recoveries,
                stats.probe_timeouts,
                stats.persistent_congestions
            ),
            (
                appendix.lost,
                appendix.congestion_events,
                appendix.timeouts,
                appendix.persistent_congestions
            )
        );
        let rtt = appendix.has_sample.then_some((appendix.smoothed_rtt, appendix.min_rtt));
        assert_eq!(stats.smoothed_rtt.zip(stats.min_rtt), rtt);
    }
}

impl Ends for Beside {
    type Down = ServerDatagram;
    type Up = ClientDatagram;

    fn on_down(&mut self, now: Instant, datagram: ServerDatagram) {
        self.flow.on_down(now, datagram);
    }
    fn on_up(&mut self, now: Instant, datagram: ClientDatagram) {
        let finished = self.flow.sender.is_finished();
        match &datagram.content {
            ClientContent::Ack { frame, .. } if !finished => {
                self.appendix.on_ack_received(now, frame);
            }
            ClientContent::Finished if self.handshake.1 == 1 && !self.appendix.has_sample => {
                self.appendix.update_rtt(now, now - self.handshake.0, Duration::ZERO);
            }
            _ => {}
        }
        self.flow.on_up(now, datagram);
        self.assert_same();
    }
    fn next_deadline(&self) -> Option<Instant> {
        let due = self.flow.next_deadline();
        let timer = self.appendix.timer().filter(|_| !self.flow.sender.is_finished());
        assert!(timer.is_none_or(|timer| due.is_some_and(|due| due <= timer)), "{due:?} {timer:?}");
        due
    }
    fn on_deadline(&mut self, now: Instant) {
        let finished = self.flow.sender.is_finished();
        if !finished && self.appendix.timer().is_some_and(|timer| timer <= now) {
            self.appendix.on_loss_detection_timeout(now);
        }
        self.flow.on_deadline(now);
        self.assert_same();
    }
    fn poll_down(&mut self, now: Instant) -> Option<ServerDatagram> {
        let datagram = self.flow.poll_down(now)?;
        match datagram.content {
            ServerContent::Packet { number, .. } => {
                self.appendix.on_packet_sent(now, number, u64::from(datagram.size));
            }
            ServerContent::Handshake => self.handshake = (now, self.handshake.1 + 1),
        }
        self.assert_same();
        Some(datagram)
    }
    fn poll_up(&mut self, now: Instant) -> Option<ClientDatagram> {
        self.flow.poll_up(now)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_sender_does_what_the_appendices_do(
        algorithm in prop::sample::select(vec!["newreno", "cubic", "bbr"]),
        bytes in 20_000u64..600_000,
        packets in prop::sample::select(vec![1u32, 2, 10]),
        loss in prop::sample::select(vec![0.0, 0.02, 0.1]),
        late in prop::sample::select(vec![0.0, 0.02, 0.3]),
        seed in any::<u64>(),
    ) {
        let config = SenderConfig {
            bytes: Some(Bytes::new(bytes)), ecn: false, ..SenderConfig::default()
        };
        let acks = AckPolicy { packets, ..AckPolicy::default() };
        let beside = Beside {
            flow: Flow::new(algorithm, config, acks),
            appendix: Appendix {
                smoothed_rtt: INITIAL_RTT,
                rttvar: INITIAL_RTT / 2,
                ..Appendix::default()
            },
            handshake: (Instant::ZERO, 0),
        };
        let chaos = Impairment { loss, late, max_extra: Duration::from_millis(20), ..Impairment::default() };
        let path = Fates::impaired(Duration::from_millis(5), chaos, seed);
        let mut net = Testbed::new(path, vec![beside]);
        while !net.flows[0].flow.sender.is_finished() {
            prop_assert!(net.step(Instant::MAX));
        }
    }
}
