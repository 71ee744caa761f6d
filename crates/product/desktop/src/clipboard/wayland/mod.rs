//! The clipboard of a Wayland desktop, where the compositor lets programs without a window use it: by data control ([`control`]).
//!
//! Source: ext-data-control-v1, wlr-data-control-unstable-v1; Wayland, `wl_display.sync`.
//! Model: a compositor tells everybody who has copied, and takes a pipe to that program. What was copied when it is asked for is what the compositor
//! has told once it has answered a question that was put then. Only when this begins is the compositor waited for.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | a compositor answers at the beginning within | 2 s | it takes 1 ms; one that has stopped must not stop a host |
//!
//! | limit | why |
//! |---|---|
//! | compositors with data control alone: of sway and others of wlroots, KDE Plasma, COSMIC if it is told to | any other protocol gives the clipboard to the window alone that has the keys; GNOME has no data control |
//! | the first seat's | a desktop has one; another has a clipboard of its own |
//! | not what is marked with the middle button (primary selection) | it is not what a program has copied |

mod control;
mod pipes;

use crate::DesktopError;
use crate::clipboard::Clipboard;
use crate::clipboard::text::{Incoming, MAX_RECEIVERS, Outgoing};
use control::Control;
use gameway_input::clipboard::Outcome;
use gameway_runtime::clock::{self, Clock};
use gameway_units::{Duration, Instant};
use pipes::{Inlet, Outlet, Watch};
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags};
use std::error::Error;
use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use wayland_client::backend::WaylandError;
use wayland_client::{Connection, EventQueue};

const ANSWER: Duration = Duration::from_secs(2);
const NO_COMPOSITOR: &str = "run it in a terminal of that desktop, or set WAYLAND_DISPLAY and XDG_RUNTIME_DIR as they are there";
const NO_CONTROL: &str = "play on a desktop whose compositor offers it (sway and others of wlroots, KDE Plasma; COSMIC with \
     COSMIC_DATA_CONTROL_ENABLED=1 in its environment), or on a screen of X11";
const GONE: &str = "start this again when the desktop is there";

/// See the module's head.
#[derive(Debug)]
pub struct WaylandClipboard {
    connection: Connection,
    queue: EventQueue<Control>,
    control: Control,
    watch: Watch,
    /// The newest question's number.
    asked: u32,
    incoming: Incoming,
    inlet: Option<Inlet>,
    outlets: Vec<Outlet>,
}

impl WaylandClipboard {
    /// For a compositor's socket (`None` for the environment's).
    ///
    /// # Errors
    /// [`DesktopError::Compositor`] says what is missing.
    pub fn connect(socket: Option<&Path>) -> Result<Self, DesktopError> {
        let nobody =
            |error: &dyn Error| DesktopError::compositor(&error.to_string(), NO_COMPOSITOR);
        let connection = match socket {
            None => Connection::connect_to_env().map_err(|error| nobody(&error))?,
            Some(place) => {
                let stream = UnixStream::connect(place).map_err(|error| nobody(&error))?;
                Connection::from_socket(stream).map_err(|error| nobody(&error))?
            }
        };
        let watch = Watch::new().and_then(|watch| {
            watch.add(&connection, EventFlags::IN)?;
            Ok(watch)
        });
        let mut new = Self {
            queue: connection.new_event_queue(),
            connection,
            control: Control::default(),
            watch: watch.map_err(|error| gone(&error))?,
            asked: 0,
            incoming: Incoming::default(),
            inlet: None,
            outlets: Vec::new(),
        };
        new.begin()?;
        Ok(new)
    }

