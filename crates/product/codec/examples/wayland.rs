//! What capture of a Wayland screen takes: how old a picture is when it is here, and processor time.
//!
//! `cargo run --release -p gameway-codec --features wayland --example wayland -- WIDTH HEIGHT SECONDS`, on that desktop; the user is asked
//! for a screen. It captures at each drawing.

#[cfg(feature = "wayland")]
fn main() {
    use gameway_codec::capture::{FrameSource as _, WaylandScreen};
    use gameway_codec::{Picture, Size};
    use gameway_units::Instant;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::time::{ClockId, clock_gettime};

    let words: Vec<u32> =
        std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let [width, height, seconds] = words[..] else { panic!("WIDTH HEIGHT SECONDS") };
    let size = Size::new(width, height).expect("a size");
    let seconds_of = |clock| {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        tv_sec as f64 + tv_nsec as f64 / 1e9
    };
    let mut screen = WaylandScreen::open(None, 60).expect("a screen");
    let bell = screen.drawings().expect("a descriptor");
    let mut picture = Picture::black(size);
    let (began, cost) = (seconds_of(ClockId::Monotonic), seconds_of(ClockId::ProcessCPUTime));
    let (mut delays, mut draws) = (Vec::new(), Vec::new());
    while seconds_of(ClockId::Monotonic) < began + f64::from(seconds) {
        let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
        let drawn = poll(&mut [PollFd::new(&bell, PollFlags::IN)], Some(&patience));
        if drawn != Ok(1) {
            continue;
        }
        rustix::io::read(&bell, &mut [0_u8; 8]).expect("a bell");
        delays.extend(screen.delay());
        let before = seconds_of(ClockId::Monotonic);
        screen.next(Instant::ZERO, 0, &mut picture).expect("a picture");
        draws.push(seconds_of(ClockId::Monotonic) - before);
    }
    let share = (seconds_of(ClockId::ProcessCPUTime) - cost) / f64::from(seconds);
    delays.sort_unstable();
    draws.sort_unstable_by(f64::total_cmp);
    let count = draws.len();
    let (delay, draw) = (delays.get(delays.len() / 2), draws.get(count / 2));
    let millis = |nanos: &i64| *nanos as f64 / 1e6;
    println!(
        "{count} pictures: {:?} ms old when here, {:?} ms to draw one (medians), {:.1} % of a core",
        delay.map(millis),
        draw.map(|seconds| seconds * 1e3),
        share * 100.0
    );
}

#[cfg(not(feature = "wayland"))]
fn main() {
    println!("build it with the feature wayland");
}
