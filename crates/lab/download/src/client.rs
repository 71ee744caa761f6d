//! The client, which opens the connection: the receiver, unless data goes up.

use crate::certificate::SERVER_NAME;
use crate::config::{CongestionControl, Transport};
use crate::endpoint::{io, limits};
use crate::log::Progress;
use crate::transfer::{Run, sleep_until};
use crate::{DownloadConfig, DownloadError, Report};
use bytes::Bytes;
use gameway_runtime::stop::Stop;
use gameway_units::Instant;
use s2n_quic::Client;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Provider};
use s2n_quic::provider::tls::rustls;
use std::net::SocketAddr;

/// What asks for the data.
const REQUEST: &[u8] = b"GET /\r\n";

/// Opens a connection at the download's start and asks for it, until the end of the run, or until it is asked to stop;
/// `ready` is called once it waits.
///
/// # Errors
/// If the configuration is wrong, or the connection ends too early.
pub fn run(
    config: &DownloadConfig,
    stop: &Stop,
    ready: &mut dyn FnMut(),
) -> Result<Report, DownloadError> {
    let transport = config.transport()?;
    let run = Run::new(config, &transport, stop);
    run.carry_out(!transport.upwards, async {
        let client = match transport.congestion_control {
            CongestionControl::Cubic => start(config, &transport, &run.progress, Cubic::default()),
            CongestionControl::Bbr2 => start(config, &transport, &run.progress, Bbr::default()),
        }?;
        ready();
        sleep_until(run.clock, Instant::ZERO + transport.start).await;
        let server =
            Connect::new(SocketAddr::new(config.server, config.port)).with_server_name(SERVER_NAME);
        let mut connection = client.connect(server).await.map_err(DownloadError::quic)?;
        let stream = connection.open_bidirectional_stream().await;
        let mut stream = stream.map_err(DownloadError::quic)?;
        if !transport.upwards {
            stream.send(Bytes::from_static(REQUEST)).await.map_err(DownloadError::quic)?;
        }
        Ok((stream, (client, connection)))
    })
}

fn start(
    config: &DownloadConfig,
    transport: &Transport,
    progress: &Progress,
    congestion_control: impl Provider,
) -> Result<Client, DownloadError> {
    let tls = rustls::Client::builder()
        .with_certificate(std::fs::read(&config.certificate)?)
        .and_then(rustls::client::Builder::build)
        .map_err(DownloadError::quic)?;
    Client::builder()
        .with_io(io(transport, config.client, 0)?)
        .and_then(|client| client.with_tls(tls))
        .map_err(DownloadError::quic)?
        .with_limits(limits(config, transport)?)
        .and_then(|client| client.with_congestion_controller(congestion_control))
        .map_err(DownloadError::quic)?
        .with_event(progress.clone())
        .map_err(DownloadError::quic)?
        .start()
        .map_err(DownloadError::quic)
}
