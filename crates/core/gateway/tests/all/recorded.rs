//! What real programs sent, of which times, sizes and directions were kept (`tools/record-headers`): games are found, others are not.

use flate2::read::ZlibDecoder;
use gameway_gateway::classifier::{Classifier, Direction, Missing};
use gameway_path::{Header, Protocol, Traffic};
use gameway_units::{Bytes, Duration, Instant};
use std::io::Read;

/// A packet: since the first, of IP, and whether it goes to the home.
type Packet = (Duration, Bytes, bool);

macro_rules! recorded {
    ($name:literal) => {
        packets(include_bytes!(concat!("../recorded/", $name, ".bin")))
    };
}

/// Numbers in LEB128, in zlib: `tools/record-headers/record_headers.py` says what they are.
fn packets(file: &[u8]) -> Vec<Packet> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(file).read_to_end(&mut bytes).expect("zlib");
    let mut bytes = bytes.iter();
    let mut numbers = std::iter::from_fn(|| {
        let mut value = 0_u64;
        for (place, byte) in bytes.by_ref().enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    });
    let mut at = Duration::ZERO;
    std::iter::from_fn(|| {
        at += Duration::from_micros(numbers.next()? as i64);
        let size = numbers.next()?;
        Some((at, Bytes::new(size / 2), size % 2 == 1))
    })
    .collect()
}

/// What is thought of a flow.
struct Judged {
    /// When it was taken for a game first.
    found: Option<Duration>,
    /// For how much of the time after the first two seconds.
    share: f64,
    /// What it lacked in the end.
    missing: Missing,
    mbps: f64,
}

fn judged(packets: &[Packet], protocol: Protocol) -> Judged {
    let mut classifier = Classifier::new(1);
    let to_home = Header { protocol, ..Header::numbered(7) };
    let (mut found, mut as_game, mut after) = (None, 0_u32, 0_u32);
    let settled = Duration::from_secs(2);
    for &(at, size, is_down) in packets {
        let (header, direction) = match is_down {
            true => (to_home, Direction::Down),
            false => (to_home.reversed(), Direction::Up),
        };
        let judged = classifier.on_packet(Instant::ZERO + at, &header, size, direction);
        let is_game = judged.traffic == Some(Traffic::Game);
        found = found.or(is_game.then_some(at));
        if at >= settled {
            after += 1;
            as_game += u32::from(is_game);
        }
    }
    let evidence = classifier.why(&to_home, Direction::Down).expect("it is known");
    let down = packets.iter().filter(|packet| packet.2).map(|packet| packet.1.as_f64());
    let seconds = packets.last().expect("packets").0.as_secs_f64();
    Judged {
        found,
        share: f64::from(as_game) / f64::from(after),
        missing: evidence.missing,
        mbps: down.sum::<f64>() * 8e-6 / seconds,
    }
}

#[test]
fn games_of_our_host_are_found_and_stay_games() {
    for (name, packets) in
        [("our client", recorded!("game")), ("a browser", recorded!("game-in-a-browser"))]
    {
        let judged = judged(&packets, Protocol::Udp);
        let found = judged.found.expect(name).as_secs_f64();
        assert!((1.5..2.4).contains(&found), "{name}: after {found} s");
        assert!(judged.share > 0.9, "{name}: {}", judged.share);
        assert!((2.0..12.0).contains(&judged.mbps), "{name}: {} Mb/s", judged.mbps);
    }
}

#[test]
fn what_is_no_game_is_never_taken_for_one() {
    // The last column is what each lacks in the end.
    for (name, packets, protocol, lacking) in [
        ("a call", recorded!("call"), Protocol::Udp, "answers"),
        ("a camera that somebody watches", recorded!("camera"), Protocol::Udp, "answers"),
        ("a download by s2n-quic", recorded!("download-over-quic"), Protocol::Udp, "frames"),
        (
            "a download by quinn whose largest probes were lost",
            recorded!("download-over-quic-below-its-probes"),
            Protocol::Udp,
            "frames",
        ),
        ("UDP by iperf3", recorded!("udp-at-a-constant-rate"), Protocol::Udp, "answers"),
        ("a download by iperf3", recorded!("download-over-tcp"), Protocol::Tcp, "frames"),
        ("pages of nginx", recorded!("web-over-tcp"), Protocol::Tcp, "frames"),
    ] {
        assert!(packets.len() > 1_000, "{name}: {} packets", packets.len());
        let judged = judged(&packets, protocol);
        let lacks: Vec<_> = judged.missing.names().collect();
        assert_eq!(judged.found, None, "{name}");
        assert!(lacks.contains(&lacking), "{name}: {lacks:?}");
    }
}
