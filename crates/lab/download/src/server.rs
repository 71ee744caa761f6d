//! The server: the sender, unless data goes up.

use crate::certificate::Identity;
use crate::config::{CongestionControl, Transport};
use crate::endpoint::{io, limits};
use crate::log::Progress;
use crate::transfer::Run;
use crate::{DownloadConfig, DownloadError, Report};
use gameway_runtime::stop::Stop;
use s2n_quic::Server;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Provider};
use s2n_quic::provider::tls::rustls;

/// Serves one download until the end of the run, or until it is asked to stop; `ready` is called once the client can come.
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
    run.carry_out(transport.upwards, async {
        let mut server = match transport.congestion_control {
            CongestionControl::Cubic => start(config, &transport, &run.progress, Cubic::default()),
            CongestionControl::Bbr2 => start(config, &transport, &run.progress, Bbr::default()),
        }?;
        ready();
        let mut connection = server.accept().await.ok_or_else(closed)?;
        let stream = connection.accept_bidirectional_stream().await.map_err(DownloadError::quic)?;
        Ok((stream.ok_or_else(closed)?, (server, connection)))
    })
}

fn closed() -> DownloadError {
    DownloadError::quic("the client left before it asked for anything")
}

fn start(
    config: &DownloadConfig,
    transport: &Transport,
    progress: &Progress,
    congestion_control: impl Provider,
) -> Result<Server, DownloadError> {
    let identity = Identity::new()?;
    std::fs::write(&config.certificate, &identity.certificate)?;
    let tls = rustls::Server::builder()
        .with_certificate(identity.certificate, identity.key)
        .and_then(rustls::server::Builder::build)
        .map_err(DownloadError::quic)?;
    Server::builder()
        .with_io(io(transport, config.server, config.port)?)
        .and_then(|server| server.with_tls(tls))
        .map_err(DownloadError::quic)?
        .with_limits(limits(config, transport)?)
        .and_then(|server| server.with_congestion_controller(congestion_control))
        .map_err(DownloadError::quic)?
        .with_event(progress.clone())
        .map_err(DownloadError::quic)?
        .start()
        .map_err(DownloadError::quic)
}
