//! Where the player's actions go, and the shape of the pointer and rumble come from.

#[cfg(feature = "x11")]
use crate::host::card::Answers;
#[cfg(feature = "x11")]
use crate::host::clips::Clips;
use crate::host::hand::HandOfPlayer;
use crate::host::notes::tell;
#[cfg(feature = "x11")]
use crate::host::pads::Pads;
use crate::host::session::Session;
#[cfg(feature = "x11")]
use crate::host::shapes::Shapes;
use crate::host::sources::refuse;
use crate::{HostConfig, SourceConfig, StreamError};
use gameway_codec::Hand;
#[cfg(feature = "x11")]
use gameway_desktop::Injector;
#[cfg(feature = "wayland")]
use gameway_desktop::InputDevices;
use gameway_input::gamepad::{Event, Missing};
use gameway_input::{Action, gamepad};
use gameway_runtime::clock::Clock;
use gameway_units::Instant;
use std::os::fd::BorrowedFd;

/// What is played.
pub(super) enum Played {
    /// Nothing: who has the stream watches.
    Nothing,
    /// The built-in scene.
    Scene(HandOfPlayer),
    /// A screen.
    #[cfg(feature = "x11")]
    Screen(Box<Injector>, Box<Shapes>, Box<Pads>, Box<Clips>),
    /// A desktop's own screen, into which nothing but devices leads.
    #[cfg(feature = "wayland")]
    Devices(Box<InputDevices>, Box<Pads>, Box<Clips>),
    /// A desktop's own screen, of which there are no devices: its clipboard alone.
    #[cfg(feature = "wayland")]
    Clipboard(Box<Clips>),
    /// A screen with the test card.
    #[cfg(feature = "x11")]
    Card(Box<Injector>, Answers, Clock),
}

impl Played {
    /// What the configuration lets a player play.
    pub(super) fn open(config: &HostConfig, clock: Clock) -> Result<Self, StreamError> {
        if !config.input {
            return Ok(Self::Nothing);
        }
        match &config.source {
            SourceConfig::Scene => Ok(Self::Scene(HandOfPlayer::default())),
            SourceConfig::X11 { display } => screen(config, display.as_deref(), clock),
            SourceConfig::Portal => Ok(devices(config)),
            SourceConfig::File { .. } => Err(refuse(
                "input",
                "a video cannot be played with; choose another source".to_owned(),
            )),
        }
    }

    /// Does what the player of this session has done since. What cannot be played any more is watched from then on.
    pub(super) fn take(&mut self, now: Instant, session: &mut Session) {
        self.watch(session);
        let mut is_answered = self.apply(now, session).unwrap_or_else(|why| {
            tell("no more input", &why);
            *self = std::mem::replace(self, Self::Nothing).without_input();
            false
        });
        while let Some(action) = session.poll_gamepad() {
            is_answered |= matches!(action.event, Event::Press(_) | Event::Release(_));
            self.apply_to_gamepad(action);
        }
        // The scene shows it in whatever picture is next; a screen tells when its program has drawn.
        if is_answered && matches!(self, Self::Scene(_)) {
            session.on_drawn(now);
        }
        session.set_missing(self.missing());
    }

    /// What is left when nothing can be pressed any more. A screen's server that is gone has taken its clipboard with it.
    fn without_input(self) -> Self {
        match self {
            #[cfg(feature = "wayland")]
            Self::Devices(_, _, clips) => Self::Clipboard(clips),
            _ => Self::Nothing,
        }
    }

    /// Does the last that the player of this session has done: nothing of it waits, so that all that is held goes up.
    pub(super) fn end(&mut self, now: Instant, session: &mut Session) {
        self.take(now, session);
        #[cfg(feature = "wayland")]
        if let Self::Devices(devices, ..) = self {
            let mut left = std::iter::from_fn(|| session.poll_action());
            // Devices that take nothing any more hold nothing either.
            let _ = left.try_for_each(|action| devices.apply(now, action));
        }
    }

