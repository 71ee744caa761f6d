//! Downloads over QUIC by quinn, which turns the spin bit (RFC 9000 section 17.4) where it is allowed to; for tests of what
//! reads the bit on its way. s2n-quic, by which the downloads of live runs are, has it at 0.
//!
//!     spinning server ADDRESS PORT CERTIFICATE on|off
//!     spinning client ADDRESS PORT CERTIFICATE on|off CONNECTIONS SECONDS
//!
//! The server writes its certificate, says `ready`, and serves until it is ended. The client prints each half a second the
//! bytes that arrived since it began. With `off` an end sends random values, as quinn does in one of eight connections with `on`, too.

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{env, fs, io};

const NAME: &str = "gameway";
const CHUNK: usize = 1 << 16;
const REPORT: Duration = Duration::from_millis(500);
const USAGE: &str = "spinning server ADDRESS PORT CERTIFICATE on|off, or \
    spinning client ADDRESS PORT CERTIFICATE on|off CONNECTIONS SECONDS";

type Done = Result<(), Box<dyn Error + Send + Sync>>;

fn transport(spin: &str) -> Result<Arc<TransportConfig>, String> {
    let mut config = TransportConfig::default();
    match spin {
        "on" => config.allow_spin(true),
        "off" => config.allow_spin(false),
        other => return Err(format!("the spin bit is on or off, not {other:?}")),
    };
    Ok(Arc::new(config))
}

/// Sends until the client has enough.
async fn serve(connection: Connection) -> Done {
    let mut stream = connection.open_uni().await?;
    let chunk = vec![0; CHUNK];
    loop {
        stream.write_all(&chunk).await?;
    }
}

async fn server(address: SocketAddr, certificate: &str, spin: &str) -> Done {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![cert.der().clone()], key.into())?;
    config.transport_config(transport(spin)?);
    let endpoint = Endpoint::server(config, address)?;
    fs::write(certificate, cert.der())?;
    println!("ready");
    io::stdout().flush()?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move { serve(incoming.await?).await });
    }
    Ok(())
}

async fn fetch(connection: Connection, received: &AtomicU64) -> Done {
    let mut stream = connection.accept_uni().await?;
    let mut chunk = vec![0; CHUNK];
    while let Some(length) = stream.read(&mut chunk).await? {
        received.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(())
}

async fn client(
    address: SocketAddr,
    certificate: &str,
    spin: &str,
    count: u32,
    span: Duration,
) -> Done {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(spin)?);
    let received = Arc::new(AtomicU64::new(0));
    let mut endpoints = Vec::new();
    for _ in 0..count {
        // A port for each, by which connections are told apart on their way.
        let mut endpoint = Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0)))?;
        endpoint.set_default_client_config(config.clone());
        let connection = endpoint.connect(address, NAME)?.await?;
        let received = Arc::clone(&received);
        tokio::spawn(async move { fetch(connection, &received).await });
        endpoints.push(endpoint);
    }
    let mut reports = tokio::time::interval(REPORT);
    reports.tick().await;
    for _ in 0..span.as_millis() / REPORT.as_millis() {
        reports.tick().await;
        println!("{}", received.load(Ordering::Relaxed));
    }
    for endpoint in endpoints {
        endpoint.close(0_u32.into(), b"enough");
        endpoint.wait_idle().await;
    }
    Ok(())
}

fn main() -> Done {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["server", address, port, certificate, spin] => {
            let address = SocketAddr::new(address.parse()?, port.parse()?);
            runtime.block_on(server(address, certificate, spin))
        }
        ["client", address, port, certificate, spin, count, seconds] => {
            let address = SocketAddr::new(address.parse()?, port.parse()?);
            let span = Duration::from_secs(seconds.parse()?);
            runtime.block_on(client(address, certificate, spin, count.parse()?, span))
        }
        _ => Err(USAGE.into()),
    }
}
