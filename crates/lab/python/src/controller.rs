//! A rate controller written in Python: a class whose methods mirror [`RateController`].
//!
//! An exception of the class ends the run: nothing is told any more, the driver finds the [`Failure`] after the event, and the
//! exception is raised.

use crate::controller_values::{Frame, Limits, Packet, Received, Report, Wanted};
use gameway_control::{
    Ecn, FeedbackBatch, FeedbackStyle, FrameSent, Notice, Pacing, RateController, RateLimits,
    SentPacket, Target,
};
use gameway_units::declared::{Description, OptionError, Options};
use gameway_units::{Duration, Instant};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// The first exception of any controller of a run.
pub type Failure = Arc<OnceLock<PyErr>>;

/// Its name in specifications.
pub const NAME: &str = "python";

/// An object of such a class, as a controller.
pub struct Controller {
    object: Py<PyAny>,
    limits: RateLimits,
    style: FeedbackStyle,
    ecn: Ecn,
    in_parts: bool,
    /// The methods of those that most have no use for: each call costs.
    hears: OverriddenMethods,
    target: Target,
    timer: Option<Instant>,
    failure: Failure,
}

/// What is known of such controllers: where the class is, and that it takes options of its own.
#[must_use]
pub fn description() -> Description {
    Description::open(NAME, "a class of your own", "docs/own-controller.md")
}

/// Which of those methods a class has.
#[derive(Clone, Copy)]
struct OverriddenMethods {
    packets: bool,
    captures: bool,
    frames_received: bool,
    round_trips: bool,
    frame_intervals: bool,
}

impl OverriddenMethods {
    fn of(class: &Bound<'_, PyAny>, base: &Bound<'_, PyAny>) -> PyResult<Self> {
        let has = |name: &str| Ok::<_, PyErr>(!class.getattr(name)?.is(&base.getattr(name)?));
        Ok(Self {
            packets: has("on_sent")?,
            captures: has("on_capture")?,
            frames_received: has("on_frame_received")?,
            round_trips: has("on_round_trip")?,
            frame_intervals: has("on_frame_interval")?,
        })
    }
}

/// Where a class is, and the options that it is made with.
struct Source<'a> {
    file: &'a str,
    class: &'a str,
    options: Options,
}

impl<'a> Source<'a> {
    fn of(given: &'a Options) -> Result<Self, OptionError> {
        let named = |wanted: &str| {
            let why = r#"write { kind = "python", file = "mine.py", class = "Mine" }"#;
            given.get(wanted).and_then(Value::as_str).ok_or_else(|| refused(wanted, why.to_owned()))
        };
        let mut options = given.clone();
        options.retain(|name, _| name != "file" && name != "class");
        Ok(Self { file: named("file")?, class: named("class")?, options })
    }
}

fn refused(option: &str, why: String) -> OptionError {
    OptionError { option: Some(option.to_owned()), why }
}

impl Controller {
    /// Makes an object of the class that the options name.
    ///
    /// # Errors
    /// If there is no such class, or it refuses its options; the message is the exception's.
    pub fn from_options(
        options: &Options,
        limits: RateLimits,
        failure: Failure,
    ) -> Result<Self, OptionError> {
        let source = Source::of(options)?;
        let made = Python::attach(|python| Self::make(python, &source, limits, failure));
        made.map_err(|error| {
            let shown = Python::attach(|python| error.value(python).to_string());
            refused("class", format!("{} of {}: {shown}", source.class, source.file))
        })
    }

    fn make(
        python: Python<'_>,
        source: &Source<'_>,
        limits: RateLimits,
        failure: Failure,
    ) -> PyResult<Self> {
        let module = python.import("gameway.controller")?;
        let class = module.call_method1("load_class", (source.file, source.class))?;
        // As JSON: a number stays a number.
        let options = Value::Object(source.options.clone()).to_string();
        let given = python.import("json")?.call_method1("loads", (options,))?;
        let bounds = Limits {
            min_bps: limits.min.as_bps(),
            max_bps: limits.max.as_bps(),
            start_bps: limits.start.as_bps(),
            frame_interval_ns: limits.frame_interval.as_nanos(),
        };
        let object = class.call((bounds,), Some(given.cast()?))?;
        let base = module.getattr("RateController")?;
        let mut controller = Self {
            style: style_of(&object.getattr("feedback")?.extract::<String>()?)?,
            ecn: ecn_of(&object.getattr("ecn")?.extract::<String>()?)?,
            in_parts: object.getattr("sends_in_parts")?.extract()?,
            object: object.unbind(),
            limits,
            hears: OverriddenMethods::of(&class, &base)?,
            target: Target::new(limits.start, Pacing::Burst),
            timer: None,
            failure,
        };
        controller.refresh(python)?;
        Ok(controller)
    }

    /// Calls a method, then asks for what it wants now; its first exception is kept, and ends its part.
    fn tell(
        &mut self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) {
        if self.failure.get().is_some() {
            self.timer = None;
            return;
        }
        let told = Python::attach(|python| {
            self.object.bind(python).call_method1(method, arguments(python)?)?;
            self.refresh(python)
        });
        if let Err(error) = told {
            self.fail(error);
        }
    }

    fn fail(&self, error: PyErr) {
        let error = Python::attach(|python| {
            let class = self.object.bind(python).get_type().name();
            with_place(python, class, error)
        });
        // Another controller of the run may have been first: its exception is the one to raise.
        let _ = self.failure.set(error);
    }

