//! A stream of pictures by PipeWire, received by a thread of its own.
//!
//! Source: PipeWire 0.3.65, its tutorial part 5 for the order of calls, `spa/param/format.h` and `spa/param/buffers.h` for what is agreed on. Pictures
//! come when the compositor has drawn; the newest replaces one that nobody took. Agreed on are four bytes a pixel, any size that pictures may
//! have and memory files: without a modifier in the format no compositor gives buffers of a graphics card.
//!
//! | deviation | why |
//! |---|---|
//! | buffers are not mapped (`MAP_BUFFERS`) | they are read with one copy, as an X11 screen's: see `sys::pipewire` |
//! | no bound on the rate (`maxFramerate`) | each drawing is told, and the one nearest to a frame's time is sent |

use super::pixels::{Format, Frame, Order};
use crate::picture::MAX_SIDE;
use crate::sys::pipewire::DequeuedBuffer;
use pipewire::context::ContextRc;
use pipewire::main_loop::MainLoopRc;
use pipewire::properties::properties;
use pipewire::spa::param::ParamType;
use pipewire::spa::param::format::{FormatProperties, MediaSubtype, MediaType};
use pipewire::spa::param::format_utils::parse_format;
use pipewire::spa::param::video::{VideoFormat, VideoInfoRaw};
use pipewire::spa::pod::serialize::PodSerializer;
use pipewire::spa::pod::{ChoiceValue, Object, Pod, Property, Value};
use pipewire::spa::sys as spa;
use pipewire::spa::utils::{
    Choice, ChoiceEnum, ChoiceFlags, Direction, Fraction, Id, Rectangle, SpaTypes,
};
use pipewire::stream::{Stream, StreamBox, StreamFlags, StreamListener, StreamState};
use rustix::event::{EventfdFlags, eventfd};
use std::fmt::Display;
use std::io::Cursor;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Frames per second that a compositor may offer.
const MAX_RATE: u32 = 1000;

/// What the thread has received.
#[derive(Debug, Default)]
struct Received {
    /// The newest picture, until it is taken.
    frame: Option<Frame>,
    /// Memory for the next.
    spare: Option<Frame>,
    /// From when the picture was shown until it was here, in nanoseconds.
    delay: Option<i64>,
    /// Why the newest picture was refused.
    refused: Option<String>,
    /// Why there are no more.
    ended: Option<String>,
}

#[derive(Debug)]
struct Shared {
    received: Mutex<Received>,
    news: Condvar,
    /// Readable when a picture has come.
    bell: OwnedFd,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        self.news.notify_all();
        // A full counter rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn end(&self, why: impl Display) {
        self.lock().ended.get_or_insert_with(|| why.to_string());
        self.ring();
    }
}

/// See the module's head.
pub(super) struct Pipe {
    shared: Arc<Shared>,
    stop: pipewire::channel::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Pipe {
    /// Begins to receive a stream, by its number.
    #[expect(clippy::disallowed_methods, reason = "libpipewire calls from a loop of its own")]
    pub(super) fn open(remote: OwnedFd, node: u32, frame_rate: u32) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let bell = bell.map_err(|error| text(error.into()))?;
        let shared = Shared { received: Mutex::default(), news: Condvar::new(), bell };
        let shared = Arc::new(shared);
        let (stop, stopped) = pipewire::channel::channel();
        let own = Arc::clone(&shared);
        let work = move || match receive(remote, node, frame_rate, stopped, &own) {
            Ok(()) => own.end("the desktop has ended it"),
            Err(error) => own.end(error),
        };
        let thread = std::thread::Builder::new().name("pipewire".to_owned()).spawn(work);
        Ok(Self { shared, stop, thread: Some(thread.map_err(text)?) })
    }

