//! What holds whatever passes: windows only go down, nothing else changes, memory is bounded, and the same
//! packets give the same windows.

use gameway_gateway::{
    Fairness, Flags, FlowTable, Gateway, Leftover, MAX_SHIFT, Packet, Passage, SapLaw,
    SapLawConfig, Segment, Shift, Step, Timestamps, Voap, VoapConfig,
};
use gameway_path::{Header, Protocol};
use gameway_units::{Bytes, Duration, Instant, Rate};
use proptest::prelude::*;

fn header(number: u16) -> Header {
    Header { protocol: Protocol::Tcp, ..Header::numbered(number) }
}

/// A number near others, or any.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => (0u32..200).prop_map(|segments| (u32::MAX - 100_000).wrapping_add(segments * 1448)),
        1 => any::<u32>(),
    ]
}

prop_compose! {
    fn segment()(
        flow in 0u16..4,
        back in any::<bool>(),
        bits in any::<u8>(),
        (sequence, acknowledgment) in (number(), number()),
        length in prop_oneof![Just(0u32), Just(1448), any::<u32>()],
        window in any::<u16>(),
        window_scale in prop::option::of(any::<u8>()),
        stamps in prop::option::of((0u32..3000, 0u32..3000)),
    ) -> Segment {
        let header = if back { header(flow).reversed() } else { header(flow) };
        Segment {
            header,
            flags: Flags { syn: bits < 20, ack: bits > 10, fin: bits > 250, rst: bits == 100 },
            sequence, acknowledgment, length, window, window_scale,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
        }
    }
}

fn gateway(choice: u8) -> Box<dyn Gateway> {
    let default = VoapConfig::default();
    let other = VoapConfig {
        step: Step::Backlog,
        fairness: Fairness::Rates,
        leftover: Leftover::Lost,
        memory: Duration::from_secs(2),
        ..default
    };
    match choice % 4 {
        0 => Box::new(Voap::new(default)),
        1 => Box::new(Voap::new(other)),
        2 => Box::new(Voap::new(VoapConfig { redistribution: false, ..other })),
        _ => Box::new(SapLaw::new(SapLawConfig::new(Rate::from_mbps(20)))),
    }
}

/// What happens: a segment into the queue or beside it, or time that passes with a wait in the queue.
type Happening = (Segment, bool, i64, i64);

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = (segment(), any::<bool>(), 0i64..60_000_000, 0i64..200_000_000);
    prop::collection::vec(one, 1..300)
}

/// The windows that come out; checks each segment.
fn windows(choice: u8, happenings: &[Happening]) -> Vec<u16> {
    let mut gateway = gateway(choice);
    let mut now = Instant::ZERO;
    let mut out = Vec::new();
    for &(segment, queued, pause, wait) in happenings {
        now += Duration::from_nanos(pause);
        gateway.on_departure(now, Bytes::new(1500), Duration::from_nanos(wait));
        while gateway.next_deadline() <= now {
            let due = gateway.next_deadline();
            gateway.on_deadline(due, Some(due.saturating_sub(Duration::from_nanos(wait))));
            assert!(gateway.next_deadline() > due);
        }
        let mut passed = segment;
        let passage = if queued { Passage::Queue } else { Passage::Beside };
        let (header, size) = (segment.header, Bytes::new(1500));
        let changed =
            gateway.on_packet(now, passage, &mut Packet::new(header, size, Some(&mut passed)));
        assert_eq!(changed, passed.window != segment.window);
        assert!(passed.window <= segment.window && (passed.window > 0 || segment.window == 0));
        assert_eq!(Segment { window: segment.window, ..passed }, segment);
        assert!(!changed || (segment.flags.ack && !segment.flags.syn && !segment.flags.rst));
        gateway
            .observe(&mut |seen| assert!(seen.value.is_finite() && seen.value >= 0.0, "{seen:?}"));
        out.push(passed.window);
    }
    out
}

