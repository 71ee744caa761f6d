//! The parts of a host with a thread of their own, as they are started.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | niceness of encoders for those who watch | 10 | weighs a ninth of the player's where processors are short (sched(7)) |

use crate::cpu::{Meter, ThreadTime};
use crate::error::system;
use crate::host::encoders::{Opener, encoders};
use crate::host::encoding::{Encoding, Job, Made};
use crate::host::notes::tell;
use crate::host::picture_feed::{FeedSource, PictureFeed};
use crate::host::sound::Sound;
use crate::host::sources;
use crate::wake::{WakeReceiver, WakeSender, waking};
use crate::{HostConfig, StreamError};
use gameway_codec::capture::FrameSource;
use gameway_runtime::clock::Clock;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, channel};
use std::thread::JoinHandle;

const NICE: i32 = 10;

/// A host without sound still has pictures.
pub(super) fn start_sound(
    config: &HostConfig,
    clock: Clock,
    pictures: Arc<AtomicU64>,
) -> Result<Sound, StreamError> {
    let interval = config.frame_interval();
    let (sound, why_silent) = Sound::start(config, clock, pictures, interval)?;
    if let Some(why) = why_silent {
        tell("no sound", &why);
    }
    Ok(sound)
}

/// A thread that encodes: it ends when there is nobody left to give it work.
pub(super) struct Worker {
    /// Gives it work.
    pub(super) jobs: mpsc::Sender<Job>,
    /// What it made.
    pub(super) made: WakeReceiver<Made>,
    /// Itself.
    pub(super) thread: JoinHandle<ThreadTime>,
}

/// What encodes for the client that plays.
pub(super) struct Started {
    pub(super) worker: Worker,
    /// Makes encoders, for those who watch, too.
    pub(super) opener: Opener,
    /// The pictures, which those who watch are shown, too.
    pub(super) shown: PictureFeed,
    /// Whether H.265 can be encoded.
    pub(super) h265: bool,
    /// Readable when something is drawn, if the source of pictures tells that.
    pub(super) drawings: Option<OwnedFd>,
}

/// Starts to encode for the client that plays.
pub(super) fn start_encoding(
    config: &HostConfig,
    clock: Clock,
    pictures: Arc<AtomicU64>,
) -> Result<Started, StreamError> {
    let encoders = encoders(config)?;
    encoders.chosen.iter().for_each(|chosen| tell("encoder", chosen));
    let (opener, shown) = (encoders.opener.clone(), PictureFeed::default());
    let source = sources::source(config)?;
    let drawings = source.drawings();
    let mut encoding = encoding(config, source, encoders.opener)?;
    encoding.pictures = pictures;
    encoding.shown = shown.clone();
    encoding.watch = config.card.is_some().then_some(clock);
    let worker = start("encoding", encoding, || {})?;
    Ok(Started { worker, opener, shown, h265: encoders.h265, drawings })
}

/// Starts to encode for one who watches, behind all that is done for the player.
pub(super) fn start_watching(
    config: &HostConfig,
    opener: Opener,
    seen: FeedSource,
) -> Result<Worker, StreamError> {
    let encoding = encoding(config, Box::new(seen), opener)?;
    start("watching", encoding, || {
        // Who may not is as fast as the player.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
    })
}

fn encoding(
    config: &HostConfig,
    source: Box<dyn FrameSource>,
    opener: Opener,
) -> Result<Encoding, StreamError> {
    let rate = (config.frame_interval(), config.frame_rate);
    let mut encoding = Encoding::new(source, opener.into_open(), sources::size(config)?, rate);
    encoding.stamped = config.stamped;
    Ok(encoding)
}

/// `begin` is done first, by the thread itself.
#[expect(clippy::disallowed_methods, reason = "the driver owns its threads")]
fn start(
    name: &'static str,
    encoding: Encoding,
    begin: impl FnOnce() + Send + 'static,
) -> Result<Worker, StreamError> {
    let (jobs, to_do) = channel();
    let (sender, made): (WakeSender<Made>, WakeReceiver<Made>) =
        waking().map_err(system("no wake-up"))?;
    let work = move || {
        begin();
        let meter = Meter::new(name);
        encoding.run(&to_do, &sender);
        meter.read()
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    Ok(Worker { jobs, made, thread: thread.map_err(system("an encoding thread"))? })
}
