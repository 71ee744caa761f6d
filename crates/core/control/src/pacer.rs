//! The pacer: holds the packets of encoded frames and says when each may leave.
//!
//! Sans-IO. [`Pacer::set_target`] takes what the controller wants, [`Pacer::enqueue_frame`] takes a
//! frame, [`Pacer::poll`] gives whatever is due, [`Pacer::next_deadline`] says when to poll again. Due
//! times come from the schedule and never from the time of a wake-up, so lateness of a driver does not
//! accumulate.
//!
//! | Pacing | Schedule | Source |
//! |---|---|---|
//! | `FrameMultiplier(rho)` | packet `i` of `n` at `now + i (L/rho) / (n-1)`; behind a frame that is not fully sent, at `start + i (L/rho) / n`, where `start` is `(L/rho) / n` after that one's last packet | Pudica (NSDI'24) 2.1 |
//! | `Rate(r)` | leaky bucket: a packet keeps the bucket busy for `size/r` | libwebrtc pacing controller |
//! | `Bursts { r, t }` | leaky bucket as well; packets leave at once until the bucket takes longer than `t` to empty, the next burst waits for that | Ericsson's `scream_sender` (`-microburstinterval`); libwebrtc's burst interval (`PacingController::NextSendTime`) |
//! | `Burst` | at once | |
//!
//! So a frame that follows on another takes `L/rho` with the gap behind it. With `n-1` gaps in that time it would take
//! `n/(n-1)` of it, which is more than `L` at four packets and `rho` of 1.25: who is once late would be so for good.
//!
//! A frame that comes in parts, as its slices are encoded, begins with the first of them: [`Pacer::enqueue_part`]. `n` is
//! what is expected until the last part tells; what waits then is spread anew, to end when the frame was to end. A part
//! that comes late makes up for that at twice the frame's pace at most. Under a rate the bucket goes on to empty while the
//! encoder works at the frame's rest, so that no packet leaves before it would have left had the frame been whole at its
//! first part, nor later for having waited.
//!
//! What is sent again ([`Pacer::enqueue_urgent`]) leaves before all that waits, at the same pace.
//!
//! Probe packets follow a frame's last packet at multiples of `(1-1/rho) L / (N+1)` (Pudica 4.1). Those
//! that are left when the next frame's first packet is due are given up: the period that they sense is
//! over. A probe cluster (GCC) starts with the next media packet, takes media out of the queue at the
//! cluster's rate, and fills up with padding.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | queue time limit | 2 s | libwebrtc: the rate rises so that no packet waits longer; also the most that the bucket may be behind |
//! | probe cluster timeout | 5 s | libwebrtc bitrate prober |
//!
//! | Deviation from libwebrtc | Why |
//! |---|---|
//! | The queue limit uses the age of the oldest packet, not the mean age | one number less to keep, and it errs to the safe side |
//! | Cluster packets leave one by one, not in bursts of 1 to 2 ms | a simulated clock has no granularity to hide |
//! | A late cluster is not given up | lateness is a property of the driver, which reports it |

mod cluster;
mod schedule;
mod urgent;

use crate::{FrameId, Pacing, Target};
use cluster::ClusterRun;
use gameway_units::{Bytes, Duration, Instant, Rate};
use schedule::FrameInQueue;
use std::collections::VecDeque;
use urgent::Urgent;

const QUEUE_TIME_LIMIT: Duration = Duration::from_secs(2);
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(5);
/// A multiplier beyond this is a burst for any practical purpose.
const MAX_MULTIPLIER: f64 = 1_000.0;
/// Of a packet that has just been queued.
const NO_DUE: Instant = Instant::MAX;

/// Something that leaves now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacerOutput<T> {
    /// A packet that was handed to [`Pacer::enqueue_frame`].
    Packet {
        /// As it was handed in.
        token: T,
        /// When the schedule wanted it to leave; not later than the time of the poll.
        due: Instant,
        /// The cluster of a bandwidth probe that it serves.
        probe_cluster: Option<u32>,
    },
    /// Send a payload-free probe packet.
    Probe {
        /// The frame before it.
        frame: FrameId,
        /// When the schedule wanted it to leave.
        due: Instant,
    },
    /// Send a packet of padding.
    Padding {
        /// Its size on the wire.
        size: Bytes,
        /// When the schedule wanted it to leave.
        due: Instant,
        /// The cluster of a bandwidth probe that it serves.
        probe_cluster: u32,
    },
}

struct Queued<T> {
    token: T,
    size: Bytes,
    enqueued: Instant,
    /// Not before this, plus [`Pacer::shift`].
    due: Instant,
}

