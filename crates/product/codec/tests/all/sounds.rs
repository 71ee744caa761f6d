//! The sound of a server of its own, played by another program.

use crate::support::Scratch;
use gameway_codec::audio::{AudioSource, CHANNELS, PulseMonitor, SAMPLE_RATE, Tone};
use gameway_desktop::{DesktopError, SoundServer};
use gameway_units::Instant;
use std::f64::consts::TAU;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command};

/// A block of 10 ms.
const BLOCK: usize = SAMPLE_RATE as usize / 100;
/// Blocks of a minute, which nobody waits for: a start takes a second.
const MAX_BLOCKS: usize = 6_000;

/// A program that plays a tone for a minute.
struct Playing(Child);

impl Playing {
    fn start(server: &str, folder: &Path) -> Self {
        let file = folder.join("tone");
        let mut samples = vec![0; 60 * SAMPLE_RATE as usize * CHANNELS];
        Tone::default().next(Instant::ZERO, &mut samples).unwrap();
        std::fs::write(&file, samples.iter().flat_map(|s| s.to_le_bytes()).collect::<Vec<_>>())
            .unwrap();
        let player = Command::new("pacat")
            .args(["--raw", "--format=s16le", "--rate=48000", "--channels=2", "--latency-msec=20"])
            .env("PULSE_SERVER", server)
            .stdin(File::open(file).unwrap())
            .spawn();
        Self(player.unwrap())
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The share of a channel's power that is at a frequency (Goertzel).
fn share(block: &[i16], channel: usize, hertz: f64) -> f64 {
    let samples: Vec<f64> = block.chunks(CHANNELS).map(|pair| f64::from(pair[channel])).collect();
    let turn = TAU * hertz / f64::from(SAMPLE_RATE);
    let wave = |f: fn(f64) -> f64| -> f64 {
        samples.iter().enumerate().map(|(at, sample)| sample * f(turn * at as f64)).sum()
    };
    let (sine, cosine) = (wave(libm::sin), wave(libm::cos));
    let power: f64 = samples.iter().map(|sample| sample * sample).sum();
    2.0 * (sine * sine + cosine * cosine) / (samples.len() as f64 * power.max(1.0))
}

fn is_tone(block: &[i16]) -> bool {
    let loudest = block.iter().map(|sample| sample.unsigned_abs()).max();
    loudest.is_some_and(|loudest| loudest.abs_diff(8_192) < 100)
        && share(block, 0, 440.0) > 0.9
        && share(block, 1, 660.0) > 0.9
}

/// Blocks until one of `monitor` is the tone; of the same time, those of another one.
fn until_heard(monitor: &mut PulseMonitor, other: &mut PulseMonitor) -> Vec<i16> {
    let (mut block, mut others) = (vec![0; BLOCK * CHANNELS], Vec::new());
    for _ in 0..MAX_BLOCKS {
        monitor.next(Instant::ZERO, &mut block).unwrap();
        let heard = is_tone(&block);
        other.next(Instant::ZERO, &mut block).unwrap();
        others.extend(&block);
        if heard {
            return others;
        }
    }
    panic!("nothing is heard");
}

#[test]
fn what_plays_on_a_server_is_heard_there_alone() {
    let folders = [Scratch::folder("sound-1"), Scratch::folder("sound-2")];
    let [first, second] = [0, 1].map(|number: usize| SoundServer::start(&folders[number].0));
    let first = match first {
        Err(error @ DesktopError::NotInstalled { .. }) => return eprintln!("skipped: {error}"),
        started => started.unwrap(),
    };
    let second = second.unwrap();
    let open = |server: &SoundServer| {
        PulseMonitor::open("@DEFAULT_MONITOR@", Some(server.server())).unwrap()
    };
    let (mut at_first, mut at_second) = (open(&first), open(&second));
    let playing = Playing::start(first.server(), &folders[0].0);
    let others = until_heard(&mut at_first, &mut at_second);
    assert!(others.iter().all(|sample| *sample == 0));
    // The second would have heard it: it hears its own.
    drop(playing);
    let _playing = Playing::start(second.server(), &folders[1].0);
    until_heard(&mut at_second, &mut at_first);
    // And the first falls silent when its player is gone.
    let mut block = vec![0; BLOCK * CHANNELS];
    let silent = (0..MAX_BLOCKS).any(|_| {
        at_first.next(Instant::ZERO, &mut block).unwrap();
        block.iter().all(|sample| *sample == 0)
    });
    assert!(silent);
}

#[test]
fn a_server_that_is_gone_is_told() {
    let folder = Scratch::folder("sound-gone");
    let server = match SoundServer::start(&folder.0) {
        Err(error @ DesktopError::NotInstalled { .. }) => return eprintln!("skipped: {error}"),
        started => started.unwrap(),
    };
    let mut monitor = PulseMonitor::open("gameway.monitor", Some(server.server())).unwrap();
    drop(server);
    let mut block = vec![0; BLOCK * CHANNELS];
    let error = (0..MAX_BLOCKS).find_map(|_| monitor.next(Instant::ZERO, &mut block).err());
    let message = error.expect("an error").to_string();
    assert!(
        message.contains("gameway.monitor") && message.contains("its program ended"),
        "{message}"
    );
}
