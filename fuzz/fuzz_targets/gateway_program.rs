//! What others say to the home gateway's program: who asks at its socket or its page, the kernel by netlink, the configuration,
//! dnsmasq's leases. The first byte says who speaks.
#![no_main]

use gameway_router::fuzzed;
use gameway_serving::connections::exchange;
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// More than the page has.
const ROOM: usize = 1 << 20;

fn answered(bytes: &[u8], from: IpAddr) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("one");
    runtime.block_on(async {
        let (mut asking, stream) = tokio::io::duplex(ROOM);
        asking.write_all(&bytes[..bytes.len().min(ROOM)]).await.expect("there is room");
        asking.shutdown().await.expect("it is said");
        exchange(stream, None, |request| {
            let answer = fuzzed::page(from, &request);
            async { answer }
        })
        .await;
        let mut answer = Vec::new();
        asking.read_to_end(&mut answer).await.expect("an answer");
        answer
    })
}

/// An answer of HTTP, or nothing; who is not at home reads no page.
fn ask(bytes: &[u8], is_at_home: bool) {
    let from = if is_at_home { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(203, 0, 113, 9) };
    let answer = answered(bytes, from.into());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{}", answer.escape_ascii());
    let is_good = answer.get(9..12) == Some(b"200");
    assert!(is_at_home || !is_good, "a stranger reads {}", bytes.escape_ascii());
}

fuzz_target!(|data: &[u8]| {
    let Some((who, bytes)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    match who % 5 {
        0 => {
            let answer = fuzzed::control_line(bytes);
            assert!(answer.starts_with('{') && !answer.contains('\n'), "{answer}");
        }
        1 => {
            // Each message has a head of 16 bytes at least.
            let kinds = 8;
            assert!(fuzzed::netlink(bytes) <= kinds * (bytes.len() / 16));
        }
        2 => {
            if let Err(why) = fuzzed::configuration(&text) {
                assert!(!why.is_empty());
            }
        }
        3 => ask(bytes, bytes.len() % 2 == 0),
        _ => {
            if let Some((_, name)) = fuzzed::lease(&text) {
                assert!(!name.contains(['<', '&', '"', ' ']), "{name}");
            }
        }
    }
});