proptest! {
    #[test]
    fn windows_only_go_down_and_nothing_else_changes(
        choice in any::<u8>(),
        happenings in happenings(),
    ) {
        let once = windows(choice, &happenings);
        prop_assert_eq!(&once, &windows(choice, &happenings));
    }

    /// A flood of flows leaves room for the established, and takes no more memory than it may.
    #[test]
    fn the_table_is_bounded_and_keeps_what_is_established(
        max in 2usize..20,
        flood in prop::collection::vec(1000u16..60_000, 1..200),
    ) {
        let mut table = FlowTable::<()>::with_capacity(max);
        let mut now = Instant::ZERO;
        handshake(&mut table, 7, Some(9), Some(5));
        for port in flood {
            now += Duration::from_micros(10);
            table.pass(now, true, &mut bare(header(port)), |_| None);
            prop_assert!(table.len() <= max);
        }
        let shifts: Vec<_> = table
            .directions()
            .filter(|(of, _)| of.source.port == 7)
            .map(|(_, data)| data.shift())
            .collect();
        prop_assert_eq!(shifts, [Shift::Known(9), Shift::Known(5)]);
    }

    /// The bound of an unknown shift is never above the truth while both ends do as they should.
    #[test]
    fn an_unknown_shift_is_never_taken_for_more(
        shift in 0..=MAX_SHIFT,
        window in 2u16..2000,
        steps in prop::collection::vec((1u32..30, 0u64..40, prop::option::of(1u64..60)), 20..200),
    ) {
        let bound = follow(shift, window, &steps);
        prop_assert!(bound <= shift, "{} of {}", bound, shift);
    }
}

fn bare(header: Header) -> Segment {
    Segment {
        header,
        flags: Flags { ack: true, ..Flags::default() },
        sequence: 1,
        acknowledgment: 1,
        length: 0,
        window: 1000,
        window_scale: None,
        timestamps: None,
    }
}

fn handshake(table: &mut FlowTable<()>, port: u16, opener: Option<u8>, answer: Option<u8>) {
    let syn = Flags { syn: true, ..Flags::default() };
    let mut first = Segment { flags: syn, window_scale: opener, ..bare(header(port).reversed()) };
    let flags = Flags { ack: true, ..syn };
    let mut second =
        Segment { flags, window_scale: answer, acknowledgment: 2, ..bare(header(port)) };
    table.pass(Instant::ZERO, false, &mut first, |_| None);
    table.pass(Instant::ZERO, true, &mut second, |_| None);
}

/// A sender that keeps to the windows that it is told, seen from its middle on: 10 ms to it and back, 5 to
/// the receiver. `steps`: segments to send if allowed, ms until the next, and what is wanted in segments.
fn follow(shift: u8, window: u16, steps: &[(u32, u64, Option<u64>)]) -> u8 {
    let mut table = FlowTable::<()>::default();
    let (mut now, mut sent, mut acknowledged) = (Instant::ZERO, 0u32, 0u32);
    let mut edges = std::collections::VecDeque::from([(now, u32::from(window) << shift)]);
    let mut edge = 0;
    for &(segments, millis, wanted) in steps {
        while edges.front().is_some_and(|(at, _)| *at <= now) {
            edge = edges.pop_front().map_or(edge, |(_, edge)| edge);
        }
        let stamp = (now.as_nanos() / 1_000_000) as u32;
        for _ in 0..segments {
            if sent + 1448 > edge {
                break;
            }
            let timestamps = Some(Timestamps { value: stamp, echo: stamp.saturating_sub(10) });
            let data = Segment { sequence: sent, length: 1448, timestamps, ..bare(header(1)) };
            table.pass(now, true, &mut data.clone(), |_| None);
            sent += 1448;
        }
        let timestamps = Some(Timestamps { value: stamp, echo: 0 });
        let header = header(1).reversed();
        let mut ack = Segment { acknowledgment: acknowledged, window, timestamps, ..bare(header) };
        table.pass(now, false, &mut ack, |_| wanted.map(|segments| segments * 1448));
        let told = acknowledged + (u32::from(ack.window) << shift);
        edges.push_back((now + Duration::from_millis(10), told));
        acknowledged = sent;
        now += Duration::from_millis(millis as i64);
    }
    let of_data = |(header, _): &(Header, _)| header.source == self::header(1).source;
    table.directions().find(of_data).map_or(0, |(_, data)| data.shift().min())
}