    /// Waits for a picture. Without one after this time it goes on, since some compositors give none until something is drawn.
    pub(super) fn wait(&self, patience: Duration) -> Result<(), String> {
        let waits = |received: &mut Received| received.frame.is_none() && received.ended.is_none();
        let waited = self.shared.news.wait_timeout_while(self.shared.lock(), patience, waits);
        let (received, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (&received.frame, &received.ended, &received.refused) {
            (Some(_), ..) => Ok(()),
            (None, Some(why), _) | (None, None, Some(why)) => Err(why.clone()),
            (None, None, None) => Ok(()),
        }
    }

    /// Exchanges `frame` for the newest picture; false if none has come since.
    pub(super) fn take(&self, frame: &mut Frame) -> Result<bool, String> {
        let mut received = self.shared.lock();
        let Some(newest) = received.frame.take() else {
            return received.ended.clone().map_or(Ok(false), Err);
        };
        received.spare = Some(std::mem::replace(frame, newest));
        Ok(true)
    }

    /// From when the newest picture was shown until it was here, in nanoseconds, if the compositor tells.
    pub(super) fn delay(&self) -> Option<i64> {
        self.shared.lock().delay
    }

    /// A descriptor that is readable when a picture has come, and is read to hush it.
    pub(super) fn bell(&self) -> Option<OwnedFd> {
        self.shared.bell.try_clone().ok()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // A thread that has ended does not hear it.
        let _ = self.stop.send(());
        self.thread.take().map(JoinHandle::join);
    }
}

/// Receives until the stream ends or is to stop.
fn receive(
    remote: OwnedFd,
    node: u32,
    frame_rate: u32,
    stopped: pipewire::channel::Receiver<()>,
    shared: &Arc<Shared>,
) -> Result<(), pipewire::Error> {
    pipewire::init();
    let main_loop = MainLoopRc::new(None)?;
    let quitting = main_loop.clone();
    let _stopped = stopped.attach(main_loop.loop_(), move |()| quitting.quit());
    let context = ContextRc::new(&main_loop, None)?;
    let core = context.connect_fd_rc(remote, None)?;
    let (quitting, own) = (main_loop.clone(), Arc::clone(shared));
    let core_listener = core.add_listener_local().error(move |_, _, _, why| {
        own.end(why);
        quitting.quit();
    });
    let _core_listener = core_listener.register();
    let properties = properties! {
        *pipewire::keys::MEDIA_TYPE => "Video",
        *pipewire::keys::MEDIA_CATEGORY => "Capture",
        *pipewire::keys::MEDIA_ROLE => "Screen",
    };
    let stream = StreamBox::new(&core, "gameway", properties)?;
    let _listener = listen(&stream, &main_loop, shared)?;
    let offer = bytes(offer(frame_rate));
    let mut params: Vec<&Pod> = Pod::from_bytes(&offer).into_iter().collect();
    stream.connect(Direction::Input, Some(node), StreamFlags::AUTOCONNECT, &mut params)?;
    main_loop.run();
    Ok(())
}

/// What is done at each event of the stream.
fn listen(
    stream: &Stream,
    main_loop: &MainLoopRc,
    shared: &Arc<Shared>,
) -> Result<StreamListener<Receiver>, pipewire::Error> {
    let (quitting, own) = (main_loop.clone(), Arc::clone(shared));
    let listener = stream
        .add_local_listener_with_user_data(Receiver { shared: Arc::clone(shared), format: None })
        .state_changed(move |_, _, _, state| match state {
            StreamState::Error(why) => {
                own.end(why);
                quitting.quit();
            }
            StreamState::Unconnected => quitting.quit(),
            _ => {}
        })
        .param_changed(|stream, receiver, id, param| {
            if id == ParamType::Format.as_raw()
                && let Some(param) = param
                && let Err(why) = receiver.agree(stream, param)
            {
                receiver.shared.end(why);
            }
        })
        .process(|stream, receiver| receiver.process(stream));
    listener.register()
}

struct Receiver {
    shared: Arc<Shared>,
    format: Option<Format>,
}

impl Receiver {
    /// Takes the format that was agreed on, at first or while it runs, and says which buffers it wants.
    fn agree(&mut self, stream: &Stream, param: &Pod) -> Result<(), String> {
        let what = parse_format(param).map_err(|error| error.to_string())?;
        if what != (MediaType::Video, MediaSubtype::Raw) {
            return Err(format!("{what:?} are no pictures"));
        }
        let mut info = VideoInfoRaw::new();
        info.parse(param).map_err(|error| error.to_string())?;
        let order = order(info.format());
        let order = order.ok_or_else(|| format!("{:?} was not offered", info.format()))?;
        self.format = Some(Format::new(order, info.size().width, info.size().height)?);
        let wanted = [bytes(buffers()), bytes(header())];
        let mut params: Vec<&Pod> = wanted.iter().filter_map(|pod| Pod::from_bytes(pod)).collect();
        stream.update_params(&mut params).map_err(|error| error.to_string())
    }