/// Where packets stand that are a part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePart {
    /// How many packets the frame will have, as far as that is known.
    pub expected: usize,
    /// Whether these are its last ones.
    pub last: bool,
}

/// Probe packets to come after a frame that has left.
struct ProbeTrain {
    frame: FrameId,
    left: u32,
    gap: Duration,
    next: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Media,
    Probe,
    Cluster,
    Urgent,
}

/// Schedules the packets of one stream. `T` is whatever the caller wants back.
pub struct Pacer<T> {
    frame_interval: Duration,
    padding_packet: Bytes,
    pacing: Pacing,
    window: Option<Bytes>,
    probes_per_frame: u32,
    queue: VecDeque<Queued<T>>,
    queued_bytes: Bytes,
    urgent: Urgent<T>,
    /// The controller's target.
    bitrate: Rate,
    frames: VecDeque<FrameInQueue>,
    /// One gap after the last packet of the newest frame, before `shift`: if packets of it still wait, the
    /// next frame starts no sooner.
    frames_end: Instant,
    /// How much a closed window has put off everything in the queue.
    shift: Duration,
    blocked_by_window: bool,
    /// When the leaky bucket is empty again.
    bucket_free: Instant,
    /// When the last packet left that the bucket counted: what it held then says whether the burst goes on.
    last_charged: Instant,
    /// When the last packet was due: a change of pacing must not put the next one before it.
    last_due: Instant,
    probes: Option<ProbeTrain>,
    cluster: Option<ClusterRun>,
    last_cluster: Option<u32>,
}

impl<T> Pacer<T> {
    /// For a stream with this time from frame to frame; padding packets have this size on the wire.
    #[must_use]
    pub fn new(frame_interval: Duration, padding_packet: Bytes) -> Self {
        Self {
            frame_interval: frame_interval.max(Duration::from_nanos(1)),
            padding_packet: padding_packet.max(Bytes::new(1)),
            pacing: Pacing::Burst,
            window: None,
            probes_per_frame: 0,
            queue: VecDeque::new(),
            queued_bytes: Bytes::ZERO,
            urgent: Urgent::default(),
            bitrate: Rate::ZERO,
            frames: VecDeque::new(),
            frames_end: Instant::ZERO,
            shift: Duration::ZERO,
            blocked_by_window: false,
            bucket_free: Instant::ZERO,
            last_charged: Instant::ZERO,
            last_due: Instant::from_nanos(i64::MIN),
            probes: None,
            cluster: None,
            last_cluster: None,
        }
    }

    /// Frames come at this interval from the next one on.
    pub fn set_frame_interval(&mut self, interval: Duration) {
        self.frame_interval = interval.max(Duration::from_nanos(1));
    }

    /// Takes what the controller wants. A multiplier and a count of probes hold for frames enqueued from
    /// now on; a rate and a window hold at once.
    pub fn set_target(&mut self, now: Instant, target: &Target) {
        self.pacing = target.pacing;
        self.window = target.window;
        self.probes_per_frame = target.requests.probes_per_frame;
        self.bitrate = target.bitrate;
        self.take_cluster(now, target);
    }

    /// Queues a frame's packets, given with their sizes on the wire, behind everything queued before.
    pub fn enqueue_frame(
        &mut self,
        now: Instant,
        frame: FrameId,
        packets: impl ExactSizeIterator<Item = (T, Bytes)>,
    ) {
        if packets.len() > 0 {
            let part = FramePart { expected: packets.len(), last: true };
            self.enqueue_part(now, frame, part, packets);
        }
    }

    /// Queues the next packets of a frame that is still being made. The next frame's come after its last part, which may
    /// be empty if the frame breaks off: then no probes follow it.
    pub fn enqueue_part(
        &mut self,
        now: Instant,
        frame: FrameId,
        part: FramePart,
        packets: impl ExactSizeIterator<Item = (T, Bytes)>,
    ) {
        let count = packets.len();
        if !self.frames.back().is_some_and(|newest| newest.open && newest.frame == frame) {
            if count == 0 {
                return;
            }
            self.begin_frame(now, frame);
        }
        let Some(newest) = self.frames.back_mut() else { return };
        newest.queued += count;
        newest.packets_left += count;
        newest.open = !part.last;
        if newest.packets_left == 0 {
            if part.last {
                self.frames.pop_back();
            }
            return;
        }
        for (token, size) in packets {
            self.queued_bytes = self.queued_bytes.saturating_add(size);
            self.queue.push_back(Queued { token, size, enqueued: now, due: NO_DUE });
        }
        self.spread(now, part.expected);
        self.start_cluster(now);
    }

