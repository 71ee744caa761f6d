//! What is kept of a flow: its bytes by time, and its packets by epoch, both ways.
//!
//! Model: a ring of bins of 2 ms (four samples of a frame at 125 a second) over 512 bins, and four epochs
//! of 128 bins each. When an epoch is over, the last window can be looked at. Bins and epochs count from
//! the flow's first packet. A packet is full if it is as large as the largest size that was usual on its way in an epoch before,
//! or if no size was, as the largest so far. The largest alone does not tell: a QUIC sender searches the path's MTU with padded
//! probes (RFC 8899), and stays below those that a full queue drops.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | bin | 2 ms | 250 Hz and below are seen: 144 frames a second and, of 60, the second harmonic wave |
//! | window | 512 bins | 1.02 s: 30 frames at the slowest rate, and a power of two |
//! | epoch | 128 bins | four looks a window |
//! | a full packet | 1200 B or more | RFC 9000 section 14: what every path carries; less is never what an elastic sender sends |
//! | a usual size | a tenth of the packets | a probe is one of dozens; of packets that are full at all, there are more |
//! | and | four of them | a size is probed three times (RFC 8899 section 5.1.2, MAX_PROBES) |
//! | sizes that are counted | the 4 largest | of an epoch's probes, three may be larger than what is usual |
//! | a packet of a frame | more than 100 B | what goes the other way is acknowledged by less: 20 + 8 B of headers (40 + 8 with IPv6), and 20 B of uTP (BEP 29) or 20 to 50 B of QUIC (RFC 9000 section 19.3) |
//! | tolerance | 2 B | a train's packets differ by one |

use super::Direction;
use gameway_units::{Bytes, Duration, Instant};

/// Bins of a window.
pub const BINS: usize = 512;
/// See the module's head.
pub const BIN: Duration = Duration::from_millis(2);
const EPOCHS: usize = 4;
const BINS_PER_EPOCH: u64 = (BINS / EPOCHS) as u64;
/// Of which only the end is walked: three windows, more than demotion takes.
const LONG_SILENCE: u64 = 3 * BINS as u64;
const MIN_FULL: u32 = 1200;
const TOLERANCE: u32 = 2;
const USUAL_OF: u32 = 10;
const MAX_PROBES: u32 = 3;
const COUNTED_SIZES: usize = 4;
const MAX_ACKNOWLEDGEMENT: u32 = 100;

/// Packets of one way in an epoch or a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub packets: u32,
    pub bytes: u64,
    /// Those that are not full, and no acknowledgements.
    pub partial: u32,
}

impl Tally {
    fn and(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            partial: self.partial + other.partial,
        }
    }
}

/// One way of a flow.
#[derive(Debug)]
struct Lane {
    bins: [u32; BINS],
    epochs: [Tally; EPOCHS],
    largest: u32,
    sizes: Largest,
    /// See the module's head.
    usual: Option<u32>,
}

/// The largest sizes of an epoch, and how many packets have each.
#[derive(Debug, Clone, Copy, Default)]
struct Largest {
    counts: [(u32, u32); COUNTED_SIZES],
    packets: u32,
}

impl Largest {
    fn add(&mut self, size: u32) {
        self.packets += 1;
        if let Some(one) = self.counts.iter_mut().find(|one| one.0 == size) {
            one.1 += 1;
        } else if let Some(smallest) = self.counts.iter_mut().min_by_key(|one| one.0)
            && size > smallest.0
        {
            *smallest = (size, 1);
        }
    }

    fn usual(self) -> Option<u32> {
        let is_usual = |&(size, count): &(u32, u32)| {
            size >= MIN_FULL && count > MAX_PROBES && count * USUAL_OF >= self.packets
        };
        self.counts.into_iter().filter(is_usual).map(|one| one.0).max()
    }
}