    fn apply_to_gamepad(&mut self, action: gamepad::Action) {
        match self {
            Self::Nothing => {}
            Self::Scene(hand) => hand.apply_gamepad(action),
            #[cfg(feature = "x11")]
            Self::Screen(_, _, pads, _) => pads.apply(action),
            #[cfg(feature = "wayland")]
            Self::Devices(_, pads, _) => pads.apply(action),
            #[cfg(feature = "wayland")]
            Self::Clipboard(_) => {}
            #[cfg(feature = "x11")]
            Self::Card(..) => {}
        }
    }

    /// What the player is told of gamepads.
    fn missing(&self) -> Missing {
        match self {
            Self::Nothing => Missing::Use,
            #[cfg(feature = "x11")]
            Self::Card(..) => Missing::Use,
            #[cfg(feature = "wayland")]
            Self::Clipboard(_) => Missing::Use,
            Self::Scene(_) => Missing::Nothing,
            #[cfg(feature = "x11")]
            Self::Screen(_, _, pads, _) => pads.missing(),
            #[cfg(feature = "wayland")]
            Self::Devices(_, pads, _) => pads.missing(),
        }
    }

    /// Readable when programs ask something of a gamepad or of the clipboard.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        #[cfg(feature = "x11")]
        let pads = match self {
            Self::Screen(_, _, pads, _) => Some(&**pads),
            #[cfg(feature = "wayland")]
            Self::Devices(_, pads, _) => Some(&**pads),
            _ => None,
        };
        #[cfg(feature = "x11")]
        return pads
            .into_iter()
            .flat_map(Pads::descriptors)
            .chain(self.clips().and_then(Clips::descriptor));
        #[cfg(not(feature = "x11"))]
        std::iter::empty()
    }

    #[cfg(feature = "x11")]
    fn clips(&self) -> Option<&Clips> {
        match self {
            Self::Screen(_, _, _, clips) => Some(clips),
            #[cfg(feature = "wayland")]
            Self::Devices(_, _, clips) | Self::Clipboard(clips) => Some(clips),
            _ => None,
        }
    }

    /// Whether there is a clipboard for who plays.
    pub(super) fn has_clipboard(&self) -> bool {
        #[cfg(feature = "x11")]
        return self.clips().is_some_and(Clips::are_there);
        #[cfg(not(feature = "x11"))]
        false
    }

    /// When [`Self::show`] or [`Self::serve_alone`] is due though nothing is readable, or [`Self::take`] for what waits in
    /// the session of the player.
    pub(super) fn next_deadline(&self, session: Option<&Session>) -> Option<Instant> {
        #[cfg(feature = "x11")]
        let clips = self.clips().and_then(Clips::next_deadline);
        #[cfg(not(feature = "x11"))]
        let clips = None;
        let devices = match self {
            #[cfg(feature = "wayland")]
            Self::Devices(devices, ..) => {
                session.and_then(Session::peek_action).map(|next| devices.ready_at(next))
            }
            _ => {
                let _ = session;
                None
            }
        };
        Instant::first_of([clips, devices])
    }

    /// Notes when the test card is given what it has to answer, and when it has answered.
    fn watch(&mut self, session: &mut Session) {
        #[cfg(feature = "x11")]
        if let Self::Card(_, answers, clock) = self {
            while let Some(answered) = answers.poll() {
                session.on_card(answered);
            }
            if let Some(photon) = session.photon() {
                photon.on_injection(clock.now());
            }
        }
        #[cfg(not(feature = "x11"))]
        let _ = session;
    }

    /// What programs ask is answered while nobody plays, too: else what is readable would be waited for in vain, and pasting would hang.
    pub(super) fn serve_alone(&mut self, now: Instant) {
        match self {
            #[cfg(feature = "x11")]
            Self::Screen(_, _, _, clips) => clips.serve_alone(now),
            #[cfg(feature = "wayland")]
            Self::Devices(_, _, clips) | Self::Clipboard(clips) => clips.serve_alone(now),
            _ => {
                let _ = now;
            }
        }
    }

    /// Gives the shape of the pointer, what gamepads are to be felt like, and the clipboard's text that it wants to this session, if a screen
    /// is played.
    pub(super) fn show(&mut self, now: Instant, session: &mut Session) {
        match self {
            #[cfg(feature = "x11")]
            Self::Screen(_, shapes, pads, clips) => {
                shapes.show(now, session);
                pads.feel(now, session);
                clips.serve(now, session);
            }
            #[cfg(feature = "wayland")]
            Self::Devices(_, pads, clips) => {
                pads.feel(now, session);
                clips.serve(now, session);
            }
            #[cfg(feature = "wayland")]
            Self::Clipboard(clips) => clips.serve(now, session),
            _ => {
                let _ = (now, session);
            }
        }
    }

    /// Whether something was pressed or released in the scene; why nothing can be played any more, if so.
    fn apply(&mut self, now: Instant, session: &mut Session) -> Result<bool, String> {
        let actions = std::iter::from_fn(|| session.poll_action());
        match self {
            #[cfg(feature = "wayland")]
            Self::Clipboard(_) => {
                actions.for_each(drop);
                Ok(false)
            }
            Self::Nothing => {
                // Only what is played by devices or on a screen takes its time.
                let _ = now;
                actions.for_each(drop);
                Ok(false)
            }
            Self::Scene(hand) => Ok(actions.fold(false, |is_answered, action| {
                let is_answer = matches!(action, Action::Press(_) | Action::Release(_));
                hand.apply(action);
                is_answered | is_answer
            })),
            #[cfg(feature = "wayland")]
            Self::Devices(devices, ..) => {
                // What has to wait keeps those behind it in the session.
                let is_ready = |devices: &InputDevices, session: &Session| {
                    session.peek_action().is_some_and(|next| devices.ready_at(next) <= now)
                };
                while is_ready(devices, session)
                    && let Some(action) = session.poll_action()
                {
                    devices.apply(now, action).map_err(|missing| missing.to_string())?;
                }
                Ok(false)
            }
            #[cfg(feature = "x11")]
            Self::Screen(injector, ..) | Self::Card(injector, ..) => {
                let is_due = injector.next_deadline().is_some_and(|due| due <= now);
                if session.peek_action().is_none() && !is_due {
                    return Ok(false);
                }
                // Text that comes faster than it can be typed waits in the session.
                let done = injector.apply_each(now, |injector| {
                    let is_ready = |action: &&Action| injector.is_ready(now, action);
                    session.peek_action().filter(is_ready)?;
                    session.poll_action()
                });
                done.map(|()| false).map_err(|error| error.to_string())
            }
        }
    }

    /// Where the player's hand is in the scene, if it is the scene that is played.
    pub(super) fn hand(&mut self, now: Instant) -> Option<Hand> {
        match self {
            Self::Scene(hand) => Some(hand.at(now)),
            _ => None,
        }
    }
}

