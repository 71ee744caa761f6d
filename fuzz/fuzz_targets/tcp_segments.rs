//! Both ends of TCP, every congestion control: any segments between honest openings.
#![no_main]

use gameway_fuzz::Input;
use gameway_tcp::{
    AccurateEcnOption, EcnMode, Flags, MAXIMUM_SEGMENT_SIZE, Receiver, ReceiverConfig, SackBlock,
    SackBlocks, Segment, Sender, SenderConfig,
};
use gameway_units::{Bytes, Instant};
use libfuzzer_sys::fuzz_target;

/// A stream offset: mostly a whole number of segments.
fn offset(input: &mut Input<'_>) -> u64 {
    match input.any::<u8>() {
        0..=160 => input.number(140).saturating_mul(u64::from(MAXIMUM_SEGMENT_SIZE)),
        _ => input.number(200_000),
    }
}

fn segment(input: &mut Input<'_>) -> Segment {
    let bits: u8 = input.any();
    let flag = |bit: u8| bits & (1 << bit) != 0;
    let mut sack = SackBlocks::default();
    for _ in 0..input.any::<u8>() % 5 {
        let (start, end) = (offset(input), offset(input));
        sack.push(SackBlock { start, end });
    }
    Segment {
        // SYN rarely and ACK mostly, so that connections get established.
        flags: Flags {
            syn: bits < 16,
            ack: !(16..32).contains(&bits),
            fin: flag(0) && flag(5),
            rst: bits == 255,
            psh: flag(6),
            ece: flag(1),
            cwr: flag(2),
            ae: flag(3),
        },
        ecn: input.ecn(),
        window_scale: input.any(),
        length: input.number(3_000) as u32,
        sequence: offset(input),
        acknowledgment: offset(input),
        window: input.any(),
        sack,
        accurate_ecn: AccurateEcnOption {
            fields: input.any(),
            ect0: input.any(),
            ect1: input.any(),
            ce: input.any(),
        },
        timestamp_value: input.time(),
        timestamp_echo: input.time(),
    }
}

const NAMES: [&str; 8] = ["cubic", "newreno", "bbr", "bbr2", "bbr3", "bic", "vegas", "prague"];

struct Ends {
    sender: Sender,
    receiver: Receiver,
    now: Instant,
}

impl Ends {
    fn open(algorithm: &str, ecn: EcnMode) -> Self {
        let config = SenderConfig { ecn, ..SenderConfig::default() };
        let congestion = gameway_tcp::build(algorithm, config.segment_size, 1).unwrap();
        let now = Instant::ZERO;
        let receiver = Receiver::new(ReceiverConfig { ecn, ..ReceiverConfig::default() }, now);
        let mut ends = Self { sender: Sender::new(config, congestion), receiver, now };
        ends.exchange(false);
        ends
    }

    /// Takes out what both want to send; if `deliver`, it also arrives. Bounded, since a window that
    /// garbage has opened may be gigabytes.
    fn exchange(&mut self, mut lost: bool) {
        for _ in 0..64 {
            let (down, up) =
                (self.sender.poll_transmit(self.now), self.receiver.poll_transmit(self.now));
            if down.is_none() && up.is_none() {
                return;
            }
            if !lost {
                down.iter().for_each(|segment| self.receiver.on_segment(self.now, segment));
                up.iter().for_each(|segment| self.sender.on_segment(self.now, segment));
            }
            lost ^= self.now.as_nanos() & 1 != 0;
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let algorithm = NAMES[usize::from(input.any::<u8>()) % NAMES.len()];
    let ecn = EcnMode::ALL[usize::from(input.any::<u8>()) % EcnMode::ALL.len()];
    let mut ends = Ends::open(algorithm, ecn);
    let mut received = Bytes::ZERO;
    while !input.is_empty() {
        ends.now += input.pause();
        match input.any::<u8>() % 8 {
            0 => ends.sender.stop(ends.now),
            1 => ends.receiver.set_reading(input.any()),
            2..=4 => ends.sender.on_segment(ends.now, &segment(&mut input)),
            5 | 6 => ends.receiver.on_segment(ends.now, &segment(&mut input)),
            _ => match input.any::<u8>() {
                0 => ends.receiver.reset(),
                1..=9 => ends.sender.write(Bytes::new(input.number(100_000))),
                10..=19 => ends.receiver.on_request(ends.now),
                _ => {}
            },
        }
        ends.sender.on_deadline(ends.now);
        ends.receiver.on_deadline(ends.now);
        ends.exchange(input.any());
        let stats = ends.sender.stats();
        assert!(stats.cwnd >= Bytes::new(u64::from(MAXIMUM_SEGMENT_SIZE)), "{stats:?}");
        assert!(ends.receiver.received() >= received, "the stream never runs backwards");
        received = ends.receiver.received();
        assert!(ends.sender.next_deadline().is_none_or(|due| due >= Instant::ZERO));
    }
});