    fn process(&mut self, stream: &Stream) {
        let (Some(format), Some(taken)) = (self.format, DequeuedBuffer::newest(stream)) else {
            return;
        };
        // What is broken by its own account is followed by one that is not.
        let Some(plane) = taken.plane() else { return };
        let mut frame = self.shared.lock().spare.take().unwrap_or_default();
        let read = format.rows(plane).and_then(|rows| {
            frame.bytes.resize(rows.bytes, 0);
            (frame.stride, frame.format) = (rows.stride, Some(format));
            taken.read(rows.from, &mut frame.bytes).map_err(|error| error.to_string())
        });
        let delay = taken.shown().map(|shown| monotonic_ns() - shown);
        drop(taken);
        let mut received = self.shared.lock();
        match read {
            Ok(()) => {
                // One that nobody took is memory for the next.
                received.spare = received.frame.replace(frame);
                (received.delay, received.refused) = (delay, None);
                drop(received);
                self.shared.ring();
            }
            Err(why) => {
                (received.spare, received.refused) = (Some(frame), Some(why));
            }
        }
    }
}

fn monotonic_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn order(format: VideoFormat) -> Option<Order> {
    match format {
        VideoFormat::BGRx | VideoFormat::BGRA => Some(Order::Bgr),
        VideoFormat::RGBx | VideoFormat::RGBA => Some(Order::Rgb),
        _ => None,
    }
}

/// The formats that are taken.
fn offer(frame_rate: u32) -> Object {
    let id = |id: u32| Value::Id(Id(id));
    let formats = [VideoFormat::BGRx, VideoFormat::BGRA, VideoFormat::RGBx, VideoFormat::RGBA];
    let formats = formats.map(|format| Id(format.as_raw()));
    let formats = ChoiceEnum::Enum { default: formats[0], alternatives: formats.to_vec() };
    let square = |side: u32| Rectangle { width: side, height: side };
    let sizes = ChoiceEnum::Range {
        default: Rectangle { width: 1920, height: 1080 },
        min: square(1),
        max: square(MAX_SIDE + 1),
    };
    let rate = |num: u32| Fraction { num, denom: 1 };
    let rates = ChoiceEnum::Range { default: rate(frame_rate), min: rate(0), max: rate(MAX_RATE) };
    let none = ChoiceFlags::empty;
    let values = [
        (FormatProperties::MediaType, id(MediaType::Video.as_raw())),
        (FormatProperties::MediaSubtype, id(MediaSubtype::Raw.as_raw())),
        (FormatProperties::VideoFormat, Value::Choice(ChoiceValue::Id(Choice(none(), formats)))),
        (FormatProperties::VideoSize, Value::Choice(ChoiceValue::Rectangle(Choice(none(), sizes)))),
        (
            FormatProperties::VideoFramerate,
            Value::Choice(ChoiceValue::Fraction(Choice(none(), rates))),
        ),
    ];
    object(
        SpaTypes::ObjectParamFormat,
        ParamType::EnumFormat,
        values.map(|(key, value)| (key.as_raw(), value)),
    )
}

/// Memory files.
fn buffers() -> Object {
    let kinds = ChoiceEnum::Flags { default: 1 << spa::SPA_DATA_MemFd, flags: Vec::new() };
    let kinds = Value::Choice(ChoiceValue::Int(Choice(ChoiceFlags::empty(), kinds)));
    let values = [(spa::SPA_PARAM_BUFFERS_dataType, kinds)];
    object(SpaTypes::ObjectParamBuffers, ParamType::Buffers, values)
}

/// A header beside each picture.
fn header() -> Object {
    let size = size_of::<spa::spa_meta_header>() as i32;
    let values = [
        (spa::SPA_PARAM_META_type, Value::Id(Id(spa::SPA_META_Header))),
        (spa::SPA_PARAM_META_size, Value::Int(size)),
    ];
    object(SpaTypes::ObjectParamMeta, ParamType::Meta, values)
}

fn object<const N: usize>(of: SpaTypes, id: ParamType, values: [(u32, Value); N]) -> Object {
    let properties = values.into_iter().map(|(key, value)| Property::new(key, value)).collect();
    Object { type_: of.as_raw(), id: id.as_raw(), properties }
}

fn bytes(object: Object) -> Vec<u8> {
    let written = PodSerializer::serialize(Cursor::new(Vec::new()), &Value::Object(object));
    // Memory takes all that is written; an empty one is no pod and is not sent.
    written.map(|(cursor, _)| cursor.into_inner()).unwrap_or_default()
}