#[cfg(feature = "x11")]
fn screen(config: &HostConfig, display: Option<&str>, clock: Clock) -> Result<Played, StreamError> {
    let authority = config.surroundings.authority.as_deref();
    let injector = Injector::connect(display, authority);
    let injector = injector.map_err(|error| refuse("input", error.to_string()))?;
    if let Some(place) = &config.card {
        return Ok(Played::Card(Box::new(injector), Answers::hear(place, clock)?, clock));
    }
    let shapes = Shapes::open(config, display);
    let clips = Clips::open(config);
    Ok(Played::Screen(Box::new(injector), Box::new(shapes), Box::default(), Box::new(clips)))
}

/// One can watch where there can be no devices.
#[cfg(feature = "wayland")]
fn devices(config: &HostConfig) -> Played {
    let clips = Box::new(Clips::open(config));
    match InputDevices::make() {
        Ok(devices) => Played::Devices(Box::new(devices), Box::default(), clips),
        Err(missing) => {
            tell("no input, one can watch", &format!("{missing}; to mend it, {}", missing.mend));
            Played::Clipboard(clips)
        }
    }
}

/// This build captures no such screen, which its source says.
#[cfg(not(feature = "wayland"))]
fn devices(_config: &HostConfig) -> Played {
    Played::Nothing
}

#[cfg(not(feature = "x11"))]
fn screen(
    _config: &HostConfig,
    _display: Option<&str>,
    _clock: Clock,
) -> Result<Played, StreamError> {
    Err(refuse("input", "this build is without X11; build it with the feature x11".to_owned()))
}
