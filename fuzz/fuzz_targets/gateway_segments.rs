//! The home gateways: any segments, datagrams and pings, any way, any waits.
#![no_main]

use gameway_fuzz::Input;
use gameway_gateway::{
    BothConfig, Fairness, Flags, Gateway, Home, Packet, Passage, QuicHeader, SapLaw, SapLawConfig,
    Segment, ShapeConfig, Step, Timestamps, Voap, VoapConfig, WindowsConfig,
};
use gameway_path::{Header, Protocol};
use gameway_units::{Bytes, Duration, Instant, Rate};
use libfuzzer_sys::fuzz_target;

/// Mostly a whole number of segments, about to wrap.
fn number(input: &mut Input<'_>) -> u32 {
    let segments = input.number(140) as u32;
    (u32::MAX - 100_000).wrapping_add(segments.wrapping_mul(1448))
}

fn segment(input: &mut Input<'_>) -> Segment {
    let bits: u8 = input.any();
    let flow = u16::from(input.any::<u8>() % 8);
    let header = Header { protocol: Protocol::Tcp, ..Header::numbered(flow) };
    Segment {
        header: if bits & 1 == 0 { header } else { header.reversed() },
        // SYN rarely and ACK mostly, so that connections get established.
        flags: Flags { syn: bits < 32, ack: bits > 16, fin: bits > 250, rst: bits == 200 },
        sequence: number(input),
        acknowledgment: number(input),
        length: input.number(1500) as u32,
        window: input.any(),
        window_scale: input.any::<bool>().then(|| input.any::<u8>() % 20),
        timestamps: input.any::<bool>().then(|| Timestamps {
            value: input.number(3000) as u32,
            echo: input.number(3000) as u32,
        }),
    }
}

/// Those from this choice on have a queue for what the home sends, too.
const GUARDS_OUT: u8 = 6;
const CHOICES: u8 = 8;

fn gateway(choice: u8) -> Box<dyn Gateway> {
    let paper = VoapConfig::default();
    let memory = Duration::from_secs(1);
    let mended = VoapConfig { step: Step::Backlog, fairness: Fairness::Rates, memory, ..paper };
    let mut made: Box<dyn Gateway> = match choice {
        0 => Box::new(Voap::new(paper)),
        1 => Box::new(Voap::new(mended)),
        2 => Box::new(Home::windows(WindowsConfig::default())),
        3 | 7 => Box::new(Home::both(BothConfig::default())),
        4 => Box::new(SapLaw::new(SapLawConfig::new(Rate::from_mbps(20)))),
        _ => Box::new(Home::shape(ShapeConfig::default())),
    };
    if choice >= GUARDS_OUT {
        made.guard_way_out();
    }
    made
}

/// A header of what comes to the home as it passes, that way or back.
fn on_its_way(header: Header, to_home: bool) -> (Header, Passage) {
    if to_home { (header, Passage::Queue) } else { (header.reversed(), Passage::Beside) }
}

/// Perhaps a ping or a reply, of few numbers, and what has left the queue for what the home sends.
fn way_out(gateway: &mut dyn Gateway, now: Instant, input: &mut Input<'_>) {
    let header = Header { protocol: Protocol::Icmp, ..Header::numbered(0) };
    let (header, passage) = on_its_way(header, input.any());
    let echo = input.any::<bool>().then(|| input.number(20) as u32);
    let mut packet = Packet::new(header, Bytes::new(84), None).with_echo(echo);
    assert!(!gateway.on_packet(now, passage, &mut packet), "there is no window");
    gateway.on_left_home(now, Bytes::new(input.number(100_000)));
}

/// Perhaps a packet of QUIC, of few flows; the spin bit does what it likes.
fn datagram(gateway: &mut dyn Gateway, now: Instant, input: &mut Input<'_>) {
    let first: u8 = input.any();
    let datagrams = input.number(20) as u32;
    let header = Header { protocol: Protocol::Udp, ..Header::numbered(u16::from(first % 4)) };
    let (header, passage) = on_its_way(header, input.any());
    let size = Bytes::new(1280) * u64::from(datagrams);
    let packet = Packet::new(header, size, None);
    let mut packet = packet.with_quic(Some(QuicHeader::read(first, datagrams)));
    assert!(!gateway.on_packet(now, passage, &mut packet), "there is no window");
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let choice = input.any::<u8>() % CHOICES;
    let mut gateway = gateway(choice);
    let mut now = Instant::ZERO;
    while !input.is_empty() {
        now += input.pause();
        let wait = Duration::from_nanos(input.number(200_000_000) as i64);
        gateway.on_departure(now, Bytes::new(1500), wait);
        let due = gateway.next_deadline();
        if due <= now {
            gateway.on_deadline(now, Some(now.saturating_sub(wait)));
            assert!(gateway.next_deadline() > due);
        }
        if choice >= GUARDS_OUT {
            way_out(&mut *gateway, now, &mut input);
        }
        datagram(&mut *gateway, now, &mut input);
        let before = segment(&mut input);
        let mut after = before;
        let passage = if input.any() { Passage::Queue } else { Passage::Beside };
        let (header, size) = (before.header, Bytes::new(1500));
        gateway.on_packet(now, passage, &mut Packet::new(header, size, Some(&mut after)));
        assert!(after.window <= before.window, "never upwards");
        assert!(after.window > 0 || before.window == 0, "never shut");
        assert_eq!(Segment { window: before.window, ..after }, before, "nothing else");
        gateway.observe(&mut |seen| assert!(seen.value.is_finite() && seen.value >= 0.0));
    }
});
