//! What capture of a screen takes: how old a picture is when it is captured, and processor time.
//!
//! `.venv/bin/pytest -s python/tests/test_live_drawing.py` runs it: `capture x11` captures the screen of the environment, `capture portal` the
//! one that its desktop's portal shares, both for so many seconds at each drawing. A program (`python/tests/drawing_program.py`) writes into the
//! first row of the picture when it drew it, as sixteen cells: CLOCK_MONOTONIC in tenths of a millisecond.

#[cfg(feature = "wayland")]
mod run {
    use gameway_codec::capture::{FrameSource, WaylandScreen, X11Screen};
    use gameway_codec::{Picture, Size};
    use gameway_desktop::Drawings;
    use gameway_units::Instant;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
    use rustix::time::{ClockId, clock_gettime};

    const CELLS: usize = 16;
    const TENTH: i64 = 100_000;
    const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

    fn nanos(clock: ClockId) -> i64 {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        tv_sec * 1_000_000_000 + tv_nsec
    }

    /// Who tells of drawings.
    enum Bell {
        Server(Box<Drawings>),
        Source(OwnedFd),
    }

    impl Bell {
        fn descriptor(&self) -> BorrowedFd<'_> {
            match self {
                Self::Server(drawings) => drawings.as_fd(),
                Self::Source(bell) => bell.as_fd(),
            }
        }

        fn rings(&mut self) -> bool {
            // A connection may have read an event before, beside an answer: whatever the descriptor says, it is asked.
            let _ = poll(&mut [PollFd::new(&self.descriptor(), PollFlags::IN)], Some(&WAIT));
            match self {
                Self::Server(drawings) => drawings.poll().expect("a server"),
                Self::Source(bell) => rustix::io::read(&*bell, &mut [0_u8; 8]).is_ok(),
            }
        }
    }

    /// When it was drawn, in tenths of a millisecond, by its cells.
    fn stamp(picture: &Picture) -> u16 {
        let width = picture.size().width();
        let row = &picture.planes()[0][picture.strides()[0] * 8..];
        let is_bright = |cell: usize| row[(2 * cell + 1) * width / (2 * CELLS)] > 128;
        (0..CELLS).fold(0, |sum, cell| 2 * sum + u16::from(is_bright(cell)))
    }

    pub fn main() {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [kind, width, height, seconds] = &words[..] else {
            panic!("x11|portal WIDTH HEIGHT SECONDS");
        };
        let number = |word: &str| word.parse::<u32>().expect("a number");
        let size = Size::new(number(width), number(height)).expect("a size");
        let (mut screen, mut bell): (Box<dyn FrameSource>, Bell) = if kind == "x11" {
            let drawings = Drawings::connect(None, None).expect("drawings");
            (
                Box::new(X11Screen::open(None, None).expect("a screen")),
                Bell::Server(Box::new(drawings)),
            )
        } else {
            let screen = WaylandScreen::open(None, 60).expect("a screen");
            let bell = screen.drawings().expect("a descriptor");
            (Box::new(screen), Bell::Source(bell))
        };
        let mut picture = Picture::black(size);
        let span = i64::from(number(seconds)) * 1_000_000_000;
        let (began, cost) = (nanos(ClockId::Monotonic), nanos(ClockId::ProcessCPUTime));
        let mut delays = Vec::new();
        while nanos(ClockId::Monotonic) < began + span {
            if bell.rings() {
                screen.next(Instant::ZERO, 0, &mut picture).expect("a picture");
                let now = (nanos(ClockId::Monotonic) / TENTH) as u16;
                delays.push(now.wrapping_sub(stamp(&picture)));
            }
        }
        let cost = (nanos(ClockId::ProcessCPUTime) - cost) as f64 / 1e6;
        println!("{{\"cost_ms\": {cost}, \"delays\": {delays:?}}}");
    }
}

#[cfg(feature = "wayland")]
fn main() {
    run::main();
}

#[cfg(not(feature = "wayland"))]
fn main() {
    println!("build it with the feature wayland");
}
