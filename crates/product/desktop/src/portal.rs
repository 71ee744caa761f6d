//! A screen by the desktop's own leave: its portal asks the user, and gives a way to PipeWire that has this screen alone.
//!
//! Source: XDG Desktop Portal, org.freedesktop.portal.ScreenCast version 5, .Request and .Session. Each question is a request with an object of its
//! own, which signals the answer: its path follows from the connection's name and a token, so that the signal is waited for before the question
//! is asked.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | answer | 5 s | a portal that is started by the bus starts its backend, too |
//! | user's answer | 120 s | to come to the screen and choose; what runs unattended is told by then |
//!
//! | deviation | why |
//! |---|---|
//! | the pointer's shape is not taken from the stream (cursor mode Metadata) | the client draws a pointer of its own |
//! | one monitor | a stream has one picture |

use crate::{DesktopError, permission};
use dbus::arg::{Append, PropMap, RefArg, Variant, prop_cast};
use dbus::channel::{BusType, Channel};
use dbus::{Message, Path as ObjectPath};
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

const ANSWER: Duration = Duration::from_secs(5);
const USER: Duration = Duration::from_secs(120);
const PORTAL: &str = "org.freedesktop.portal.Desktop";
const OBJECT: &str = "/org/freedesktop/portal/desktop";
const SCREENS: &str = "org.freedesktop.portal.ScreenCast";
const REQUEST: &str = "org.freedesktop.portal.Request";
const MONITOR: u32 = 1;
const HIDDEN: u32 = 1;
const EMBEDDED: u32 = 2;
const METADATA: u32 = 4;
/// The version that keeps permissions.
const KEEPS: u32 = 4;
const UNTIL_REVOKED: u32 = 2;
const NO_BUS: &str =
    "run it in a terminal of that desktop, or set DBUS_SESSION_BUS_ADDRESS as it is there";
const NO_PORTAL: &str = "apt install xdg-desktop-portal, and the desktop's part of it: xdg-desktop-portal-gnome, -kde or -wlr";

/// What a desktop's portal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portal {
    version: u32,
    sources: u32,
    cursors: u32,
}

impl Portal {
    /// Asks it; the user sees nothing of this.
    ///
    /// # Errors
    /// [`DesktopError::Portal`] says what is missing.
    pub fn look() -> Result<Self, DesktopError> {
        let portal = Connection::open()?.portal()?;
        if portal.sources & MONITOR == 0 {
            return Err(DesktopError::portal("it shares no whole screens", NO_PORTAL));
        }
        Ok(portal)
    }

    /// The first of these that there is: no pointer, one beside the pictures, one in the pictures.
    fn cursor(self) -> u32 {
        let there = [HIDDEN, METADATA].into_iter().find(|mode| self.cursors & mode != 0);
        there.unwrap_or(EMBEDDED)
    }
}

impl fmt::Display for Portal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.cursor() == EMBEDDED { "in the picture" } else { "left out" };
        let once = if self.version >= KEEPS { "once" } else { "at each start" };
        write!(f, "the portal asks the user {once}, and the desktop's pointer is {pointer}")
    }
}

/// A screen that the user has shared. The desktop ends that when this is dropped.
pub struct SharedScreen {
    remote: Option<OwnedFd>,
    node: u32,
    /// The session lasts as long as this.
    _connection: Connection,
}

