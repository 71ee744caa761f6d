//! What others say of our packets: libsrtp decrypts a recorded session under the exported keys, and tshark reads it.
//! Skipped, saying so, where `tshark` or a Python with `pylibsrtp` is missing.

use crate::support::{World, connect, host_address, world};
use gameway_control::SequenceNumber;
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::{Duration, Ecn, ReceiverInstant};
use gameway_webrtc::feedback::write_report;
use gameway_webrtc::{Extensions, RtpHeader, RtpPacket, SrtpKeys};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that has pylibsrtp: of the workspace's environment, of `GAMEWAY_PYTHON`, or the system's.
fn python() -> Option<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
    let named = std::env::var_os("GAMEWAY_PYTHON").map(PathBuf::from);
    let candidates = named.into_iter().chain([ours, PathBuf::from("python3")]);
    let mut able = candidates.filter(|python| {
        let check = Command::new(python).args(["-c", "import pylibsrtp"]).output();
        check.is_ok_and(|it| it.status.success())
    });
    able.next()
}

fn tshark(pcap: &Path, filter: &str, field: &str) -> Vec<String> {
    let output = Command::new("tshark")
        .args(["-r", pcap.to_str().unwrap(), "-Y", filter, "-T", "fields", "-e", field])
        .args(["-d", "udp.port==5004,rtp", "-d", "udp.port==5005,rtcp"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A recorded session: 40 packets of media, 5 reports with arrival times and one request for a key frame.
fn record() -> (World, Vec<(bool, Vec<u8>)>) {
    let mut world = world();
    connect(&mut world, Duration::from_secs(1)).expect("connected");
    let terms = world.client.peer.negotiated().clone();
    for number in 0..40_u16 {
        let header = RtpHeader {
            payload_type: 96,
            marker: number % 8 == 7,
            sequence_number: 65_520_u16.wrapping_add(number),
            timestamp: u32::from(number / 8) * 1_500,
            ssrc: terms.video_ssrc,
        };
        let packet = RtpPacket {
            header,
            extensions: Extensions::default(),
            payload: &[0x61; 900],
            padding: 0,
        };
        world.host.peer.send_rtp(&packet, Ecn::Ect1).unwrap();
        world.run_for(Duration::from_millis(2));
        if number % 8 == 7 {
            let generated = ReceiverInstant::from_nanos(world.now.as_nanos());
            let received = |age: u64| ReceivedPacket {
                arrival: generated.saturating_sub(Duration::from_millis(age as i64)),
                ecn: Ecn::Ce,
            };
            let report = FeedbackPacket {
                base: SequenceNumber(65_520 + u64::from(number) - 7),
                packets: (0..8).rev().map(|age| (age != 3).then(|| received(age))).collect(),
                generated,
                key_frame_request: number == 39,
                ..FeedbackPacket::default()
            };
            for compound in write_report(&report, 7, &terms).unwrap() {
                world.client.peer.send_rtcp(&compound).unwrap();
            }
        }
    }
    world.run_for(Duration::from_millis(100));
    let wire = std::mem::take(&mut world.wire);
    let media = wire.into_iter().filter(|it| it.bytes[0] >= 128);
    let sides = media.map(|it| (it.from == Some(host_address()), it.bytes));
    let sides = sides.collect();
    (world, sides)
}

fn decrypt(python: &Path, folder: &Path, keys: &SrtpKeys, packets: &[(bool, Vec<u8>)]) -> PathBuf {
    let mut text = format!("{}\n", keys.profile);
    for (key, salt) in [&keys.local, &keys.remote] {
        text += &format!("{}\n", hex(&[key.as_slice(), salt].concat()));
    }
    for (from_host, bytes) in packets {
        text += &format!("{} {}\n", if *from_host { "host" } else { "client" }, hex(bytes));
    }
    let (input, pcap) = (folder.join("packets.txt"), folder.join("plain.pcap"));
    std::fs::write(&input, text).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/decrypt.py");
    let output = Command::new(python).args([&script, &input, &pcap]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    pcap
}

#[test]
fn libsrtp_decrypts_and_tshark_reads_our_packets() {
    let Some(python) = python() else {
        eprintln!(
            "skipped: no Python with pylibsrtp (pip install pylibsrtp; or set GAMEWAY_PYTHON)"
        );
        return;
    };
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let (world, packets) = record();
    let keys = world.host.peer.exported_keys().expect("exported on request");
    let folder = std::env::temp_dir().join(format!("gameway-wire-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pcap = decrypt(&python, &folder, keys, &packets);

    assert_eq!(
        tshark(&pcap, "_ws.malformed || _ws.expert.severity >= 0x600000", "frame.number").len(),
        0
    );
    let numbers = tshark(&pcap, "rtp", "rtp.seq");
    let expected: Vec<String> = (0..40).map(|n| 65_520_u16.wrapping_add(n).to_string()).collect();
    assert_eq!(numbers, expected);
    assert_eq!(tshark(&pcap, "rtcp.rtpfb.fmt == 11", "frame.number").len(), 5);
    assert_eq!(tshark(&pcap, "rtcp.length_check == 1", "frame.number").len(), 5);
    // The first report's content as tshark shows it: numbers from 65520 on, eight of them, the fifth missing, all
    // others marked CE (0xE000) and a whole number of milliseconds old.
    let first = &tshark(&pcap, "rtcp.rtpfb.fmt == 11", "rtcp.fci")[0];
    assert!(first.starts_with("fff00008e007e006e005e0040000e002e001e000"), "{first}");
    assert_eq!(tshark(&pcap, "rtcp.app.name == \"GWAT\"", "frame.number").len(), 5);
    assert_eq!(tshark(&pcap, "rtcp.psfb.fmt == 1", "frame.number").len(), 1);

    // The check can fail: with the directions' keys exchanged, libsrtp refuses.
    let mut wrong = keys.clone();
    std::mem::swap(&mut wrong.local, &mut wrong.remote);
    let refused = std::panic::catch_unwind(|| decrypt(&python, &folder, &wrong, &packets));
    assert!(refused.is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
