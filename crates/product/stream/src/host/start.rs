//! The parts of a host with a thread of their own, as they are started.

use crate::cpu::{Meter, ThreadTime};
use crate::error::system;
use crate::host::encoders::encoders;
use crate::host::encoding::{Encoding, Job, Made};
use crate::host::run::tell;
use crate::host::sound::Sound;
use crate::host::sources;
use crate::wake::{Giver, Taker, waking};
use crate::{HostConfig, StreamError};
use gameway_runtime::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, channel};
use std::thread::JoinHandle;

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

/// What gives it work, what it made, itself, and whether it can encode H.265.
pub(super) type Worker = (mpsc::Sender<Job>, Taker<Made>, JoinHandle<ThreadTime>, bool);

#[expect(clippy::disallowed_methods, reason = "the driver owns its threads")]
pub(super) fn start_encoding(
    config: &HostConfig,
    clock: Clock,
    pictures: Arc<AtomicU64>,
) -> Result<Worker, StreamError> {
    let encoders = encoders(config)?;
    encoders.chosen.iter().for_each(|chosen| tell("encoder", chosen));
    let interval = config.frame_interval();
    let mut encoding = Encoding::new(
        sources::source(config)?,
        encoders.open,
        sources::size(config)?,
        (interval, config.frame_rate),
    );
    encoding.stamped = config.stamped;
    encoding.pictures = pictures;
    encoding.watch = config.card.is_some().then_some(clock);
    let (jobs, to_do) = channel();
    let (giver, made): (Giver<Made>, Taker<Made>) = waking().map_err(system("no wake-up"))?;
    let work = move || {
        let meter = Meter::new("encoding");
        encoding.run(&to_do, &giver);
        meter.read()
    };
    let thread = std::thread::Builder::new().name("encoding".to_owned()).spawn(work);
    Ok((jobs, made, thread.map_err(system("the encoding thread"))?, encoders.h265))
}
