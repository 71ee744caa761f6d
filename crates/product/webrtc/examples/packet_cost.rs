//! What a packet costs in the peers: `cargo run --release -p gameway-webrtc --example packet_cost`. Two connected peers
//! of ours; a media packet of 1200 B is written, protected, taken, unprotected and read, without sockets between.
#![expect(clippy::disallowed_methods, reason = "this program measures real time")]

use gameway_units::{Ecn, Instant, VideoCodec};
use gameway_webrtc::ice::LocalCandidate;
use gameway_webrtc::{
    ClientConfig, Event, Extensions, HostConfig, Identity, Peer, RtpHeader, RtpPacket, Secrets,
};
use std::error::Error;
use std::net::SocketAddr;

const PACKETS: u32 = 200_000;

fn exchange(
    now: Instant,
    from: &mut Peer,
    to: &mut Peer,
    addresses: (SocketAddr, SocketAddr),
) -> bool {
    let mut any = false;
    while let Some(transmit) = from.poll_transmit() {
        to.handle_datagram(now, addresses.0, addresses.1, transmit.ecn, &transmit.bytes);
        any = true;
    }
    any
}

fn without_repair(identity: Identity, candidates: Vec<LocalCandidate>) -> HostConfig {
    HostConfig {
        identity,
        candidates,
        audio: true,
        h265: false,
        nack: false,
        parity: false,
        references: false,
        export_keys: true,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (host_address, client_address) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
    let now = Instant::ZERO;
    let identity = Identity::generate()?;
    let (codec, candidates) = (VideoCodec::H264, vec![LocalCandidate::Host(host_address)]);
    let client_config =
        ClientConfig { identity: identity.clone(), codec, arrival_times: true, export_keys: true };
    let host_config = without_repair(identity, candidates);
    let (mut client, offer) = Peer::offer(now, &client_config, Secrets::from_system());
    let (mut host, answer) = Peer::answer(now, &host_config, Secrets::from_system(), &offer)?;
    client.accept_answer(now, &answer)?;
    while exchange(now, &mut client, &mut host, (client_address, host_address))
        | exchange(now, &mut host, &mut client, (host_address, client_address))
    {}
    while host.poll_event().is_some() {}
    while client.poll_event().is_some() {}
    println!("{}", host.exported_keys().map_or("not connected", |keys| keys.profile));

    let terms = host.negotiated().clone();
    let payload = [7; 1_200];
    let (mut sending, mut receiving) = (Vec::new(), Vec::new());
    for number in 0..PACKETS {
        let header = RtpHeader {
            payload_type: terms.video.unwrap_or(96),
            sequence_number: number as u16,
            ssrc: terms.video_ssrc,
            ..RtpHeader::default()
        };
        let packet =
            RtpPacket { header, extensions: Extensions::default(), payload: &payload, padding: 0 };
        let begin = std::time::Instant::now();
        host.send_rtp(&packet, Ecn::Ect1)?;
        let transmit = host.poll_transmit().ok_or("nothing to send")?;
        let sent = std::time::Instant::now();
        client.handle_datagram(now, host_address, client_address, Ecn::Ect1, &transmit.bytes);
        let event = client.poll_event();
        receiving.push(sent.elapsed().as_nanos());
        sending.push((sent - begin).as_nanos());
        assert!(matches!(event, Some(Event::Rtp { .. })));
    }
    for (name, mut times) in [("send", sending), ("receive", receiving)] {
        times.sort_unstable();
        let mean = times.iter().sum::<u128>() / u128::from(PACKETS);
        let at = |part: usize| times[times.len() * part / 1_000];
        println!("{name}: mean {mean} ns, median {} ns, 99.9 % {} ns", at(500), at(999));
    }
    Ok(())
}