    /// What waits, oldest first.
    pub fn waiting_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.queue.iter_mut().map(|packet| &mut packet.token)
    }

    /// Gives something that is due by `now`, if there is anything; poll until it gives `None`.
    /// `in_flight` is what counts against the window.
    pub fn poll(&mut self, now: Instant, in_flight: Bytes) -> Option<PacerOutput<T>> {
        self.drop_stale_cluster(now);
        self.track_window(now, in_flight);
        let (due, source) = self.next(in_flight)?;
        if due > now {
            return None;
        }
        match source {
            Source::Media => self.send_media(now, due, None),
            Source::Probe => self.send_probe(due),
            Source::Cluster => self.send_for_cluster(now, due),
            Source::Urgent => self.send_urgent(now, due),
        }
    }

    /// A packet that waits for nobody has left: sound, which a person hears late sooner than a picture. Under a
    /// rate, what follows waits for as long as it takes at that rate; frames' own schedules stay as they are.
    pub fn pass(&mut self, now: Instant, size: Bytes) {
        self.charge_bucket(now, now, size, now);
    }

    /// When something will be due; `None` if nothing waits or the window is closed (poll after feedback).
    #[must_use]
    pub fn next_deadline(&self, in_flight: Bytes) -> Option<Instant> {
        self.next(in_flight).map(|(due, _)| due)
    }

    /// Bytes that wait.
    #[must_use]
    pub fn queued_bytes(&self) -> Bytes {
        self.queued_bytes
    }

    /// Packets that wait.
    #[must_use]
    pub fn queued_packets(&self) -> usize {
        self.queue.len()
    }

    /// A frame's first packets are to be queued.
    fn begin_frame(&mut self, now: Instant, frame: FrameId) {
        let start = match self.queue.back() {
            None => {
                self.shift = Duration::ZERO;
                now
            }
            Some(last) => {
                let free = match self.pacing {
                    Pacing::FrameMultiplier(_) => self.frames_end,
                    Pacing::Rate(_) | Pacing::Bursts { .. } | Pacing::Burst => last.due,
                };
                free.max(now.saturating_sub(self.shift))
            }
        };
        let span = self.frame_span();
        let probe_gap = self.probe_gap(span);
        let probes = if probe_gap > Duration::ZERO { self.probes_per_frame } else { 0 };
        let follows = start.saturating_add(self.shift) > now;
        self.frames.push_back(FrameInQueue {
            frame,
            probes,
            probe_gap,
            start,
            span,
            follows,
            packets_left: 0,
            queued: 0,
            open: true,
        });
    }

    /// Says when the packets of the newest frame that wait are due.
    fn spread(&mut self, now: Instant, expected: usize) {
        let Some(frame) = self.frames.back() else { return };
        let first = self.queue.len() - frame.packets_left;
        let earliest = now.saturating_sub(self.shift);
        // Those that were queued before have a place already, from which the others follow.
        let head = self.queue.get(first).map(|head| head.due).filter(|due| *due < NO_DUE);
        let places = frame.places(head, earliest, expected);
        for (index, packet) in self.queue.range_mut(first..).enumerate() {
            let place = places.of(index);
            packet.due = if packet.due == NO_DUE { place.max(earliest) } else { place };
        }
        self.frames_end = places.end();
    }

    /// Time from a frame's first to its last packet.
    fn frame_span(&self) -> Duration {
        match self.pacing {
            Pacing::FrameMultiplier(multiplier) => {
                // Not a number counts as 1.
                let multiplier =
                    if multiplier > 1.0 { multiplier.min(MAX_MULTIPLIER) } else { 1.0 };
                self.frame_interval.mul_f64(1.0 / multiplier)
            }
            Pacing::Rate(_) | Pacing::Bursts { .. } | Pacing::Burst => Duration::ZERO,
        }
    }

    /// Pudica 4.1: what is left of the frame interval, cut into one more piece than there are probes.
    fn probe_gap(&self, span: Duration) -> Duration {
        self.frame_interval.saturating_sub(span) / (i64::from(self.probes_per_frame) + 1)
    }

    fn head_due(&self) -> Option<Instant> {
        let due = self.queue.front()?.due.saturating_add(self.shift).max(self.last_due);
        let Some((_, burst)) = self.bucket() else { return Some(due) };
        Some(if self.in_burst(burst) { due } else { due.max(self.bucket_free) })
    }

    fn in_burst(&self, burst: Duration) -> bool {
        self.bucket_free.saturating_since(self.last_charged) <= burst
    }

    /// The rate of the leaky bucket, and how long a burst may be.
    fn bucket(&self) -> Option<(Rate, Duration)> {
        match self.pacing {
            Pacing::Rate(rate) => Some((rate, Duration::ZERO)),
            Pacing::Bursts { rate, interval } => Some((rate, interval)),
            Pacing::FrameMultiplier(_) | Pacing::Burst => None,
        }
    }

    /// Whether what waits has no room in the window.
    #[must_use]
    pub fn window_blocks(&self, in_flight: Bytes) -> bool {
        let head = self.urgent.head_size().or(self.queue.front().map(|head| head.size));
        let (Some(window), Some(size)) = (self.window, head) else { return false };
        // One packet may always be in flight: a window below a packet must not stop the stream.
        in_flight > Bytes::ZERO && in_flight.saturating_add(size) > window
    }

    /// What leaves next, and when.
    fn next(&self, in_flight: Bytes) -> Option<(Instant, Source)> {
        let blocked = self.window_blocks(in_flight);
        if let Some(due) = self.urgent_due() {
            return (!blocked).then_some((due, Source::Urgent));
        }
        if let Some(run) = &self.cluster
            && let Some(started) = run.started
        {
            let due = started.saturating_add(run.cluster.rate.time_for(run.sent_bytes));
            // The rest of a frame is about to come: it serves as well as padding.
            let more = self.queue.is_empty() && self.frames.back().is_some_and(|frame| frame.open);
            let since = self.queue.front().map_or(self.last_due, |head| head.enqueued);
            let due = due.max(since);
            return (!blocked && !more).then_some((due, Source::Cluster));
        }
        let media = self.head_due().map(|due| (due, Source::Media));
        let probe = self.probes.as_ref().map(|train| (train.next, Source::Probe));
        match (media, probe) {
            (Some(media), Some(probe)) if probe.0 < media.0 => Some(probe),
            (Some(media), _) => (!blocked).then_some(media),
            (None, probe) => probe,
        }
    }

    /// While the window holds the head back, time stands still for the queue and for the bucket: what waits must not
    /// leave in one burst when the window opens.
    fn track_window(&mut self, now: Instant, in_flight: Bytes) {
        let Some(due) = self.head_due() else { return };
        if self.window_blocks(in_flight) {
            self.blocked_by_window = true;
        } else if std::mem::take(&mut self.blocked_by_window) && due < now {
            self.shift = self.shift.saturating_add(now.saturating_since(due));
            self.bucket_free = self.bucket_free.max(now);
        }
    }

    fn send_media(
        &mut self,
        now: Instant,
        due: Instant,
        probe_cluster: Option<u32>,
    ) -> Option<PacerOutput<T>> {
        let packet = self.queue.pop_front()?;
        self.last_due = due;
        // While the rest of a frame is encoded, the bucket empties as if that rest were there.
        let continues = self.frames.front().is_some_and(|frame| frame.packets_left < frame.queued);
        let charged_at = if continues { self.bucket_free.min(due) } else { due };
        self.charge_bucket(now, charged_at, packet.size, packet.enqueued);
        self.queued_bytes = self.queued_bytes.saturating_sub(packet.size);
        // The next frame has begun, so the period that the probes were to sense is over.
        self.probes = None;
        if let Some(frame) = self.frames.front_mut() {
            frame.packets_left -= 1;
            if frame.packets_left == 0 && !frame.open {
                self.probes = (frame.probes > 0).then(|| ProbeTrain {
                    frame: frame.frame,
                    left: frame.probes,
                    gap: frame.probe_gap,
                    next: due.saturating_add(frame.probe_gap),
                });
                self.frames.pop_front();
            }
        }
        Some(PacerOutput::Packet { token: packet.token, due, probe_cluster })
    }

    fn send_probe(&mut self, due: Instant) -> Option<PacerOutput<T>> {
        let train = self.probes.as_mut()?;
        let frame = train.frame;
        train.left -= 1;
        train.next = train.next.saturating_add(train.gap);
        if train.left == 0 {
            self.probes = None;
        }
        Some(PacerOutput::Probe { frame, due })
    }

    fn charge_bucket(&mut self, now: Instant, due: Instant, size: Bytes, enqueued: Instant) {
        let Some((rate, _)) = self.bucket() else { return };
        let age = now.saturating_since(enqueued);
        let left = QUEUE_TIME_LIMIT.saturating_sub(age).max(Duration::from_millis(1));
        let needed = rate.time_for(self.queued_bytes) > left;
        let rate = if needed { rate.max(self.queued_bytes / left) } else { rate };
        // The bound keeps a moment of rate zero from closing the bucket for good.
        let full = due.saturating_add(QUEUE_TIME_LIMIT);
        self.last_charged = due;
        self.bucket_free = self.bucket_free.max(due).saturating_add(rate.time_for(size)).min(full);
    }
}

#[cfg(test)]
mod tests;