impl SharedScreen {
    /// Asks the user, or gives the permission that is kept in a file; what replaces that one is kept there.
    ///
    /// # Errors
    /// [`DesktopError::Portal`]: what is missing, or that the user refuses.
    pub fn ask(kept: Option<&Path>) -> Result<Self, DesktopError> {
        let mut connection = Connection::open()?;
        let portal = connection.portal()?;
        let token = connection.token();
        let options = vec![("session_handle_token", variant(token))];
        let made = connection.request("CreateSession", None, None, options, ANSWER)?;
        let session = prop_cast::<String>(&made, "session_handle").cloned();
        let session = session.and_then(|path| ObjectPath::new(path).ok());
        let session = session.ok_or_else(|| unexpected("CreateSession gave no session"))?;

        let mut options = vec![
            ("types", variant(MONITOR)),
            ("multiple", variant(false)),
            ("cursor_mode", variant(portal.cursor())),
        ];
        if portal.version >= KEEPS && kept.is_some() {
            options.push(("persist_mode", variant(UNTIL_REVOKED)));
            let word = kept.and_then(permission::read);
            options.extend(word.map(|word| ("restore_token", variant(word))));
        }
        connection.request("SelectSources", Some(&session), None, options, ANSWER)?;
        // A host has no window, in front of which the question would stand.
        let started = connection.request("Start", Some(&session), Some(""), Vec::new(), USER)?;
        let node = node(&started).ok_or_else(|| unexpected("Start gave no stream"))?;
        if let (Some(file), Some(word)) = (kept, prop_cast::<String>(&started, "restore_token")) {
            let done = permission::write(file, word);
            done.map_err(|error| {
                let why = format!("{:?}: {error}", file.display().to_string());
                DesktopError::portal(&why, "mend that, so that the user is asked once")
            })?;
        }
        let remote = connection.remote(&session)?;
        Ok(Self { remote: Some(remote), node, _connection: connection })
    }

    /// The way to PipeWire, once.
    pub fn take_remote(&mut self) -> Option<OwnedFd> {
        self.remote.take()
    }

    /// The number of the screen's stream there.
    #[must_use]
    pub fn node(&self) -> u32 {
        self.node
    }
}

struct Connection {
    channel: Channel,
    /// Of tokens.
    count: u32,
}

impl Connection {
    fn open() -> Result<Self, DesktopError> {
        let channel = Channel::get_private(BusType::Session)
            .map_err(|error| DesktopError::portal(&format!("no session bus: {error}"), NO_BUS))?;
        Ok(Self { channel, count: 0 })
    }

    /// A word of its own for each request and session.
    fn token(&mut self) -> String {
        self.count += 1;
        format!("gameway{}", self.count)
    }

    fn portal(&self) -> Result<Portal, DesktopError> {
        let properties = "org.freedesktop.DBus.Properties";
        let message = message(properties, "GetAll")?.append1(SCREENS);
        let answer = self.call(message)?;
        let all: PropMap = answer.read1().map_err(|error| unexpected(&error.to_string()))?;
        let number = |name| prop_cast::<u32>(&all, name).copied();
        let (version, sources) = (number("version"), number("AvailableSourceTypes"));
        // Before version 2 there was one mode.
        let cursors = number("AvailableCursorModes").unwrap_or(HIDDEN);
        match (version, sources) {
            (Some(version), Some(sources)) => Ok(Portal { version, sources, cursors }),
            _ => Err(DesktopError::portal("it shares no screens", NO_PORTAL)),
        }
    }

    fn call(&self, message: Message) -> Result<Message, DesktopError> {
        self.channel.send_with_reply_and_block(message, ANSWER).map_err(|error| {
            let name = error.name().unwrap_or_default();
            let missing = ["ServiceUnknown", "UnknownInterface", "UnknownMethod", "InvalidArgs"];
            let is_missing = missing.iter().any(|missing| name.ends_with(missing));
            let mend = if is_missing { NO_PORTAL } else { "see what its log says" };
            DesktopError::portal(error.message().unwrap_or(name), mend)
        })
    }

