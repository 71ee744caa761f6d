//! A host's peer: an offer from anyone, then datagrams from anyone. It never panics, never connects to one who has no
//! keys, and sends no more than it was asked.
#![no_main]

use gameway_units::{Ecn, Instant};
use gameway_webrtc::ice::LocalCandidate;
use gameway_webrtc::{HostConfig, Identity, Peer, Secrets, whep};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use std::sync::OnceLock;

const OFFER: &str = include_str!("../seeds/webrtc_peer/offer.sdp");

fn config() -> &'static HostConfig {
    static CONFIG: OnceLock<HostConfig> = OnceLock::new();
    CONFIG.get_or_init(|| HostConfig {
        identity: Identity::generate().expect("a certificate"),
        candidates: vec![LocalCandidate::Host(([127, 0, 0, 1], 1).into())],
        audio: true,
        h265: false,
        nack: true,
        parity: true,
        references: true,
        export_keys: false,
    })
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let now = Instant::ZERO;
    // As an offer, as the head of a request, and as datagrams to a peer with a good offer.
    let _ = Peer::answer(now, config(), Secrets::new([1; 32]), &text);
    let terms =
        whep::Terms { token: "a token of twenty letters".to_owned(), names: vec![], secure: false };
    let mut words = text.splitn(5, ' ');
    let mut word = || words.next().unwrap_or("");
    let request = whep::Request {
        method: word(),
        path: word(),
        query: word(),
        authorization: Some(word()),
        content_type: None,
        host: Some(word()),
        origin: None,
    };
    for host in [request.host, Some("localhost")] {
        let request = whep::Request { host, ..request };
        let origin = request.host.filter(|host| !host.is_empty() && !host.contains(':'));
        for origin in [None, origin] {
            let verdict =
                whep::judge(&whep::Request { origin, ..request }, &terms, &|_| Some(false));
            assert!(!matches!(verdict, whep::Verdict::Offer { .. }));
            // A bare name is no origin.
            assert!(origin.is_none() || verdict != whep::Verdict::Pair);
        }
    }
    let (mut peer, _) =
        Peer::answer(now, config(), Secrets::new([1; 32]), OFFER).expect("a good offer");
    let (from, to) = (SocketAddr::from(([127, 0, 0, 2], 2)), ([127, 0, 0, 1], 1).into());
    for (index, datagram) in data.chunks(60).enumerate() {
        let now = Instant::from_nanos(index as i64 * 1_000_000);
        peer.handle_datagram(now, from, to, Ecn::Ce, datagram);
        peer.handle_timeout(now);
        assert!(peer.poll_transmit().is_none(), "an answer to one without the password");
    }
    assert!(!peer.is_connected());
});