impl Lane {
    const fn new() -> Self {
        let epochs = [Tally { packets: 0, bytes: 0, partial: 0 }; EPOCHS];
        let sizes = Largest { counts: [(0, 0); COUNTED_SIZES], packets: 0 };
        Self { bins: [0; BINS], epochs, largest: MIN_FULL, sizes, usual: None }
    }

    fn end_epoch(&mut self) {
        self.usual = self.usual.max(std::mem::take(&mut self.sizes).usual());
    }

    fn is_full(&self, size: u32) -> bool {
        size.saturating_add(TOLERANCE) >= self.usual.unwrap_or(self.largest)
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct History {
    start: Instant,
    lanes: [Lane; 2],
    /// The bin of now, from the first packet on.
    bin: u64,
    /// Whether a look is due, so that this bin still has what was there a window ago.
    whole: bool,
}

const fn lane(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

impl History {
    pub const fn new(start: Instant) -> Self {
        Self { start, lanes: [Lane::new(), Lane::new()], bin: 0, whole: false }
    }

    /// Moves towards `now`, but not beyond the end of an epoch: if it says so, a window is whole and can be
    /// looked at, and it wants to be called again.
    pub fn advance(&mut self, now: Instant) -> bool {
        let nanos = now.saturating_since(self.start).as_nanos() / BIN.as_nanos();
        let target = nanos.unsigned_abs();
        if std::mem::take(&mut self.whole) {
            self.open();
        }
        if target > self.bin + LONG_SILENCE {
            self.fall_silent(target);
        }
        while self.bin < target {
            self.bin += 1;
            if self.bin >= BINS as u64 && self.bin.is_multiple_of(BINS_PER_EPOCH) {
                self.whole = true;
                return true;
            }
            self.open();
        }
        false
    }

    /// Skips what has nothing to tell but that there was nothing.
    fn fall_silent(&mut self, target: u64) {
        for lane in &mut self.lanes {
            lane.bins.fill(0);
            lane.epochs.fill(Tally::default());
        }
        self.bin = (target - LONG_SILENCE) / BINS_PER_EPOCH * BINS_PER_EPOCH;
    }

    /// Forgets what was in this bin, and in its epoch if it begins one, a window ago.
    fn open(&mut self) {
        let (bin, epoch) = (self.place(0), self.epoch());
        for lane in &mut self.lanes {
            lane.bins[bin] = 0;
            if self.bin.is_multiple_of(BINS_PER_EPOCH) {
                lane.epochs[epoch] = Tally::default();
                lane.end_epoch();
            }
        }
    }

    const fn place(&self, ahead: usize) -> usize {
        // Of 64 bits, 2 ms each: 32 would be full after 99 days.
        ((self.bin % BINS as u64) as usize + ahead) % BINS
    }

    const fn epoch(&self) -> usize {
        (self.bin / BINS_PER_EPOCH % EPOCHS as u64) as usize
    }

    /// A packet, now.
    pub fn add(&mut self, size: Bytes, direction: Direction) {
        let (bin, epoch) = (self.place(0), self.epoch());
        let size = u32::try_from(size.get()).unwrap_or(u32::MAX);
        let lane = &mut self.lanes[lane(direction)];
        lane.bins[bin] = lane.bins[bin].saturating_add(size);
        lane.largest = lane.largest.max(size);
        let is_partial = size > MAX_ACKNOWLEDGEMENT && !lane.is_full(size);
        if size > MAX_ACKNOWLEDGEMENT {
            lane.sizes.add(size);
        }
        let tally = &mut lane.epochs[epoch];
        tally.packets += 1;
        tally.bytes += u64::from(size);
        tally.partial += u32::from(is_partial);
    }

    /// All packets of a window that is whole.
    pub fn tally(&self, direction: Direction) -> Tally {
        self.lanes[lane(direction)].epochs.iter().fold(Tally::default(), |sum, one| sum.and(*one))
    }

    /// Of a window that is whole: as many packets that are not full, or more, are in each of three epochs.
    pub fn partial_in_three_epochs(&self, direction: Direction) -> u32 {
        let mut partial = self.lanes[lane(direction)].epochs.map(|epoch| epoch.partial);
        partial.sort_unstable();
        partial[1]
    }

    /// The bytes of each bin of a window that is whole, from the oldest on.
    pub fn window(&self, direction: Direction) -> impl Iterator<Item = u32> {
        let bins = &self.lanes[lane(direction)].bins;
        (0..BINS).map(|ahead| bins[self.place(ahead)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Looks at `history` until `now`: the number of looks, and the packets and bytes of the last one.
    fn looks(history: &mut History, now: Instant) -> (u32, Option<(u32, u64)>) {
        let (mut count, mut last) = (0, None);
        while history.advance(now) {
            count += 1;
            let tally = history.tally(Direction::Down);
            assert_eq!(history.window(Direction::Down).map(u64::from).sum::<u64>(), tally.bytes);
            last = Some((tally.packets, tally.bytes));
        }
        (count, last)
    }

    #[test]
    fn a_window_has_what_came_in_it_and_nothing_older() {
        let mut history = History::new(at(1_000));
        let mut seen = Vec::new();
        for millis in 0..4_000 {
            let now = at(1_000 + millis);
            if let (1, Some(window)) = looks(&mut history, now) {
                seen.push((millis, window));
            }
            // 100 B a millisecond, but for the third second.
            if !(2_000..3_000).contains(&millis) {
                history.add(Bytes::new(100), Direction::Down);
            }
        }
        assert_eq!(seen[0], (1_024, (1_024, 102_400)));
        assert_eq!(seen[1].0, 1_280);
        assert!(seen[..4].iter().all(|(_, window)| *window == (1_024, 102_400)));
        // The window up to 3.072 s: 72 ms of bytes, after 976 - 952 of silence.
        assert_eq!(seen[8], (3_072, (72, 7_200)));
        assert_eq!(seen.len(), 12);
    }

    #[test]
    fn silence_is_looked_at_but_not_for_ever() {
        let mut history = History::new(at(0));
        history.add(Bytes::new(100), Direction::Down);
        let (count, last) = looks(&mut history, at(100_000_000));
        assert!((8..20).contains(&count), "{count}");
        assert_eq!(last, Some((0, 0)));
        assert_eq!(looks(&mut history, at(100_000_000)), (0, None));
    }

    #[test]
    fn a_packet_is_full_if_none_is_larger_and_it_has_what_every_path_carries() {
        let mut history = History::new(at(0));
        for size in [947, 1_200, 1_248, 1_248, 1_246, 1_245, 1_200, 100] {
            history.add(Bytes::new(size), Direction::Down);
        }
        history.add(Bytes::new(101), Direction::Up);
        assert_eq!(history.tally(Direction::Down).partial, 3);
        assert_eq!(history.tally(Direction::Up).partial, 1);
    }

    /// The packets that are not full in the last window, of as many epochs with packets of these sizes.
    fn partial(epochs: &[&[u64]]) -> u32 {
        let mut history = History::new(at(0));
        for (epoch, sizes) in epochs.iter().enumerate() {
            while history.advance(at(256 * epoch as i64)) {}
            for size in *sizes {
                history.add(Bytes::new(*size), Direction::Down);
            }
        }
        assert!(history.advance(at(256 * epochs.len() as i64)));
        history.tally(Direction::Down).partial
    }

    #[test]
    fn a_packet_is_full_if_many_were_as_large_whatever_probes_were_larger() {
        let probes = [&[1_480, 1_417][..]; 2];
        let download = [[1_417, 1_417, 1_418, 1_416]; 5].concat();
        let searching = [&download[..], &[1_480, 1_450]].concat();
        let [download, searching] = [&download[..], &searching];
        // Until an epoch has told what is usual, a probe is the largest.
        let begun = [&probes[..], &[download; 2]].concat();
        assert_eq!(partial(&begun), 2 + 20);
        assert_eq!(partial(&[&begun[..], &[searching; 4]].concat()), 0);
        // Twins: the last packet of a frame is not full, and frames cut evenly have no usual size.
        let frames = &[1_417, 1_417, 1_417, 800].repeat(5)[..];
        assert_eq!(partial(&[&begun[..], &[frames; 4]].concat()), 4 * 5);
        let even = &(0..44).map(|n| 1_300 + n).collect::<Vec<_>>()[..];
        assert_eq!(partial(&[&probes[..], &[even; 5]].concat()), 4 * 44);
    }

    /// Whether packets of this size are full after an epoch with these and a probe of 1480 B.
    fn is_usual(size: u64, epoch: &[u64]) -> bool {
        let epoch = &[epoch, &[1_480]].concat()[..];
        let after = &[size][..];
        match partial(&[epoch, after, after, after, after]) {
            0 => true,
            4 => false,
            other => panic!("{other} of four"),
        }
    }

    #[test]
    fn a_size_is_usual_from_four_packets_and_a_tenth_of_them_and_1200_bytes_on() {
        assert!(is_usual(1_300, &[1_300; 4]) && !is_usual(1_300, &[1_300; 3]));
        assert!(is_usual(1_200, &[1_200; 4]) && !is_usual(1_199, &[1_199; 4]));
        // With the probe 40 packets and 41; acknowledgements are none of them.
        let others = |count| (0..count).map(|n| 500 + n).collect::<Vec<_>>();
        let with = |others: &[u64]| [&[1_300; 4], others].concat();
        assert!(is_usual(1_300, &with(&others(35))) && !is_usual(1_300, &with(&others(36))));
        assert!(is_usual(1_300, &with(&[&others(35)[..], &[100; 50]].concat())));
        assert!(!is_usual(1_300, &with(&[&others(35)[..], &[101]].concat())));
    }

    #[test]
    fn three_probes_of_an_epoch_may_be_larger_than_what_is_usual() {
        assert!(is_usual(1_300, &[&[1_300; 8][..], &[1_460, 1_470]].concat()));
        assert!(!is_usual(1_300, &[&[1_300; 8][..], &[1_450, 1_460, 1_470]].concat()));
    }

    #[test]
    fn of_a_long_silence_the_last_three_windows_are_looked_at() {
        // Each has four looks; it ends with an epoch, or within one.
        for end in [256 * 1_000, 256 * 1_000 + 255] {
            let mut history = History::new(at(0));
            history.add(Bytes::new(100), Direction::Down);
            assert_eq!(looks(&mut history, at(end)), (3 * 4, Some((0, 0))));
        }
    }

    #[test]
    fn larger_packets_are_full_at_once_and_smaller_ones_are_not() {
        let [large, small] = [&[1_480; 40][..], &[1_252; 40]];
        assert_eq!(partial(&[small, small, small, small, large]), 0);
        assert_eq!(partial(&[large, large, large, large, small, small]), 2 * 40);
    }

    #[test]
    fn a_window_begins_with_its_oldest_bin() {
        let mut history = History::new(at(0));
        for bin in 0..640 {
            while history.advance(at(2 * bin)) {}
            history.add(Bytes::new(100 + bin as u64), Direction::Up);
        }
        assert!(history.advance(at(2 * 640)));
        assert!(history.window(Direction::Up).eq(100 + 128..100 + 640));
        assert!(history.window(Direction::Down).all(|bytes| bytes == 0));
    }

    #[test]
    fn what_came_before_a_silence_of_three_windows_is_looked_at_once_more() {
        let first_look = |millis| {
            let mut history = History::new(at(0));
            history.add(Bytes::new(100), Direction::Down);
            assert!(history.advance(at(millis)));
            history.tally(Direction::Down).packets
        };
        assert_eq!((first_look(3 * 1_024 + 1), first_look(3 * 1_024 + 2)), (1, 0));
    }
}