    /// Asks, and waits for the answer. A session and a window stand ahead of the options where they are given.
    fn request(
        &mut self,
        method: &str,
        session: Option<&ObjectPath<'static>>,
        window: Option<&str>,
        mut options: Vec<(&'static str, Variant<Box<dyn RefArg>>)>,
        patience: Duration,
    ) -> Result<PropMap, DesktopError> {
        let token = self.token();
        let own = self.channel.unique_name().unwrap_or_default();
        let own = own.trim_start_matches(':').replace('.', "_");
        let object = format!("{OBJECT}/request/{own}/{token}");
        options.push(("handle_token", variant(token)));
        self.hear(&object)?;
        let mut message = message(SCREENS, method)?;
        if let Some(session) = session {
            message = message.append1(session.clone());
        }
        if let Some(window) = window {
            message = message.append1(window);
        }
        let options: PropMap =
            options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.call(message.append1(options))?;
        self.answer(method, &object, patience)
    }

    /// Asks the bus for the signals of a request.
    fn hear(&self, object: &str) -> Result<(), DesktopError> {
        let rule = format!("type='signal',interface='{REQUEST}',path='{object}'");
        let bus = "org.freedesktop.DBus";
        let message = Message::new_method_call(bus, "/org/freedesktop/DBus", bus, "AddMatch");
        let message = message.map_err(|error| unexpected(&error))?;
        self.call(message.append1(rule)).map(drop)
    }

    fn answer(
        &self,
        method: &str,
        object: &str,
        patience: Duration,
    ) -> Result<PropMap, DesktopError> {
        /// From look to look: a connection that is lost is noticed then.
        const LOOK: Duration = Duration::from_millis(100);
        let looks = patience.as_millis() / LOOK.as_millis();
        for _ in 0..looks {
            let Ok(message) = self.channel.blocking_pop_message(LOOK) else {
                return Err(DesktopError::portal("the session bus is gone", NO_BUS));
            };
            let Some(message) = message else { continue };
            let is_answer = message.member().is_some_and(|member| &*member == "Response")
                && message.path().is_some_and(|path| &*path == object);
            if !is_answer {
                continue;
            }
            let (code, results) =
                message.read2::<u32, PropMap>().map_err(|error| unexpected(&error.to_string()))?;
            return match code {
                0 => Ok(results),
                1 => Err(DesktopError::portal(
                    "the user has not shared a screen",
                    "share one when the desktop asks",
                )),
                _ => Err(DesktopError::portal(
                    &format!("it ended {method}"),
                    "see what the log of the desktop's part says (xdg-desktop-portal-gnome, -kde or -wlr)",
                )),
            };
        }
        let seconds = patience.as_secs();
        Err(DesktopError::portal(
            &format!("no answer to {method} within {seconds} s"),
            "share a screen when the desktop asks",
        ))
    }

    fn remote(&self, session: &ObjectPath<'static>) -> Result<OwnedFd, DesktopError> {
        let message = message(SCREENS, "OpenPipeWireRemote")?;
        let answer = self.call(message.append2(session.clone(), PropMap::new()))?;
        answer.read1().map_err(|error| unexpected(&error.to_string()))
    }
}

fn message(interface: &str, method: &str) -> Result<Message, DesktopError> {
    Message::new_method_call(PORTAL, OBJECT, interface, method).map_err(|why| unexpected(&why))
}

fn unexpected(why: &str) -> DesktopError {
    DesktopError::portal(why, "see what its log says")
}

fn variant(value: impl RefArg + Append + 'static) -> Variant<Box<dyn RefArg>> {
    Variant(Box::new(value))
}

/// The first of the streams, an array of a number and properties each.
fn node(started: &PropMap) -> Option<u32> {
    let streams = started.get("streams")?;
    let first = streams.0.as_iter()?.next()?;
    let number = first.as_iter()?.next()?.as_u64()?;
    u32::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portal(version: u32, cursors: u32) -> Portal {
        Portal { version, sources: MONITOR, cursors }
    }

    #[test]
    fn the_pointer_is_in_the_picture_only_where_it_cannot_be_left_out() {
        let modes = [7, 6, 3, 2].map(|cursors| portal(4, cursors).cursor());
        assert_eq!(modes, [HIDDEN, METADATA, HIDDEN, EMBEDDED]);
        let told = portal(3, 2).to_string();
        assert!(told.contains("at each start") && told.contains("in the picture"), "{told}");
        let told = portal(4, 1).to_string();
        assert!(told.contains("once") && told.contains("left out"), "{told}");
    }

    #[test]
    fn a_stream_is_found_where_there_is_one() {
        let of = |streams: Vec<(u32, PropMap)>| {
            let mut started = PropMap::new();
            started.insert("streams".to_owned(), variant(streams));
            node(&started)
        };
        assert_eq!(of(vec![(57, PropMap::new()), (58, PropMap::new())]), Some(57));
        assert_eq!(of(Vec::new()), None);
        assert_eq!(node(&PropMap::new()), None);
        let mut other = PropMap::new();
        other.insert("streams".to_owned(), variant(7_u32));
        assert_eq!(node(&other), None);
    }
}
