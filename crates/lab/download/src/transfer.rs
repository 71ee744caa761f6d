//! An end from its start to the end of the run, and the two sides of the data, whichever of them is the server.

use crate::config::Transport;
use crate::endpoint::std_duration;
use crate::log::{Log, Progress, Received};
use crate::{DownloadConfig, DownloadError, Report};
use bytes::Bytes;
use gameway_runtime::clock::Clock;
use gameway_runtime::stop::Stop;
use gameway_units::{Duration, Instant};
use s2n_quic::application;
use s2n_quic::stream::{BidirectionalStream, Error, ReceiveStream, SendStream};
use std::future::{Future, pending};
use tokio::runtime::Builder;

/// What is written at once.
const BLOCK: usize = 64 << 10;
/// How often somebody looks whether a run was asked to stop.
const LOOK: Duration = Duration::from_millis(50);
const OBSERVE_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until this time of the run.
pub async fn sleep_until(clock: Clock, at: Instant) {
    tokio::time::sleep(std_duration(at - clock.now())).await;
}

/// An end of a download in a run.
pub struct Run<'a> {
    config: &'a DownloadConfig,
    transport: &'a Transport,
    stop: &'a Stop,
    pub clock: Clock,
    pub progress: Progress,
    received: Received,
}

impl<'a> Run<'a> {
    pub fn new(config: &'a DownloadConfig, transport: &'a Transport, stop: &'a Stop) -> Self {
        let clock = Clock::new(config.epoch_ns);
        let (progress, received) = (Progress::default(), Received::default());
        Self { config, transport, stop, clock, progress, received }
    }

    /// Lets the run go by: comes to the stream, and receives or sends on it. What comes with the stream is kept until the end.
    pub fn carry_out<T>(
        &self,
        receives: bool,
        stream: impl Future<Output = Result<(BidirectionalStream, T), DownloadError>>,
    ) -> Result<Report, DownloadError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let transfer = async {
            let (stream, _kept) = stream.await?;
            let (mut receiver, mut sender) = stream.split();
            if receives {
                self.receive(&mut receiver).await?;
            } else {
                self.send(&mut sender).await?;
            }
            // Neither end closes: who has nothing to do is idle.
            pending().await
        };
        let result = runtime.block_on(async {
            if receives {
                return self.until_end(transfer).await;
            }
            let mut log = Log::begin(&self.transport.name, &self.config.folder)?;
            let result = tokio::select! {
                result = self.until_end(transfer) => result,
                () = self.observe(&mut log) => Ok(()),
            };
            log.observe(self.clock.now(), &self.progress);
            log.finish().and(result)
        });
        // The endpoint is dropped with its runtime, and says no word of it to the other end, whose run is over, too.
        drop(runtime);
        result?;
        let received_bytes = self.received.bins();
        Ok(Report { received_bytes, lost_packets: self.progress.lost_packets() })
    }

    /// Ends with the transfer, which fails if it ends; and else at the end of the run, or when it is asked to stop.
    async fn until_end(
        &self,
        transfer: impl Future<Output = Result<(), DownloadError>>,
    ) -> Result<(), DownloadError> {
        tokio::pin!(transfer);
        let end = Instant::ZERO + self.config.duration;
        while self.clock.now() < end && !self.stop.is_asked() {
            tokio::select! {
                result = &mut transfer => return result,
                () = sleep_until(self.clock, end.min(self.clock.now() + LOOK)) => {}
            }
        }
        Ok(())
    }

    /// Writes the sender's state at its interval, without an end.
    async fn observe(&self, log: &mut Log) {
        let interval = self.config.observe_interval.unwrap_or(OBSERVE_INTERVAL);
        let mut next = Instant::ZERO + self.transport.start;
        loop {
            sleep_until(self.clock, next).await;
            log.observe(self.clock.now(), &self.progress);
            next += interval;
        }
    }

    /// Sends what the download has, or without an end, until the application stops.
    async fn send(&self, stream: &mut SendStream) -> Result<(), DownloadError> {
        let stopped = async {
            match self.transport.stop {
                Some(stop) => sleep_until(self.clock, Instant::ZERO + stop).await,
                None => pending().await,
            }
        };
        let sent = tokio::select! {
            sent = send_all(stream, self.transport.bytes.map(gameway_units::Bytes::get)) => Some(sent),
            () = stopped => None,
        };
        match sent {
            Some(sent) => sent,
            // What is lost from now on is not sent again.
            None => stream.reset(application::Error::UNKNOWN),
        }
        .map_err(DownloadError::quic)?;
        self.progress.finish();
        Ok(())
    }

    /// Receives until the sender has no more.
    async fn receive(&self, stream: &mut ReceiveStream) -> Result<(), DownloadError> {
        loop {
            match stream.receive().await {
                Ok(Some(data)) => self.received.add(self.clock.now(), data.len() as u64),
                // The sender has stopped.
                Ok(None) | Err(Error::StreamReset { .. }) => return Ok(()),
                Err(error) => return Err(DownloadError::quic(error)),
            }
        }
    }
}

/// Sends so many bytes, or without an end, until all are acknowledged.
async fn send_all(stream: &mut SendStream, bytes: Option<u64>) -> Result<(), Error> {
    let block = Bytes::from_static(&[0; BLOCK]);
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let now = BLOCK.min(usize::try_from(left).unwrap_or(BLOCK));
        stream.send(block.slice(..now)).await?;
        left = if bytes.is_some() { left - now as u64 } else { left };
    }
    stream.close().await
}