    /// Finds what the compositor offers.
    fn begin(&mut self) -> Result<(), DesktopError> {
        let registry = self.connection.display().get_registry(&self.queue.handle(), ());
        self.question();
        let clock = Clock::new(Clock::monotonic_ns());
        loop {
            self.hear().map_err(|error| gone(&*error))?;
            let left = (Instant::ZERO + ANSWER).saturating_since(clock.now());
            if self.control.has_answered(self.asked) {
                break;
            }
            if left <= Duration::ZERO {
                return Err(DesktopError::compositor("the compositor does not answer", GONE));
            }
            let mut descriptors = [PollFd::new(&self.watch, PollFlags::IN)];
            clock::wait(&mut descriptors, left).map_err(|error| gone(&error))?;
        }
        if self.control.bind(&registry, &self.queue.handle()) {
            return self.hear().map_err(|error| gone(&*error));
        }
        let missing = "the compositor offers no data control (ext-data-control-v1 or wlr-data-control-unstable-v1)";
        Err(DesktopError::compositor(missing, NO_CONTROL))
    }

    /// Asks the compositor to answer when it has heard all until now.
    fn question(&mut self) {
        self.asked = self.asked.wrapping_add(1);
        self.connection.display().sync(&self.queue.handle(), self.asked);
    }

    /// Says what there is to say, and hears what is there.
    fn hear(&mut self) -> Result<(), Box<dyn Error>> {
        self.say()?;
        self.queue.dispatch_pending(&mut self.control)?;
        if let Some(reading) = self.queue.prepare_read() {
            or_later(reading.read().map(drop))?;
        }
        self.queue.dispatch_pending(&mut self.control)?;
        if self.control.is_finished() { Err("its seat is gone".into()) } else { self.say() }
    }

    fn say(&self) -> Result<(), Box<dyn Error>> {
        Ok(or_later(self.connection.flush())?)
    }

    fn look(&mut self, now: Instant) -> Result<Option<Result<String, Outcome>>, Box<dyn Error>> {
        self.hear()?;
        if self.incoming.is_asked() && self.control.has_answered(self.asked) {
            self.receive(now);
        }
        if let Some(inlet) = &mut self.inlet {
            inlet.read(now, &mut self.incoming);
        }
        for receiver in self.control.take_receivers() {
            let outgoing = Outgoing::new(receiver.text, now);
            if self.outlets.len() < MAX_RECEIVERS {
                // Who gives no pipe gets nothing.
                self.outlets.extend(Outlet::open(&self.watch, receiver.pipe, outgoing));
            }
        }
        self.outlets.retain_mut(|outlet| outlet.write(now));
        self.say()?;
        let taken = self.incoming.take(now);
        if !self.incoming.has_begun() {
            self.inlet = None;
        }
        Ok(taken)
    }

    /// The compositor has told what is in the clipboard: takes it from whoever has copied it.
    fn receive(&mut self, now: Instant) {
        if let Some(own) = self.control.own_text() {
            self.incoming.end(Ok(own.to_owned()));
            return;
        }
        let (watch, inlet) = (&self.watch, &mut self.inlet);
        let is_text = self.control.receive(|| {
            let (own, its) = Inlet::open(watch).ok()?;
            *inlet = Some(own);
            Some(its)
        });
        match (is_text, &self.inlet) {
            (false, _) => self.incoming.end(Err(Outcome::Nothing)),
            (true, None) => self.incoming.end(Err(Outcome::NoAnswer)),
            (true, Some(_)) => self.incoming.begin(now),
        }
    }
}

impl Clipboard for WaylandClipboard {
    fn give(&mut self, text: &str) -> Result<(), DesktopError> {
        self.control.give(text, &self.queue.handle());
        self.say().map_err(|error| gone(&*error))
    }

    fn ask(&mut self, now: Instant) -> Result<(), DesktopError> {
        self.inlet = None;
        self.incoming.ask(now);
        self.question();
        self.say().map_err(|error| gone(&*error))
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Result<String, Outcome>>, DesktopError> {
        self.look(now).map_err(|error| gone(&*error))
    }

    fn next_deadline(&self) -> Option<Instant> {
        let outlets = self.outlets.iter().map(Outlet::deadline);
        outlets.chain(self.incoming.next_deadline()).min()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

/// What finds no room, or is not there yet, is tried again at the next look.
fn or_later(done: Result<(), WaylandError>) -> Result<(), WaylandError> {
    match done {
        Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        done => done,
    }
}

fn gone(error: &dyn Error) -> DesktopError {
    DesktopError::compositor(&format!("no connection any more: {error}"), GONE)
}
