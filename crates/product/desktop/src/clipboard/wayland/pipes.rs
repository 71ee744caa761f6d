//! Pipes by which programs give and take text, without waiting for them.
//!
//! Source: pipe(7), fcntl(2) F_SETFL, epoll(7) of Linux man-pages 6.
//!
//! | limit | why |
//! |---|---|
//! | a program takes by a pipe, or by what else epoll watches | a write into a file waits for its disk, whatever its flags; epoll refuses files |

use crate::clipboard::text::{Incoming, Outgoing};
use gameway_input::clipboard::Outcome;
use gameway_units::Instant;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A piece that is read: what a pipe has room for, as Linux makes it.
const PIECE: usize = 65_536;

/// One descriptor that is readable when one of others is ready.
#[derive(Debug, Clone)]
pub(super) struct Watch(Arc<OwnedFd>);

impl Watch {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(epoll::create(CreateFlags::CLOEXEC)?)))
    }

    pub(super) fn add(&self, one: impl AsFd, until: EventFlags) -> io::Result<()> {
        // Who is ready is found by trying.
        Ok(epoll::add(&*self.0, one, EventData::new_u64(0), until)?)
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Our end of a pipe, which is watched while it is there.
#[derive(Debug)]
struct End {
    file: File,
    watch: Watch,
}

impl End {
    fn new(watch: &Watch, pipe: OwnedFd, until: EventFlags) -> io::Result<Self> {
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        watch.add(&pipe, until)?;
        Ok(Self { file: pipe.into(), watch: watch.clone() })
    }
}

impl Drop for End {
    /// Closing is not enough: a pipe stays watched while another process has the same end open, and would be ready for ever.
    fn drop(&mut self) {
        // What is not watched need not be forgotten.
        let _ = epoll::delete(&self.watch, &self.file);
    }
}

/// From where another program's text comes.
#[derive(Debug)]
pub(super) struct Inlet(End);

impl Inlet {
    /// Also the end for the program.
    pub(super) fn open(watch: &Watch) -> io::Result<(Self, OwnedFd)> {
        // The program's end waits, as programs expect it: they write as into a file.
        let (own, its) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self(End::new(watch, own, EventFlags::IN)?), its))
    }

    /// Takes what is there.
    pub(super) fn read(&mut self, now: Instant, incoming: &mut Incoming) {
        let mut piece = vec![0; PIECE];
        while incoming.has_begun() {
            match self.0.file.read(&mut piece) {
                Ok(0) => incoming.finish(),
                Ok(count) => incoming.add(now, &piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => incoming.end(Err(Outcome::NoAnswer)),
            }
        }
    }
}

/// Where a text of ours goes.
#[derive(Debug)]
pub(super) struct Outlet {
    end: End,
    outgoing: Outgoing,
}

impl Outlet {
    /// An error for what might have to be waited for, as what cannot be watched.
    pub(super) fn open(watch: &Watch, pipe: OwnedFd, outgoing: Outgoing) -> io::Result<Self> {
        Ok(Self { end: End::new(watch, pipe, EventFlags::OUT)?, outgoing })
    }

    /// Gives what finds room; whether there is more to do.
    pub(super) fn write(&mut self, now: Instant) -> bool {
        while !self.outgoing.rest().is_empty() {
            match self.end.file.write(self.outgoing.rest()) {
                Ok(count) => self.outgoing.advance(now, count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return now < self.outgoing.deadline();
                }
                // Who has closed its end wants no more.
                Err(_) => return false,
            }
        }
        false
    }

    /// When nobody is waited for any longer.
    pub(super) fn deadline(&self) -> Instant {
        self.outgoing.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::pipe::pipe;

    const NOW: Instant = Instant::ZERO;

    fn is_ready(watch: &Watch) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&at_once)).expect("a descriptor") == 1
    }

    fn outgoing() -> Outgoing {
        Outgoing::new("a".repeat(200_000).into(), NOW)
    }

    #[test]
    fn what_would_be_waited_for_gets_nothing() {
        let watch = Watch::new().expect("a descriptor");
        let place = std::env::temp_dir().join(format!("gameway-outlet-{}", std::process::id()));
        let file = File::create(&place).expect("a file");
        std::fs::remove_file(&place).expect("a file");
        assert!(Outlet::open(&watch, file.into(), outgoing()).is_err());
        let null = File::options().write(true).open("/dev/null").expect("a device");
        assert!(Outlet::open(&watch, null.into(), outgoing()).is_err());
        let (_, pipe) = pipe().expect("a pipe");
        assert!(Outlet::open(&watch, pipe, outgoing()).is_ok());
    }

    #[test]
    fn a_pipe_that_another_program_keeps_open_is_not_looked_at_for_ever() {
        let watch = Watch::new().expect("a descriptor");
        let (reading, pipe) = pipe().expect("a pipe");
        let kept = pipe.try_clone().expect("a descriptor");
        let mut outlet = Outlet::open(&watch, pipe, outgoing()).expect("a pipe");
        assert!(is_ready(&watch), "there is room");
        assert!(outlet.write(NOW), "there is more to do");
        assert!(!is_ready(&watch), "it is full");
        drop(outlet);
        let mut taken = vec![0; PIECE];
        File::from(reading.try_clone().expect("a descriptor"))
            .read_exact(&mut taken)
            .expect("a pipe");
        assert!(!is_ready(&watch), "there is room, of which nobody is to hear");
        drop((reading, kept));
    }

    #[test]
    fn who_closes_its_end_or_does_not_take_is_given_up() {
        let watch = Watch::new().expect("a descriptor");
        let (reading, pipe) = pipe().expect("a pipe");
        let mut outlet = Outlet::open(&watch, pipe, outgoing()).expect("a pipe");
        let due = outlet.deadline();
        assert!(outlet.write(NOW) && !outlet.write(due));
        drop(reading);
        assert!(is_ready(&watch) && !outlet.write(NOW));
    }

    #[test]
    fn the_end_of_the_program_waits_and_our_own_does_not() {
        let watch = Watch::new().expect("a descriptor");
        let (mut inlet, its) = Inlet::open(&watch).expect("a pipe");
        assert!(!fcntl_getfl(&its).expect("a pipe").contains(OFlags::NONBLOCK));
        let mut incoming = Incoming::default();
        incoming.begin(NOW);
        inlet.read(NOW, &mut incoming);
        assert_eq!(incoming.take(NOW), None);
        File::from(its).write_all("ž".as_bytes()).expect("room");
        assert!(is_ready(&watch));
        inlet.read(NOW, &mut incoming);
        assert_eq!(incoming.take(NOW), Some(Ok("ž".to_owned())));
    }
}