    /// Its state as its class tells it.
    fn state(&self) -> PyResult<Vec<(String, f64)>> {
        Python::attach(|python| {
            let state = self.object.bind(python).call_method0("observe")?;
            let state = state.cast::<PyDict>().map_err(|_| {
                PyTypeError::new_err("observe() must give a dict of names and numbers")
            })?;
            state.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect()
        })
    }

    fn refresh(&mut self, python: Python<'_>) -> PyResult<()> {
        let object = self.object.bind(python);
        let wanted = object.call_method0("target")?;
        let wanted = wanted
            .cast::<Wanted>()
            .map_err(|_| PyTypeError::new_err("target() must give a gameway.controller.Target"))?;
        let target = wanted.get().target;
        self.target = target;
        self.target.bitrate = self.limits.clamp(target.bitrate);
        let timer: Option<i64> = object.call_method0("next_timer")?.extract()?;
        self.timer = timer.map(Instant::from_nanos);
        Ok(())
    }
}

/// The exception as an error whose text says in which class and where it happened.
fn with_place(python: Python<'_>, class: PyResult<Bound<'_, PyString>>, error: PyErr) -> PyErr {
    // With its traceback, which the bare value does not carry.
    let exception = error.clone_ref(python).into_value(python);
    let text = python
        .import("gameway.controller")
        .and_then(|module| module.call_method1("describe", (class?, exception)))
        .and_then(|text| text.extract::<String>());
    match text {
        Ok(text) => {
            let told = PyValueError::new_err(text);
            told.set_cause(python, Some(error));
            told
        }
        Err(_) => error,
    }
}

fn style_of(feedback: &str) -> PyResult<FeedbackStyle> {
    match (feedback, feedback.parse::<Duration>()) {
        ("per-frame", _) => Ok(FeedbackStyle::PerFrame),
        (_, Ok(interval)) if interval > Duration::ZERO => Ok(FeedbackStyle::Interval(interval)),
        _ => Err(PyValueError::new_err(format!(
            "feedback = \"{feedback}\" is neither \"per-frame\" nor an interval like \"50 ms\""
        ))),
    }
}

fn ecn_of(ecn: &str) -> PyResult<Ecn> {
    match ecn {
        "none" => Ok(Ecn::NotEct),
        "ect0" => Ok(Ecn::Ect0),
        "ect1" => Ok(Ecn::Ect1),
        _ => Err(PyValueError::new_err(format!(
            "ecn = \"{ecn}\" is neither \"none\" nor \"ect0\" nor \"ect1\""
        ))),
    }
}

impl RateController for Controller {
    fn name(&self) -> &'static str {
        NAME
    }

    fn feedback_style(&self) -> FeedbackStyle {
        self.style
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn sends_in_parts(&self) -> bool {
        self.in_parts
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        let frame = Frame {
            number: frame.frame.0,
            target_bps: frame.target.as_bps(),
            size_bytes: frame.size.get(),
            packets: frame.packets,
        };
        self.tell("on_frame", |python| (now.as_nanos(), frame).into_pyobject(python));
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        if self.hears.packets {
            let packet = Packet::of(packet);
            self.tell("on_sent", |python| (now.as_nanos(), packet).into_pyobject(python));
        }
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        let reports: Vec<Report> = batch.reports.iter().map(Report::of).collect();
        let rtt = batch.round_trip_time(now).map(Duration::as_nanos);
        let in_flight = batch.in_flight.get();
        self.tell("on_feedback", |python| {
            (now.as_nanos(), reports, in_flight, rtt).into_pyobject(python)
        });
    }

    fn on_notice(&mut self, now: Instant, notice: &Notice) {
        let now = now.as_nanos();
        match notice {
            Notice::Captured if self.hears.captures => {
                self.tell("on_capture", |python| (now,).into_pyobject(python));
            }
            Notice::FrameReceived(frame) if self.hears.frames_received => {
                let frame = Received {
                    frame: frame.frame.0,
                    first_sent_ns: frame.first_sent.as_nanos(),
                    last: Packet::of(&frame.last),
                    arrival_ns: frame.arrival.as_nanos(),
                };
                self.tell("on_frame_received", |python| (now, frame).into_pyobject(python));
            }
            Notice::RoundTrip(rtt) if self.hears.round_trips => {
                let rtt = rtt.as_nanos();
                self.tell("on_round_trip", |python| (now, rtt).into_pyobject(python));
            }
            Notice::FrameInterval(interval) if self.hears.frame_intervals => {
                let interval = interval.as_nanos();
                self.tell("on_frame_interval", |python| (now, interval).into_pyobject(python));
            }
            // The class does not override the method.
            Notice::Captured
            | Notice::FrameReceived(_)
            | Notice::RoundTrip(_)
            | Notice::FrameInterval(_) => {}
            // `Notice` is non-exhaustive, so other crates must have this arm. A class cannot hear a notice that is added later
            // until it has a method here.
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Instant) {
        self.timer = None;
        self.tell("on_timer", |python| (now.as_nanos(),).into_pyobject(python));
        // A timer that is due again at once would keep time from passing.
        self.timer = self.timer.map(|next| next.max(now + Duration::from_micros(1)));
    }

    fn next_timer(&self) -> Option<Instant> {
        self.timer
    }

    fn target(&self) -> Target {
        self.target
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.target.bitrate.as_bps_f64());
        if self.failure.get().is_some() {
            return;
        }
        match self.state() {
            Ok(state) => state.iter().for_each(|(name, value)| sink(name, *value)),
            Err(error) => self.fail(error),
        }
    }
}
