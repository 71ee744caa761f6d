//! What the targets share: typed values out of the fuzzer's bytes.

pub mod payload_format;

use arbitrary::{Arbitrary, Unstructured};
use gameway_control::{
    Controllers, FrameId, PacketKind, RateController, RateLimits, SequenceNumber,
};
use gameway_units::declared::Options;
use gameway_units::{Duration, Ecn, Instant, Rate, ReceiverInstant};

/// The fuzzer's bytes, read as values. Usual values take a byte or two, so that long sequences of calls
/// fit; extreme ones are reached by a prefix.
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    /// All of the bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Any value of the type; zero when the bytes are used up.
    pub fn any<T: Arbitrary<'a> + Default>(&mut self) -> T {
        self.0.arbitrary().unwrap_or_default()
    }

    /// A number below `usual` most of the time, now and then any number or one near the top.
    pub fn number(&mut self, usual: u64) -> u64 {
        match self.any::<u8>() {
            0 => self.any(),
            1 => u64::MAX - u64::from(self.any::<u8>() % 4),
            byte if usual <= 256 => u64::from(byte) % usual,
            _ => u64::from(self.any::<u16>()) * usual / 65_536,
        }
    }

    /// Nanoseconds from 0 to 3 s most of the time, now and then anything.
    pub fn nanos(&mut self) -> i64 {
        self.number(3_000_000_000) as i64
    }

    /// A short span, so that time passes between calls.
    pub fn pause(&mut self) -> Duration {
        const PAUSES: [i64; 8] =
            [0, 1, 100_000, 1_000_000, 4_000_000, 16_666_667, 200_000_000, 3_000_000_000];
        Duration::from_nanos(PAUSES[usize::from(self.any::<u8>() % 8)])
    }

    /// A point on the receiver's clock.
    pub fn receiver_time(&mut self) -> ReceiverInstant {
        ReceiverInstant::from_nanos(self.nanos())
    }

    /// A point on the own clock.
    pub fn time(&mut self) -> Instant {
        Instant::from_nanos(self.nanos())
    }

    /// A frame.
    pub fn frame(&mut self) -> FrameId {
        FrameId(self.number(40))
    }

    /// A packet's number.
    pub fn sequence(&mut self) -> SequenceNumber {
        SequenceNumber(self.number(250))
    }

    /// What a packet carries.
    pub fn kind(&mut self) -> PacketKind {
        match self.any::<u8>() % 8 {
            0 => PacketKind::Repair,
            1 => PacketKind::Probe,
            2 => PacketKind::Padding,
            3 => PacketKind::Retransmission,
            _ => PacketKind::Media,
        }
    }

    /// An ECN field.
    pub fn ecn(&mut self) -> Ecn {
        if self.any() { Ecn::Ce } else { Ecn::Ect0 }
    }
}

/// The bounds that controllers are made with here.
pub fn limits() -> RateLimits {
    RateLimits {
        min: Rate::from_mbps(2),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(5),
        frame_interval: Duration::from_nanos(16_666_667),
    }
}

/// Beside the defaults: variants that run other code.
const VARIANTS: &[(&str, &str, &str)] = &[
    ("copa", "mode", "competitive"),
    ("nada", "priority", "2"),
    ("pudica", "bur", "sqp"),
    ("pudica", "bur", "salsify"),
    ("pudica", "additive_only", "on"),
    ("pudica", "pace", "burst"),
    ("pudica", "trigger", "corrected"),
    ("scream", "ecn", "classic"),
    ("scream", "ecn", "off"),
    ("scream", "version", "reference"),
];

/// A controller of the catalogue with its defaults, or one of its variants.
pub fn controller(choice: u8) -> Box<dyn RateController> {
    let known = Controllers::standard();
    let names: Vec<&str> = known.descriptions().map(|one| one.name).collect();
    let choice = usize::from(choice) % (names.len() + VARIANTS.len());
    let (name, options) = match names.get(choice) {
        Some(name) => (*name, Options::new()),
        None => {
            let (name, option, value) = VARIANTS[choice - names.len()];
            (name, Options::from_iter([(option.to_owned(), value.into())]))
        }
    };
    known.build(name, &options, limits()).expect("options are allowed")
}

/// What every controller promises whatever it was told.
pub fn check_controller(controller: &dyn RateController) {
    let target = controller.target();
    let bounds = limits().min..=limits().max;
    assert!(bounds.contains(&target.bitrate), "{}: {}", controller.name(), target.bitrate);
    controller.observe(&mut |name, value| {
        assert!(!value.is_nan(), "{}: {name} is not a number", controller.name());
    });
}
